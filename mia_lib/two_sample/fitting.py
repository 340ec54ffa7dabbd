"""What is fitted is fitted on training halves, by climbing a criterion of the power.

Taught in book/two_sample.ipynb.
"""

from dataclasses import dataclass

from mia_lib import checks, extras
from mia_lib.two_sample import kernels, mmd

torch = extras.module("torch")


@dataclass(frozen=True)
class DeepFeatures:
    """How the network of `deep_feature_test` is made and fitted.

    Parameters
    ----------
    hidden : int
        Width of the three hidden layers (softplus).
    n_features : int
        Outputs of the network, which the first kernel works on.
    n_steps : int
        Of Adam on the network, epsilon and both bandwidths.
    learning_rate : float
        Of Adam, above 0.

    Raises
    ------
    ValueError
        For a choice out of range.

    Notes
    -----
    Run in notebooks/two_sample_levels.ipynb.
    """

    hidden: int = 50
    n_features: int = 20
    n_steps: int = 200
    learning_rate: float = 0.005

    def __post_init__(self):
        checks.integer("hidden", self.hidden, 1)
        checks.integer("n_features", self.n_features, 1)
        checks.integer("n_steps", self.n_steps, 0)
        checks.number("learning_rate", self.learning_rate, 0, open_low=True)


def criterion(k_xx, k_yy, k_xy, regularization=mmd.REGULARIZATION):
    """``power_criterion`` of tensors: differentiable, and not checked.

    Parameters
    ----------
    k_xx, k_yy, k_xy : tensor (n, n)
    regularization : float

    Returns
    -------
    tensor ()
    """
    n = len(k_xx)
    statistic = sum(k.sum() - k.diagonal().sum() for k in (k_xx, k_yy)) - 2 * (
        k_xy.sum() - k_xy.diagonal().sum()
    )
    h = k_xx.mean(1) + k_yy.mean(1) - k_xy.mean(1) - k_xy.mean(0)
    variance = 4 * ((h**2).mean() - h.mean() ** 2).clamp_min(0)
    return statistic / (n * (n - 1)) / torch.sqrt(variance + regularization)


def deep_gram(free, rep, raw):
    """`deep_kernel` of tensors of squared distances, differentiable in what is fitted.

    Parameters
    ----------
    free : tensor (3,)
        Log-odds of epsilon, logarithms of the bandwidths of the representation and of the records.
    rep, raw : tensor (n, m)

    Returns
    -------
    tensor (n, m)
    """
    epsilon, scale = torch.sigmoid(free[0]), -0.5 * torch.exp(-2 * free[1:])
    return ((1 - epsilon) * torch.exp(rep * scale[0]) + epsilon) * torch.exp(raw * scale[1])


def blocks(pooled, n):
    """What is within x, within y and between them, of a matrix (n + m, n + m) whose first n records
    are x.
    """
    return pooled[:n, :n], pooled[n:, n:], pooled[:n, n:]


def ascend(free, objective, n_steps, learning_rate):
    """Steps of Adam up the objective; its value before each step.

    Parameters
    ----------
    free : list of tensors
        Changed in place.
    objective : callable
        Without arguments, returns a tensor ().
    n_steps : int
        At least 0.
    learning_rate : float
        Above 0.

    Returns
    -------
    list of float
    """
    n_steps = checks.integer("n_steps", n_steps, 0)
    optimizer = torch.optim.Adam(
        free, lr=checks.number("learning_rate", learning_rate, 0, open_low=True)
    )
    values = []
    for _ in range(n_steps):
        optimizer.zero_grad()
        value = objective()
        (-value).backward()
        optimizer.step()
        values.append(float(value.detach()))
    return values


def training_halves(x_train, y_train):
    """Both as (n, features), equally many and at least 4."""
    x_train, y_train = kernels.pair("x_train", x_train, "y_train", y_train)
    if len(x_train) != len(y_train) or len(x_train) < 4:
        checks.fail(
            "y_train",
            f"{len(y_train)} records against {len(x_train)} in x_train",
            "equally many, at least 4",
        )
    return x_train, y_train
