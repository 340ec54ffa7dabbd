"""Means of Gaussian kernels over many points: all pairs, neighbours alone, or a grid and its FFT.

Points and places are in bandwidths. `bayes.kernel_density` divides by the bandwidth and scales the
means to densities.
"""

import numpy as np
from scipy import fft, spatial

# largest grid of the fast path, in points: 32 MB for each of a handful of arrays
GRID_LIMIT = 1 << 22
PAIRS = 1 << 21  # pairs of query and point that exact summation holds at a time
FAST_FROM = 1 << 20  # number of such pairs from which the grid pays
# in bandwidths: a Gaussian is 2e-22 of its peak there, below what float64 adds to a sum of its
# peaks
REACH = 10.0
# interpolation error about 20 / 64^4 = 1e-6 where the density is 1e-6 of its peak
POINTS_PER_BANDWIDTH = 64


def mean_by_pairs(points, at):
    """Mean of exp(-u^2 / 2) by summing over all pairs, in blocks; points (n, d), at (m, d), in
    bandwidths.
    """
    means = np.empty(len(at))
    block = max(1, PAIRS // len(points))
    for start in range(0, len(at), block):
        pairs = spatial.distance.cdist(at[start : start + block], points, "sqeuclidean")
        pairs *= -0.5
        means[start : start + block] = np.exp(pairs, out=pairs).mean(axis=1)
    return means


def mean_on_line(points, at, exact=False):
    """Mean of exp(-u^2 / 2) in one dimension; points sorted, in bandwidths."""
    if exact or points.size * at.size < FAST_FROM:
        return mean_of_neighbours(points, at)
    grid = grid_means(points, points[0], points[-1], POINTS_PER_BANDWIDTH)
    if grid is None:
        return mean_of_neighbours(points, at)
    origin, step, values = grid
    means = np.zeros(at.size)
    place = (at - origin) / step
    inside = (place >= 1) & (place <= values.size - 3)
    base, weights = _third_order(np.where(inside, place, 1.0))
    for offset, weight in enumerate(weights):
        means += weight * values[base + offset]
    # Twice the promised 1e-6, so that the grid's own error cannot move a query to the wrong side.
    rest = ~inside | (means <= 2e-6 * values.max())
    means[rest] = mean_of_neighbours(points, at[rest])
    return means


def mean_of_neighbours(points, at):
    """Exact in float64: sums the points that are near enough to matter beside the nearest one."""
    place = np.searchsorted(points, at)
    nearest = np.minimum(
        np.abs(at - points[np.maximum(place - 1, 0)]),
        np.abs(at - points[np.minimum(place, points.size - 1)]),
    )
    # All points beyond this radius add less than 2^-54 of what the nearest adds.
    radius = np.sqrt(nearest**2 + 2 * (54 * np.log(2) + np.log(points.size))) * (1 + 1e-12)
    first = np.searchsorted(points, at - radius)
    count = np.searchsorted(points, at + radius, side="right") - first
    means = np.empty(at.size)
    ends = np.cumsum(count)
    start = 0
    while start < at.size:
        done = ends[start - 1] if start else 0
        stop = max(start + 1, int(np.searchsorted(ends, done + PAIRS, side="right")))
        length = count[start:stop]
        offsets = np.cumsum(length) - length
        pick = np.arange(length.sum()) + np.repeat(first[start:stop] - offsets, length)
        pairs = np.repeat(at[start:stop], length) - points[pick]
        means[start:stop] = np.add.reduceat(np.exp(-0.5 * pairs**2), offsets) / points.size
        start = stop
    return means


def _third_order(place):
    """Lagrange weights on the four grid points around each place, and the first of the four."""
    base = np.floor(place).astype(np.int64)
    t = place - base
    weights = (
        -t * (t - 1) * (t - 2) / 6,
        (t + 1) * (t - 1) * (t - 2) / 2,
        -(t + 1) * t * (t - 2) / 2,
        (t + 1) * t * (t - 1) / 6,
    )
    return base - 1, weights


def grid_means(points, low, high, per_bandwidth):
    """Mean of exp(-u^2 / 2) on a grid from REACH below `low` to REACH above `high`: (origin, step,
    values), or None.
    """
    step = 1 / per_bandwidth
    origin = low - REACH
    wanted = (high - low + 2 * REACH) * per_bandwidth + 4
    if not wanted <= GRID_LIMIT:
        return None
    size = fft.next_fast_len(int(np.ceil(wanted)), real=True)
    base, weights = _third_order((points - origin) / step)
    counts = np.zeros(size)
    for offset, weight in enumerate(weights):
        counts += np.bincount(base + offset, weight, size)
    frequency = 2 * np.pi * fft.rfftfreq(size, step)
    transform = (
        fft.rfft(counts) * np.exp(-0.5 * frequency**2) * (np.sqrt(2 * np.pi) / (step * points.size))
    )
    return origin, step, fft.irfft(transform, size)
