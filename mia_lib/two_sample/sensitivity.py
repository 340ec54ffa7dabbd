"""How different two sets must have been before the training to explain a rejection without members.

Taught in book/class_aware.ipynb.
"""

from itertools import combinations, product
from math import comb, prod

import numpy as np
from scipy import special, stats

from mia_lib import checks
from mia_lib.two_sample import class_means

EXACT = 2**18  # assignments times candidates that are enumerated, and sums of two-valued scores
GROWTH = 1e-9  # of p, relative: less is rounding, and a search that follows it may never end


def sensitivity_p_value(x, y, odds=1.0, *, y_x=None, y_y=None):
    """The largest p-value of the mean test that sets which differ this much can have.

    Parameters
    ----------
    x, y : array (n_x,), (n_y,)
        A score of each record of S_X and of S_Y, larger meaning more likely a member.
    odds : float
        Gamma, at least 1: without membership, two records (of one class, where there are classes)
        had odds of being in S_Y that differ by this factor at most. 1: chance alone divided them.
    y_x, y_y : int array (n_x,), (n_y,), optional
        Classes, for the test within classes; both or none.

    Returns
    -------
    float in [0, 1]
        One-sided: S_Y scores higher. At odds 1 the p-value of ``class_mean_test(...,
        alternative="greater")`` over all assignments.

    Raises
    ------
    ValueError
        As for `class_mean_test`, with magnitudes of 1e150 at most; odds below 1.

    Notes
    -----
    Rosenbaum's bound. Pr(assignment) is proportional to Gamma^(sum of u_i over S_Y) with unknown
    u_i in [0, 1]. The p-value is a ratio of functions linear in each Gamma^u_i, so that its
    largest value has all u_i 0 or 1; and in each class it has u_i = 1 for the k largest scores
    (Rosenbaum and Krieger 1990): k is what is left to try. p is exact in three cases. Small sets
    are enumerated. Where in every class S_Y scores higher throughout, one assignment alone reaches
    the sum and p is its probability. Where no class has more than two values, as in a score that
    says yes or no, u = 1 for the larger one; Fisher's noncentral hypergeometric law says how many
    of those are in S_Y, and the classes' laws are convolved (unless the values lie differently far
    apart in the classes and more than 2^18 sums are possible).

    For other sets the sum over S_Y is taken as normal, with its exact mean and variance, and with
    several classes k is improved class by class until p grows by less than 1e-9 of itself. This
    needs many records that each add little to the sum: where a few carry it, as with heavy tails or
    rare hits among other values, and far out in the tail, p may be many times too small or too
    large. Taught in book/class_aware.ipynb.

    Examples
    --------
    >>> round(sensitivity_p_value([1.0, 2.0, 3.0], [4.0, 5.0, 6.0]), 3)
    0.05
    >>> round(sensitivity_p_value([1.0, 2.0, 3.0], [4.0, 5.0, 6.0], 2.0), 3)
    0.127
    """
    sets = _sets(x, y_x, y, y_y)
    return _bound(*sets, np.log(checks.number("odds", odds, 1)))


def sensitivity_odds(x, y, alpha=0.05, *, y_x=None, y_y=None):
    """How different the sets must have been before a rejection needs no membership.

    Parameters
    ----------
    x, y, y_x, y_y
        As for `sensitivity_p_value`.
    alpha : float
        The test's level, in (0, 0.5).

    Returns
    -------
    float
        The largest odds at which ``sensitivity_p_value`` is at most alpha, to three digits; 1.0
        where the test does not reject at all.

    Raises
    ------
    ValueError
        As for `sensitivity_p_value`; alpha out of range.

    Notes
    -----
    Selection up to this factor, however well it chose, does not explain the rejection. Taught in
    book/class_aware.ipynb.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> odds = sensitivity_odds(rng.normal(size=100), rng.normal(size=100) + 1)
    >>> bool(2 < odds < 5)
    True
    """
    alpha = checks.number("alpha", alpha, 0, high=0.5, open_low=True, open_high=True)
    sets = _sets(x, y_x, y, y_y)
    if _bound(*sets, 0.0) > alpha:
        return 1.0
    low, high = 0.0, 1.0  # logarithms
    while _bound(*sets, high) <= alpha:
        low, high = high, 2 * high
    while high - low > 5e-4:
        middle = (low + high) / 2
        if _bound(*sets, middle) <= alpha:
            low = middle
        else:
            high = middle
    return float(np.exp(low))


def _bound(classes, observed, apart, gamma):
    work = prod(comb(len(v), n) * (len(v) + 1) for v, n in classes)
    if work <= EXACT:
        return _enumerated(classes, observed, gamma)
    if apart:
        return _only_way(classes, gamma)
    exact = _two_valued(classes, observed, gamma)
    return _normal(classes, observed, gamma) if exact is None else exact


def _sets(x, y_x, y, y_y):
    """Each class's numbers, the largest first, with how many are in S_Y; the sum over S_Y; and
    whether in every class all of S_Y lies above all of S_X.
    """
    values, parts = class_means.pooled(x, y_x, y, y_y, power=2)
    groups, first = (np.split(a, parts.starts[1:]) for a in (values, parts.first))
    classes = [(np.sort(v)[::-1], int(n)) for v, n in zip(groups, parts.n_y)]
    apart = all(v[~of_x].min() > v[of_x].max() for v, of_x in zip(groups, first))
    return classes, float(values[~parts.first].sum()), apart


def _only_way(classes, gamma):
    """The largest p where one assignment reaches the sum: with u = 1 for all of S_Y and no other,
    which makes it likeliest.
    """
    log_p = 0.0
    for values, n in classes:
        others = np.arange(min(n, len(values) - n) + 1)  # of S_X that an assignment takes instead
        ways = _log_choices(n, others) + _log_choices(len(values) - n, others)
        log_p -= special.logsumexp(ways - gamma * others)
    return float(np.exp(log_p))


def _enumerated(classes, observed, gamma):
    """The largest p over all k, by all assignments."""
    sums, chances = [], []
    for values, n in classes:
        rows = np.array(list(combinations(range(len(values)), n)))
        sums.append(values[rows].sum(1))
        top = (rows[None] < np.arange(len(values) + 1)[:, None, None]).sum(2)  # (k, assignment)
        chances.append(special.softmax(gamma * top, axis=1))
    total = sum(np.ix_(*sums)) if len(sums) > 1 else sums[0]
    reached = _reached(classes, observed, total).astype(float)
    worst = 0.0
    for ks in product(*(range(len(c)) for c in chances)):
        left = reached
        for chance, k in zip(chances, ks):
            left = np.tensordot(chance[k], left, axes=(0, 0))
        worst = max(worst, float(left))
    return min(worst, 1.0)


def _reached(classes, observed, sums):
    scale = max(np.abs(values).max() for values, _ in classes) * sum(len(v) for v, _ in classes)
    return ~(sums < observed - 1e-12 * max(scale, 1e-300))


def _two_valued(classes, observed, gamma):
    """The largest p where no class has more than two values; None where one has, or where too many
    sums are possible. With u = 1 for the larger value most of those are in S_Y.
    """
    if any(np.any((v < v[0]) & (v > v[-1])) for v, _ in classes):
        return None
    sums, chances = np.array([sum(n * v[-1] for v, n in classes)]), np.ones(1)
    for gap, law in _laws_by_gap(classes, gamma):
        if len(sums) > 1 and len(sums) * len(law) > EXACT:
            return None
        sums = np.add.outer(sums, gap * np.arange(len(law))).ravel()
        chances = np.multiply.outer(chances, law).ravel()
    return min(float(chances[_reached(classes, observed, sums)].sum()), 1.0)


def _laws_by_gap(classes, gamma):
    """How many larger values are in S_Y, for each difference of the two values: [(gap, law)]."""
    laws = []
    for v, n in sorted(classes, key=lambda one: one[0][0] - one[0][-1]):
        gap = v[0] - v[-1]
        if gap == 0:
            continue
        law = _chances(len(v), np.sum(v == v[0]), n, gamma)
        if laws and gap - laws[-1][0] <= 1e-9 * gap:  # the same but for rounding
            laws[-1] = laws[-1][0], np.convolve(laws[-1][1], law)
        else:
            laws.append((gap, law))
    return laws


def _normal(classes, observed, gamma):
    """The largest p over k by the normal law of the sum over S_Y."""
    means, variances = zip(*(_moments(values, n, gamma) for values, n in classes))
    best = [int(np.argmax(mean)) for mean in means]

    def p_value(mean, variance):
        spread = np.sqrt(np.maximum(variance, 1e-300))
        return stats.norm.sf((observed - mean) / spread)

    while True:
        before = list(best)
        for c, (mean, variance) in enumerate(zip(means, variances)):
            others = [i for i in range(len(best)) if i != c]
            mean = mean + sum(means[i][best[i]] for i in others)
            variance = variance + sum(variances[i][best[i]] for i in others)
            tried = p_value(mean, variance)
            if tried.max() > tried[best[c]] * (1 + GROWTH):
                best[c] = int(np.argmax(tried))
        if best == before:
            break
    ends = [sum(m[k] for m, k in zip(part, best)) for part in (means, variances)]
    return float(p_value(*ends))


def _moments(values, n_y, gamma):
    """Mean and variance of the sum over S_Y for every k: (n + 1,) each."""
    n = len(values)
    k, m = np.arange(n + 1)[:, None], np.arange(n_y + 1)  # of the top k records m are in S_Y
    chance = _chances(n, k, n_y, gamma)
    count = chance @ m
    spread = np.sum(chance * (m - count[:, None]) ** 2, axis=1)
    top = _part_moments(values)
    bottom = [part[::-1] for part in _part_moments(values[::-1])]
    mean = count * top[0] + (n_y - count) * bottom[0]
    # Given m, both parts of S_Y are drawn without replacement.
    within = [
        np.sum(chance * j * (size - j), axis=1) / np.maximum(size - 1, 1)[:, 0] * part[1]
        for j, size, part in ((m, k, top), (n_y - m, n - k, bottom))
    ]
    return mean, spread * (top[0] - bottom[0]) ** 2 + within[0] + within[1]


def _chances(n, k, n_y, gamma):
    """Fisher's noncentral hypergeometric law: of the top k records 0, 1, ... n_y are in S_Y."""
    m = np.arange(n_y + 1)
    log_weight = _log_choices(k, m) + _log_choices(n - k, n_y - m) + gamma * m
    return special.softmax(log_weight, axis=-1)


def _log_choices(a, b):
    """log of a over b, -inf where there is no such choice."""
    there = (b >= 0) & (b <= a)
    b = np.where(there, b, 0)
    found = special.gammaln(a + 1) - special.gammaln(b + 1) - special.gammaln(a - b + 1)
    return np.where(there, found, -np.inf)


def _part_moments(values):
    """Mean and variance of the first k values, k from 0 to n."""
    sizes = np.maximum(np.arange(len(values) + 1), 1)
    mean = np.append(0, np.cumsum(values)) / sizes
    return mean, np.maximum(np.append(0, np.cumsum(values**2)) / sizes - mean**2, 0)
