"""The attacks that an audit runs: which of the catalogue, in which order, and what they are given.

To have the audit run another attack, add its entry to `mia_lib.attacks.CATALOGUE` and its name to
`ORDER`.
"""

import numpy as np
from scipy import special

from mia_lib import attacks, extras, signals
from mia_lib.audit import regression

# From the strongest to the weakest by what is known of them: the first that the observations permit
# is the one that slices, exposed records and the bound of epsilon are read from. That choice is
# made before any score is seen. BASE is left out: within one target it has RMIA's order.
ORDER = (
    "LiRA, online",
    "LiRA, online, Bayesian",
    "RMIA, online",
    "Midpoint",
    "LiRA, offline",
    "LiRA, offline, Bayesian",
    "RMIA, offline",
    "Calibrated confidence",
    "Reference quantile",
    "Modified entropy, class thresholds",
    "Learned network",
    "LOSS",
    "Modified entropy",
    "Entropy",
    "Hinge",
    "Correctness",
)
METHODS = tuple(attacks.named(name) for name in ORDER)
BY_TORCH = ("Learned network",)
# Attacks that read all queries; the others read the record itself alone.
ALL_QUERIES = tuple(name for name in ORDER if name.startswith("LiRA"))
TEACHERS = 8  # shadow models whose answers are pooled to fit thresholds and networks
NO_SHADOW = "shadow models"
SAME = "shadow models on the same records"
# What attacks on the same records read, from the logit-scaled confidence that the view keeps: log
# p_y is its log expit.
OF_PHI = {signals.logit_confidence: np.asarray, attacks.loss: special.log_expit}


def _share_right(right, shadow=None, shadow_member=None):
    """The share of a record's copies that are answered with the right class."""
    return np.asarray(right, dtype=np.float64).mean(axis=-1)


# Of models that answer with labels alone; no entry of the catalogue, whose attacks all run on the
# signals of one store.
COPIES = attacks.Attack(
    name="Copies answered right",
    authors="Choquette-Choo et al.",
    year=2021,
    equation="share of copies of a record that get the right label (ICML 2021, section 3)",
    needs=("class", "label", "queries"),
    signal=attacks.correctness,
    options={},
    one_target=_share_right,
    every_target=_share_right,
    chapter="audit_sklearn",
)


def of(view):
    """The attacks that are run on a view, or named with what they lack; strongest first."""
    if not (view.labels_alone and view.n_queries > 1):
        return METHODS
    place = ORDER.index("LOSS")
    return (*METHODS[:place], COPIES, *METHODS[place:])


def lacks(attack, view):
    """What a view does not have for an attack, in words; None where it has everything."""
    if view.task == "regression" and attack.name in regression.OF_CLASSES:
        return "classes: the model predicts a number"
    if view.labels_alone and not {"class", "OUT"} & set(attack.needs):
        return "answers beyond the label"
    if attack.name in BY_TORCH and not extras.has("torch"):
        return "torch: pip install 'mia_lib[train]'"
    sides = [side for side, name in enumerate(("IN", "OUT")) if name in attack.needs]
    if sides:
        return _few(view, sides)
    if "shadow" not in attack.needs:
        return None
    if view.n_shadow == 0:
        return NO_SHADOW
    if "classes" not in attack.needs:
        return None
    missing = sorted(set(view.labels.tolist()) - set(view.shadow_labels.tolist()))
    return f"shadow models' records of class {missing[0]}" if missing else None


def _few(view, sides):
    if not view.same_records:
        return SAME
    short = [("IN", "OUT")[side] for side in sides if view.counts[side] < 2]
    if not short:
        return None
    inside = np.count_nonzero(view.shadow_member, axis=0)
    fewest = np.minimum.reduce([(inside, view.n_shadow - inside)[side] for side in sides])
    return (
        f"two {' and two '.join(short)} shadow models for every record, "
        f"{(fewest < 2).sum():,} have fewer"
    )


def score(attack, view, rng):
    """Scores (n,) of an attack that lacks nothing, larger meaning more likely a member."""
    more = attack.takes(labels=view.labels, shadow_labels=view.shadow_labels, rng=rng)
    return attack.one_target(*_read(attack, view), **attack.options, **more)


def _read(attack, view):
    """Target, shadow models and their masks, as the attack reads them."""
    if attack is COPIES:
        return (view.right,)
    if attack.name in ALL_QUERIES:
        return view.all_phi, view.shadow_all_phi, view.shadow_member
    if "OUT" in attack.needs:
        of_phi = OF_PHI[attack.signal]
        return of_phi(view.phi), of_phi(view.shadow_phi), view.shadow_member
    target = attack.signal(view.logits, view.labels)
    if "shadow" not in attack.needs:
        return (target,)
    logits, member, labels = view.shadow_outputs(TEACHERS)
    return target, attack.signal(logits, labels), member
