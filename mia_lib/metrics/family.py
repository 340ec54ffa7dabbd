"""The generalized metric family: ratios of linear functions of the four confusion fractions, and
their thresholds.

Taught in book/generalized_metrics.ipynb.
"""

from dataclasses import dataclass, field, fields

import numpy as np

from mia_lib import checks

# how far four fractions may sum from 1: rounding passes, counts in place of fractions do not
SUM_TOLERANCE = 1e-6


@dataclass(frozen=True)
class Metric:
    """l = (a0 + a11 TP + a10 FP + a01 FN + a00 TN) / (b0 + b11 TP + b10 FP + b01 FN + b00 TN).

    Parameters
    ----------
    a0, a11, a10, a01, a00 : float
        The numerator: a constant and the weights of TP, FP, FN, TN. The first index is the guess,
        the second the truth.
    b0, b11, b10, b01, b00 : float
        The same for the denominator.
    prior : float, optional
        Pr(member) of the only populations that the coefficients are made for, in (0, 1); None: of
        all. Functions that are told a population's prior refuse another one.

    Raises
    ------
    ValueError
        A coefficient that is not a finite number, or a denominator without any coefficient but 0, a
        prior outside (0, 1).

    Notes
    -----
    MACE v1 eq. 12, v2 eq. 4. Larger is better for the adversary. Taught in
    book/generalized_metrics.ipynb.

    Examples
    --------
    >>> recall = Metric(0, 1, 0, 0, 0, 0, 1, 0, 1, 0)
    >>> recall == tpr(), recall.threshold()
    (True, 0.0)
    """

    a0: float
    a11: float
    a10: float
    a01: float
    a00: float
    b0: float
    b11: float
    b10: float
    b01: float
    b00: float
    prior: float | None = field(default=None, kw_only=True, compare=False, repr=False)

    def __post_init__(self):
        for one in fields(self)[:10]:
            object.__setattr__(self, one.name, checks.number(one.name, getattr(self, one.name)))
        if self.prior is not None:
            object.__setattr__(self, "prior", checks.prior(self.prior))
        if not any((self.b0, self.b11, self.b10, self.b01, self.b00)):
            checks.fail("b0, b11, b10, b01, b00", "only zeros", "a denominator")

    def value(self, tp, fp, fn, tn):
        """The metric of confusion fractions.

        Parameters
        ----------
        tp, fp, fn, tn : array_like
            Fractions of the population, any shapes that broadcast, summing to 1: tp + fn = p, the
            prior, or the same of one example, where tp + fn is its posterior.

        Returns
        -------
        float64 array
            The broadcast shape. NaN where the denominator is 0, as for PPV when nobody is called a
            member.

        Raises
        ------
        ValueError
            Negative fractions, or fractions that do not sum to 1 (counts, for example).

        Examples
        --------
        >>> print(f"{accuracy().value(0.4, 0.1, 0.1, 0.4):.2f}", ppv().value(0.0, 0.0, 0.5, 0.5))
        0.80 nan
        """
        names = ("tp", "fp", "fn", "tn")
        parts = [
            checks.real_array(name, value, empty=True)
            for name, value in zip(names, (tp, fp, fn, tn))
        ]
        try:
            tp, fp, fn, tn = np.broadcast_arrays(*parts)
        except ValueError:
            checks.fail(
                "tp, fp, fn, tn",
                f"shapes {', '.join(str(part.shape) for part in parts)}",
                "shapes that fit",
            )
        for name, part in zip(names, (tp, fp, fn, tn)):
            if (part < -SUM_TOLERANCE).any():
                checks.fail(name, f"{part.min():g}", "fractions of at least 0")
        total = tp + fp + fn + tn
        if (np.abs(total - 1) > SUM_TOLERANCE).any():
            worst = total.flat[np.abs(total - 1).argmax()]
            checks.fail(
                "tp, fp, fn, tn", f"a sum of {worst:g}", "fractions of the population that sum to 1"
            )
        top = self.a0 + self.a11 * tp + self.a10 * fp + self.a01 * fn + self.a00 * tn
        bottom = self.b0 + self.b11 * tp + self.b10 * fp + self.b01 * fn + self.b00 * tn
        return np.divide(top, bottom, out=np.full(top.shape, np.nan), where=bottom != 0)[()]

    def gains(self, value):
        """What calling a member "member", and a non-member "non-member", adds to numerator - value
        x denominator.

        Parameters
        ----------
        value : float
            A candidate l for the metric.

        Returns
        -------
        member, nonmember : float
            alpha = a11 - a01 - l (b11 - b01) and beta = a00 - a10 - l (b00 - b10).

        Notes
        -----
        numerator - l denominator is linear in the four fractions, and is largest where exactly
        those signals are called members whose posterior eta has eta alpha >= (1 - eta) beta.

        Examples
        --------
        >>> accuracy().gains(0.7)
        (1.0, 1.0)
        """
        member = self.a11 - self.a01 - value * (self.b11 - self.b01)
        nonmember = self.a00 - self.a10 - value * (self.b00 - self.b10)
        return member, nonmember

    def threshold(self):
        """The posterior from which the optimal adversary says "member", in closed form.

        Returns
        -------
        float or None
            t = (a00 - a10) / (a11 - a10 - a01 + a00): member iff eta >= t. Values of at most 0 mean
            always, above 1 never. None where the closed form does not hold.

        Notes
        -----
        MACE Theorem 1 asks for b11 = b01 and b10 = b00, so that the denominator depends on the
        prior alone. It also needs that denominator to be positive (here: for every prior) and a11 -
        a10 - a01 + a00 > 0, otherwise it is small posteriors that gain; and the inequality printed
        in its proof has to be turned around, because a metric is to be maximised. PPV and WA do not
        meet the condition. Taught in book/generalized_metrics.ipynb.

        Examples
        --------
        >>> accuracy().threshold(), am(0.1).threshold(), ppv().threshold()
        (0.5, 0.1, None)
        """
        if self.b11 != self.b01 or self.b10 != self.b00:
            return None
        ends = (self.b0 + self.b11, self.b0 + self.b00)
        if min(ends) < 0 or max(ends) <= 0:
            return None
        return self.threshold_at(0.0)

    def threshold_at(self, value):
        """The threshold that is optimal if `value` is the optimum: the fixed point that replaces
        Theorem 1.

        Parameters
        ----------
        value : float
            l*, the metric of the best adversary.

        Returns
        -------
        float or None
            t* = beta / (alpha + beta) with `gains` at l*. None where alpha + beta <= 0: no rule
            "eta >= t" follows.

        Notes
        -----
        Holds for every metric whose denominator is positive. l* and t* determine each other: l* is
        the value reached at t*. WA with w1 = w2 and w3 = w4 has t* = 1/2 whatever l* is,
        since WA = 2 A / (1 + A) increases with accuracy A; PPV has t* = l* = sup eta, which no
        adversary attains. Taught in book/generalized_metrics.ipynb.

        Examples
        --------
        >>> weighted_accuracy(2, 2, 1, 1).threshold_at(0.8), ppv().threshold_at(0.7)
        (0.5, 0.7)
        """
        member, nonmember = self.gains(checks.number("value", value))
        return nonmember / (member + nonmember) if member + nonmember > 0 else None


def accuracy():
    """ACC = (TP + TN) / (TP + FP + FN + TN); threshold 1/2.

    Returns
    -------
    Metric

    Notes
    -----
    MACE v1 eq. 13. The membership advantage is 2 ACC - 1. Taught in book/generalized_metrics.ipynb.

    Examples
    --------
    >>> accuracy().threshold()
    0.5
    """
    return Metric(0, 1, 0, 0, 1, 0, 1, 1, 1, 1)


def advantage():
    """The membership advantage 2 ACC - 1, from -1 to 1: 0 for guessing at equal priors.

    Returns
    -------
    Metric

    Notes
    -----
    MACE v1 Definition 1. `bayes.sign_split_advantage` and `bayes.held_out_advantages` estimate it.
    Its threshold is that of accuracy, for which see book/generalized_metrics.ipynb.

    Examples
    --------
    >>> advantage().value(0.4, 0.1, 0.1, 0.4).round(2)
    np.float64(0.6)
    """
    return Metric(0, 1, -1, -1, 1, 0, 1, 1, 1, 1)


def ppv():
    """Positive predictive value, or precision: TP / (TP + FP); no closed-form threshold and no
    maximiser.

    Returns
    -------
    Metric

    Notes
    -----
    MACE v1 eq. 14. The supremum is that of eta, approached by an adversary that calls ever fewer
    signals members. Taught in book/generalized_metrics.ipynb.

    Examples
    --------
    >>> print(f"{ppv().value(0.3, 0.1, 0.2, 0.4):.2f}")
    0.75
    """
    return Metric(0, 1, 0, 0, 0, 0, 1, 1, 0, 0)


def tpr():
    """True positive rate, or recall: TP / (TP + FN); threshold 0, everybody is a member.

    Returns
    -------
    Metric

    Notes
    -----
    MACE v1 eq. 15. Taught in book/generalized_metrics.ipynb.

    Examples
    --------
    >>> tpr().threshold()
    0.0
    """
    return Metric(0, 1, 0, 0, 0, 0, 1, 0, 1, 0)


def tnr():
    """True negative rate: TN / (FP + TN); threshold 1, nobody is a member unless it is certain.

    Returns
    -------
    Metric

    Notes
    -----
    MACE v1 eq. 16. Taught in book/generalized_metrics.ipynb.

    Examples
    --------
    >>> tnr().threshold()
    1.0
    """
    return Metric(0, 0, 0, 0, 1, 0, 0, 1, 0, 1)


def am(prior):
    """AM = (TPR + TNR) / 2, the arithmetic mean of both rates; threshold p.

    Parameters
    ----------
    prior : float
        p = Pr(member), in (0, 1): TPR = TP / p and TNR = TN / (1 - p).

    Returns
    -------
    Metric

    Raises
    ------
    ValueError
        A prior outside (0, 1).

    Notes
    -----
    MACE v1 section 4.3 (Menon et al. 2013). Its maximum (1 + TV) / 2 does not depend on p. The
    coefficients hold p: of a population with another prior, or of a single example, `Metric.value`
    is no mean of two rates and reaches 0.5 / min(p, 1 - p). Functions that are told the
    population's prior refuse another one. Taught in book/generalized_metrics.ipynb.

    Examples
    --------
    >>> am(0.25).threshold()
    0.25
    """
    p = checks.prior(prior)
    return Metric(0, 0.5 / p, 0, 0, 0.5 / (1 - p), 1, 0, 0, 0, 0, prior=p)


def weighted_accuracy(w1, w2, w3, w4):
    """WA = (w1 TP + w2 TN) / (w1 TP + w2 TN + w3 FP + w4 FN).

    Parameters
    ----------
    w1, w2, w3, w4 : float
        Weights, at least 0, of TP, TN, FP and FN. At least one of w1, w2 and one of w3, w4 is
        positive.

    Returns
    -------
    Metric

    Raises
    ------
    ValueError
        A negative weight, or a metric that is constant because one pair is 0.

    Notes
    -----
    MACE v1 eq. 17. Theorem 1 does not apply (b11 = w1, b01 = w4); `Metric.threshold_at` does.
    Taught in book/generalized_metrics.ipynb.

    Examples
    --------
    >>> weighted_accuracy(2, 2, 1, 1).threshold() is None
    True
    """
    weights = [
        checks.number(name, value, 0)
        for name, value in zip(("w1", "w2", "w3", "w4"), (w1, w2, w3, w4))
    ]
    if not any(weights[:2]) or not any(weights[2:]):
        checks.fail(
            "w1, w2, w3, w4",
            str(tuple(weights)),
            "a positive weight in each of (w1, w2) and (w3, w4)",
        )
    w1, w2, w3, w4 = weights
    return Metric(0, w1, 0, 0, w2, 0, w1, w3, w4, w2)
