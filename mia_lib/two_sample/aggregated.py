"""Many attacks' features of a record made into one number, by a linear regression on records whose
membership is known.
"""

import numpy as np
from sklearn.linear_model import LinearRegression

from mia_lib import checks


def aggregate(known_features, known_member, features, *, clip=0.025):
    """One score per record from many features, the first step of dataset inference.

    Parameters
    ----------
    known_features : array (m, d)
        Features of records whose membership is known.
    known_member : bool array (m,)
        At least two members and two others. None of these records may be tested afterwards.
    features : array (n, d)
        Of the records to be scored.
    clip : float
        In [0, 0.5): each feature is cut at these quantiles of the known records, from below and
        from above.

    Returns
    -------
    float64 array (n,)
        The regression's prediction of membership, about 0 for others and 1 for members; larger
        speaks for a member. A test of it is HR-T (`t_test`), HR-MMD-G (`median_kernel_test`) or
        HR-MMD (`HrMmd`).

    Raises
    ------
    ValueError
        NaN, shapes that do not fit, too few known records of a group, features that do not vary
        among the known records.

    Notes
    -----
    Maini et al., NeurIPS 2024, arXiv:2406.06443, as HR-MMD App. I uses it: outliers cut, features
    standardised, membership regressed on them by least squares (of several solutions the one with
    the smallest weights). The score does not look at the membership of the records that it scores:
    a test of scored records keeps its level. Run in notebooks/language_model.ipynb.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> member = np.arange(400) < 200
    >>> features = rng.normal(size=(400, 3)) + np.outer(member, [2.0, 0.0, -2.0])
    >>> score = aggregate(features[::2], member[::2], features[1::2])
    >>> bool(score[member[1::2]].mean() > score[~member[1::2]].mean() + 0.5)
    True
    """
    known = checks.real_array("known_features", known_features, 2)
    member = checks.boolean_array("known_member", known_member, shape=(len(known),))
    features = checks.real_array("features", features, shape=(None, known.shape[1]))
    clip = checks.number("clip", clip, 0, high=0.5, open_high=True)
    if min(member.sum(), (~member).sum()) < 2:
        checks.fail(
            "known_member",
            f"{member.sum()} members and {(~member).sum()} others",
            "at least two of each",
        )
    low, high = np.quantile(known, [clip, 1 - clip], axis=0)
    known, features = np.clip(known, low, high), np.clip(features, low, high)
    spread = known.std(0)
    used = spread > 1e-12 * np.abs(known).max(0)  # less is rounding
    if not used.any():
        checks.fail("known_features", "features that do not vary", "at least one that does")
    center, spread = known[:, used].mean(0), spread[used]
    fitted = LinearRegression().fit((known[:, used] - center) / spread, member.astype(float))
    return fitted.predict((features[:, used] - center) / spread)
