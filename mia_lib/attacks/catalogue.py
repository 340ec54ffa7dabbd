"""Every attack on single records of a classifier that this book has, one entry each.

The experiment notebooks, the audit, *Which attack should I trust?* and the table of the reference
pages read this list, and the tests go through it. An attack's settings stand in its entry and
nowhere else.

The modules that an entry names lie below this one, and none of them imports it: `mia_lib.lira`,
`mia_lib.bayes` and `mia_lib.risk_score` know nothing of `mia_lib.attacks`, whose own modules know
nothing of the catalogue. So ``attacks.CATALOGUE`` is an ordinary import without a circle.
"""

import difflib
import functools

from mia_lib import checks, lira, signals
from mia_lib.attacks import (
    calibrated,
    forms,
    gradient,
    normalised,
    quantile,
    rmia,
    tail,
    thresholds,
)
from mia_lib.attacks.entry import Attack

# From so many models on LiRA fits a spread to each record by itself (Carlini et al. 2022, Fig. 9);
# one spread for all records is better below.
_LIRA = {"per_example_from": 64}
_ON_RECORD = ("outputs", "label", "OUT")
_IN_AND_OUT = ("outputs", "label", "IN", "OUT")
_TAUGHT = ("outputs", "label", "shadow", "classes")

_ALONE = {"options": {}, "one_target": forms.as_it_is, "every_target": forms.as_they_are}
_MIDPOINT = {"one_target": calibrated.midpoint, "every_target": calibrated.midpoint.every_target}
_WATSON = {
    "one_target": calibrated.difficulty_calibration,
    "every_target": calibrated.difficulty_calibration.every_target,
}
_BASE = {"one_target": normalised.base, "every_target": normalised.base.every_target}
_RMIA = {"one_target": rmia.rmia, "every_target": rmia.rmia.every_target}

# First the rows of Table I of Carlini et al. 2022, in its order.
CATALOGUE = (
    Attack(
        name="LOSS",
        authors="Yeom et al.",
        year=2018,
        equation="log p_y; Carlini et al. 2022, section III-A",
        needs=("outputs", "label"),
        signal=thresholds.loss,
        chapter="book/membership_game.ipynb",
        **_ALONE,
    ),
    Attack(
        name="Class networks",
        authors="Shokri et al.",
        year=2017,
        equation="a network on p for each class; Song and Mittal 2021, section 2.2.1",
        needs=_TAUGHT,
        signal=forms.outputs,
        options={"epochs": 30},
        one_target=forms.class_networks,
        every_target=forms.class_networks_every_target,
        chapter="book/metric_attacks.ipynb",
    ),
    Attack(
        name="MERLIN",
        authors="Jayaraman et al.",
        year=2021,
        equation="share of noisy copies with a larger loss; Carlini et al. 2022, section V-C",
        needs=("queries", "label"),
        # noise in standard deviations of the data, chosen in notebooks/attack_settings.ipynb; the
        # paper's number of copies. A plain share has too few levels for a low false-positive rate.
        signal=functools.partial(forms.merlin, noise=1.0, copies=100, continuous=True),
        chapter="notebooks/lira.ipynb",
        **_ALONE,
    ),
    Attack(
        name="Modified entropy, class thresholds",
        authors="Song and Mittal",
        year=2021,
        equation="modified entropy beside a threshold of its class; section 3.1, eqs. 8 and 9",
        needs=("outputs", "label", "shadow"),
        signal=forms.minus_modified_entropy,
        options={"fallback": True},
        one_target=calibrated.class_calibrated,
        every_target=calibrated.class_calibrated.every_target,
        chapter="book/lira.ipynb",
    ),
    Attack(
        name="MALT",
        authors="Sablayrolles et al.",
        year=2019,
        equation="log p_y - (mu_in + mu_out) / 2; Carlini et al. 2022, section V-C",
        needs=_IN_AND_OUT,
        signal=thresholds.loss,
        options={},
        chapter="book/lira.ipynb",
        **_MIDPOINT,
    ),
    Attack(
        name="Outlier tail",
        authors="Long et al.",
        year=2020,
        equation="-log Pr[OUT model >= target], isolated records; Carlini et al. 2022, section V-C",
        needs=_ON_RECORD,
        signal=thresholds.loss,
        options={},
        one_target=tail.outlier_tail,
        every_target=tail.outlier_tail.every_target,
        chapter="book/lira.ipynb",
    ),
    Attack(
        name="Difficulty calibration",
        authors="Watson et al.",
        year=2022,
        equation="log p_y - mu_out; Carlini et al. 2022, section V-C",
        needs=_ON_RECORD,
        signal=thresholds.loss,
        options={},
        chapter="book/lira.ipynb",
        **_WATSON,
    ),
    Attack(
        name="Reference quantile",
        authors="Ye et al.",
        year=2022,
        equation="Attack R: share of OUT models below the target; Carlini et al. 2022, section V-C",
        needs=_ON_RECORD,
        signal=signals.logit_confidence,
        options={},
        one_target=calibrated.reference_quantile,
        every_target=calibrated.reference_quantile.every_target,
        chapter="book/lira.ipynb",
    ),
    Attack(
        name="LiRA, online",
        authors="Carlini et al.",
        year=2022,
        equation="log N(phi; mu_in, s_in^2) - log N(phi; mu_out, s_out^2); Algorithm 1",
        needs=_IN_AND_OUT,
        signal=signals.logit_confidence,
        options=_LIRA,
        one_target=forms.online,
        every_target=forms.online_every_target,
        chapter="book/lira.ipynb",
    ),
    # Variants of these, what came later, and what knows more or less
    Attack(
        name="LiRA, online, global variance",
        authors="Carlini et al.",
        year=2022,
        equation="Algorithm 1 with one spread for all records; section VI-B",
        needs=_IN_AND_OUT,
        signal=signals.logit_confidence,
        options={"variance": "global"},
        one_target=lira.online,
        every_target=lira.online.every_target,
        chapter="book/lira.ipynb",
    ),
    Attack(
        name="LiRA, offline",
        authors="Carlini et al.",
        year=2022,
        equation="log Phi((phi - mu_out) / s_out); eq. 4",
        needs=_ON_RECORD,
        signal=signals.logit_confidence,
        options=_LIRA,
        one_target=forms.offline,
        every_target=forms.offline_every_target,
        chapter="book/lira.ipynb",
    ),
    Attack(
        name="LiRA, offline, global variance",
        authors="Carlini et al.",
        year=2022,
        equation="eq. 4 with one spread for all records; section VI-B",
        needs=_ON_RECORD,
        signal=signals.logit_confidence,
        options={"variance": "global"},
        one_target=lira.offline,
        every_target=lira.offline.every_target,
        chapter="book/lira.ipynb",
    ),
    Attack(
        name="Confidence",
        authors="Carlini et al.",
        year=2022,
        equation="phi = log p_y - log(1 - p_y); section VI-A",
        needs=("outputs", "label"),
        signal=signals.logit_confidence,
        chapter="book/metric_attacks.ipynb",
        **_ALONE,
    ),
    Attack(
        name="Calibrated confidence",
        authors="Watson et al.",
        year=2022,
        equation="phi - mu_out: logit scaling added by Carlini et al. 2022, section VI-A",
        needs=_ON_RECORD,
        signal=signals.logit_confidence,
        options={},
        chapter="book/lira.ipynb",
        **_WATSON,
    ),
    Attack(
        name="Midpoint",
        authors="Sablayrolles et al.",
        year=2019,
        equation="phi - (mu_in + mu_out) / 2: logit scaling added by Carlini et al. 2022, VI-A",
        needs=_IN_AND_OUT,
        signal=signals.logit_confidence,
        options={},
        chapter="book/lira.ipynb",
        **_MIDPOINT,
    ),
    Attack(
        name="RMIA, online",
        authors="Zarifzadeh et al.",
        year=2024,
        equation="share of z with p_x / mean p_x >= gamma p_z / mean p_z",
        needs=_IN_AND_OUT,
        signal=thresholds.loss,
        options={"gamma": rmia.GAMMA},
        chapter="book/lira.ipynb",
        **_RMIA,
    ),
    Attack(
        name="RMIA, offline",
        authors="Zarifzadeh et al.",
        year=2024,
        equation="as online, the mean being ((1 + a) p_out + 1 - a) / 2",
        needs=_ON_RECORD,
        signal=thresholds.loss,
        # slope: a, how much more a record is believed on average than by OUT models, chosen in
        # notebooks/attack_settings.ipynb
        options={"gamma": rmia.GAMMA, "slope": 0.0},
        chapter="book/lira.ipynb",
        **_RMIA,
    ),
    Attack(
        name="BASE, online",
        authors="Lassila et al.",
        year=2025,
        equation="log p_y - log of the mean p_y of all reference models",
        needs=_IN_AND_OUT,
        signal=thresholds.loss,
        options={},
        chapter="book/one_family.ipynb",
        **_BASE,
    ),
    Attack(
        name="BASE, offline",
        authors="Lassila et al.",
        year=2025,
        equation="log p_y - log of the mean p_y of the OUT models",
        needs=_ON_RECORD,
        signal=thresholds.loss,
        options={"offline": True},
        chapter="book/one_family.ipynb",
        **_BASE,
    ),
    Attack(
        name="LiRA, online, Bayesian",
        authors="Brännvall",
        year=2026,
        equation="log t_in(phi) - log t_out(phi), posterior predictive Student's t",
        needs=_IN_AND_OUT,
        signal=signals.logit_confidence,
        options={"variance": "bayesian"},
        one_target=lira.online,
        every_target=lira.online.every_target,
        chapter="book/one_family.ipynb",
    ),
    Attack(
        name="LiRA, offline, Bayesian",
        authors="Brännvall",
        year=2026,
        equation="log T_out(phi), the posterior predictive Student's t of OUT models",
        needs=_ON_RECORD,
        signal=signals.logit_confidence,
        options={"variance": "bayesian"},
        one_target=lira.offline,
        every_target=lira.offline.every_target,
        chapter="book/one_family.ipynb",
    ),
    Attack(
        name="Quantile regression",
        authors="Bertran et al.",
        year=2023,
        equation="phi - the quantile of non-members with such features",
        needs=("outputs", "label", "known", "features"),
        signal=signals.logit_confidence,
        options={"level": 0.99},
        one_target=forms.quantile_regression,
        every_target=quantile.quantile_regression,
        chapter="book/which_attack.ipynb",
    ),
    Attack(
        name="Bayes risk",
        authors="Liu et al.",
        year=2022,
        equation="f_p(phi) from equally full bins; eq. 8",
        needs=("outputs", "label", "known"),
        signal=signals.logit_confidence,
        options={"bins": 20},
        one_target=forms.bayes_risk,
        every_target=forms.bayes_risk_every_target,
        chapter="book/bayes.ipynb",
    ),
    Attack(
        name="Gradient network",
        authors="Nasr et al.",
        year=2019,
        equation="a network on the gradient of the loss; section III",
        needs=("weights", "label", "known"),
        signal=gradient.gradient_features,
        options={"epochs": 50},
        one_target=forms.gradient_network,
        every_target=forms.gradient_network_every_target,
        chapter="book/metric_attacks.ipynb",
    ),
    Attack(
        name="Learned network",
        authors="Nasr et al.",
        year=2018,
        equation="a network on p and the label; Song and Mittal 2021, section 2.2.1",
        needs=_TAUGHT,
        signal=forms.outputs,
        # rows: of the shadow models' answers, how many teach at most
        options={"epochs": 30, "rows": 5_000},
        one_target=forms.label_network,
        every_target=forms.label_network_every_target,
        chapter="book/metric_attacks.ipynb",
    ),
    Attack(
        name="Privacy risk score",
        authors="Song and Mittal",
        year=2021,
        equation="Pr[member | bin of the modified entropy, class]; eqs. 12, 14 and 15",
        needs=_TAUGHT,
        signal=signals.modified_entropy,  # smaller speaks for a member; the bins learn that
        options={"bins": 5, "log_bins": True},
        one_target=forms.privacy_risk_score,
        every_target=forms.risk_score_every_target,
        chapter="book/risk_scores.ipynb",
    ),
    Attack(
        name="Modified entropy",
        authors="Song and Mittal",
        year=2021,
        equation="-(1 - p_y) log p_y - sum over the others of p_c log(1 - p_c), negated; eq. 8",
        needs=("outputs", "label"),
        signal=forms.minus_modified_entropy,
        chapter="book/metric_attacks.ipynb",
        **_ALONE,
    ),
    Attack(
        name="Entropy",
        authors="Song and Mittal",
        year=2021,
        equation="sum of p_c log p_c; eq. 7",
        needs=("outputs",),
        signal=forms.minus_entropy,
        chapter="book/metric_attacks.ipynb",
        **_ALONE,
    ),
    Attack(
        name="Hinge",
        authors="Carlini et al.",
        year=2022,
        equation="z_y - the largest other logit; section VI-A",
        needs=("outputs", "label"),
        signal=signals.hinge,
        chapter="book/lira.ipynb",
        **_ALONE,
    ),
    Attack(
        name="Correctness",
        authors="Yeom et al.",
        year=2018,
        equation="1 where the prediction is right; Song and Mittal 2021, eq. 5",
        needs=("class", "label"),
        signal=thresholds.correctness,
        chapter="book/metric_attacks.ipynb",
        **_ALONE,
    ),
)


def named(name):
    """The entry of `CATALOGUE` with this name.

    Parameters
    ----------
    name : str

    Returns
    -------
    Attack

    Raises
    ------
    ValueError
        No entry has it; the nearest names are given.

    Notes
    -----
    Used in book/which_attack.ipynb.

    Examples
    --------
    >>> named("RMIA, offline").options["slope"]
    0.0
    """
    found = {attack.name: attack for attack in CATALOGUE}
    if name not in found:
        near = difflib.get_close_matches(str(name), found, 3, 0.3) or list(found)
        checks.fail("name", repr(name), "a name of attacks.CATALOGUE, such as " + ", ".join(near))
    return found[name]
