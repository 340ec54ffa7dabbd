"""Differentially private training of many MLPs at once, and what privacy it has.

Of a linear layer the gradient of one example is an outer product, so its norm is the product of two
norms. The norms of all per-example gradients therefore follow from one pass forwards and one
backwards, and the clipped sum is one matrix product: no per-example gradient is ever stored.

Taught in book/defenses.ipynb and book/attacking_dp.ipynb.
"""

import warnings
from dataclasses import dataclass

import numpy as np
import torch
from scipy import optimize

from mia_lib import checks, privacy, reseed
from mia_lib.train import batches, canaries, products, stacked
from mia_lib.train.recipe import Classifier

ACTIVATIONS = {  # the function, and its slope in terms of its value
    "tanh": (torch.tanh, lambda value: 1 - value**2),
    "relu": (torch.relu, lambda value: value > 0),
    "sigmoid": (torch.sigmoid, lambda value: value * (1 - value)),
}
AT_ONCE = 32  # models of a stack: their batches and noise stay small beside the data


@dataclass(frozen=True)
class PrivateSGD:
    """DP-SGD: gradients clipped example by example, summed, and hidden in Gaussian noise (Abadi et
    al. 2016).

    Parameters
    ----------
    recipe : Classifier
        How the classifier is trained: "mlp" with "sgd", without dropout and augmentation. Its batch
        size is the expected one.
    noise_multiplier : float
        sigma, at least 0: the noise on the sum of the clipped gradients has standard deviation
        sigma x max_norm.
    max_norm : float
        C, above 0: a gradient longer than this is shortened to it, over all weights and biases
        together.
    public_size : int, optional
        The number of members that sampling rate and number of steps are computed from, for every
        model. None: each model's own number, which the guarantee then takes to be public. Give it
        where models with and without a record are compared.

    Raises
    ------
    ValueError
        For a choice outside its range, or a recipe that is not of that kind.

    Notes
    -----
    Every step draws each member by itself with probability q = B / members (Poisson sampling, the
    sampling that the accountant of `epsilon` assumes), and divides the noisy sum by B, not by the
    number drawn, which would tell it. Momentum, schedule and weight decay work on the noisy
    gradient and cost no privacy. The noise comes from numpy's generators, for experiments that can
    be repeated: do not deploy them where an adversary may know the seed. Carlini et al. 2022,
    appendix A-A. Taught in book/attacking_dp.ipynb.

    Examples
    --------
    >>> x, y = np.eye(2)[[0, 1] * 6], np.array([0, 1] * 6)
    >>> fit = PrivateSGD(Classifier(hidden=(4,), epochs=2, batch_size=4), noise_multiplier=1.0,
    ...     max_norm=1.0)
    >>> fit.logits(fit(x, y, np.ones((1, 12), bool), [np.random.default_rng(0)]), x).shape
    (1, 12, 2)
    >>> f"{fit.epsilon(12, delta=1e-2):.1f}"
    '3.4'
    """

    recipe: Classifier
    noise_multiplier: float
    max_norm: float
    public_size: int | None = None

    def __post_init__(self):
        if not isinstance(self.recipe, Classifier):
            checks.fail("recipe", type(self.recipe).__name__, "a train.Classifier")
        if (
            not self.recipe.stackable
            or self.recipe.optimizer != "sgd"
            or self.recipe.nesterov
            or self.recipe.stop is not None
        ):
            given = f"{self.recipe.model!r} with {self.recipe.optimizer!r}"
            checks.fail(
                "recipe",
                given,
                "'mlp' with plain 'sgd', no augment, dropout, nesterov, stop or 'bfloat16'",
            )
        checks.number("noise_multiplier", self.noise_multiplier, 0)
        checks.number("max_norm", self.max_norm, 0, open_low=True)
        if self.public_size is not None:
            checks.integer("public_size", self.public_size, 1)

    @reseed.fit
    def __call__(self, x, y, members, rngs):
        """Train k models; arguments and result as for `Classifier`."""
        return self._trained(x, y, members, rngs)[0]

    @reseed.fit
    def audited(self, x, y, members, rngs, *, coins):
        """Train k models with canary gradients, which an auditor reads at every step.

        A canary is a gradient of the clipping norm's length along one weight, so canaries are
        orthogonal to one another. A step draws it as it draws records. The auditor sees the
        released sum of every step, knows all records and subtracts what their clipped gradients
        gave (Nasr et al. 2023), so that what is left at the canary's weight is it and the noise.

        Parameters
        ----------
        x, y, members, rngs
            As for `Classifier`. Records and noise are drawn as without canaries.
        coins : (k, m) bool array
            True where canary j takes part in training k; at most as many canaries as weights.

        Returns
        -------
        state : dict
            As without canaries.
        scores : float64 array (k, m)
            Log-likelihood ratio of "takes part" against "does not", summed over steps; larger
            means more likely a member.

        Raises
        ------
        ValueError
            Training without noise, coins of another shape, more canaries than weights.

        Notes
        -----
        With q the sampling rate and o the reading in units of the clipping norm, a step adds log(1
        - q + q exp((o - 1/2) / sigma^2)): by the Neyman-Pearson lemma no other score of the
        readings finds more canaries at a false-positive rate. Taught in
        book/attacking_dp.ipynb.
        """
        if self.noise_multiplier == 0:
            checks.fail("noise_multiplier", "0", "above 0, else a canary is plainly seen")
        coins = checks.boolean_array("coins", coins, ndim=2)
        if len(coins) != len(rngs):
            checks.fail("coins", f"{len(coins)} rows", f"{len(rngs)}, one for each training")
        return self._trained(x, y, members, rngs, coins)

    @products.at_full_speed
    def _trained(self, x, y, members, rngs, coins=None):
        data, labels, ids, n_classes = self.recipe.prepared(x, y, members, rngs)
        flat, parts, scores = self.recipe.normalised(data).flatten(1), [], []
        for start in range(0, len(ids), AT_ONCE):
            some = slice(start, start + AT_ONCE)
            given = None if coins is None else coins[some]
            stack = self, flat, labels, ids[some], rngs[some], n_classes, given
            state, read = _train_stack(*stack)
            parts.append(state)
            scores.append(read)
        state = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
        return state, None if coins is None else np.concatenate(scores)

    def logits(self, state, x):
        """As `Classifier.logits`."""
        return self.recipe.logits(state, x)

    def features(self, state, x):
        """As `Classifier.features`."""
        return self.recipe.features(state, x)

    def epsilon(self, n_members, delta=1e-5):
        """The privacy budget of training one model on `n_members` records; see `epsilon`."""
        return epsilon(self.noise_multiplier, *self._sampling(n_members), delta=delta)

    def guarantee(self, n_members):
        """What training one model on `n_members` records guarantees, at every epsilon; see
        `privacy.subsampled_gaussian`. Without noise it promises nothing.
        """
        if self.noise_multiplier == 0:
            return privacy.approximate(np.inf, 0.0)
        return privacy.subsampled_gaussian(self.noise_multiplier, *self._sampling(n_members))

    def _sampling(self, n_members):
        """The sampling rate and the number of steps."""
        n_members = self.public_size or checks.integer("n_members", n_members, 1)
        size = batches.batch_size(self.recipe, n_members)
        return size / n_members, batches.step_count(self.recipe, n_members)


def epsilon(noise_multiplier, sampling_rate, n_steps, *, delta=1e-5):
    """An upper limit on the epsilon of DP-SGD, by Opacus's accountant of Renyi differential
    privacy.

    Parameters
    ----------
    noise_multiplier : float
        sigma, at least 0.
    sampling_rate : float
        q, the probability with which a step uses a record, in (0, 1].
    n_steps : int
        T, at least 1.
    delta : float
        The delta of differential privacy, in (0, 1).

    Returns
    -------
    float
        For data sets that differ by one record added or left out; inf without noise.

    Raises
    ------
    ValueError
        For a value outside its range.

    Notes
    -----
    The accountant's limit is not the smallest: at q = 1 the exact value is known, and it lies some
    percent below. `privacy.subsampled_gaussian` gives the smallest to three digits, and what holds
    at every other delta. Taught in book/attacking_dp.ipynb.

    Examples
    --------
    >>> f"{epsilon(1.0, 0.01, 1000):.2f}", epsilon(0.0, 0.01, 1000)
    ('2.10', inf)
    """
    sigma = checks.number("noise_multiplier", noise_multiplier, 0)
    rate = checks.number("sampling_rate", sampling_rate, 0, high=1, open_low=True)
    n_steps = checks.integer("n_steps", n_steps, 1)
    delta = checks.delta(delta)
    if sigma == 0:
        return float("inf")
    from opacus.accountants import RDPAccountant  # training itself does without

    accountant = RDPAccountant()
    accountant.history = [(sigma, rate, n_steps)]
    with warnings.catch_warnings():
        # "Optimal order is the largest alpha": a limit all the same, only not the tightest.
        warnings.filterwarnings("ignore", message="Optimal order")
        return float(accountant.get_epsilon(delta))


def noise_multiplier(budget, sampling_rate, n_steps, *, delta=1e-5):
    """The noise with which DP-SGD spends a given epsilon, the inverse of `epsilon`.

    Parameters
    ----------
    budget : float
        The epsilon that may be spent, above 0.
    sampling_rate, n_steps, delta
        As for `epsilon`.

    Returns
    -------
    float
        sigma, from 0.5 / 1024 to 500.

    Raises
    ------
    ValueError
        For a value outside its range, a budget that needs other noise than this.

    Notes
    -----
    Run in notebooks/hr_mmd.ipynb.

    Examples
    --------
    >>> f"{noise_multiplier(2.10, 0.01, 1000):.2f}"
    '1.00'
    """
    budget = checks.number("budget", budget, 0, open_low=True)

    def excess(noise):
        return epsilon(noise, sampling_rate, n_steps, delta=delta) - budget

    low, high = 0.5, 500.0
    while low > 0.5 / 1024 and excess(low) < 0:
        low /= 2
    if excess(low) < 0 or excess(high) > 0:
        checks.fail("budget", f"{budget:g}", f"one that noise from {low:.2g} to {high:g} spends")
    return float(optimize.brentq(excess, low, high))


def _drawn(ids, rate, rng, needed):
    """A Poisson sample of a model's members; nothing once it has made all its steps."""
    return ids[rng.random(len(ids)) < rate] if needed else ids[:0]


@torch.no_grad()
def _train_stack(fit, x, y, members, rngs, n_classes, coins=None):
    recipe, like = fit.recipe, x
    forward, slope_at = ACTIVATIONS[recipe.activation]
    sizes = [x.shape[1], *recipe.hidden, n_classes]
    weights, biases = stacked.initial(recipe, sizes, rngs, like)
    biases = [bias.reshape(len(rngs), 1, -1) for bias in biases]
    parameters = [*weights, *biases]
    velocities = [torch.zeros_like(parameter) for parameter in parameters]
    public = np.array([fit.public_size or len(ids) for ids in members])
    expected = np.array([batches.batch_size(recipe, size) for size in public])
    rates = expected / public
    n_steps = np.array([batches.step_count(recipe, size) for size in public])
    share = torch.from_numpy(1 / expected).to(like.device, like.dtype)[:, None, None]
    off, on = recipe.label_smoothing / n_classes, 1 - recipe.label_smoothing
    weights_in_all = sum(parameter[0].numel() for parameter in parameters)
    if coins is not None and coins.shape[1] > weights_in_all:
        checks.fail("coins", f"{coins.shape[1]} canaries", f"at most {weights_in_all}, the weights")
    planted = None if coins is None else canaries.Planted(coins, fit, rates, rngs)

    for step in range(n_steps.max()):
        drawn = [_drawn(*own, step < total) for *own, total in zip(members, rates, rngs, n_steps)]
        width = max(1, max(map(len, drawn)))
        index, used = np.zeros((len(members), width), np.int64), np.zeros((len(members), width))
        for k, rows in enumerate(drawn):
            index[k, : len(rows)], used[k, : len(rows)] = rows, 1
        index = torch.from_numpy(index).to(like.device)
        used = torch.from_numpy(used).to(like.device, like.dtype)

        activations = [x[index]]  # (K, B, width)
        for i, (weight, bias) in enumerate(zip(weights, biases)):
            out = torch.baddbmm(bias, activations[-1], weight.mT)
            activations.append(out if i == len(weights) - 1 else forward(out))
        slope = torch.softmax(activations.pop(), 2) - off
        slope.scatter_add_(2, y[index][..., None], torch.full_like(slope[..., :1], -on))
        slopes = [slope]  # d loss of one example / d the outputs of a layer
        for i in reversed(range(1, len(weights))):
            below = torch.bmm(slopes[0], weights[i])
            slopes.insert(0, below * slope_at(activations[i]))

        squares = sum((d**2).sum(2) * (1 + (a**2).sum(2)) for d, a in zip(slopes, activations))
        factor = used * (fit.max_norm / squares.sqrt().clamp_min(1e-30)).clamp_max(1)
        clipped = [d * factor[..., None] for d in slopes]
        gradients = [torch.bmm(d.mT, a) for d, a in zip(clipped, activations)] + [
            d.sum(1, keepdim=True) for d in clipped
        ]
        if planted:
            planted.add(gradients, step < n_steps)
        if fit.noise_multiplier:
            _add_noise(gradients, fit.noise_multiplier * fit.max_norm, rngs, step < n_steps)
        if planted:
            planted.read(gradients, step < n_steps)
        rate = batches.learning_rates(recipe, np.full(len(members), step), n_steps)
        rate = torch.from_numpy(-rate).to(like.device, like.dtype)[:, None, None]
        for i, (parameter, velocity, gradient) in enumerate(zip(parameters, velocities, gradients)):
            gradient.mul_(share)
            if recipe.weight_decay and i < len(weights):
                gradient.add_(parameter, alpha=recipe.weight_decay)
            velocity.mul_(recipe.momentum).add_(gradient)
            parameter.addcmul_(velocity, rate)
    return stacked.named(weights, biases), planted and planted.scores


def _add_noise(gradients, spread, rngs, running):
    """Every model's noise from its own generator, so that it does not depend on the stack."""
    for k in np.flatnonzero(running):
        for gradient in gradients:
            noise = rngs[k].standard_normal(tuple(gradient.shape[1:]), np.float32)
            gradient[k] += spread * torch.from_numpy(noise).to(gradient.device, gradient.dtype)
