"""Defences that change answers alone: MemGuard, and the rounding of an attacker who meets it.

Taught in book/defenses.ipynb.
"""

import numpy as np
import torch
from scipy import special

from mia_lib import checks, models
from mia_lib.train import Classifier

LABEL_WEIGHT = 10.0  # Jia et al.'s c2: what keeps the predicted label
FIRST_DISTORTION_WEIGHT, LAST_DISTORTION_WEIGHT = (
    0.1,
    1e5,
)  # their c3, times ten from search to search
START_FLOOR = np.log(
    1e-9
)  # where a search starts: from smaller probabilities, or zero, it would never come back


class MembershipNetwork:
    """The defender's own attacker: a network that guesses membership from an output alone.

    Parameters
    ----------
    logits : array (n, K)
        Outputs of the defended model before the softmax, or log-probabilities.
    member : bool array (n,)
        True for the model's training records; the defender knows them.
    hidden : tuple of int
    epochs : float
    rng : numpy.random.Generator, optional

    Raises
    ------
    ValueError
        For wrong shapes, NaN, members only or non-members only.

    Notes
    -----
    It reads no label: a defender who answers a query does not know the right one. Reference: Jia et
    al. 2019, section 4. Taught in book/defenses.ipynb.

    Examples
    --------
    >>> logits = np.array([[6.0, 0.0], [0.3, 0.0]] * 20)
    >>> attacker = MembershipNetwork(logits, [True, False] * 20, epochs=100,
    ...     rng=np.random.default_rng(0))
    >>> attacker.probability(np.exp(logits[:2])) > 0.5
    array([ True, False])
    """

    def __init__(self, logits, member, hidden=(128, 64), *, epochs=50, rng=None):
        logits = _checked_logits(logits)
        member = checks.boolean_array("member", member, shape=logits.shape[:1])
        checks.both_groups("member", member)
        rng = checks.generator(rng)
        recipe = Classifier(
            hidden=hidden,
            activation="relu",
            n_classes=2,
            epochs=epochs,
            optimizer="adam",
            learning_rate=0.001,
        )
        everyone = np.ones((1, len(logits)), bool)
        state = recipe(_softmax(logits).numpy(), member.astype(np.int64), everyone, [rng])
        self._net = models.build(
            "mlp", (logits.shape[1],), 2, rng=rng, hidden=recipe.hidden, activation="relu"
        )
        self._net.load_state_dict(
            {name: torch.from_numpy(array[0]) for name, array in state.items()}
        )
        self._net.double().requires_grad_(False)
        self._seen = float(np.log(member.sum() / (~member).sum()))

    def __call__(self, probabilities):
        """log I - log(1 - I) for a (n, K) float64 tensor, differentiable; (n,) tensor."""
        out = self._net(probabilities)
        return out[:, 1] - out[:, 0] - self._seen

    def probability(self, weights):
        """I, the guessed probability of being a member, where members and non-members are equally
        likely.

        Parameters
        ----------
        weights : array (n, K)
            Probabilities, or anything not negative that is proportional to them in each row.

        Returns
        -------
        float64 array (n,)
            In [0, 1].
        """
        weights = checks.real_array("weights", weights, 2)
        if (weights < 0).any() or (weights.sum(1) <= 0).any():
            checks.fail(
                "weights",
                "a negative entry or a row of zeros",
                "rows that are not negative with a positive sum",
            )
        return torch.sigmoid(
            self(torch.from_numpy(weights / weights.sum(1, keepdims=True)))
        ).numpy()


def memguard(logits, attacker, budget=1.0, *, n_steps=300, rate=0.1, rng=None):
    """MemGuard: noise on the outputs so that a known attacker sees nothing, with the predicted
    label kept.

    For each record the search looks for the smallest change of the probabilities for which the
    attacker's guess is exactly 1/2; then the change is applied with the largest probability that
    keeps the expected distortion within the budget.

    Parameters
    ----------
    logits : array (n, K)
        The model's outputs before the softmax, or log-probabilities; finite or -inf.
    attacker : callable
        Takes a (n, K) float64 tensor of probabilities and returns the (n,) log-odds log I - log(1 -
        I), differentiable and row by row; such as a `MembershipNetwork`.
    budget : float
        The largest expected L1 distance of a record's answer from the model's, in [0, 2]. With 2
        the change always applies.
    n_steps : int
        Steps of one search, at least 1.
    rate : float
        Length of a step in the logits, above 0.
    rng : numpy.random.Generator, optional
        Draws which records are changed where the budget does not allow all.

    Returns
    -------
    (n, K) float64 array
        Probabilities: each row at least 0, summing to one, its argmax that of the logits. A record
        for which no change was found keeps its answer.

    Raises
    ------
    ValueError
        For NaN, a row with two largest logits or probabilities (no label to keep), parameters out
        of range, an attacker whose result is not (n,) finite numbers.

    Notes
    -----
    Song and Mittal 2021, eq. 4. The search is Jia et al.'s (2019, Algorithm 1): with e the noise on
    the logits z and h the log-odds, steps of fixed length down the gradient of abs(h) + 10 max(0,
    max_j (z+e)_j - (z+e)_l) + c L1(change), until h changes its sign, for c = 0.1, 1, ... as long
    as that succeeds; here all records at once. What they leave out: the way back from the point
    found to the original answer keeps the label (a mixture of two answers with the same largest
    entry has it too), so bisection on it finds h = 0 itself, at less distortion. Probability of
    use: min(1, budget / distortion).

    The bisection ends on the far side, so that to the last bit h has the other sign than before: to
    who compares I with exactly 1/2, changed answers are inverted rather than without a signal,
    until they are published with fewer digits (`rounded`). Taught in book/defenses.ipynb.

    Examples
    --------
    >>> # this attacker calls confident answers members
    >>> spread = lambda p: 8 * p.max(1).values - 6
    >>> memguard(np.log([[0.9, 0.07, 0.03]]), spread, budget=2).max().round(6)
    np.float64(0.75)
    """
    logits = _checked_logits(logits)
    if not callable(attacker):
        checks.fail("attacker", repr(attacker), "a function of a tensor of probabilities")
    checks.number("budget", budget, 0, high=2)
    checks.integer("n_steps", n_steps, 1)
    checks.number("rate", rate, 0, open_low=True)
    rng = checks.generator(rng)

    z = torch.log_softmax(torch.from_numpy(logits), 1)
    original = torch.softmax(z, 1)
    top = np.sort(original.numpy(), axis=1)
    tied = np.flatnonzero(top[:, -1] == top[:, -2])
    if len(tied):
        checks.fail(
            "logits", f"two largest entries in row {tied[0]}", "one largest entry in every row"
        )

    _log_odds(attacker, original)
    found, distortion = original.clone(), torch.full((len(z),), torch.inf, dtype=torch.float64)
    todo, weight = torch.arange(len(z)), FIRST_DISTORTION_WEIGHT
    while len(todo) and weight <= LAST_DISTORTION_WEIGHT:
        crossed, end = _search(z[todo], original[todo], attacker, weight, n_steps, rate)
        todo, end = todo[crossed], end[crossed]
        answer = _even_odds(original[todo], end, attacker)
        change = (answer - original[todo]).abs().sum(1)
        better = change < distortion[todo]
        found[todo[better]], distortion[todo[better]] = answer[better], change[better]
        weight *= 10

    change = torch.where(torch.isfinite(distortion), distortion, 0.0).numpy()
    use = rng.random(len(z)) * change < budget if budget < 2 else np.ones(len(z), bool)
    return np.where(use[:, None], found.numpy(), original.numpy())


def _search(z, original, attacker, weight, n_steps, rate):
    """Walk from each answer until the attacker changes its mind; which records did, and where they
    were then.
    """
    n = len(z)
    label = z.argmax(1)
    is_label = torch.nn.functional.one_hot(label, z.shape[1]).bool()
    member = _log_odds(attacker, original) > 0
    here = z.clamp_min(START_FLOOR)
    crossed, end = torch.zeros(n, dtype=torch.bool), original.clone()
    active = torch.arange(n)
    for _ in range(n_steps):
        point = here[active].requires_grad_(True)
        probabilities = torch.softmax(point, 1)
        rival = point.masked_fill(is_label[active], -torch.inf).amax(1)
        own = point.gather(1, label[active, None])[:, 0]
        cost = _log_odds(attacker, probabilities).abs() + LABEL_WEIGHT * torch.relu(rival - own)
        cost = cost + weight * (probabilities - original[active]).abs().sum(1)
        gradient = torch.autograd.grad(cost.sum(), point)[0]
        norm = gradient.norm(dim=1, keepdim=True)
        here[active] -= rate * gradient / torch.where(norm > 0, norm, 1.0)
        with torch.no_grad():
            probabilities = torch.softmax(here[active], 1)
            others = probabilities.masked_fill(is_label[active], -1.0).amax(1)
            kept = probabilities.gather(1, label[active, None])[:, 0] > others
            done = kept & ((_log_odds(attacker, probabilities) > 0) != member[active])
        end[active[done]], crossed[active[done]] = probabilities[done], True
        active = active[~done]
        if not len(active):
            break
    return crossed, end


def _even_odds(start, end, attacker):
    """The mixture of two answers, on different sides of the attacker's threshold, that lies on it:
    by bisection.
    """
    low, high = (
        torch.zeros(len(start), 1, dtype=start.dtype),
        torch.ones(len(start), 1, dtype=start.dtype),
    )
    if not len(start):
        return start
    member = _log_odds(attacker, start) > 0
    for _ in range(60):
        middle = (low + high) / 2
        crossed = ((_log_odds(attacker, start + middle * (end - start)) > 0) != member)[:, None]
        low, high = torch.where(crossed, low, middle), torch.where(crossed, middle, high)
    return start + high * (end - start)


def _log_odds(attacker, probabilities):
    found = attacker(probabilities)
    if not isinstance(found, torch.Tensor) or found.shape != probabilities.shape[:1]:
        given = f"a result of shape {tuple(getattr(found, 'shape', ()))}"
        checks.fail("attacker", given, f"a tensor of shape ({len(probabilities)},)")
    if not torch.isfinite(found).all():
        checks.fail("attacker", "a result that is not finite", "finite log-odds")
    return found


def guarded_answers(logits, member, known, asked, *, budget=1.0, epochs=30, n_steps=300, rng=None):
    """What a model's owner publishes under MemGuard: a membership network of the owner's own, and
    answers that are moved away from it.

    An adaptive attacker plays the owner of the shadow model and does the same to its answers.

    Parameters
    ----------
    logits : array (n, K)
        Outputs of one model before the softmax, or log-probabilities.
    member : bool array (n,)
        True for the model's training records.
    known : bool array (n,)
        Whose membership the network learns from: members, and records that the owner keeps apart.
    asked : bool array (n,)
        Whose answers are moved.
    budget, n_steps : float, int
        As for `memguard`.
    epochs : float
        As for `MembershipNetwork`.
    rng : numpy.random.Generator, optional
        Of the network first, then of the answers.

    Returns
    -------
    (n, K) float64 array
        Log-probabilities, -inf for probability 0; those that were not asked for are the model's.

    Raises
    ------
    ValueError
        As for `MembershipNetwork` and `memguard`; no record that is asked for.

    Notes
    -----
    Song and Mittal 2021, section 3.2.2: the attacker knows the defence and its parameters, not the
    defender's records. Taught in book/worst_off.ipynb.

    Examples
    --------
    >>> logits = np.array([[6.0, 0.0], [0.3, 0.0]] * 20)
    >>> member = np.array([True, False] * 20)
    >>> moved = guarded_answers(logits, member, np.arange(40) < 30, np.arange(40) >= 20, epochs=1,
    ...     rng=np.random.default_rng(0))
    >>> bool((moved.argmax(1) == logits.argmax(1)).all())
    True
    """
    logits = _checked_logits(logits)
    given = {"member": member, "known": known, "asked": asked}
    member, known, asked = (
        checks.boolean_array(name, rows, shape=logits.shape[:1]) for name, rows in given.items()
    )
    if not asked.any():
        checks.fail("asked", "no record", "at least one")
    rng = checks.generator(rng)
    owner = MembershipNetwork(logits[known], member[known], epochs=epochs, rng=rng)
    found = logits - np.logaddexp.reduce(logits, 1, keepdims=True)
    with np.errstate(divide="ignore"):
        found[asked] = np.log(memguard(logits[asked], owner, budget, n_steps=n_steps, rng=rng))
    return found


def fresh_answers(logits, changed, budget=1.0, *, n_queries=10, rng=None):
    """MemGuard's answers to each record asked several times, where the service tosses its coin anew
    for every query.

    `memguard` tosses it once for each record, and an owner who gives the same record the same
    answer ever after hides what an attacker finds here.

    Parameters
    ----------
    logits : array (n, K)
        The model's outputs before the softmax, or log-probabilities.
    changed : array (n, K)
        The answers with every change made: log-probabilities, such as those of `guarded_answers`
        with budget 2.
    budget : float
        As for `memguard`: a change of L1 size d is made with probability min(1, budget / d).
    n_queries : int
        Q, how often each record is asked, at least 1.
    rng : numpy.random.Generator, optional
        Of the coins.

    Returns
    -------
    (Q, n, K) float64 array
        Log-probabilities, -inf for probability 0.

    Raises
    ------
    ValueError
        For NaN, a row with inf or without a finite entry, shapes that differ, parameters out of
        range.

    Notes
    -----
    What is drawn anew can be averaged (`attacks.averaged_answers`); Jia et al. 2019 therefore draw
    once for each query. Used in notebooks/defenses.ipynb.

    Examples
    --------
    >>> sure, even = np.log([[0.9, 0.1]]), np.log([[0.5, 0.5]])  # 0.8 apart
    >>> answers = fresh_answers(sure, even, 0.4, n_queries=1000, rng=np.random.default_rng(0))
    >>> answers.shape, round(float(np.exp(answers[..., 0]).mean()), 1)
    ((1000, 1, 2), 0.7)
    """
    logits, changed = _checked_logits(logits), _checked_logits(changed, "changed")
    if changed.shape != logits.shape:
        checks.fail("changed", f"shape {changed.shape}", f"the logits' {logits.shape}")
    budget = checks.number("budget", budget, 0, high=2)
    n_queries = checks.integer("n_queries", n_queries, 1)
    rng = checks.generator(rng)
    original, moved = (special.log_softmax(z, axis=1) for z in (logits, changed))
    change = np.abs(np.exp(moved) - np.exp(original)).sum(1)
    use = rng.random((n_queries, len(change))) * change < budget
    return np.where(use[..., None], moved, original)


def rounded(probabilities, decimals=1):
    """Outputs rounded to a few decimals: what the weakly adaptive attacker feeds to its attack.

    Parameters
    ----------
    probabilities : array (..., n, K)
    decimals : int
        At least 0. Jia et al. round to one.

    Returns
    -------
    float64 array of the same shape
        Divided by each row's sum, so that rows are probabilities again; a row that rounds to zeros
        becomes uniform.

    Raises
    ------
    ValueError
        For NaN, negative entries, rows that do not sum to one, decimals below 0.

    Notes
    -----
    Song and Mittal 2021, section 3.3.3: the attacker hopes that rounding removes the noise and
    keeps the signal. Taught in book/defenses.ipynb.

    Examples
    --------
    >>> rounded([[0.62, 0.35, 0.03]])
    array([[0.6, 0.4, 0. ]])
    """
    probabilities = checks.real_array("probabilities", probabilities)
    if probabilities.ndim < 2:
        checks.fail("probabilities", f"shape {probabilities.shape}", "rows of probabilities")
    checks.distributions("probabilities", probabilities)  # published outputs are rounded
    coarse = np.round(probabilities, checks.integer("decimals", decimals, 0))
    total = coarse.sum(-1, keepdims=True)
    return np.where(total > 0, coarse / np.where(total > 0, total, 1.0), 1 / coarse.shape[-1])


def _checked_logits(logits, name="logits"):
    logits = checks.real_array(name, logits, 2, finite=False)
    if logits.shape[1] < 2 or (logits == np.inf).any() or not np.isfinite(logits).any(1).all():
        checks.fail(
            name,
            f"shape {logits.shape} or a row with +inf or without a finite entry",
            "(n, K) logits, K >= 2",
        )
    return logits


def _softmax(logits):
    return torch.softmax(torch.from_numpy(logits), 1)
