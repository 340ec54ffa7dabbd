"""Continuous queries: Gaussian kernel densities in d dimensions, their limits, and the advantage
U_N.

Taught in book/bayes.ipynb.
"""

import numpy as np
from scipy import special, stats

from mia_lib import checks, intervals
from mia_lib.bayes import kernel_sums, risk, samples
from mia_lib.intervals import Estimate

DRAWS = 65536  # at most, of an integral by sampling


class KernelDensity:
    """The Bayes-optimal adversary against a continuous query, smoothed by a Gaussian kernel.

    Parameters
    ----------
    member_signal : array_like (N1,) or (N1, d)
        The signal of members, N1 >= 2.
    nonmember_signal : array_like (N2,) or (N2, d)
        The signal of non-members, N2 >= 2. N1 : N2 may differ from p : 1 - p.
    prior : float
        p = Pr(member), in (0, 1).
    bandwidth : float or array_like (d,), optional
        h, in units of the signal, one for both groups; an array has one for each axis. None:
        Scott's factor (N1 + N2)^(-1 / (d + 4)) times the standard deviation (ddof 1) of both groups
        together, axis by axis.

    Attributes
    ----------
    bandwidth : float64 array (d,)
    n_member, n_nonmember : int
    prior : float

    Raises
    ------
    ValueError
        NaN, fewer than two examples in a group, different dimensions, a bandwidth that is not
        positive, a constant signal where the bandwidth is to be found, a prior outside (0, 1).

    Notes
    -----
    MACE v1 eq. 19, v2 eq. 11. In one dimension many queries (2^20 pairs with an example, or more)
    are answered from a grid (third-order binning, an FFT and its inverse, third-order
    interpolation) with a relative error below 1e-5 wherever the density exceeds 1e-6 of its peak;
    all others by exact summation, and all where a group spreads over more than about 65,000
    bandwidths. Taught in book/bayes.ipynb.

    Examples
    --------
    >>> query = KernelDensity([1.0, 2.0], [-1.0, -2.0], bandwidth=1.0)
    >>> query.risk([0.0, 100.0])
    array([ 0., nan])
    """

    def __init__(self, member_signal, nonmember_signal, prior=0.5, bandwidth=None):
        member, nonmember = samples.two_groups(member_signal, nonmember_signal)
        self.prior = checks.prior(prior)
        self.n_member, self.n_nonmember = len(member), len(nonmember)
        pooled = np.concatenate([member, nonmember])
        n, d = pooled.shape
        if bandwidth is None:
            spread = pooled.std(axis=0, ddof=1)
            constant = np.ptp(pooled, axis=0) == 0
            if constant.any() or not (spread > 0).all():
                where = "" if d == 1 else f" on axis {int(np.argmin(spread))}"
                checks.fail(
                    "member_signal, nonmember_signal",
                    f"a constant signal{where}",
                    "values that differ, or a bandwidth",
                )
            bandwidth = spread * n ** (-1 / (d + 4))
        bandwidth = checks.real_array("bandwidth", bandwidth, ndim=(0, 1))
        if bandwidth.shape not in ((), (1,), (d,)):
            checks.fail("bandwidth", f"shape {bandwidth.shape}", f"one number, or {d}")
        if (bandwidth <= 0).any():
            checks.fail("bandwidth", f"{bandwidth.min():g}", "a positive number")
        self.bandwidth = np.broadcast_to(bandwidth, (d,)).copy()
        # In units of the bandwidth, and sorted where there is an order to search.
        self._points = tuple(
            np.sort(g / self.bandwidth, axis=0) if d == 1 else g / self.bandwidth
            for g in (member, nonmember)
        )

    def likelihoods(self, signal, exact=False):
        """Both densities.

        Parameters
        ----------
        signal : array_like (m,) or (m, d)
        exact : bool
            True sums the kernels one by one wherever it is asked.

        Returns
        -------
        member, nonmember : float64 arrays (m,)
            p_hat and q_hat, per unit volume of the signal. 0 from about 38 bandwidths off every
            example, and where it is too small for float64; inf or NaN where it is too large.

        Raises
        ------
        ValueError
            NaN, infinite entries, the wrong dimension.

        Notes
        -----
        At an example of its own the sum contains that example: K(0) / (N h^d).

        Examples
        --------
        >>> member, nonmember = KernelDensity([1.0, 2.0], [-1.0, -2.0],
        ...     bandwidth=1.0).likelihoods([0.0])
        >>> f"{member[0]:.4f}", bool(member[0] == nonmember[0])
        ('0.1480', True)
        """
        return self._densities(*self._kernel_means(signal, exact))

    def likelihood_box(self, signal, delta=0.05):
        """Pointwise limits of both densities, each at delta / 2.

        Parameters
        ----------
        signal : array_like (m,) or (m, d)
        delta : float
            Half of it goes to each density.

        Returns
        -------
        member_low, member_high, nonmember_low, nonmember_high : float64 arrays (m,)
            p_hat -+ z_{1 - delta / 4} sqrt(mu_K p_hat / (N h^d)) with mu_K = (2 sqrt(pi))^-d, cut
            at 0.

        Notes
        -----
        MACE v1 Lemma 7, v2 Lemma 11 (z is the 1 - delta / 4 quantile, not the 1 - delta / 2 one
        that is printed). An asymptotic interval of the smoothed density E p_hat, without bias and
        boundary: of p itself it can cover nothing when h is large. It shrinks to a point where
        p_hat is 0. Taught in book/bayes.ipynb.

        Examples
        --------
        >>> low, high, _, _ = KernelDensity([1.0, 2.0], [-1.0, -2.0],
        ...     bandwidth=1.0).likelihood_box([0.0])
        >>> f"{low[0]:.3f} {high[0]:.3f}"
        '0.000 0.472'
        """
        z = special.ndtri(1 - checks.delta(delta) / 4)
        limits = []
        for mean, n in zip(self._kernel_means(signal), (self.n_member, self.n_nonmember)):
            # mu_K / h^d, in units of the kernel without its constant, is 2^(-d / 2).
            half = z * np.sqrt(2 ** (-self.bandwidth.size / 2) * mean / n)
            limits += [np.maximum(mean - half, 0), mean + half]
        return self._densities(*limits)

    def risk(self, signal):
        """f_p: the Bayes-optimal adversary's conviction that a signal is a member's.

        Parameters
        ----------
        signal : array_like (m,) or (m, d)

        Returns
        -------
        float64 array (m,)
            (p p_hat - (1 - p) q_hat) / (p p_hat + (1 - p) q_hat) in [-1, 1]; positive: more likely
            a member. NaN outside the support: where both densities are 0, about 38 bandwidths from
            every example.

        Raises
        ------
        ValueError
            NaN, infinite entries, the wrong dimension.

        Notes
        -----
        MACE v1 eq. 10, v2 eq. 8. In the tails the nearest example decides: look at `risk_interval`.
        Taught in book/bayes.ipynb.

        Examples
        --------
        >>> KernelDensity([0.0, 1.0], [0.0, 1.0], prior=0.25, bandwidth=0.5).risk([0.3])
        array([-0.5])
        """
        return risk.risk(*self._kernel_means(signal), self.prior)

    def risk_interval(self, signal, delta=0.05):
        """Pointwise interval of f_p of the smoothed query.

        Parameters
        ----------
        signal : array_like (m,) or (m, d)
        delta : float
            Nominal probability that the interval of one given signal misses.

        Returns
        -------
        low, high : float64 arrays (m,)
            (-1, 1) where the risk is NaN, and where a density itself leaves the range of float64,
            as in hundreds of dimensions.

        Raises
        ------
        ValueError
            NaN, infinite entries, the wrong dimension, delta outside (0, 1).

        Notes
        -----
        MACE v1 Lemma 8, v2 Lemma 6, from `likelihood_box`, whose lower limits are cut at 0: the
        lemma's proof needs them positive. It ignores bias and boundary. Taught in book/bayes.ipynb.

        Examples
        --------
        >>> KernelDensity([1.0, 2.0], [-1.0, -2.0], bandwidth=1.0).risk_interval([100.0])
        (array([-1.]), array([1.]))
        """
        with np.errstate(invalid="ignore"):
            return risk.risk_bounds(*self.likelihood_box(signal, delta), self.prior)

    def advantage(self, delta=0.05, rng=None):
        """U_N, and limits of the smoothed query's optimal advantage.

        Parameters
        ----------
        delta : float
            Probability, at most, that the limits miss.
        rng : numpy.random.Generator, optional
            For the Monte Carlo integral of d > 1; None means fresh entropy. One dimension uses a
            grid and no chance, unless the signals spread over more than about 262,000 bandwidths.

        Returns
        -------
        Estimate
            U_N = integral of abs(p p_hat - (1 - p) q_hat), in [abs(2 p - 1), 1], and limits cut to
            that range.

        Raises
        ------
        ValueError
            delta outside (0, 1); so many dimensions that the density underflows, from about 1,300.

        Notes
        -----
        MACE v2 Theorem 3. The target is the smoothed query: the optimal advantage against an
        adversary that is shown the signal plus Gaussian noise of spread h. An adversary that sees
        the signal itself has at least as much, so the lower limit holds for it too and the upper
        one does not. (With the training set fixed, members have n possible values of a continuous
        signal and non-members have others: its own advantage is 1.)

        Upper limit: U_N + t, t as for W_N: U_N is biased upwards (Jensen) and one example moves it
        by at most 2 p / N1 or 2 (1 - p) / N2 (McDiarmid). Lower limit: U_N - t' - b, t' at delta /
        4, with a bound b on the bias E U_N - Adv, which is at most the integral of min(sqrt(s), 2
        m), s being the variance of p p_hat - (1 - p) q_hat and m the smoothed mixture density. For
        any box A this is at most sqrt(abs(A) v / prod(2 sqrt(pi) h)) (Cauchy-Schwarz, v = p^2 / N1
        + (1 - p)^2 / N2) plus twice the mass outside A. A is the box of all examples and 4
        bandwidths, and the mass outside it is bounded by order statistics, at delta / 4 (the mass
        outside an axis' smallest and largest of N is at most Beta(2, N - 1)). So abs(A) / prod(2
        sqrt(pi) h) plays the part of the number of bins. No assumption on the densities is needed.
        The Monte Carlo integral widens both ends by Hoeffding's bound at delta / 10, taken out of
        delta. Taught in book/bayes.ipynb.

        Examples
        --------
        >>> rng = np.random.default_rng(0)
        >>> print(KernelDensity(rng.normal(size=5000) + 1, rng.normal(size=5000),
        ...     bandwidth=0.5).advantage())
        0.332 [0.273, 0.359]
        """
        delta = checks.delta(delta)
        rng = checks.generator(rng)
        p, n1, n2 = self.prior, self.n_member, self.n_nonmember
        least = risk.trivial_advantage(p)
        value = self._integrate_on_grid() if self.bandwidth.size == 1 else None
        slack = 0.0
        if value is None:
            value, slack = self._integrate_by_sampling(delta / 10, rng)
            delta *= 0.9
        value = min(max(value, least), 1.0)
        bias = self._bias_bound(delta / 4)
        low = value - intervals.mcdiarmid(n1, n2, p, delta=delta / 2) - bias - slack
        high = value + intervals.mcdiarmid(n1, n2, p, delta=delta) + slack
        return Estimate(value, max(low, least), min(high, 1.0))

    def _densities(self, *means):
        """From means of exp(-u^2 / 2) to densities, which in many dimensions may be no float64."""
        with np.errstate(over="ignore", invalid="ignore"):
            scale = float(np.prod(1 / (np.sqrt(2 * np.pi) * self.bandwidth)))
            return tuple(mean * scale for mean in means)

    def _kernel_means(self, signal, exact=False):
        """Mean of exp(-u^2 / 2) over each group's examples, (m,) each."""
        at = samples.queries(signal, self.bandwidth.size) / self.bandwidth
        if self.bandwidth.size > 1:
            return tuple(kernel_sums.mean_by_pairs(points, at) for points in self._points)
        return tuple(
            kernel_sums.mean_on_line(points[:, 0], at[:, 0], exact) for points in self._points
        )

    def _integrate_on_grid(self):
        """U_N in one dimension by the trapezoidal rule, None where the grid would be too large."""
        low = min(points[0, 0] for points in self._points)
        high = max(points[-1, 0] for points in self._points)
        # The integrand has kinks, so the error is of second order: 16 points a bandwidth leave less
        # than 1e-4.
        grids = [kernel_sums.grid_means(points[:, 0], low, high, 16) for points in self._points]
        if grids[0] is None:
            return None
        (_, _, member), (_, step, nonmember) = grids
        gap = self.prior * member - (1 - self.prior) * nonmember
        return float(np.abs(gap).sum() * step / np.sqrt(2 * np.pi))

    def _integrate_by_sampling(self, delta, rng):
        """U_N = E abs(f) under the smoothed mixture, half the draws from each group; its Hoeffding
        half-width.
        """
        d, p = self.bandwidth.size, self.prior
        draws = int(np.clip(2e8 / (self.n_member + self.n_nonmember), 4096, DRAWS)) // 2
        value, variance = 0.0, 0.0
        for points, weight in zip(self._points, (p, 1 - p)):
            at = points[rng.integers(len(points), size=draws)] + rng.standard_normal((draws, d))
            value += weight * np.abs(self.risk(at * self.bandwidth)).mean()
            variance += weight**2 / draws
        if np.isnan(value):
            given = f"{d} dimensions, in which the density underflows"
            checks.fail("member_signal, nonmember_signal", given, "fewer dimensions")
        return float(value), float(np.sqrt(np.log(2 / delta) * variance / 2))

    def _bias_bound(self, delta):
        """A bound on E U_N - Adv that holds with probability 1 - delta; the derivation is in
        `advantage`.
        """
        d, reach = self.bandwidth.size, 4.0
        p = self.prior
        groups = ((self._points[0], p), (self._points[1], 1 - p))
        low = np.minimum(*(points.min(axis=0) for points, _ in groups))
        high = np.maximum(*(points.max(axis=0) for points, _ in groups))
        with np.errstate(over="ignore"):
            effective_cells = float(np.prod((high - low + 2 * reach) / (2 * np.sqrt(np.pi))))
        v = sum(weight**2 / len(points) for points, weight in groups)
        outside = 0.0
        for points, weight in groups:
            tail = stats.beta.isf(delta / (2 * d), 2, len(points) - 1) + 2 * special.ndtr(-reach)
            outside += weight * min(d * tail, 1.0)
        return min(float(np.sqrt(effective_cells * v) + 2 * outside), 1.0)
