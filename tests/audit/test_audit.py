import datetime
import json
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from mia_lib import attacks, audit, lira, metrics, shadow, signals
from mia_lib.audit import methods
from mia_lib.audit.__main__ import main as command


def world(n=400, n_shadow=0, n_classes=3, gain=0.0, seed=0, assignment="random", **more):
    """Outputs of models that lift the right class by `gain` for their own members; gain 0 leaks
    nothing.
    """
    rng = np.random.default_rng(seed)
    labels, base = rng.integers(0, n_classes, n), rng.normal(size=(n, n_classes))
    masks = shadow.half_masks(n_shadow, n, rng) if n_shadow else None

    def outputs(member):
        logits = base + 0.3 * rng.normal(size=(n, n_classes))
        logits[np.arange(n), labels] += 1 + gain * member
        return logits

    member = rng.random(n) < 0.5
    shadow_logits = np.stack([outputs(row) for row in masks]) if n_shadow else None
    more = {"assignment": assignment, **more}
    return audit.Observations(outputs(member), labels, member, shadow_logits, masks, **more)


def test_every_attack_is_that_of_the_library():
    o = world(n_shadow=16, gain=1.0)
    lines = {line["name"]: line for line in audit.run(o).content["attacks"]}
    phi, shadows = (
        signals.logit_confidence(o.logits, o.labels),
        signals.logit_confidence(o.shadow_logits, o.labels),
    )
    online = metrics.roc(lira.online(phi, shadows, o.shadow_member, variance="global"), o.member)
    assert lines["LiRA, online"]["auc"] == [float(v) for v in online.auc_interval()]
    loss = metrics.roc(-signals.cross_entropy(o.logits, o.labels), o.member)
    assert lines["LOSS"]["auc"] == [float(v) for v in loss.auc_interval()]
    assert lines["LOSS"]["tpr"][1] == [float(v) for v in loss.tpr_at(0.01)]
    assert lines["LOSS"]["tpr"][2] is None  # 0.1 % of about 200 non-members cannot be seen
    assert lines["LiRA, online"]["auc"][0] > lines["LOSS"]["auc"][0] > 0.55


def test_every_line_is_an_entry_of_the_catalogue():
    o = world(n_shadow=16, gain=1.0)
    content = audit.run(o).content
    assert [line["name"] for line in content["attacks"]] == list(methods.ORDER)
    for line in content["attacks"]:
        attack = attacks.named(line["name"])
        rows = slice(None) if "OUT" in attack.needs else slice(methods.TEACHERS)
        seen = [attack.signal(o.logits, o.labels)]
        if {"OUT", "shadow"} & set(attack.needs):
            seen += [attack.signal(o.shadow_logits[rows], o.labels), o.shadow_member[rows]]
        more = attack.takes(labels=o.labels, rng=np.random.default_rng([0, 1]))
        score = attack.one_target(*seen, **attack.options, **more)
        assert line["auc"][0] == pytest.approx(metrics.roc(score, o.member).auc, abs=1e-6)
        assert line["adversary"] == attack.adversary


def test_same_observations_same_report():
    first, second = (audit.run(world(n_shadow=8, gain=0.5), seed=3) for _ in range(2))
    assert first.to_html() == second.to_html() and first.to_json() == second.to_json()
    assert first.to_markdown() == second.to_markdown()
    assert audit.run(world(n_shadow=8, gain=0.5), seed=4).to_json() != first.to_json()


def test_nothing_is_claimed_beyond_the_blind_classifier():
    """Groups that differ by their inputs, and a model that never saw them but follows the
    inputs.
    """
    rng = np.random.default_rng(0)
    member = np.arange(600) < 300
    features = rng.normal(size=(600, 4)) + 1.5 * member[:, None]
    logits = np.stack([features[:, 0] * 0.5, np.zeros(600)], axis=1)
    o = audit.Observations(logits, np.zeros(600, int), member, features=features)
    report = audit.run(o)
    assert report.verdict == "groups differ"
    assert "no evidence about the model" in report.reasons[-1]
    assert min(low for line in report.content["blind"] for _, low, _ in line["auc"]) > 0.9
    assert "p-value" not in report.to_markdown() and "95 %" not in report.to_markdown()


def test_a_leak_is_found_and_random_assignment_allows_levels():
    report = audit.run(world(n=600, gain=2.0))
    assert report.verdict == "leak" and report.content["advantage"][0]["p"] <= 0.05
    assert report.content["set"]["tests"][0]["p"] < 0.05
    o = world(n=600, gain=2.0, assignment="given", features=np.zeros((600, 1)))
    given = audit.run(o)
    assert given.verdict == "leak" and "unless the labels drift" in given.reasons[0]
    assert (
        given.content["advantage"][0]["p"] is None
        and given.content["set"]["lacks"]
        and given.content["epsilon"]["lacks"]
    )
    assert "epsilon of this training is at least" not in given.to_markdown()


def test_epsilon_needs_coins():
    coins = audit.run(world(n=1000, gain=4.0, assignment="coins")).content["epsilon"]
    assert 0.5 < coins["bound"] <= coins["most"]
    assert audit.run(world(n=1000, gain=4.0)).content["epsilon"]["lacks"]
    with pytest.raises(ValueError, match="assignment: given 'coins' with 390 members of 400"):
        o = world()
        audit.Observations(o.logits, o.labels, np.arange(400) < 390, assignment="coins")


def test_counts_that_betray_membership_are_evened_out():
    rng = np.random.default_rng(0)
    masks = shadow.half_masks(8, 2000, rng)
    logits = rng.normal(size=(8, 2000, 2))  # nothing leaks
    o = audit.Observations(
        logits[0], np.zeros(2000, int), masks[0], logits[1:], masks[1:], assignment="random"
    )
    lines = {line["name"]: line for line in audit.run(o).content["attacks"]}
    for name in ("LiRA, online", "LiRA, offline"):
        assert abs(lines[name]["auc"][0] - 0.5) < 4 * 0.013


def test_an_estimator_of_scikit_learn_with_shadow_models():
    x, y = load_breast_cancer(return_X_y=True)
    rng = np.random.default_rng(0)
    member = rng.random(len(x)) < 0.5

    def fit(x, y):
        return RandomForestClassifier(20, random_state=0).fit(x, y)

    target = fit(x[member], y[member])
    o = audit.observe(target, x, y, member, fit=fit, n_shadow=8, assignment="random", rng=rng)
    np.testing.assert_allclose(np.exp(o.logits), target.predict_proba(x))
    content = audit.run(o).content
    assert content["attacks"][0]["lacks"] is None and content["attacks"][0]["auc"][1] > 0.5
    with pytest.warns(UserWarning, match="differ in n_estimators"):
        audit.observe(
            target, x, y, member, fit=lambda x, y: RandomForestClassifier(10).fit(x, y), n_shadow=4
        )
    with pytest.warns(UserWarning, match="the shadow models are LogisticRegressions"):
        audit.observe(
            target,
            x,
            y,
            member,
            fit=lambda x, y: LogisticRegression(solver="liblinear").fit(x, y),
            n_shadow=4,
        )


def test_probabilities_of_zero_are_no_outliers():
    """A forest's 0 means "below one tree in so many": it counts as half the smallest probability
    that occurs.
    """
    rng = np.random.default_rng(0)
    masks = shadow.bernoulli_masks(17, 500, rng)
    p = np.clip(
        np.round(0.6 + 0.15 * masks + 0.15 * rng.normal(size=masks.shape), 1), 0, 1
    )  # p_y in tenths
    with np.errstate(divide="ignore"):
        logits = np.log(np.stack([p, 1 - p], axis=-1))
    o = audit.Observations(logits[0], np.zeros(500, int), masks[0], logits[1:], masks[1:])
    phi = np.log((p + 0.05 * (p == 0)) / (1 - p + 0.05 * (p == 1)))
    expected = metrics.roc(lira.online(phi[0], phi[1:], masks[1:], variance="global"), masks[0])
    lines = {line["name"]: line for line in audit.run(o).content["attacks"]}
    assert lines["LiRA, online"]["auc"][0] == pytest.approx(expected.auc, abs=1e-9)
    assert lines["LiRA, online"]["auc"][0] > 0.7


def test_a_frame_with_texts_and_gaps():
    rng = np.random.default_rng(0)
    x = pd.DataFrame(
        {"size": rng.normal(size=80), "kind": np.where(rng.random(80) < 0.5, "a", "b")},
        index=np.arange(80) + 7,
    )
    x.loc[9, "size"] = np.nan
    y, member = np.arange(80) % 2, np.arange(80) < 40

    def fit(x, y):
        columns = make_column_transformer((OneHotEncoder(), ["kind"]), remainder=SimpleImputer())
        return make_pipeline(columns, LogisticRegression()).fit(x, y)

    o = audit.observe(
        fit(x[member], y[member]),
        x,
        pd.Series(y, x.index),
        pd.Series(member, x.index),
        fit=fit,
        n_shadow=4,
    )
    assert (
        o.features.shape == (80, 4)
        and o.features[2].tolist()[0] == 0
        and o.features[:, 3].sum() == 1
    )
    with pytest.raises(ValueError, match="n_shadow: given 5, expected an even number"):
        audit.observe(fit(x[member], y[member]), x, y, member, fit=fit, n_shadow=5)


def test_a_class_that_a_shadow_model_never_saw():
    x, y = np.arange(40.0)[:, None], np.array(["a", "b", "c", "c"] * 10)
    y[:2] = "a", "b"

    def fit(x, y):
        return LogisticRegression().fit(x[y != "c"], y[y != "c"])

    target = LogisticRegression(max_iter=500).fit(x, y)
    o = audit.observe(target, x, y, np.arange(40) < 20, fit=fit, n_shadow=4)
    assert (o.shadow_logits[..., 2] == -np.inf).all() and o.labels.tolist()[:4] == [0, 1, 2, 2]
    assert np.isfinite(
        [line["auc"] for line in audit.run(o).content["attacks"] if line["lacks"] is None]
    ).all()


def test_a_torch_network_and_a_function():
    torch.manual_seed(0)
    net = torch.nn.Sequential(
        torch.nn.Linear(3, 4), torch.nn.Dropout(0.5), torch.nn.Linear(4, 2)
    ).train()
    x, y, member = (
        np.random.default_rng(0).normal(size=(60, 3)),
        np.arange(60) % 2,
        np.arange(60) < 30,
    )
    o = audit.observe(net, x, y, member)
    assert net.training
    with torch.no_grad():
        np.testing.assert_allclose(
            o.logits, net.eval()(torch.tensor(x, dtype=torch.float32)).numpy(), rtol=1e-5
        )
    by_function = audit.observe(
        lambda x: np.exp(o.logits) / np.exp(o.logits).sum(1, keepdims=True), x, y, member
    )
    np.testing.assert_allclose(np.exp(by_function.logits).sum(1), 1, rtol=1e-6)


def save(folder, o, **other):
    names = ("logits", "labels", "member", "shadow_logits", "shadow_member")
    arrays = {name: getattr(o, name) for name in names if getattr(o, name) is not None} | other
    np.savez(folder / "seen.npz", **arrays)
    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", array)
    return folder / "seen.npz"


def test_files_and_command(tmp_path, capsys):
    o = world(n_shadow=8, gain=1.0)
    file = save(
        tmp_path,
        o,
        assignment=np.array("random"),
        **{"columns.side": np.where(np.arange(400) % 2, "left", "right")},
    )
    assert command([str(file), "--check"]) == 0 and "can be audited" in capsys.readouterr().out
    assert command([str(file), "-o", str(tmp_path / "out" / "report")]) == 0
    for suffix in (".html", ".md", ".json", ".csv", ".pdf"):
        assert (tmp_path / "out" / f"report{suffix}").stat().st_size > 1000
    content = json.loads((tmp_path / "out" / "report.json").read_text())
    assert content["date"] == datetime.date.today().isoformat() and content["model"] == "seen"
    again = audit.run(audit.load(tmp_path), model="seen", date=content["date"])
    assert content == again.content  # the folder of .npy says the same
    said = capsys.readouterr().out
    assert said.endswith("\n".join([content["verdict"], *content["reasons"]]) + "\n")
    assert {line["value"] for line in content["slices"] if line["column"] == "side"} == {
        "left",
        "right",
    }
    assert command([str(tmp_path / "nothing.npz"), "--check"]) == 1
    assert "path: given" in capsys.readouterr().err


def test_check_reads_every_number_and_says_what_is_permitted(tmp_path, capsys):
    o = world(n_shadow=8)
    assert command([str(save(tmp_path, o)), "--check"]) == 0
    said = capsys.readouterr().out
    assert "LiRA, online: possible" in said
    broken = o.shadow_logits.copy()
    broken[3, 7, 1] = np.nan
    for name, array in (("shadow_logits", broken), ("features", np.full((400, 2), np.inf))):
        assert command([str(save(tmp_path, o, **{name: array})), "--check"]) == 1
        assert f"error: {name}: given" in capsys.readouterr().err
    few = world(n_shadow=8)
    mask = few.shadow_member.copy()
    mask[:, :3] = True
    mask[0, :3] = False
    o = audit.Observations(few.logits, few.labels, few.member, few.shadow_logits, mask)
    assert (
        dict(audit.permits(o))["LiRA, online"]
        == "two OUT shadow models for every record, 3 have fewer"
    )


def test_fewer_shadow_models_find_less():
    o = world(n=1000, n_shadow=64, gain=1.0)
    content = audit.run(o).content
    fewer = content["resolution"]["fewer"]
    assert [line[0] for line in fewer] == [4, 8, 16, 32, 64]
    assert fewer[-1][1][0] > fewer[0][1][0]
    everything = next(line["auc"] for line in content["attacks"] if line["name"] == "LiRA, online")
    assert fewer[-1][1] == pytest.approx(
        everything, abs=1e-9
    )  # 64 of 64: the same fits, the models in another order


WATCHED = """
import resource, sys
from pathlib import Path
from mia_lib.audit.__main__ import main
assert main(sys.argv[1:]) == 0
# Linux counts the size of the process that started this one into ru_maxrss
if Path("/proc/self/status").exists():
    lines = open("/proc/self/status")
    print(1024 * int(next(line for line in lines if line.startswith("VmHWM")).split()[1]))
else:
    unit = 1 if sys.platform == "darwin" else 1024
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit)
"""


def test_shadow_outputs_and_features_in_a_folder_are_never_held_whole(tmp_path):
    """Beyond a small audit, the pages of the mapped files themselves and little more: a float32
    copy of them would fail.
    """
    used = []
    for n_shadow, n, n_classes, width in ((4, 400, 100, 10), (80, 10_000, 100, 10_000)):
        folder = tmp_path / str(n)
        folder.mkdir()
        rng = np.random.default_rng(0)
        np.save(folder / "labels.npy", np.arange(n) % n_classes)
        np.save(folder / "member.npy", rng.random(n) < 0.5)
        np.save(folder / "shadow_member.npy", shadow.half_masks(n_shadow, n, rng))
        np.save(folder / "logits.npy", rng.standard_normal((n, n_classes), dtype=np.float32))
        shape = (n_shadow, n, n_classes)
        outputs = np.lib.format.open_memmap(folder / "shadow_logits.npy", "w+", np.float32, shape)
        for row in outputs:
            row[:] = rng.standard_normal((n, n_classes), dtype=np.float32)
        features = np.lib.format.open_memmap(folder / "features.npy", "w+", np.uint8, (n, width))
        features[:] = rng.integers(0, 2, (n, 1), dtype=np.uint8)
        outputs.flush(), features.flush()
        command = [sys.executable, "-c", WATCHED, str(folder), "-o", str(folder / "report")]
        run = subprocess.run(command, capture_output=True, text=True, check=True)
        used.append(int(run.stdout.split()[-1]))
        mapped = outputs.nbytes + features.nbytes
    assert used[1] - used[0] < mapped + 0.9 * outputs.nbytes


def test_the_module_runs(tmp_path):
    file = save(tmp_path, world())
    run = subprocess.run(
        [sys.executable, "-m", "mia_lib.audit", str(file), "--check"],
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0 and "logits" in run.stdout


@pytest.mark.parametrize(
    "change, message",
    [
        ({"labels": np.zeros(3, int)}, r"labels: .*expected"),
        ({"member": np.ones(400, bool)}, "member: given 400 members and 0 non-members"),
        ({"logits": np.zeros((400, 1))}, r"logits: given shape \(400, 1\)"),
        (
            {"shadow_logits": np.zeros((4, 399, 3))},
            r"shadow_logits: given shape \(4, 399, 3\), expected shape "
            r"\(S, 400, 3\) or \(S, 1, 400, 3\) to go with logits \(400, 3\)",
        ),
        ({"representation": np.zeros((400, 0))}, r"representation: given shape \(400, 0\)"),
        ({"features": np.zeros((400, 0))}, r"features: given shape \(400, 0\)"),
        ({"shadow_member": None}, "shadow_member: given nothing"),
        ({"features": np.zeros(400)}, r"features: given shape \(400,\)"),
        ({"columns": {"age": np.zeros(3)}}, r"columns.age: given shape \(3,\)"),
        ({"assignment": "luck"}, "assignment: given 'luck'"),
    ],
)
def test_bad_observations(change, message):
    o = world(n_shadow=4)
    arguments = {
        name: getattr(o, name)
        for name in ("logits", "labels", "member", "shadow_logits", "shadow_member")
    }
    with pytest.raises(ValueError, match=message):
        audit.Observations(**{**arguments, **change})


@pytest.mark.parametrize(
    "change, message",
    [
        ({"probabilities": np.full((400, 3), 0.5)}, "logits: given beside probabilities"),
        ({"surprise": np.zeros(3)}, "an unknown entry 'surprise'"),
        ({"labels": np.array([{}] * 400)}, "labels: given an entry"),
    ],
)
def test_bad_files(tmp_path, change, message):
    o = world()
    np.savez(
        tmp_path / "bad.npz",
        **{"logits": o.logits, "labels": o.labels, "member": o.member, **change},
    )
    with pytest.raises(ValueError, match=message):
        audit.load(tmp_path / "bad.npz")
    np.savez(
        tmp_path / "rows.npz",
        probabilities=np.full((400, 3), 0.5),
        labels=o.labels,
        member=o.member,
    )
    with pytest.raises(
        ValueError, match="probabilities: given a row that sums to 1.5, expected probabilities"
    ):
        audit.load(tmp_path / "rows.npz")


def test_bad_calls():
    with pytest.raises(ValueError, match="observations: given dict"):
        audit.run({})
    with pytest.raises(ValueError, match="prior"):
        audit.run(world(), prior=1.0)
    o = world()
    broken = audit.Observations(
        np.where(np.arange(400)[:, None] == 7, np.nan, o.logits), o.labels, o.member
    )
    with pytest.raises(ValueError, match="logits"):
        audit.run(broken)
    with pytest.raises(ValueError, match="predictions of dtype int64"):
        audit.observe(
            lambda x: np.zeros((60, 2), int),
            np.zeros((60, 1)),
            np.zeros(60, int),
            np.arange(60) < 30,
        )
