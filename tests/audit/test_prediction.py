"""What is predicted without shadow models: the line by its record, and where it is not drawn."""

import itertools

import numpy as np
import pytest

from mia_lib import audit, results
from mia_lib.audit import prediction, regression

RECORD = "without_shadows--all--paper"
N = 400


def rows():
    return {row["what"]: row for row in results.read(RECORD)["rows"]}


def test_the_line_and_its_error_are_those_of_the_record():
    said = rows()
    start, floor = "TPR at 1 %, LiRA, ", 1e-3
    settings = [what.removeprefix(start) for what in said if what.startswith(start)]
    x, y = (
        np.array([max(said[head + one]["value"], floor) for one in settings])
        for head in ("loss TNR, ", start)
    )
    slope, level = np.polyfit(np.log(x), np.log(y), 1)
    names = {one.split(",")[0] for one in settings}
    missed = "factor of the prediction, loss TNR, {} left out"
    half = max(said[missed.format(name)]["high"] for name in names)
    assert prediction.SLOPE == pytest.approx(slope, abs=0.001)
    assert prediction.LEVEL == pytest.approx(level, abs=0.001)
    assert prediction.HALF == pytest.approx(half, abs=0.005)
    assert prediction.SEEN == pytest.approx((x.min(), x.max()), abs=0.0001)
    assert prediction.SETTINGS == len(settings)
    parameters = results.read(RECORD)["parameters"]
    assert prediction.N_SHADOW == parameters["n_models"]


def test_the_loss_tnr_by_counting():
    """Of 250 members two may lie above the threshold; ties with it are not above."""
    rng = np.random.default_rng(0)
    loss, member = rng.normal(size=600), np.arange(600) < 250
    loss[300:310] = np.sort(loss[:250])[-3]
    threshold = np.sort(loss[member])[-3]
    tnr, _ = prediction.loss_tnr(-loss, member)
    assert tnr == sum(loss[~member] > threshold) / 350


def test_its_p_value_by_all_orders():
    """Three members (none above the threshold) and four others, in every order that there is."""
    counts = []
    for places in itertools.combinations(range(7), 3):
        member = np.isin(np.arange(7), places)
        counts.append(prediction.loss_tnr(-np.arange(7.0), member))
    shares = np.array([tnr for tnr, _ in counts])
    for tnr, p in counts:
        assert p == pytest.approx(np.mean(shares >= tnr))


def test_where_one_per_cent_is_several_members():
    """The p-value of 201 members, by drawing memberships again."""
    rng = np.random.default_rng(1)
    log_p, member = -rng.exponential(size=402), np.arange(402) < 201
    drawn = np.array([prediction.loss_tnr(log_p, rng.permutation(member)) for _ in range(4000)])
    for tnr, p in drawn[:40]:
        assert p == pytest.approx(np.mean(drawn[:, 0] >= tnr), abs=0.03)


def seen(gap, n=N, assignment="random", **more):
    """Losses of members without a tail, by `gap`: the share of the others that lie in one."""
    rng = np.random.default_rng(2)
    member = np.arange(n) % 2 == 0
    score = rng.uniform(0, 1, size=n)
    score[1::2][: int(gap * n / 2)] -= 5
    logits = np.stack([score, np.zeros(n)], 1)
    return audit.Observations(logits, np.zeros(n, int), member, assignment=assignment, **more)


def predicted(o):
    report = audit.run(o)
    text = report.to_markdown()
    return report.content["predicted"], text[text.index("A prediction: what shadow models") :]


def test_a_prediction_is_called_one_and_has_its_error():
    found, text = predicted(seen(0.2))
    assert found["lacks"] is None and found["tnr"] == pytest.approx(0.2, abs=0.02)
    value = np.exp(prediction.LEVEL) * found["tnr"] ** prediction.SLOPE
    assert found["tpr"] == pytest.approx([value, value / 1.59, value * 1.59])
    assert f"Predicted, not measured: from a loss TNR of {found['tnr']:.1%}" in text
    assert f"about {value:.1%} of the members" in text
    assert f"({value / 1.59:.1%} to {value * 1.59:.1%}: of the predictions" in text


def test_a_share_of_members_is_at_most_one():
    found, _ = predicted(seen(1.0))
    assert found["tpr"][2] == 1 > found["tpr"][0] > found["tpr"][1]


def shadowed():
    rng = np.random.default_rng(3)
    masks = rng.random((24, N)) < 0.5
    logits = np.stack([rng.normal(size=masks.shape) + masks, np.zeros(masks.shape)], -1)
    return seen(0.2, shadow_logits=logits, shadow_member=masks)


def other_records():
    rng = np.random.default_rng(3)
    return seen(
        0.2,
        shadow_logits=rng.normal(size=(2, 80, 2)),
        shadow_member=rng.random((2, 80)) < 0.5,
        shadow_labels=np.zeros(80, int),
    )


def numbers():
    errors = np.random.default_rng(4).normal(size=N)
    outputs, _ = regression.outputs(errors, np.zeros(N))
    return audit.Observations(
        outputs, np.zeros(N, int), np.arange(N) % 2 == 0, task="regression", assignment="random"
    )


def labels_alone():
    outputs = np.where(np.arange(2) == (np.arange(N) % 3 == 0)[:, None], 0.0, -np.inf)
    member = np.arange(N) % 2 == 0
    return audit.Observations(outputs, np.zeros(N, int), member, assignment="random")


@pytest.mark.parametrize(
    "observations, reason",
    [
        (lambda: seen(0.2, assignment="given", features=np.ones((N, 1))), "may differ by the diff"),
        (lambda: seen(0.2, n=198), "99 members are too few"),
        (lambda: seen(0.0), "no more than chance explains"),
        (lambda: seen(0.008, n=8000), "none had one below 2.11 %"),
        (numbers, "the model predicts a number"),
        (labels_alone, "labels alone, which have no loss"),
    ],
)
def test_where_no_predictor_holds_the_reason_is_said(observations, reason):
    found, text = predicted(observations())
    assert reason in found["lacks"] and "tpr" not in found
    assert f"No predictor holds here: {found['lacks']}." in text
    assert "Predicted, not measured" not in text


def test_a_hundred_members_are_enough():
    assert predicted(seen(0.2, n=200))[0]["lacks"] is None


def test_what_is_measured_is_not_predicted():
    found, text = predicted(shadowed())
    assert found["measured"] and "tpr" not in found
    assert "Not needed: LiRA, online, was run" in text and "No predictor holds" not in text


def test_shadow_models_of_other_records_measure_nothing_on_these():
    assert predicted(other_records())[0]["lacks"] is None


def test_nothing_is_predicted_from_an_input_that_contradicts_itself():
    """Members with the larger losses: the masks are inverted."""
    o = seen(0.9)
    report = audit.run(audit.Observations(o.logits, o.labels, ~o.member, assignment="random"))
    text = report.to_markdown()
    assert report.verdict == "check the input"
    part = text[text.index("A prediction: what shadow models") :]
    assert part.split("\n\n")[1].startswith("Not stated, because the input contradicts itself")


def test_copies_count_once():
    """Each record four times: the p-value knows of 100, not of 400."""
    few = seen(0.1, n=200)
    features = np.arange(200.0)[:, None]
    once = audit.Observations(
        few.logits, few.labels, few.member, features=features, assignment="random"
    )
    four = audit.Observations(
        *(np.repeat(part, 4, axis=0) for part in (few.logits, few.labels, few.member)),
        features=np.repeat(features, 4, axis=0),
        assignment="random",
    )
    found = [audit.run(o).content["predicted"] for o in (once, four)]
    assert found[0] == found[1]
