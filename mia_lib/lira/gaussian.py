"""The likelihood-ratio attack on one target: Gaussians fitted to the shadow models' signals, IN and
OUT.
"""

import numpy as np
from scipy.special import log_ndtr

from mia_lib import checks, model_checks
from mia_lib.lira import blocks, choices, posterior, student
from mia_lib.lira.choices import FLOOR, TINY


def online(
    target,
    shadow,
    shadow_member,
    variance="per-example",
    center="mean",
    covariance="spherical",
    *,
    priors=None,
):
    """Log-likelihood ratio of the target's signals under Gaussians fitted to the IN and to the OUT
    models.

    Carlini et al. 2022, Algorithm 1: ``log N(x; mu_in, s_in^2) - log N(x; mu_out, s_out^2)``,
    summed over the queries. A larger score means more likely a member; 0 means that both sides
    explain the signal equally well.

    Parameters
    ----------
    target : array (n,) or (n, Q)
        The target model's signal for n examples and Q queries of each, in any unit that is roughly
        normal (`mia_lib.signals.logit_confidence`); finite, below 1e100 in magnitude.
    shadow : array (S, n) or (S, n, Q)
        The same signal of S shadow models, the target not among them. A memory map is read in
        blocks.
    shadow_member : bool array (S, n)
        True where example i trained shadow model s (an IN model of that example).
    variance : {"per-example", "global", "bayesian"}
        One spread for each example (standard deviation about the mean, ddof 0), or one for all
        examples (root mean square residual about each example's center); IN and OUT apart in both.
        "bayesian": what lies between, the posterior predictive density, a Student's t, under
        normal-inverse-gamma priors of each side (`mia_lib.lira.posterior` derives it); two models
        on a side suffice.
    center : {"mean", "median"}
        The location of each Gaussian, per example and query.
    covariance : {"spherical", "diagonal"}
        One spread shared by the Q queries of a side, or one for each query.
    priors : mapping of "IN" and "OUT" to Prior, optional
        For "bayesian" alone. None: estimated from all examples of the shadow models, the location
        of a side from that of the other one.

    Returns
    -------
    array (n,), float64
        Log-likelihood ratios in nats, always finite.

    Raises
    ------
    ValueError
        For wrong shapes, signals that are not finite, an unknown choice, an example with fewer than
        two IN or two OUT models, and a target whose signals are a copy of a shadow model's. With
        "bayesian": for medians, and priors that are none.

    Notes
    -----
    No spread is smaller than 1e-6 of the global one of its side (1e-30 where that is 0), so that
    models which agree exactly on an example give a large score and not a division by zero.
    Taught in book/lira.ipynb, with variance="bayesian" in book/one_family.ipynb.

    Examples
    --------
    >>> shadow, member = np.array([[3.0], [5.0], [-1.0], [1.0]]), np.array([[True], [True], [False],
    ...     [False]])
    >>> online(np.array([3.0]), shadow, member)
    array([4.])
    """
    options = choices.checked(
        choices.ONLINE, variance=variance, center=center, covariance=covariance
    )
    if variance == "bayesian" or priors is not None:
        return _bayesian(target, shadow, shadow_member, options, priors)
    return likelihood_ratio(*_fitted(target, shadow, shadow_member, options), options)[:, 0]


def offline(
    target,
    shadow,
    shadow_member,
    variance="per-example",
    center="mean",
    covariance="spherical",
    tail="one-sided",
    *,
    priors=None,
):
    """How far the target's signals lie above those of models that did not train on the example.

    Carlini et al. 2022, eq. 4, in logarithms: ``log Phi((x - mu_out) / s_out)``, summed over the
    queries. Only OUT models are used, so that all shadow models can be trained before the examples
    are known. The paper's probability itself rounds to 1 from about eight spreads on; its logarithm
    keeps the order up to 38.

    Parameters
    ----------
    target, shadow, shadow_member, variance, center, covariance, priors
        As for `online`; IN models are ignored, so the prior location is one for all examples.
    tail : {"one-sided", "density"}
        Equation 4, or ``-log N(x; mu_out, s_out^2)``, for which a signal far below the OUT models
        counts as much as one far above. With variance="bayesian" Student's t in place of the
        normal law, for spherical queries jointly.

    Returns
    -------
    array (n,), float64
        Larger means more likely a member: at most 0 for the one-sided form, any real number for the
        density. Always finite.

    Raises
    ------
    ValueError
        As for `online`, but only the OUT side needs two models.

    Notes
    -----
    Taught in book/lira.ipynb.

    Examples
    --------
    >>> shadow, member = np.array([[-1.0], [1.0]]), np.array([[False], [False]])
    >>> offline(np.array([0.0]), shadow, member).round(4)
    array([-0.6931])
    """
    options = choices.checked(
        choices.OFFLINE, variance=variance, center=center, covariance=covariance, tail=tail
    )
    if variance == "bayesian" or priors is not None:
        return _bayesian(target, shadow, shadow_member, options, priors)
    return likelihood_ratio(*_fitted(target, shadow, shadow_member, options), options)[:, 0]


def fit_priors(shadow, shadow_member, *, covariance="spherical", attack=online):
    """What all examples of some models tell of a single one: the priors that variance="bayesian"
    estimates.

    Parameters
    ----------
    shadow : array (S, n) or (S, n, Q)
        One signal for each shadow model, example and query; finite.
    shadow_member : bool array (S, n)
        True where example i trained shadow model s.
    covariance : {"spherical", "diagonal"}
        One spread shared by the Q queries of a side, or one for each query.
    attack : `online` or `offline`
        Which sides it reads. With both, the location of a side is a line in that of the other.

    Returns
    -------
    dict of str to Prior
        For "OUT", and for "IN" where that side is read: locations (n,) or (n, Q); kappa, nu and
        variance numbers, or (Q,) with ``covariance="diagonal"``.

    Raises
    ------
    ValueError
        As for the attack.

    Notes
    -----
    Moment estimates, derived in `mia_lib.lira.posterior`. From one or two examples nothing is
    known, so that kappa (and for one example nu) is 0. Taught in book/one_family.ipynb.

    Examples
    --------
    >>> member = np.array([[True], [True], [False], [False]]) & np.ones(3, bool)
    >>> fit_priors(np.array([[1.0], [3], [0], [2]]) + np.arange(3.0), member)["IN"].nu
    inf
    """
    if attack not in (online, offline):
        checks.fail("attack", repr(attack), "lira.online or lira.offline")
    sides = choices.ONLINE if attack is online else choices.OFFLINE
    options = choices.checked(sides, variance="bayesian", covariance=covariance)
    shadow = model_checks.signals("shadow", shadow, (2, 3))
    member = checks.boolean_array("shadow_member", shadow_member, shape=shadow.shape[:2])
    model_checks.counts("shadow_member", member, 2, sides, "two models")
    found = posterior.of_one_target(*_seen(shadow.reshape(*member.shape, -1), member, options))
    # As they came: no axis of queries for one query, numbers for what all queries share.
    return {
        side: posterior.Prior(
            location.reshape(shadow.shape[1:]),
            *(float(part[0, 0]) if len(part) == 1 else part[:, 0] for part in parts),
        )
        for side, (location, *parts) in found.items()
    }


def _bayesian(target, shadow, shadow_member, options, priors):
    """Scores (n,) under the posterior predictive laws."""
    x, shadow, member = _checked(target, shadow, shadow_member, options.sides)
    priors = posterior.checked(priors, *x.shape, options)
    seen, shift = _seen(shadow, member, options)
    if priors is None:
        priors = posterior.of_one_target(seen, shift)
    laws = {
        side: posterior.students(seen[side], location[..., None], *rest)
        for side, (location, *rest) in priors.items()
    }
    return student.ratio(x[..., None], laws, options)[:, 0]


def _seen(shadow, member, options):
    """{side: posterior.Seen} of the shadow models (S, n, Q), and a value (1, Q, 1) near their
    signals.
    """
    fits = _side_fits(shadow.shape[1:], shadow, member, options)
    n_in = np.count_nonzero(member, axis=0)[:, None, None]
    counts, seen = {"IN": n_in, "OUT": len(member) - n_in}, {}
    for side in options.sides:
        means, squares = fits[side][:2, ..., None]
        squares = squares.sum(axis=1, keepdims=True) if options.shares_spread else squares
        seen[side] = posterior.Seen(means, squares, counts[side])
    return seen, shadow[0].mean(axis=0, dtype=np.float64)[None, :, None]


def _fitted(target, shadow, shadow_member, options):
    """Target (n, Q, 1) and {side: (centers, variances)} of the sides that are read, with axes
    example, query, 1.
    """
    x, shadow, member = _checked(target, shadow, shadow_member, options.sides)
    n_in = np.count_nonzero(member, axis=0)
    count = {"IN": n_in, "OUT": len(member) - n_in}
    fits = _side_fits(x.shape, shadow, member, options)
    return x[..., None], {
        side: _center_and_variance(*fits[side], count[side], options) for side in options.sides
    }


def _checked(target, shadow, shadow_member, sides):
    """Target (n, Q), shadow (S, n, Q) and the mask (S, n), as they were given and may be."""
    x = checks.real_array("target", target, (1, 2))
    model_checks.bounded("target", x)
    shadow = model_checks.signals("shadow", shadow, (x.ndim + 1,))
    if shadow.shape[1:] != x.shape:
        checks.fail("shadow", f"shape {shadow.shape}", f"shape (S, {', '.join(map(str, x.shape))})")
    member = checks.boolean_array("shadow_member", shadow_member, shape=shadow.shape[:2])
    model_checks.counts("shadow_member", member, 2, sides, "two models")
    x, shadow = x.reshape(len(x), -1), shadow.reshape(*shadow.shape[:2], -1)
    model_checks.refuse_copy("shadow", x, shadow, np.arange(len(shadow)), "the target's")
    return x, shadow, member


def _side_fits(shape, shadow, member, options):
    """{side: (centers, squares about the mean, squares about the center)}, (n, Q) each."""
    sides = options.sides
    fits = {side: np.empty((3, *shape)) for side in sides}
    for start, values, masks in blocks.chunks("shadow", shadow, member):
        own = {side: masks if side == "IN" else ~masks for side in sides}
        rows = slice(start, start + len(values))
        for side, (mean, squares) in zip(sides, moments(values, list(own.values()))):
            fits[side][:, rows] = mean, squares, squares
        if options.center == "mean":
            continue
        for side in sides:
            for some, _, inside in blocks.of_equal_count(values, own[side]):
                middle, mean, squares = median(inside), *fits[side][:2, start + some]
                about_it = squares + inside.shape[-1] * (middle - mean) ** 2
                fits[side][::2, start + some] = middle, about_it
    return fits


def _center_and_variance(center, squares, residuals, count, options):
    """What the scores of a side are computed with: centers (n, Q, 1), variances (n, Q or 1, 1)."""
    variances = squares / count[:, None]
    pooled = residuals.sum(axis=0, keepdims=True) / count.sum()
    if options.shares_spread:
        variances, pooled = (part.mean(axis=1, keepdims=True) for part in (variances, pooled))
    if options.variance == "global":
        return center[..., None], np.maximum(pooled, TINY)[..., None]
    return center[..., None], floored(variances, pooled)[..., None]


def moments(values, sides):
    """For each side, mean and squares about it, (b, Q) each, of the signals (b, Q, S) that its mask
    (b, S) holds.
    """
    # Both sums of both sides are products of matrices: no side has to be gathered.
    shifted = values - values[..., :1]
    weights = np.empty((len(values), len(sides), values.shape[-1]))
    for i, mask in enumerate(sides):
        weights[:, i] = mask
    count = weights.sum(axis=-1)[:, None]
    sums = shifted @ weights.mT
    shifted *= shifted
    raw = shifted @ weights.mT
    means = sums / count
    squares = raw - sums * means
    found = [(values[..., 0] + means[..., i], squares[..., i]) for i in range(len(sides))]
    for i, mask in enumerate(sides):
        # Where the values are far from the first of all models, relative to their spread, digits
        # were lost.
        row, query = np.nonzero(squares[..., i] <= 1e-5 * raw[..., i])
        if row.size:
            own, used = values[row, query], mask[row]
            mean, square = fit(own, used)
            found[i][0][row, query], found[i][1][row, query] = mean, square
    return found


def fit(values, used):
    """Mean and squares about it, (m,) each, of the values (m, S) that are used."""
    # Differences to one of the values: identical values have the spread 0 exactly.
    first = np.take_along_axis(values, used.argmax(axis=1)[:, None], axis=1)
    shifted = np.where(used, values - first, 0.0)
    mean = shifted.sum(axis=1, keepdims=True) / used.sum(axis=1, keepdims=True)
    squares = (np.where(used, shifted - mean, 0.0) ** 2).sum(axis=1)
    return (first + mean)[:, 0], squares


def median(values):
    """Median (b, Q) of (b, Q, c), which is sorted in place: faster than selection."""
    values.sort(axis=-1)
    middle = values.shape[-1] // 2
    return (
        values[..., middle]
        if values.shape[-1] % 2
        else (values[..., middle - 1] + values[..., middle]) / 2
    )


def floored(variances, pooled):
    """Variances that are not below the floor, given the global ones of their side."""
    return np.maximum(variances, np.maximum(FLOOR * pooled, TINY))


def likelihood_ratio(x, gaussians, options):
    """Scores (b, c) of signals (b, Q, c), summed over queries, under Gaussians {side: (centers,
    variances)}.
    """
    if options.sides == choices.ONLINE:
        scores = _deviance(x, *gaussians["OUT"])
        scores -= _deviance(x, *gaussians["IN"])
        scores *= 0.5
        return scores
    if options.tail == "density":
        return 0.5 * (_deviance(x, *gaussians["OUT"]) + x.shape[1] * np.log(2 * np.pi))
    center, variances = gaussians["OUT"]
    return log_ndtr((x - center) / np.sqrt(variances)).sum(axis=1)


def _deviance(x, center, variances):
    """-2 log of the normal density, without its constant, summed over axis 1, the queries
    (variances: Q or 1).
    """
    squares = x - center
    squares *= squares
    logs = np.log(variances)
    if variances.shape[1] < x.shape[1]:
        squares = squares.sum(axis=1, keepdims=True)
        logs *= x.shape[1]
    squares /= variances
    squares += logs
    return squares[:, 0] if squares.shape[1] == 1 else squares.sum(axis=1)
