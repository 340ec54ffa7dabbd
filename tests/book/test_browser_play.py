"""The playable pages in a browser: what they compute is what the library computes, with mouse or
keyboard, and without scripts a table stands there.
"""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from axe_playwright_python.sync_playwright import Axe
from browsing import HTML, SCHEMES
from scipy import optimize, stats

from mia_lib import intervals, lira, metrics, privacy

ROOT = Path(__file__).resolve().parents[2]
PAGES = ("game", "records", "epsilon", "how_many")

pytestmark = pytest.mark.browser


def stored(name):
    return json.loads((ROOT / "book" / "play" / f"{name}.json").read_text(encoding="utf-8"))


@pytest.fixture
def opened(contexts, site):
    """Opens a page by its name; a script error fails the test."""
    pages, errors = [], []

    def open_page(name, width=1280, scheme="light"):
        page = contexts[width, scheme].new_page()
        pages.append(page)
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto(f"{site}/book/play_{name}.html")
        page.wait_for_selector(".play-ready")
        return page

    yield open_page
    for page in pages:
        page.close()
    assert not errors


def cells(page):
    """The first table of a page, {first column: the rest}."""
    rows = page.locator(".play-table").first.locator("tbody tr").all()
    return {row.locator("th").inner_text(): row.locator("td").all_inner_texts() for row in rows}


def number(said):
    """The numbers of a text, per cent as fractions."""
    found = re.findall(r"(-?[\d,]*\.?\d+)(?:e(-?\d+))?\s*(%?)", said)
    return [
        float(value.replace(",", "")) * 10 ** int(power or 0) / (100 if share else 1)
        for value, power, share in found
    ]


# The arithmetic


def test_intervals_of_shares_are_the_library_s(opened):
    pairs = [(0, 1), (1, 1), (13, 20), (20, 20), (120, 200), (0, 5000), (4, 100_000)]
    seen = opened("game").evaluate(
        "pairs => pairs.map(([k, n]) => play.stats.clopperPearson(k, n, 0.05))", pairs
    )
    wanted = np.transpose(intervals.clopper_pearson(*np.transpose(pairs)))
    np.testing.assert_allclose(seen, wanted, rtol=1e-8, atol=1e-14)


def test_the_normal_law_is_scipy_s(opened):
    page, z = opened("game"), np.linspace(-37, 8, 400)
    seen = page.evaluate("z => z.map(play.stats.logNdtr)", z.tolist())
    np.testing.assert_allclose(seen, stats.norm.logcdf(z), rtol=1e-11, atol=1e-15)
    p = np.concatenate([np.logspace(-12, -1, 30), np.linspace(0.1, 0.999, 30)])
    seen = page.evaluate("p => p.map(play.stats.ndtri)", p.tolist())
    np.testing.assert_allclose(seen, stats.norm.ppf(p), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("epsilon", [0.01, 0.5, 1.0, 4.0, 20.0, 31.0])
@pytest.mark.parametrize("delta", [1e-3, 1e-7])
def test_a_pair_and_its_gaussian_mechanism_are_the_library_s(opened, epsilon, delta):
    fpr = np.logspace(-4, 0, 25)
    seen = opened("epsilon").evaluate(
        """([epsilon, delta, fpr]) => {
          const pair = play.stats.approximate(epsilon, delta);
          const whole = play.stats.gaussianOf(epsilon, delta);
          return [pair, whole].map(one => [one.advantage(), fpr.map(one.tprAt)]).concat(whole.mu);
        }""",
        [epsilon, delta, fpr.tolist()],
    )
    mu = optimize.brentq(
        lambda mu: float(privacy.gaussian(mu).delta(epsilon)) - delta, 1e-4, 60, xtol=1e-13
    )
    assert seen[2] == pytest.approx(mu, rel=1e-6)
    for (advantage, tpr), one in zip(
        seen[:2], (privacy.approximate(epsilon, delta), privacy.gaussian(mu))
    ):
        assert advantage == pytest.approx(float(one.advantage()), rel=1e-6)
        np.testing.assert_allclose(tpr, one.tpr_at(fpr), rtol=1e-6)


def test_counts_of_records_are_the_library_s(opened):
    fprs, purposes = [0.1, 0.02, 0.001, 0.00001], ["certify", "interval"]
    page = opened("how_many")
    asked = [(f, d, p) for f in fprs for d in (0.1, 0.05, 0.01) for p in purposes]
    seen = page.evaluate("all => all.map(one => play.stats.nonmembersNeeded(...one))", asked)
    assert seen == [metrics.n_nonmembers_needed(f, d, purpose=p) for f, d, p in asked]
    asked = [(t * f, f, d) for t in (1.5, 2, 3, 10) for f in fprs[:3] for d in (0.1, 0.05, 0.01)]
    seen = page.evaluate("all => all.map(one => play.stats.membersNeeded(...one))", asked)
    assert seen == [metrics.n_members_needed(*one) for one in asked]


@pytest.mark.parametrize("variance", ["per-example", "global"])
@pytest.mark.parametrize("n", [4, 8, 16, 32, 64])
def test_scores_and_curves_are_the_library_s(opened, n, variance):
    data = stored("records")
    phi = np.array(data["phi"])
    member = np.array([[bit == "1" for bit in row] for row in data["member"]])
    scores, area, found = opened("records").evaluate(
        """([phi, member, n, variance]) => {
          const fit = play.stats.fitted(phi.slice(0, n), member.slice(0, n), variance);
          const scores = phi.slice(64).map(row => play.stats.online(row, fit));
          const curve = play.stats.roc(scores.flat(), member.slice(64).flat());
          return [scores, curve.auc, [0.001, 0.01, 0.1].map(curve.tprAt)];
        }""",
        [data["phi"], member.tolist(), n, variance],
    )
    wanted = np.array([lira.online(one, phi[:n], member[:n], variance) for one in phi[64:]])
    np.testing.assert_allclose(scores, wanted, rtol=1e-6, atol=1e-6)
    curve = metrics.roc(np.array(scores).ravel(), member[64:].ravel())
    assert area == pytest.approx(curve.auc, rel=1e-9)
    rng = np.random.default_rng(0)
    rates = [curve.tpr_at(fpr, rng=rng).value for fpr in (0.001, 0.01, 0.1)]
    np.testing.assert_allclose(found, rates, rtol=1e-12)


# The pages


def test_a_game_played_by_keyboard_is_scored_as_the_library_scores_it(opened):
    page, data = opened("game", 390, "dark"), stored("game")
    truth = np.array([bit == "1" for bit in data["member"]])
    show = page.get_by_role("button", name="Show who was a member")
    show.focus()
    page.keyboard.press("Enter")
    assert "20 of twenty have no answer yet" in page.locator("[role=status]").inner_text()
    for played in (1, 2):
        for card in page.locator(".play-card").all():
            card.locator("input").first.focus()
            page.keyboard.press("Space")  # member
        page.get_by_role("button", name="Show who was a member").focus()
        page.keyboard.press("Enter")
        n, seen = 20 * played, cells(page)
        answers = {
            "you": np.ones(200, bool),
            "LOSS": np.array(data["phi"]) >= data["threshold"],
            "LiRA": np.array(data["lira"]) > 0,
        }
        for name, answer in answers.items():
            right = (answer == truth)[:n].sum()
            ends = (2 * one - 1 for one in intervals.clopper_pearson(right, n))
            wanted = intervals.Estimate(2 * right / n - 1, *ends)
            assert seen[name][1:] == [f"{right} of {n}", f"{wanted:.2f}"]
        if played == 1:
            page.get_by_role("button", name="Next twenty").press("Enter")
            assert page.evaluate("document.activeElement.textContent") == "Round 2 of 10"


def test_the_explorer_shows_what_the_library_finds(opened):
    page, data = opened("records"), stored("records")
    phi = np.array(data["phi"])
    member = np.array([[bit == "1" for bit in row] for row in data["member"]])
    page.get_by_role("combobox", name="Shadow models").select_option("8")
    page.get_by_role("radio", name="one for all").check()
    page.get_by_role("combobox", name="Class").select_option("3")
    page.get_by_role("combobox", name="Target").select_option("4")
    page.locator(".play-thumbs input").first.focus()
    page.keyboard.press("ArrowRight")
    page.get_by_role("slider").fill("1.5")
    scores = np.array([lira.online(one, phi[:8], member[:8], "global") for one in phi[64:]])
    curve = metrics.roc(scores.ravel(), member[64:].ravel())
    called, truth = scores >= 1.5, member[64:]
    found = curve.tpr_at(0.01, rng=np.random.default_rng(0)).value
    area, at_rate, at_threshold = cells(page)["LiRA"]
    assert area == f"{curve.auc:.3f}"
    assert number(at_rate) == [pytest.approx(found, abs=6e-4)]
    rates = [called[truth].mean(), called[~truth].mean()]
    assert number(at_threshold) == pytest.approx(rates, abs=6e-4)
    said = page.locator("[role=status]").inner_text()
    record = int(re.search(r"Record (\d+), model 5", said)[1]) - 1
    assert data["label"][record] == 3
    assert f"score {scores[4, record]:.2f}," in said
    right = called[4, record] == truth[4, record]
    assert f"which is {'right' if right else 'wrong'}" in said


def test_the_explorer_shows_what_the_library_finds_of_cifar_10(opened):
    page, there = opened("records", 390, "dark"), stored("records")["cifar10"]
    phi, n = np.array(there["phi"]), there["n_shadow"]
    member = np.array([[bit == "1" for bit in row] for row in there["member"]])
    page.get_by_role("radio", name="CIFAR-10").check()
    assert page.get_by_role("combobox", name="Shadow models").input_value() == str(n)
    page.get_by_role("combobox", name="Shadow models").select_option("4")
    page.get_by_role("radio", name="one for all").check()
    page.get_by_role("combobox", name="Class").select_option(label="truck")
    page.get_by_role("combobox", name="Target").select_option("1")
    images = page.get_by_role("combobox", name="Image, the most exposed first")
    images.focus()
    page.keyboard.press("ArrowDown")
    page.get_by_role("slider").fill("1")
    scores = np.array([lira.online(one, phi[:4], member[:4], "global") for one in phi[n:]])
    curve, called = metrics.roc(scores.ravel(), member[n:].ravel()), scores >= 1
    area, at_rate, at_threshold = cells(page)["LiRA"]
    assert area == f"{curve.auc:.3f}"
    found = curve.tpr_at(0.01, rng=np.random.default_rng(0)).value
    assert number(at_rate) == [pytest.approx(found, abs=6e-4)]
    rates = [called[member[n:]].mean(), called[~member[n:]].mean()]
    assert number(at_threshold) == pytest.approx(rates, abs=6e-4)
    said = page.locator("[role=status]").inner_text()
    place = there["index"].index(int(re.search(r"Image (\d+), model 2", said)[1]))
    assert there["classes"][there["label"][place]] == "truck"
    sides = [(phi[:n].mean(0, where=m), phi[:n].var(0, where=m)) for m in (member[:n], ~member[:n])]
    apart = (sides[0][0] - sides[1][0]) / np.sqrt((sides[0][1] + sides[1][1]) / 2)
    trucks = [i for i in np.argsort(-apart, kind="stable") if there["label"][i] == 9]
    assert place == trucks[1]
    assert f"score {scores[1, place]:.2f}," in said
    right = called[1, place] == member[n:][1, place]
    assert f"which is {'right' if right else 'wrong'}" in said
    page.get_by_role("radio", name="digits").check()
    assert page.get_by_role("combobox", name="Class").input_value() == "8"


def test_the_limits_of_a_training_and_of_a_pair_are_the_library_s(opened):
    page = opened("epsilon")
    page.get_by_role("combobox", name="A training of ours").select_option("")
    for label, value in (("Noise", "4"), ("Share of", "4"), ("Steps", "2")):
        page.get_by_role("slider", name=label).fill(value)
    limit, shown = privacy.subsampled_gaussian(1.5, 0.1, 100), [0.001, 0.01, 0.1]
    advantage, *rates = cells(page)["this training"]
    assert float(advantage) == pytest.approx(limit.advantage(), abs=6e-4)
    assert [number(one)[0] for one in rates] == pytest.approx(limit.tpr_at(shown), rel=6e-3)
    said = page.locator("[role=status]").inner_text()
    assert number(said.split("ε is")[1])[0] == pytest.approx(limit.epsilon(1e-5), rel=6e-3)
    page.get_by_role("radio", name="one pair").check()
    page.get_by_role("combobox", name="δ").select_option("1e-3")
    page.get_by_role("slider", name="ε").fill("0.5")
    pair = privacy.approximate(10**0.5, 1e-3)
    advantage, *rates = cells(page)["ε and δ alone"]
    assert float(advantage) == pytest.approx(pair.advantage(), abs=6e-4)
    assert [number(one)[0] for one in rates] == pytest.approx(pair.tpr_at(shown), rel=6e-3)


def test_counts_are_said_in_words(opened):
    page = opened("how_many")
    status = page.locator("[role=status]")
    page.get_by_role("slider").fill("6")
    counts = [metrics.n_nonmembers_needed(0.001, purpose=one) for one in ("certify", "interval")]
    assert all(f"{count:,} " in status.inner_text().replace(".", " ") for count in counts)
    page.get_by_role("radio", name="members", exact=True).check()
    page.get_by_role("combobox", name="Certainty").select_option("0.01")
    wanted = metrics.n_members_needed(0.002, 0.001, 0.01)
    assert f"about {wanted:,} members" in status.inner_text()
    data = stored("how_many")
    page.get_by_role("radio", name="shadow models").check()
    page.get_by_role("combobox", name="Data").select_option("location30")
    for name, ladder in data["shadow"]["location30"].items():
        enough = next(row for row in ladder if row[1] >= 0.9 * ladder[-1][1])
        assert f"{enough[0]} models with {name}" in status.inner_text()
    page.get_by_role("radio", name="published records").check()
    page.get_by_role("combobox", name="Generator").select_option("JS-GAN of digits")
    allowed = [row[0] for row in data["release"]["JS-GAN of digits"] if row[3] <= 0.05]
    assert allowed == [1] and "with up to one published record the" in status.inner_text()


@pytest.mark.parametrize("name", PAGES)
def test_without_scripts_a_table_stands_there(browser, site, name):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{site}/book/play_{name}.html")
    still = stored(name)["still"]
    assert page.locator(".play-still").is_visible()
    assert page.locator(".play-still tbody tr").count() == len(still["rows"])
    assert page.locator(".play-still thead th").all_inner_texts() == still["head"]
    context.close()


@pytest.mark.parametrize("name", PAGES)
def test_a_page_works_from_a_file(browser, name):
    context = browser.new_context()
    page = context.new_page()
    page.goto((HTML / f"book/play_{name}.html").as_uri())
    page.wait_for_selector(".play-ready")
    assert page.locator(".play-still").count() == 0
    context.close()


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("name", PAGES)
def test_nothing_serious_keeps_anybody_out(opened, name, scheme):
    """By the rules of axe."""
    found = Axe().run(opened(name, 1280, scheme)).response["violations"]
    serious = [one for one in found if one["impact"] in ("serious", "critical")]
    assert not serious, [(one["id"], one["nodes"][0]["html"]) for one in serious]


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("name", ["epsilon", "how_many", "records"])
def test_nothing_sticks_out_whatever_is_chosen(opened, name, width):
    page = opened(name, width, "dark")
    for label in page.locator(".play-choice:not(.play-thumbs) label").all():
        label.click()
        wide = page.evaluate(
            "document.documentElement.scrollWidth > document.documentElement.clientWidth + 1"
        )
        assert not wide, label.inner_text()
