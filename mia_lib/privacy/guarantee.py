"""What a mechanism guarantees about one record, against every attack: the whole curve and not one
pair of epsilon and delta.
"""

from dataclasses import dataclass

import numpy as np
from scipy import special

from mia_lib import checks


@dataclass(frozen=True)
class Guarantee:
    """What any attack on one record is held to; made by `subsampled_gaussian`, `gaussian` and
    `approximate`.

    Notes
    -----
    P is the law of everything that the attacker sees where the training used the record, Q where
    it did not. For a weight t >= 0 let H(t) = max over events E of P(E) - t Q(E). With t =
    e^epsilon this is delta(epsilon) from the one direction, and exchanging P and Q gives it from
    the other; a training is (epsilon, delta)-private where both are at most delta.

    A test that says "trained on it" on E has TPR = P(E) and FPR = Q(E), so TPR <= t FPR + H(t) for
    every t: each line is a tangent of the best ROC curve from above. By the Neyman-Pearson lemma
    that curve is concave, and a concave curve is the lower envelope of its tangents, so the largest
    TPR at an FPR is the minimum over t of t FPR + H(t): the curve is the concave conjugate of H.
    Only H of "with" against "without" enters. A minimum over some t alone, or an H that was rounded
    upwards, gives a larger value, which holds as well.

    With Pr(trained on it) = p, the largest 2 Pr(correct) - 1 is 1 - 2 p + 2 p H((1 - p) / p), which
    is one tangent; for p > 1/2 it is 2 p - 1 + 2 (1 - p) times the other direction's H at p / (1 -
    p), the same number with t >= 1.

    All of this is in expectation over the training's randomness; a single model may lie above.
    Dong, Roth and Su 2022; Wasserman and Zhou 2010. Taught in book/attacking_dp.ipynb.
    """

    def delta(self, epsilon):
        """The smallest delta at which the mechanism is (epsilon, delta)-private.

        Parameters
        ----------
        epsilon : array_like
            At least 0, any shape.

        Returns
        -------
        float64 array
            In [0, 1], the larger of the two directions, rounded upwards.

        Raises
        ------
        ValueError
            Negative epsilon, NaN.

        Examples
        --------
        >>> from mia_lib.privacy import gaussian
        >>> print(f"{gaussian(1.0).delta(0.0):.3f}")
        0.383
        """
        epsilon = checks.real_array("epsilon", epsilon, finite=False)
        if (epsilon < 0).any():
            checks.fail("epsilon", f"{epsilon.min():g}", "at least 0")
        both = [self._divergence(epsilon, with_record) for with_record in (True, False)]
        return np.clip(np.maximum(*both), 0.0, 1.0)[()]

    def epsilon(self, delta):
        """The smallest epsilon at which the mechanism is (epsilon, delta)-private.

        Parameters
        ----------
        delta : array_like
            In [0, 1], any shape.

        Returns
        -------
        float64 array
            At least 0, the larger of the two directions, rounded upwards; inf where no epsilon is
            enough.

        Raises
        ------
        ValueError
            A delta outside [0, 1], NaN.

        Examples
        --------
        >>> from mia_lib.privacy import gaussian
        >>> print(f"{gaussian(1.0).epsilon(1e-5):.2f}")
        4.38
        """
        return self._epsilon(_rates("delta", delta))[()]

    def tpr_at(self, fpr):
        """The largest true-positive rate of any test of "trained on the record" against "not".

        Parameters
        ----------
        fpr : array_like
            False-positive rates in [0, 1], any shape.

        Returns
        -------
        float64 array
            In [0, 1], at least `fpr`, rounded upwards; from that direction alone.

        Raises
        ------
        ValueError
            A rate outside [0, 1], NaN.

        Examples
        --------
        >>> from mia_lib.privacy import approximate, gaussian
        >>> print(f"{gaussian(1.0).tpr_at(0.001):.4f} {approximate(1.0, 1e-5).tpr_at(0.001):.4f}")
        0.0183 0.0027
        """
        fpr = _rates("fpr", fpr)
        return np.clip(self._tpr(fpr), fpr, 1.0)[()]

    def advantage(self, prior=0.5):
        """The largest membership advantage of any attack, 2 Pr(correct) - 1.

        Parameters
        ----------
        prior : array_like
            Pr(trained on the record), in (0, 1), any shape.

        Returns
        -------
        float64 array
            At least abs(1 - 2 prior), which guessing the likelier answer reaches; at most 1.

        Raises
        ------
        ValueError
            A prior outside (0, 1), NaN.

        Examples
        --------
        >>> from mia_lib.privacy import approximate, gaussian
        >>> print(f"{gaussian(1.0).advantage():.3f} {approximate(1.0, 0.0).advantage(0.1):.3f}")
        0.383 0.800
        """
        prior = checks.real_array("prior", prior)
        if (prior <= 0).any() or (prior >= 1).any():
            wrong = prior[(prior <= 0) | (prior >= 1)].flat[0]
            checks.fail("prior", f"{wrong:g}", "numbers in (0, 1)")
        rare, log_odds = np.minimum(prior, 1 - prior), abs(special.logit(prior))
        gain = np.where(
            prior <= 0.5, self._divergence(log_odds, True), self._divergence(log_odds, False)
        )
        return np.clip(1 - 2 * rare + 2 * rare * np.clip(gain, 0.0, 1.0), 0.0, 1.0)[()]

    def group(self, k):
        """The guarantee for k records that are added or left out together.

        Parameters
        ----------
        k : int
            At least 1.

        Returns
        -------
        Guarantee
            How it follows from that of one record stands with the function that made this one.

        Raises
        ------
        ValueError
            For k below 1.

        Examples
        --------
        >>> from mia_lib.privacy import gaussian
        >>> print(f"{gaussian(0.247).group(10).tpr_at(0.05):.2f}")
        0.80
        """
        return self._group(checks.integer("k", k, 1))


def _rates(name, value):
    value = checks.real_array(name, value)
    if (value < 0).any() or (value > 1).any():
        wrong = value[(value < 0) | (value > 1)].flat[0]
        checks.fail(name, f"{wrong:g}", "numbers in [0, 1]")
    return value
