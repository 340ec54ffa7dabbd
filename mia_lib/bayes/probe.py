"""A query that looks for what tells members apart: the score of a classifier of members."""

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier

from mia_lib import checks


def membership_probe(features, member, fitted):
    """What a classifier of members, taught by some of the records, says of the others.

    Of many numbers that a model answers a projection or a grid of cells sees little. The score of a
    classifier is one number, and the optimal adversary that sees it is no stronger than the one
    that sees all of them.

    Parameters
    ----------
    features : array (n, d)
        What is known of each record, such as a model's outputs or its last hidden layer.
    member : bool array (n,)
    fitted : bool array (n,)
        The records that teach; drawn without regard to membership, and records that are not
        independent on one side together.

    Returns
    -------
    float64 array (n,)
        Estimated log-odds of membership, larger meaning more likely a member; NaN for the records
        that taught, which must not be judged.

    Raises
    ------
    ValueError
        Wrong shapes, NaN, only members or only non-members among those that teach, none left over.

    Notes
    -----
    Forty boosted trees of at most eight leaves, with nothing random in them. Used in
    notebooks/bayes.ipynb.

    Examples
    --------
    >>> features, member = np.arange(200.0)[:, None], np.arange(200) % 100 < 50
    >>> said = membership_probe(features, member, np.arange(200) % 2 == 0)
    >>> bool(((said[1::2] > 0) == member[1::2]).all()), bool(np.isnan(said[::2]).all())
    (True, True)
    """
    features = checks.real_array("features", features, 2)
    member = checks.boolean_array("member", member, shape=features.shape[:1])
    fitted = checks.boolean_array("fitted", fitted, shape=features.shape[:1])
    checks.both_groups("member", member[fitted])
    if fitted.all():
        checks.fail("fitted", "every record", "some records that are left to be judged")
    probe = HistGradientBoostingClassifier(
        max_iter=40, max_leaf_nodes=8, early_stopping=False, random_state=0
    )
    probe.fit(features[fitted], member[fitted])
    said = np.full(len(features), np.nan)
    said[~fitted] = probe.decision_function(features[~fitted])
    return said
