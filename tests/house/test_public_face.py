"""The public face: what is promised can be called by position, everything else keeps its optional
arguments after the third to keywords.
"""

import copy
import importlib
import inspect
import pkgutil
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import mia_lib
from mia_lib import audit, bayes, compare, lira, metrics, privacy, shadow, two_sample
from mia_lib.train import Classifier

RNG = np.random.default_rng
LOGITS = np.log([[0.7, 0.2, 0.1], [0.1, 0.6, 0.3], [0.2, 0.3, 0.5], [0.6, 0.3, 0.1]])
LABELS, MEMBER = np.array([0, 1, 1, 0]), np.array([True, False, False, True])
SCORES = np.array([0.9, 0.2, 0.3, 0.1])
INSIDE, OUTSIDE = RNG(0).normal(1, 1, 60), RNG(1).normal(0, 1, 60)
HISTOGRAM, DENSITY = bayes.Histogram(INSIDE, OUTSIDE), bayes.KernelDensity(INSIDE, OUTSIDE)
MASKS = shadow.half_masks(8, 30, RNG(2))
PHI = RNG(3).normal(size=(8, 30)) + MASKS
ROC = metrics.roc(PHI, MASKS)
BOX = tuple(np.array([value]) for value in (0.1, 0.2, 0.3, 0.5))
REP, RAW = RNG(4).normal(size=(4, 30)), RNG(5).normal(size=(4, 30, 2))
FOUR = (REP[0], RAW[0], REP[1], RAW[1])
SEEN = (RNG(6).normal(size=(40, 3)), np.arange(40) % 3, np.arange(40) < 20)
SHADOWS = (RNG(7).normal(size=(2, 40, 3)), RNG(8).random((2, 40)) < 0.5, None)
EVIDENCE = (RNG(9).normal(size=(40, 2)), RNG(10).normal(size=(40, 4)), {"odd": SEEN[1] == 1})
GUARANTEE = privacy.gaussian(1.0)
FITTED = two_sample.HrMmd(2, n_permutations=19, rng=RNG(11)).fit(*FOUR)

LATER = "called in a test of its own below"

# The names that notebooks, the audit and users rely on, in their order, and a call by position. A
# whole number stands where a generator is asked for, so that two calls start from the same one.
PROMISED = {
    "signals.confidence": ("logits labels", (LOGITS, LABELS)),
    "signals.cross_entropy": ("logits labels", (LOGITS, LABELS)),
    "signals.logit_confidence": ("logits labels", (LOGITS, LABELS)),
    "signals.hinge": ("logits labels", (LOGITS, LABELS)),
    "signals.entropy": ("logits", (LOGITS,)),
    "signals.modified_entropy": ("logits labels", (LOGITS, LABELS)),
    "intervals.clopper_pearson": ("successes trials delta", (7, 10, 0.1)),
    "intervals.Estimate": ("value low high", (0.5, 0.4, 0.6)),
    "metrics.roc": ("scores member", (SCORES, MEMBER)),
    "metrics.Roc.tpr_at": ("self fpr delta groups rng", (ROC, 0.1, 0.2, None, 6)),
    "metrics.Roc.auc_interval": ("self delta groups rng", (ROC, 0.2, None, 6)),
    "metrics.Metric": ("a0 a11 a10 a01 a00 b0 b11 b10 b01 b00", tuple(map(float, range(10)))),
    "metrics.accuracy": ("", ()),
    "metrics.ppv": ("", ()),
    "metrics.tpr": ("", ()),
    "metrics.tnr": ("", ()),
    "metrics.am": ("prior", (0.3,)),
    "metrics.weighted_accuracy": ("w1 w2 w3 w4", (0.1, 0.2, 0.3, 0.4)),
    "metrics.Metric.value": ("self tp fp fn tn", (metrics.ppv(), 0.4, 0.3, 0.2, 0.1)),
    "metrics.Metric.threshold": ("self", (metrics.accuracy(),)),
    "bayes.Histogram": ("member_signal nonmember_signal prior bins", (INSIDE, OUTSIDE, 0.3, 7)),
    "bayes.KernelDensity": (
        "member_signal nonmember_signal prior bandwidth",
        (INSIDE, OUTSIDE, 0.3, 0.5),
    ),
    "bayes.Histogram.risk": ("self signal", (HISTOGRAM, INSIDE)),
    "bayes.Histogram.risk_interval": ("self signal delta", (HISTOGRAM, INSIDE, 0.1)),
    "bayes.Histogram.advantage": ("self delta", (HISTOGRAM, 0.1)),
    "bayes.KernelDensity.risk": ("self signal", (DENSITY, INSIDE)),
    "bayes.KernelDensity.risk_interval": ("self signal delta", (DENSITY, INSIDE, 0.1)),
    "bayes.KernelDensity.advantage": ("self delta", (DENSITY, 0.1)),
    "bayes.split_advantage": (
        "member_signal nonmember_signal prior bins delta rng",
        (INSIDE, OUTSIDE, 0.3, 7, 0.1, 6),
    ),
    "bayes.sign_split_advantage": (
        "member_signal nonmember_signal prior bins delta rng",
        (INSIDE, OUTSIDE, 0.3, 7, 0.1, 6),
    ),
    "bayes.generalized_advantage": (
        "metric member_signal nonmember_signal prior bins delta rng",
        (metrics.accuracy(), INSIDE, OUTSIDE, 0.3, 7, 0.1, 6),
    ),
    "bayes.generalized_risk_interval": (
        "metric p_low p_high q_low q_high prior threshold",
        (metrics.accuracy(), *BOX, 0.4, 0.6),
    ),
    "bayes.dp_ceiling": ("epsilon prior", (1.5, 0.3)),
    "bayes.dp_advantage_ceiling": ("epsilon delta prior", (1.5, 0.1, 0.3)),
    "bayes.epsilon_lower_bound": (
        "true_positives positives false_positives negatives",
        (60, 100, 20, 100),
    ),
    "bayes.threshold_advantage": (
        "member_signal nonmember_signal prior delta",
        (INSIDE, OUTSIDE, 0.3, 0.1),
    ),
    "compare.verdict": ("estimate region", ((0.5, 0.4, 0.6), (0.3, 0.7))),
    "privacy.subsampled_gaussian": ("noise_multiplier sampling_rate steps", (2.0, 0.1, 10)),
    "privacy.gaussian": ("mu", (0.5,)),
    "privacy.approximate": ("epsilon delta", (1.5, 0.1)),
    "privacy.Guarantee.delta": ("self epsilon", (GUARANTEE, 0.5)),
    "privacy.Guarantee.epsilon": ("self delta", (GUARANTEE, 0.01)),
    "privacy.Guarantee.tpr_at": ("self fpr", (GUARANTEE, 0.01)),
    "privacy.Guarantee.advantage": ("self prior", (GUARANTEE, 0.3)),
    "privacy.Guarantee.group": ("self k", (GUARANTEE, 3)),
    "bayes.certificate": ("member_signal nonmember_signal prior", LATER),
    "risk_score.privacy_risk_score": (
        "target_signal target_labels shadow_signal shadow_labels shadow_member prior bins log_bins",
        (SCORES, LABELS, SCORES[::-1], LABELS, MEMBER[[0, 1, 3, 2]], 0.3, 2, False),
    ),
    "attacks.class_thresholds": ("score labels member", (SCORES, LABELS, MEMBER[[0, 1, 3, 2]])),
    "shadow.half_masks": ("n_models n_examples rng", (4, 6, 6)),
    "shadow.train": ("fit x y masks store queries executor seed", LATER),
    "lira.online": (
        "target shadow shadow_member variance center covariance",
        (PHI[0], PHI[1:], MASKS[1:], "global", "median", "diagonal"),
    ),
    "lira.offline": (
        "target shadow shadow_member variance center covariance tail",
        (PHI[0], PHI[1:], MASKS[1:], "global", "median", "diagonal", "density"),
    ),
    "lira.leave_one_out": ("signals member attack", (PHI, MASKS, lira.offline)),
    "two_sample.deep_kernel": (
        "rep_x raw_x rep_y raw_y epsilon bandwidth_rep bandwidth_raw",
        (*FOUR, 0.1, 0.5, 2.0),
    ),
    "two_sample.mmd2": ("k_xx k_yy k_xy", (np.eye(3), 2 * np.eye(3), np.ones((3, 3)))),
    "two_sample.permutation_test": ("gram n_x n_permutations rng", (REP.T @ REP, 10, 99, 6)),
    "two_sample.class_aware_test": (
        "rep_x y_x rep_y y_y n_permutations rng",
        (RAW[0], np.arange(30) % 3, RAW[1], np.arange(30) % 3, 99, 6),
    ),
    "two_sample.HrMmd.fit": ("self rep_x raw_x rep_y raw_y", (FITTED, *FOUR)),
    "two_sample.HrMmd.test": ("self rep_x raw_x rep_y raw_y", LATER),
    "two_sample.repeat_test": ("test rep_pool raw_pool rep_y raw_y", LATER),
    "compare.table": ("scores member fprs", LATER),
    "audit.observe": (
        "predict x y member",
        (lambda x: x[:, :3], RNG(12).normal(size=(40, 5)), *SEEN[1:]),
    ),
    "audit.Observations": (
        "logits labels member shadow_logits shadow_member shadow_labels representation features "
        "columns",
        (*SEEN, *SHADOWS, *EVIDENCE),
    ),
    "audit.load": ("path", LATER),
    "audit.run": ("observations prior delta seed", (audit.Observations(*SEEN), 0.3, 0.1, 6)),
    "data.load": ("name split", ("digits", None)),
}


def resolved(name):
    room, *rest = name.split(".")
    found = importlib.import_module(f"mia_lib.{room}")
    for part in rest:
        found = getattr(found, part)
    return found


def plain(value):
    """The fields of an object, so that two results can be compared whole."""
    if isinstance(value, dict):
        return {key: plain(one) for key, one in value.items()}
    if isinstance(value, tuple | list):
        return [plain(one) for one in value]
    return plain(vars(value)) if hasattr(value, "__dict__") else value


def arguments_of(name):
    """The promised arguments; a generator of its own for each call."""
    names, values = PROMISED[name][0].split(), PROMISED[name][1]
    return {key: RNG(one) if key == "rng" else one for key, one in zip(names, values)}


def by_keyword(function, arguments):
    """A method's own object always comes by position."""
    own = [arguments.pop("self")] if "self" in arguments else []
    return function(*own, **arguments)


@pytest.mark.parametrize("name", PROMISED)
def test_names_and_order(name):
    promised = PROMISED[name][0].split()
    parameters = inspect.signature(resolved(name)).parameters
    assert list(parameters)[: len(promised)] == promised
    assert all(parameters[n].kind is not inspect.Parameter.KEYWORD_ONLY for n in promised)


@pytest.mark.parametrize(
    "name", [name for name, (_, values) in PROMISED.items() if values is not LATER]
)
def test_called_by_position(name):
    function = resolved(name)
    found = plain(function(*arguments_of(name).values()))
    np.testing.assert_equal(found, plain(by_keyword(function, arguments_of(name))))


def test_with_generator_by_keyword_called_by_position():
    found = bayes.certificate(INSIDE, OUTSIDE, 0.3, rng=RNG(0))
    named = dict(member_signal=INSIDE, nonmember_signal=OUTSIDE, prior=0.3, rng=RNG(0))
    np.testing.assert_equal(plain(found), plain(bayes.certificate(**named)))
    named = dict(scores={"one": PHI}, member=MASKS, fprs=[0.1])
    found = compare.table(*named.values(), rng=RNG(0))
    assert found.to_dict() == compare.table(**named, rng=RNG(0)).to_dict()


def test_set_tests_called_by_position():
    tests = [copy.deepcopy(FITTED) for _ in range(4)]
    want = tests[0].test(rep_x=REP[2], raw_x=RAW[2], rep_y=REP[3], raw_y=RAW[3])
    assert tests[1].test(REP[2], RAW[2], REP[3], RAW[3]) == want
    named = dict(rep_pool=REP[2], raw_pool=RAW[2], rep_y=REP[3, :9], raw_y=RAW[3, :9])
    want = two_sample.repeat_test(test=tests[2], **named, n_repeats=2, rng=RNG(0))
    found = two_sample.repeat_test(tests[3], *named.values(), n_repeats=2, rng=RNG(0))
    np.testing.assert_array_equal(found, want)


def test_shadow_models_and_files_called_by_position(tmp_path):
    x, y = RNG(13).normal(size=(12, 3)).astype(np.float32), np.arange(12) % 2
    recipe, masks = Classifier(hidden=(2,), epochs=1), shadow.half_masks(4, 12, RNG(14))
    with ThreadPoolExecutor(1) as executor:
        store = shadow.train(recipe, x, y, masks, tmp_path / "store", None, executor, 5)
    named = dict(fit=recipe, x=x, y=y, masks=masks, store=tmp_path / "named", seed=5)
    np.testing.assert_array_equal(store.logits(), shadow.train(**named).logits())

    logits, labels, member = SEEN
    np.savez(tmp_path / "seen.npz", logits=logits, labels=labels, member=member)
    np.testing.assert_array_equal(audit.load(tmp_path / "seen.npz").logits, logits)


# What a room offers although it stands in another, on a floor below it
OFFERED = {"shadow": ("mia_lib.shadow", "mia_lib.masks")}


def public_functions():
    """Every function that a room exports: what `__all__` lists, else what it defines."""
    for room in sorted(found.name for found in pkgutil.iter_modules(mia_lib.__path__)):
        module = importlib.import_module(f"mia_lib.{room}")
        for name in getattr(module, "__all__", [n for n in vars(module) if n[0] != "_"]):
            one = getattr(module, name)
            own = OFFERED.get(room, f"mia_lib.{room}")
            if inspect.isfunction(one) and one.__module__.startswith(own):
                yield f"{room}.{name}", one


def after_the_third(function):
    """The optional arguments that a caller could give by position, from the fourth argument on."""
    return [
        name
        for place, (name, one) in enumerate(inspect.signature(function).parameters.items())
        if place >= 3
        and one.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD
        and one.default is not inspect.Parameter.empty
    ]


def test_every_room_is_seen():
    rooms = {name.split(".")[0] for name, _ in public_functions()}
    assert {"attacks", "bayes", "checks", "compare", "results", "shadow", "two_sample"} <= rooms


@pytest.mark.parametrize(
    ("name", "function"), list(public_functions()), ids=[name for name, _ in public_functions()]
)
def test_optional_arguments_after_the_third_are_keyword_only(name, function):
    promised = PROMISED[name][0].split() if name in PROMISED else []
    assert set(after_the_third(function)) <= set(promised)
