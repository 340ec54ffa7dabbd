"""Tests that are fitted first, on records that they do not test.

Run in notebooks/two_sample_levels.ipynb.
"""

from mia_lib import checks


def on_halves(test, x, y, **options):
    """Fit a test on the first halves of both sets and carry it out on the second.

    Parameters
    ----------
    test : callable
        ``test(x_train, y_train, x, y, **options)``, such as `optimized_kernel_test`.
    x, y : array (n, ...)
        Sets of one size, at least two records each, in random order: what stands first is fitted
        on.
    **options : values
        Handed on, such as ``rng``.

    Returns
    -------
    TestResult
        Of the second halves; with an odd n they have the record more.

    Raises
    ------
    ValueError
        Sets of different size or without two records; what the test refuses.

    Notes
    -----
    A test that was fitted on the records that it tests loses its level. Run in
    notebooks/two_sample_levels.ipynb.

    Examples
    --------
    >>> on_halves(lambda x_train, y_train, x, y: (x_train, y_train, x, y), [1, 2, 3], [4, 5, 6])
    ([1], [4], [2, 3], [5, 6])
    """
    if len(x) != len(y) or len(x) < 2:
        checks.fail("x, y", f"{len(x)} and {len(y)} records", "two sets of one size of at least 2")
    half = len(x) // 2
    return test(x[:half], y[:half], x[half:], y[half:], **options)
