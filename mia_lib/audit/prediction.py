"""What an attack with shadow models would find, predicted from the losses of one model alone.

A prediction is no measurement: it says with its error what a line says that was fitted on other
models, and where nothing supports it, it says so.
"""

import numpy as np
from scipy import stats

from mia_lib import attacks

RATE = 0.01  # share of members whose losses are above the threshold, and the attack's FPR
MEASURED = "LiRA, online"  # where it runs, nothing needs to be predicted
N_SHADOW = 64  # shadow models of the attacker whom the prediction is about
MEMBERS = 100  # fewest members of whom one per cent is a member
# From the record of notebooks/without_shadows over 72 settings (small networks on four data sets);
# tests/audit/test_prediction.py computes them again. log TPR = LEVEL + SLOPE log(loss TNR); half of
# the predictions for a data set that the line had not seen miss by less than a factor of HALF, on
# the data set where this is worst, at the upper end of its interval.
SLOPE, LEVEL, HALF = 0.921, -0.0286, 1.59
SEEN = (0.0211, 1.0)  # loss TNRs of the settings
SETTINGS = 72


def loss_tnr(log_p, member):
    """The share of non-members whose loss is above all but 1 % of the members' losses.

    Parameters
    ----------
    log_p : array (n,)
        Log-probability of each record's label, minus its loss.
    member : bool array (n,)

    Returns
    -------
    (tnr, p) : float
        In [0, 1]; and the probability of a share as large or larger where the losses of members and
        non-members have one law, at most (exact where no two losses agree).

    Notes
    -----
    Of the members' losses the threshold is the one with j = floor(0.01 (n1 - 1)) larger ones. Among
    the j + k largest losses of all then are at most j members, which has a hypergeometric
    probability. Taught in book/without_shadows.ipynb.

    Examples
    --------
    >>> tnr, p = loss_tnr(-np.arange(400.0), np.arange(400) < 200)
    >>> tnr, p < 1e-50
    (1.0, True)
    """
    inside, outside = np.sort(log_p[member]), log_p[~member]
    larger = int(RATE * (inside.size - 1))
    above = int(np.count_nonzero(outside < inside[larger]))
    p = stats.hypergeom.cdf(larger, member.size, inside.size, above + larger)
    return above / outside.size, float(p)


def predicted(tnr):
    """LiRA's TPR at an FPR of 1 % from a loss TNR.

    Returns
    -------
    list of float
        The value, and the ends between which half of the predictions lie, in [0, 1].

    Examples
    --------
    >>> [round(share, 3) for share in predicted(0.05)]
    [0.062, 0.039, 0.098]
    """
    value = float(np.exp(LEVEL + SLOPE * np.log(tnr)))
    return [min(1.0, share) for share in (value, value / HALF, value * HALF)]


def without_shadows(view, member, rows, delta, lacks, levels):
    """What is predicted of an attack with shadow models, or why nothing is.

    Parameters
    ----------
    view : View
    member : bool array (n,)
    rows : int array
        Records that are no copies of each other.
    delta : float
        Below which chance is no explanation of the loss TNR.
    lacks : dict
        Name of an attack to what it lacks, or None.
    levels : bool
        Whether chance decided who is a member, and no blind classifier contradicts it.

    Returns
    -------
    dict
        "lacks" (None, or why nothing is predicted), "measured" (whether the reason is that shadow
        models were there), "tnr", "p", and "tpr" (value, low, high).

    Notes
    -----
    Taught in book/without_shadows.ipynb.
    """
    if lacks[MEASURED] is None:
        return {"lacks": f"{MEASURED}, was run, and what it finds is measured", "measured": True}
    found = {"lacks": None, "measured": False}
    if view.task != "classification":
        return found | {"lacks": "the model predicts a number, and the line is about classes"}
    if view.labels_alone:
        return found | {"lacks": "the model answers with labels alone, which have no loss"}
    if not levels:
        return found | {
            "lacks": "the losses of members and non-members may differ by the difference of the "
            "groups, because nothing shows that chance decided who is a member"
        }
    member = member[rows]
    if (count := int(member.sum())) < MEMBERS:
        return found | {
            "lacks": f"{count:,} members are too few, because the threshold passes 99 % of them, "
            f"which takes at least {MEMBERS}"
        }
    tnr, p = loss_tnr(attacks.loss(view.logits, view.labels)[rows], member)
    found |= {"tnr": tnr, "p": p}
    said = f"the loss TNR is {100 * tnr:.3g} %"
    if p > delta:
        return found | {
            "lacks": f"{said}, which is no more than chance explains where the losses of members "
            f"and non-members have one law (p = {p:.3f})"
        }
    if tnr < SEEN[0]:
        return found | {
            "lacks": f"{said}, and of the {SETTINGS} settings on which the line was fitted none "
            f"had one below {100 * SEEN[0]:.3g} %"
        }
    return found | {"tpr": predicted(tnr)}
