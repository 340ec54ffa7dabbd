"""Bad input ends in one line that names the argument, what was given and what was expected: one
call and its message for each kind of mistake that the library knows today, and no message that no
test has heard.
"""

import json
import re
import tempfile
from pathlib import Path

import numpy as np
import pytest
import torch
from message_places import Heard, places

from mia_lib import (
    attacks,
    audit,
    bayes,
    compare,
    data,
    defenses,
    generative,
    intervals,
    lira,
    metrics,
    models,
    results,
    risk_score,
    shadow,
    signals,
    text,
    train,
    two_sample,
)
from mia_lib.audit import blind
from mia_lib.bayes.generalized import optimal_threshold
from mia_lib.two_sample.mmd import power_criterion

X, Y = np.linspace(0, 1, 20), np.linspace(1, 2, 20)
LOGITS, LABELS = np.zeros((6, 3)), np.array([0, 1, 2, 0, 1, 2])
MEMBER = np.arange(6) < 3
PHI, MASKS = np.arange(24.0).reshape(4, 6), np.arange(24).reshape(4, 6) % 2 == 0
SIDES = (PHI[0], PHI[1:], MASKS[1:])
NONE = np.zeros(20, int)
RECORDS = np.zeros((12, 8, 8))
HALVES = [np.ones((5, 2))] * 4

OBSERVED = (np.zeros((20, 3)), NONE, X > 0.5)


# A denominator that is the members' share less that share
NOWHERE = metrics.Metric(0, 1, 0, 0, 0, -0.5, 1, 0, 1, 0)


def saved(name="seen.npz", **arrays):
    """A new file of arrays, or a folder of one array a file."""
    path = Path(tempfile.mkdtemp(), name)
    if path.suffix:
        np.savez(path, **arrays)
        return path
    path.mkdir()
    for key, array in arrays.items():
        np.save(path / f"{key}.npy", array)
    return path


def written(name, content=""):
    """A new file that holds some text."""
    path = Path(tempfile.mkdtemp(), name)
    path.parent.mkdir(exist_ok=True)
    path.write_text(content)
    return path


def stored():
    """A finished store, and one that has lost its manifest."""
    x, masks = np.eye(4, dtype=np.float32), np.eye(4, dtype=bool)[:2]
    recipe = train.Classifier(hidden=(2,), epochs=1, n_classes=2)
    path = Path(tempfile.mkdtemp())
    return shadow.train(recipe, x, [0, 1, 0, 1], masks, path), recipe, x, masks


def goes_on_without_a_manifest():
    store, recipe, x, masks = stored()
    (store.path / "manifest.json").unlink()
    shadow.train(recipe, x, [0, 1, 0, 1], masks, store.path)


class Sure:
    """A model that knows two classes."""

    classes_ = np.array([0, 1])

    def predict_proba(self, x):
        return np.full((len(x), 2), 0.5)


class Skipping(torch.nn.Linear):
    """A network with a layer that it does not call."""

    def __init__(self):
        super().__init__(2, 2)
        self.idle = torch.nn.Linear(2, 2)


class NeverFinite(generative.Gan):
    """Records that are finite until a path towards them is asked for."""

    device = "cpu"

    def __init__(self):
        super().__init__("never", [None], (), (), 2, 0)

    def images(self, w, labels=None, pair=0):
        return w * torch.inf if w.requires_grad else w


CASES = [
    (lambda: signals.hinge(np.full((2, 2), np.nan), [0, 1]), "logits: given"),
    (lambda: signals.hinge(LOGITS, LABELS[1:]), "labels: given shape (5,), expected shape (6,)"),
    (lambda: signals.hinge(LOGITS, LABELS + 1), "labels: given largest label 3"),
    (lambda: intervals.clopper_pearson(5, 3), "successes: given"),
    (lambda: intervals.clopper_pearson(1, 3, 1.5), "delta: given 1.5"),
    (lambda: intervals.mcdiarmid(0, 5), "n_member: given 0"),
    (lambda: metrics.roc([0.1, np.nan], [True, False]), "scores: given 1 NaN"),
    (lambda: metrics.roc([0.1, 0.2], [True, True]), "member: given"),
    (lambda: metrics.roc([0.1, 0.2], [0, 2]), "member: given"),
    (lambda: metrics.roc(X, X > 0.5).tpr_at(2), "fpr: given 2"),
    (lambda: metrics.accuracy().value(1, 1, 0, 0), "tp, fp, fn, tn: given a sum of 2"),
    (lambda: metrics.am(0), "prior: given 0"),
    (lambda: bayes.Histogram(X, Y, 1.0), "prior: given 1.0"),
    (lambda: bayes.Histogram(X, np.ones((20, 2))), "nonmember_signal: given 2 columns"),
    (lambda: bayes.Histogram(X, []), "nonmember_signal: given"),
    (lambda: bayes.Histogram(X, Y, bins=0), "bins: given"),
    (lambda: bayes.KernelDensity(X, Y, bandwidth=-1), "bandwidth: given"),
    (lambda: bayes.split_advantage(X[:1], Y), "member_signal: given 1 examples"),
    (lambda: bayes.permutation_p_value(X, Y, n_permutations=0), "n_permutations: given 0"),
    (lambda: bayes.dp_ceiling(-1), "epsilon: given"),
    (lambda: bayes.dp_advantage_ceiling(1, 2), "delta: given 2"),
    (lambda: bayes.epsilon_lower_bound(11, 10, 0, 10), "true_positives: given 11"),
    (lambda: bayes.epsilon_lower_bound(1, 10, 0, 10, dp_delta=1), "dp_delta: given 1"),
    (lambda: bayes.compare_queries([X]), "signals: given 'list'"),
    (lambda: attacks.class_thresholds(X, X, X > 0.5), "labels: given"),
    (
        lambda: attacks.class_thresholds([1, 2], [0, 1], [True, False]),
        "member: given only members or only non-members in class 0, 1",
    ),
    (
        lambda: attacks.log_probabilities([[0.5, 0.6]]),
        "probabilities: given a row that sums to 1.1, expected rows that sum to 1 within 0.001",
    ),
    (lambda: attacks.log_probabilities([[-0.5, 1.5]]), "probabilities: given a smallest entry"),
    (lambda: attacks.rmia(-PHI[0], -PHI[1:], MASKS[1:], gamma=0), "gamma: given 0"),
    (
        lambda: attacks.outlier_tail(*SIDES),
        "shadow_member: given 3 examples with fewer than 1 OUT models",
    ),
    (lambda: attacks.merlin(train.Classifier(), scale=-1), "scale: given -1"),
    (lambda: lira.online(*SIDES, "local"), "variance: given 'local'"),
    (lambda: lira.online(PHI[0], PHI[:, 1:], MASKS), "shadow: given shape"),
    (lambda: lira.online(*SIDES), "shadow_member: given"),
    (lambda: lira.leave_one_out(PHI, MASKS, 3), "attack: given"),
    (lambda: compare.table({}, MEMBER), "scores: given"),
    (lambda: compare.top_overlap(X, X, 2), "share: given 2"),
    (lambda: risk_score.privacy_risk_score(X, NONE, X, NONE, X > 0.5, prior=2), "prior: given 2"),
    (lambda: shadow.half_masks(3, 5), "n_models: given 3"),
    (lambda: train.Classifier(dropout=1), "dropout: given 1"),
    (lambda: train.Classifier(optimizer="best"), "optimizer: given 'best'"),
    (lambda: train.epsilon(1, 2, 3), "sampling_rate: given 2"),
    (lambda: models.build("vgg", (3, 8, 8), 10), "name: given 'vgg'"),
    (lambda: models.build("mlp", (8,), 10, depth=3), "options: given 'depth'"),
    (lambda: text.encode(["a"], ["a", "b", "c"], 3), "words: given a vocabulary"),
    (lambda: generative.JsGanRecipe(networks="nobody"), "networks: given 'nobody'"),
    (lambda: generative.JsGanRecipe(epochs=-1), "epochs: given -1"),
    (lambda: generative.JsGanRecipe(real_label=0.4), "real_label: given 0.4"),
    (lambda: generative.PrivGanRecipe(n_pairs=1), "n_pairs: given 1"),
    (lambda: generative.DpCganRecipe(noise_multiplier=-1), "noise_multiplier: given -1"),
    (lambda: generative.WganGpRecipe(precision="half"), "precision: given 'half'"),
    (lambda: generative.js_gan(RECORDS + 2), "x: given values from"),
    (
        lambda: generative.dp_cgan(RECORDS, np.zeros(11, int)),
        "labels: given shape (11,), expected shape (12,)",
    ),
    (lambda: two_sample.HrMmd(epsilon=1), "epsilon: given 1"),
    (lambda: two_sample.HrMmd().test(X, X, Y, Y), "HrMmd: given test before fit"),
    (lambda: two_sample.permutation_test(np.eye(5), 1), "n_x: given 1"),
    (lambda: two_sample.deep_kernel(X, Y[1:], X, Y, 0.1, 1, 1), "raw_x: given 19 records"),
    (lambda: two_sample.optimized_kernel_test(*HALVES), "x_train, y_train: given records that are"),
    (lambda: two_sample.DeepFeatures(hidden=0), "hidden: given 0"),
    (lambda: data.load("nobody"), "name: given 'nobody'"),
    (lambda: data.load("digits", "train"), "split: given 'train', expected for digits None"),
    (lambda: audit.Observations(LOGITS, LABELS, MEMBER[1:]), "member: given shape (5,)"),
    (lambda: audit.load("nobody.npz"), "path: given"),
    (lambda: audit.run(3), "observations: given"),
    (lambda: results.read("nobody"), "path_or_name: given 'nobody'"),
    (lambda: results.row("L2", "AUC", "high"), "row.value: given"),
    (lambda: attacks.correctness([1.0, 2.0], 0), "logits: given shape (2,)"),
    (lambda: audit.load(saved("empty")), "path: given "),
    (lambda: audit.load(written("seen.npz", "no zip")), "path: given "),
    (lambda: audit.load(written("folder/logits.npy", "no array").parent), "logits: given "),
    (lambda: audit.load(saved(logits=LOGITS)), "labels: given nothing in"),
    (lambda: audit.load(saved(labels=LABELS, member=MEMBER)), "logits: given neither logits nor"),
    (
        lambda: audit.load(saved(logits=LOGITS, labels=LABELS, member=MEMBER, assignment=LABELS)),
        "assignment: given an array of dtype int64, shape (6,)",
    ),
    (
        lambda: audit.load(saved(probabilities=LABELS, labels=LABELS, member=MEMBER)),
        "probabilities: given shape (6,), dtype int64",
    ),
    (lambda: audit.observe(Sure(), X[:, None], NONE + 7, X > 0.5), "y: given the label 7"),
    (lambda: audit.observe(3, X[:, None], NONE, X > 0.5), "predict: given int"),
    (
        lambda: audit.observe(lambda x: np.zeros(3), X[:, None], NONE, X > 0.5),
        "predict: given predictions of shape (3,)",
    ),
    (
        lambda: audit.Observations(*OBSERVED, representation=NONE),
        "representation: given shape (20,)",
    ),
    (
        lambda: audit.Observations(*OBSERVED, shadow_member=MASKS),
        "shadow_member: given without shadow_logits",
    ),
    (
        lambda: audit.Observations(*OBSERVED, np.zeros((4, 6, 2)), MASKS, LABELS),
        "shadow_logits: given shape (4, 6, 2), expected shape (S, m, 3)",
    ),
    (
        lambda: audit.Observations(*OBSERVED, np.zeros((4, 20, 3)), np.zeros((4, 20), bool)),
        "shadow_member: given shadow model 0 with 0 of 20 records",
    ),
    (lambda: audit.Observations([[1], [1, 2]], LABELS, MEMBER), "logits: given a ragged sequence"),
    (
        lambda: audit.Observations(LOGITS.astype(str), LABELS, MEMBER),
        "logits: given an array of dtype <U",
    ),
    (
        lambda: audit.Observations(*OBSERVED, representation=OBSERVED[0] * np.nan),
        "representation: given 60 entries that are not finite",
    ),
    (lambda: audit.Observations(*OBSERVED, columns=[LABELS]), "columns: given list"),
    (
        lambda: audit.Observations(*OBSERVED, columns={"age": NONE * 1j}),
        "columns.age: given an array of dtype complex128",
    ),
    (
        lambda: blind.inputs(LOGITS * np.nan, [0, 1], np.random.default_rng(0)),
        "features: given 6 entries that are not finite",
    ),
    (
        lambda: optimal_threshold(NOWHERE, [0.2, 0.8], [0.5, 0.5], [0.5, 0.5]),
        "metric: given Metric",
    ),
    (lambda: bayes.Histogram(LOGITS, LOGITS, bins=[3, 3]), "bins: given 2 entries"),
    (
        lambda: bayes.Histogram(np.zeros((20, 0)), np.zeros((20, 0))),
        "member_signal: given shape (20, 0)",
    ),
    (lambda: metrics.roc([[1], [1, 2]], [0, 1]), "scores: given a ragged sequence"),
    (lambda: compare.rank_correlation([1, np.nan], [1, 2]), "first: given 1 NaN"),
    (
        lambda: defenses.MembershipNetwork(LOGITS, MEMBER, (2,), epochs=1).probability(-LOGITS),
        "weights: given a negative entry or a row of zeros",
    ),
    (
        lambda: generative.reconstruction(NeverFinite(), X[:8].reshape(4, 2), None, restarts=1),
        "gan.images(w): given 4 distances",
    ),
    (
        lambda: results.picture("nobody", folder=tempfile.mkdtemp()),
        "notebook: given 'nobody' without a record",
    ),
    (lambda: shadow.augmentations(mirror=1), "mirror: given 1"),
    (lambda: shadow.load(stored()[0].path, x=X), "x, y: given one of them"),
    (goes_on_without_a_manifest, "store: given "),
    (lambda: train.Classifier(options=3), "options: given 3, expected a dictionary"),
    (
        lambda: train.Classifier("cnn", augment="weak", epochs=1)(
            np.zeros((4, 2, 2)), np.arange(4) % 2, np.ones((1, 4), bool), [np.random.default_rng(0)]
        ),
        "x: given shape",
    ),
    (
        lambda: two_sample.repeat_test(two_sample.HrMmd(), X, X[1:], Y, Y),
        "raw_pool: given 19 records",
    ),
    (
        lambda: two_sample.repeat_test(two_sample.HrMmd(), X[1:], X[1:], Y, Y),
        "rep_pool: given 19 records",
    ),
    (
        lambda: two_sample.HrMmd(n_steps=1).fit(LOGITS, X[:6], LOGITS[:, 1:], X[:6]),
        "rep_y: given 2 features",
    ),
    (lambda: two_sample.HrMmd(n_steps=1).fit(X, X[1:], Y, Y), "raw_x: given 19 records"),
    (lambda: two_sample.median_bandwidth([1.0]), "x: given 1 records"),
    (lambda: two_sample.median_bandwidth(3.0), "x: given a number"),
    (
        lambda: power_criterion(*[np.ones((4, 4))] * 3, regularization=0),
        "regularization: given 0 where the variance is 0",
    ),
    (lambda: two_sample.mmd2(np.eye(3), np.eye(2), np.eye(2)), "k_xx: given shape (3, 3)"),
    (
        lambda: two_sample.layer_outputs(Skipping(), np.zeros((2, 2), np.float32), ["idle"]),
        "layers: given 'idle', which the network does not call",
    ),
]


@pytest.mark.parametrize(("call", "message"), CASES, ids=[message for _, message in CASES])
def test_one_clear_line(call, message):
    with pytest.raises(ValueError) as error:
        call()
    said = str(error.value)
    assert said.startswith(message), said
    assert ", expected " in said and "\n" not in said


# Messages that tests of their own rooms hear, each with one of these. To make it anew:
# MESSAGE_PLACES=tests/house/messages_heard.json python -m pytest -p message_places tests \
#     --ignore=tests/house --ignore=tests/book --ignore=tests/notebooks
HEARD = Path(__file__).with_name("messages_heard.json")


@pytest.fixture(scope="module")
def heard():
    return json.loads(HEARD.read_text(encoding="utf-8"))


def test_no_message_is_unheard(heard, monkeypatch):
    """Whoever writes a message gives it a case above, or a test that expects it, and a line in the
    file of what is heard elsewhere.
    """
    listening = Heard(monkeypatch)
    for call, _ in CASES:
        with pytest.raises(ValueError):
            call()
    composed = {place for calls in places().values() for *_, place in calls}
    assert sorted(composed - listening.by.keys() - heard.keys()) == []
    assert sorted(heard.keys() - composed) == [], "gone, or under another name now"


def test_who_hears_a_message_is_a_test_that_is_there(heard):
    for test in set(heard.values()):
        path, *_, name = test.split("::")
        assert re.search(rf"def {name}\b", (HEARD.parents[2] / path).read_text(encoding="utf-8"))


def test_errors_are_composed_in_one_place():
    """Everywhere else `checks.fail` is asked; the others give an error on with the file's name."""
    library = HEARD.parents[2] / "mia_lib"
    raised = {
        path.relative_to(library).as_posix()
        for path in library.rglob("*.py")
        if re.search(r"raise ValueError\b", path.read_text(encoding="utf-8"))
    }
    assert raised == {"audit/view.py", "checks.py", "results/record.py"}


def test_masks_and_ragged_sequences_are_named():
    """A mask would be lost, since numpy reads what lies under it."""
    hidden = np.ma.masked_greater([1.0, 2.0, 9.0, 3.0], 5)
    member = [True, False, True, False]
    with pytest.raises(ValueError, match="scores: given 1 masked entries"):
        metrics.roc(hidden, member)
    with pytest.raises(ValueError, match="member: given 2 masked entries"):
        metrics.roc([1.0, 2.0, 9.0, 3.0], np.ma.array(member, mask=member))
    with pytest.raises(ValueError, match="member: given a ragged sequence"):
        metrics.roc([[1, 2], [3, 4]], [[1, 0], [1]])
    assert metrics.roc(np.ma.array([1.0, 2.0]), [True, False]).auc == 0
