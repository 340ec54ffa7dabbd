"""The experiment notebook gan_stored writes every row that its record has, counts in the units of
the papers what the stored networks say, and refuses bad values.
"""

import numpy as np
import pytest
from notebook_runs import begin, cases, missing_rows, values
from sklearn.metrics import roc_auc_score, roc_curve

from mia_lib import bayes, data, generative, results

CHECKED, LOADED, COUNTED = 3, 6, 9  # code cells until the checks, the networks, their progress


@pytest.mark.slow
def test_every_row_of_the_record_has_its_place(here):
    given = "gan_stored", "mnist", "paper", here / "MIA_RESULTS"
    assert missing_rows(*given, n_splits=2) == []


@pytest.fixture(scope="module")
def space():
    return begin("gan_stored", COUNTED)


def test_scores_are_those_of_the_papers(space):
    """D(z) after a sigmoid, but for a critic, which has none."""
    for name, gans in space["plain"].items():
        found = gans[0].output(len(gans[0].epochs) - 1)
        assert (0 < found.min() and found.max() < 1) == (name != "wgan_gp"), name


def test_first_and_last_checkpoints_are_asked_about(space):
    for gans in space["plain"].values():
        places = space["looked_at"](gans[0])
        assert places[0] == 0 and places[-1] == len(gans[0].epochs) - 1 and len(places) == 3


def test_the_record_is_what_the_files_say():
    """Some rows by hand: AUC, W_N in a hundred cells of one width, and a paired difference."""
    (record,) = results.find(notebook="gan_stored", data="mnist", scale="paper")
    rows = {row["what"]: row for row in record["rows"]}
    for name, kind in (("wgan_gp", "WGAN-GP"), ("js_gan", "JS-GAN"), ("priv_gan", "privGAN")):
        gans = data.generators("mnist", name)
        end = f"{kind} after {gans[0].epochs[-1]} epochs"
        aucs, widths = [], []
        for gan in gans:
            raw = gan.score[-1].astype(float)
            aucs.append(roc_auc_score(gan.member, raw.max(0)))
            score = (raw if name == "wgan_gp" else 1 / (1 + np.exp(-raw))).max(0)
            edges = np.linspace(score.min(), score.max(), 101)
            shares = [np.histogram(score[s], edges)[0] / s.sum() for s in (gan.member, ~gan.member)]
            widths.append(np.abs(shares[0] - shares[1]).sum() / 2)
        assert rows[f"AUC, {end}"]["value"] == pytest.approx(np.mean(aucs))
        assert rows[f"W_N, {end}"]["value"] == pytest.approx(np.mean(widths))
        near = [roc_auc_score(g.member, g.nearest[-1, 0].astype(float)) for g in gans]
        assert rows[f"nearest AUC, {end}"]["value"] == pytest.approx(np.mean(near))
        lead = rows[f"score minus nearest, held out, {end}"]
        parts = [rows[f"held out, {part}, {end}"]["value"] for part in ("score", "nearest")]
        assert lead["value"] == pytest.approx(parts[0] - parts[1])


def test_the_private_rows_are_what_the_files_say():
    """Shares of records above tanh(eps / 2) by counting in a hundred cells, and its ceiling."""
    (record,) = results.find(notebook="gan_stored", data="mnist", scale="paper")
    rows = {row["what"]: row["value"] for row in record["rows"]}
    gans = data.generators("mnist", "dp_cgan")
    assert len(gans) == 3
    for t, epsilon in enumerate((0.3, 1, 2, 5, 10), start=1):
        above, counted = np.mean([counted_above(gan, t, epsilon) for gan in gans], axis=0)
        row = rows[f"share of estimates of |f| above tanh(eps/2), epsilon {epsilon:g}"]
        assert row == pytest.approx(above, abs=2e-4)
        at = f"DP-cGAN at epsilon {epsilon:g}"
        recipe = generative.DpCganRecipe(batch_size=600)  # with the papers' noise and clipping
        ceiling = recipe.guarantee(7_000, int(gans[0].epochs[t])).group(2).advantage()
        assert rows[f"ceiling of the advantage, {at}"] == pytest.approx(float(ceiling))
        assert rows[f"W_N, {at}"] == pytest.approx(counted)


def counted_above(gan, t, epsilon):
    """By hand in a hundred cells: the share of |f| above tanh(eps / 2), and W_N."""
    score = 1 / (1 + np.exp(-gan.score[t, 0].astype(float)))
    edges = np.linspace(score.min(), score.max(), 101)
    cell = np.clip(np.searchsorted(edges, score, side="right") - 1, 0, 99)
    shares = [
        np.bincount(cell[side], minlength=100) / side.sum() for side in (gan.member, ~gan.member)
    ]
    with np.errstate(invalid="ignore"):
        risk = np.abs((shares[0] - shares[1]) / (shares[0] + shares[1]))[cell]
    return (risk > np.tanh(epsilon / 2)).mean(), np.abs(shares[0] - shares[1]).sum() / 2


@pytest.mark.parametrize("dataset", ["mnist", "skin-lesions", "cifar10", "cifar10-50000"])
def test_advantages_of_releases_are_what_the_files_say(dataset):
    """Dealt, thresholded and counted by hand; a law is kept where the largest release surely finds
    somebody, and nowhere else.
    """
    (record,) = results.find(notebook="gan_stored", data=dataset, scale="paper")
    rows = {row["what"]: row for row in record["rows"]}
    for name in data.generator_names(dataset):
        if name.endswith("-marked") or (dataset == "mnist" and name.endswith("-unpenalised")):
            continue
        gans = data.generators(dataset, name)
        kind = gans[0].provenance["kind"]
        kind += " without penalty" * name.endswith("-unpenalised")
        kind += " with a rare class" * name.endswith("-rare")
        of = f"{kind} of {gans[0].member.sum()} members"
        rng = np.random.default_rng([0, 4])
        by_hand = np.mean([won_by_hand(gan, rng) for gan in gans], axis=0)
        for size, won in zip(gans[0].sizes, by_hand):
            row = rows[f"advantage of {size} records, {of}"]
            assert row["value"] == pytest.approx(won, abs=1e-9) and row["n"] == len(gans)
        ceiling = rows[f"ceiling of the law, {of}"]["value"]
        if len(gans) == 1:  # the interval of several is over networks, the rule over records
            assert (ceiling is not None) == (row["low"] > 0), of
        assert (ceiling is None) == (dataset != "mnist" or name == "dp_cgan"), of
        assert ceiling is None or row["value"] > ceiling, of  # as the page says


def test_what_the_page_reads_off_the_sizes():
    """The numbers of its text: what the largest release wins, and what the laws allow for 0.02."""
    rows = {}
    for dataset in ("mnist", "skin-lesions", "cifar10", "cifar10-50000"):
        (record,) = results.find(notebook="gan_stored", data=dataset, scale="paper")
        rows[dataset] = {row["what"]: row for row in record["rows"]}
    mnist, last = rows["mnist"], "advantage of 10000 records, "
    for kind in ("JS-GAN", "privGAN", "WGAN-GP"):
        assert 0.02 < mnist[f"{last}{kind} of 7000 members"]["value"] < 0.07
    rare = "WGAN-GP with a rare class of 760 members"
    assert f"{mnist[last + rare]['value']:.2f}" == "0.18"
    nobody = [mnist[f"{last}DP-cGAN of 7000 members"]]
    for dataset in ("skin-lesions", "cifar10", "cifar10-50000"):
        nobody += [row for what, row in rows[dataset].items() if what.startswith(last)]
    assert len(nobody) == 7 and all(row["low"] < 0 < row["high"] for row in nobody)
    larger = "nearest AUC, release of 10000 minus 100, "
    more = [mnist[larger + kind] for kind in ("privGAN", "WGAN-GP", "JS-GAN")]
    more.append(mnist[f"{larger}WGAN-GP with a rare class"])
    assert all(row["low"] > 0 for row in more)
    assert [f"{row['value']:.3f}" for row in more] == ["0.008", "0.015", "0.029", "0.071"]
    quiet = {f"mnist {larger}DP-cGAN": mnist[f"{larger}DP-cGAN"]}
    for dataset in ("skin-lesions", "cifar10", "cifar10-50000"):
        found = {f"{dataset} {what}": row for what, row in rows[dataset].items()}
        quiet |= {what: row for what, row in found.items() if larger in what}
    above = {what: row for what, row in quiet.items() if not row["low"] <= 0 <= row["high"]}
    assert len(quiet) == 7 and {
        what: [f"{row[part]:.3f}" for part in ("value", "low", "high")]
        for what, row in above.items()
    } == {
        f"skin-lesions {larger}JS-GAN without penalty": ["0.011", "0.002", "0.021"],
        f"cifar10-50000 {larger}JS-GAN": ["0.003", "0.000", "0.006"],
    }
    after = "nearest AUC, JS-GAN{}, release of 10000"
    areas = rows["skin-lesions"][after.format(" without penalty")], rows["cifar10-50000"]
    for row in (areas[0], areas[1][after.format("")]):
        assert row["low"] < 0.5 < row["high"]
    lesions = [row["high"] for what, row in rows["skin-lesions"].items() if what.startswith(last)]
    assert f"{max(lesions):.3f}" == "0.045"
    hidden = [mnist[f"{last}{kind} of 7000 members"]["value"] for kind in ("WGAN-GP", "privGAN")]
    assert max(hidden) < max(lesions) < mnist[f"{last}JS-GAN of 7000 members"]["low"]
    for kind in ("JS-GAN", "WGAN-GP"):
        assert mnist[f"advantage of 100 records, {kind} of 7000 members"]["high"] > 0.02
        assert 350 < mnist[f"records until advantage 0.02, {kind} of 7000 members"]["value"] < 400
    allowed = [mnist[f"records until advantage {a}, {rare}"]["value"] for a in (0.02, 0.05, 0.1)]
    assert [size < 100 for size in allowed] == [True, True, False]


def won_by_hand(gan, rng, n_blocks=40):
    """The mean over blocks of TPR - FPR, every half judged by the other's best threshold."""
    block = np.empty(len(gan.member), int)
    for side in (gan.member, ~gan.member):
        block[side] = rng.permutation(side.sum()) % n_blocks
    won = []
    for signal in gan.by_size.astype(float):
        gains = []
        for half in (block % 2 == 0, block % 2 == 1):
            fpr, tpr, at = roc_curve(gan.member[~half], signal[~half], drop_intermediate=False)
            called = signal >= at[(tpr - fpr).argmax()]
            for b in np.unique(block[half]):
                sides = (block == b) & gan.member, (block == b) & ~gan.member
                gains.append(called[sides[0]].mean() - called[sides[1]].mean())
        won.append(np.mean(gains))
    return won


def test_in_one_privgan_of_three_both_scores_lead_at_the_end():
    """As the chapter says: in the others they do not, and over the three nothing is resolved."""
    leads = []
    for gan in data.generators("mnist", "priv_gan")[:3]:
        scores = gan.score[-1].astype(float)
        asked = {"largest": scores.max(0), "both": scores.T}
        how = {"n_splits": 10, "score": scores.max(0), "rng": np.random.default_rng(0)}
        found = bayes.half_advantages(asked, gan.member, **how)
        leads.append(bayes.half_interval(found["both"] - found["largest"]))
    assert [lead.low > 0 for lead in leads] == [False, False, True]
    assert [lead.value > 0 for lead in leads] == [False, False, True]


def test_the_rare_class_is_that_of_the_paper():
    (gan,) = data.generators("mnist", "wgan_gp-rare")[:1]
    inside, outside = (np.bincount(gan.labels[s])[[0, 6]] for s in (gan.member, ~gan.member))
    assert inside.tolist() == [690, 70] and (inside + outside).tolist() == [6_900, 700]


@pytest.mark.parametrize(("dataset", "scale"), cases("gan_stored"))
def test_every_choice_of_parameters_passes_the_checks(dataset, scale):
    begin("gan_stored", CHECKED, **values("gan_stored", dataset, scale))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("dataset", "digits"),
        ("n_networks", -1),
        ("n_checkpoints", 1),
        ("bins", 1),
        ("few_bins", 1),
        ("n_splits", 1),
        ("metric_priors", [0.0]),
        ("bandwidths", {"WGAN-GP": 1.0, "JS-GAN": 0.0, "privGAN": 0.1}),
        ("bandwidths", {"WGAN-GP": 1.0}),
        ("epsilons", [0.0]),
        ("epsilons", [2.0, 1.0]),
        ("wanted", [1.0]),
        ("wanted", [0.1, 0.05]),
        ("delta", 1.0),
    ],
)
def test_one_line_names_what_cannot_be_meant(name, value):
    with pytest.raises(ValueError, match=f"^{name}.*: given .*, expected "):
        begin("gan_stored", CHECKED, **{name: value})
