"""Whether a shadow model's outputs can be the target's, before anything that was learned on it is
used.
"""

from typing import NamedTuple

import numpy as np

from mia_lib import checks
from mia_lib.attacks.metric_based import require_classes

TIED = 1e-12  # draws that differ by rounding alone count as equally far


class ShadowFit(NamedTuple):
    """How well a shadow model's outputs fit the target's, from `shadow_fit`.

    Taught in book/metric_attacks.ipynb.

    Parameters
    ----------
    share : float
        The share of members among the target's records with which the shadow fits best, in [0, 1].
    distance : float
        How far the distribution functions still are from each other with that share, in the root
        mean square over records and classes, in [0, 1].
    noise : float
        What the distance is, in the root mean square, where the shadow fits.
    p_value : float
        Probability of a distance as large as this where the shadow fits, for groups that are not
        small; see the notes of `shadow_fit`.
    """

    share: float
    distance: float
    noise: float
    p_value: float


def shadow_fit(
    target_signal,
    target_labels,
    shadow_signal,
    shadow_labels,
    shadow_member,
    *,
    n_draws=499,
    rng=None,
):
    """Test whether, for some share of members, the shadow's outputs look like the target's.

    The target's membership is not needed: an attacker can ask before using thresholds.

    Parameters
    ----------
    target_signal : array (n,)
        The target's signal or score, in any unit; neither the sign nor an increasing map of it
        matters.
    target_labels : array (n,)
        Its classes, whole numbers from 0 on.
    shadow_signal, shadow_labels : array (m,)
        The same of the shadow model, on records of its own.
    shadow_member : bool array (m,)
        True where the shadow model was trained on the record.
    n_draws : int
        Draws from the fitted mixture; the smallest p-value is 1 / (n_draws + 1).
    rng : numpy.random.Generator, optional
        For the draws. None means fresh entropy.

    Returns
    -------
    ShadowFit

    Raises
    ------
    ValueError
        Wrong shapes, values that are not finite, a target class of which the shadow data have
        fewer than two members or two non-members.

    Notes
    -----
    In class y let T, I and O be the distribution functions of the target's signal, of the shadow's
    members and of its non-members. Where the shadow fits, T = s I + (1 - s) O for one share s. The
    distance is that of Cramer and von Mises, the mean of (T - s I - (1 - s) O)^2 over the records
    of the class, summed over classes with weights n m / (n + m). It is a parabola in s, so the
    best share needs no search. Where values are equal, half of them count as below.

    The p-value comes from a parametric bootstrap: all three groups are drawn again from the
    shadow's two groups and the fitted share. Draws from m records vary too little, by a factor of
    1 - 1/m, which is undone by stretching them; and a share is not fitted to the draws again,
    which errs towards a fit. The target's records have to be drawn at random, each a member by a
    coin of the same probability; groups of equal size in every class also err towards a fit.

    The p-value is asymptotic. With 5 members and 5 non-members in each of 50 classes of the
    shadow's records and 1,000 records of the target, 80 % of them members, a test at 5 % rejects 18
    % of the shadows that fit. Nor can the draws hold a value that the shadow never showed: where a
    signal has few values, such as correctness, and the shadow's records lack one that the target's
    have, the p-value may be the smallest possible though the shadow fits.

    A large p-value says that these records show no difference. A small one is not yet a bad shadow,
    because two models of one recipe differ as well, and with enough records the test finds it. Then
    the distance decides: hold a second shadow against the first in the same way, and it shows how
    far the recipe lies from itself. Taught in book/metric_attacks.ipynb.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> member, nobody = np.arange(400) < 200, np.zeros(400, int)
    >>> shadow, target = rng.normal(size=(2, 400)) + 2 * member
    >>> for moved in (0, 1):
    ...     fit = shadow_fit(target + 2 * moved, nobody, shadow, nobody, member, rng=rng)
    ...     print(f"{fit.share:.2f} {fit.distance:.3f} {fit.noise:.3f} {fit.p_value:.3f}")
    0.51 0.013 0.026 0.950
    1.00 0.203 0.032 0.002
    """
    target = checks.real_array("target_signal", target_signal, 1)
    target_labels = checks.labels("target_labels", target_labels, len(target))
    shadow = checks.real_array("shadow_signal", shadow_signal, 1)
    shadow_labels = checks.labels("shadow_labels", shadow_labels, len(shadow))
    shadow_member = checks.boolean_array("shadow_member", shadow_member, shape=shadow.shape)
    n_draws, rng = checks.integer("n_draws", n_draws, 1), checks.generator(rng)
    require_classes(target_labels, shadow_labels)
    classes = []
    for label in np.unique(target_labels):
        asked, known = target_labels == label, shadow_labels == label
        classes.append(_counts(target[asked], shadow[known], shadow_member[known], int(label)))
    weights = [_weight(counts) for counts in classes]
    parabola = sum(weight * _parabola(*counts) for weight, counts in zip(weights, classes))
    share, least = _vertex(*parabola)
    draws = sum(
        weight * _drawn(*counts, share, n_draws, rng) for weight, counts in zip(weights, classes)
    )
    as_far = np.count_nonzero(draws >= least * (1 - TIED))
    whole = sum(weights)
    return ShadowFit(
        share,
        float(np.sqrt(least / whole)),
        float(np.sqrt(draws.mean() / whole)),
        float(1 + as_far) / (1 + n_draws),
    )


def _counts(target, shadow, member, label):
    """How often each distinct value occurs: in the target, among members, among non-members."""
    few = min(np.count_nonzero(member), np.count_nonzero(~member))
    if few < 2:
        checks.fail(
            "shadow_member",
            f"{few} records in one group of class {label}",
            "at least 2 members and 2 non-members in every class",
        )
    values, place = np.unique(np.concatenate([target, shadow]), return_inverse=True)
    groups = place[: len(target)], place[len(target) :][member], place[len(target) :][~member]
    return [np.bincount(group, minlength=len(values)) for group in groups]


def _weight(counts):
    n, *sides = (count.sum() for count in counts)
    return n * sum(sides) / (n + sum(sides))


def _distribution(counts):
    """The distribution function at each value, half of that value's own share left out."""
    shares = counts / counts.sum(-1, keepdims=True)
    return np.cumsum(shares, -1) - shares / 2


def _parabola(target, inside, outside):
    """The three terms of the mean of (T - O - s (I - O))^2 as a parabola in s."""
    whole = target + inside + outside
    t, i, o = map(_distribution, (target, inside, outside))
    mean = whole / whole.sum()
    return np.array([mean @ (t - o) ** 2, mean @ ((t - o) * (i - o)), mean @ (i - o) ** 2])


def _vertex(constant, linear, square):
    """Where in [0, 1] the parabola is smallest, and how small."""
    share = float(np.clip(linear / square, 0, 1)) if square > 0 else 0.5
    return share, max(float(constant - 2 * share * linear + share**2 * square), 0.0)


def _drawn(target, inside, outside, share, n_draws, rng):
    """What the distance of one class comes to where the shadow fits, (n_draws,)."""
    n = target.sum()
    sides = [side / side.sum() for side in (inside, outside)]
    drawn = rng.multinomial(n, share * sides[0] + (1 - share) * sides[1], n_draws)
    apart, whole = _distribution(drawn), drawn
    for part, side, truth in zip((share, 1 - share), (inside, outside), sides):
        m = side.sum()
        again = rng.multinomial(m, truth, n_draws)
        center = _distribution(truth)
        # Draws from a sample of m vary by 1 - 1/m of what samples do, and the mixture that the
        # target's draw is centered on has the sample's own error.
        stretch = np.sqrt(m / (m - 1) * (1 + 1 / n))
        apart = apart - part * (center + stretch * (_distribution(again) - center))
        whole = whole + again
    return (whole / whole.sum(-1, keepdims=True) * apart**2).sum(-1)
