"""The numbers behind the playable pages, one small JSON file each in book/play.

    python scripts/play.py [NAME ...]      # game, records, epsilon, how_many; default: all four

Digits, networks and curves come from the library, measured attacks from the recorded runs. Each
file also holds a table, `still`, that the page shows where scripts are switched off. The networks
take a second to train, the grid of guarantees about five minutes.
"""

import functools
import itertools
import json
import sys
import tempfile
from pathlib import Path

import numpy as np

from mia_lib import (
    attacks,
    data,
    disk,
    intervals,
    lira,
    metrics,
    privacy,
    results,
    shadow,
    signals,
    train,
)

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "book" / "play"
RECORDS = ROOT / "notebooks" / "results"
N_RECORDS, N_SHADOW = 300, 64
ROUNDS, ROUND = 10, 20  # of the game, a new target for each round
CIFAR_SHADOW, CIFAR_TARGETS, CIFAR_EACH = 8, 2, 50  # networks, networks, images of a class
CIFAR_CLASSES = "airplane automobile bird cat deer dog frog horse ship truck".split()
PIXEL = "0123456789abcdefg"  # grey levels 0 to 16 of the digits
FPRS = np.logspace(-4, 0, 25)
NOISES = (0.4, 0.6, 0.8, 1.0, 1.5, 2.0, 3.0, 5.0)
RATES = (0.001, 0.003, 0.01, 0.03, 0.1, 1.0)
STEPS = (1, 10, 100, 1000, 3000, 10000)
DP_DELTAS = (1e-3, 1e-5, 1e-7)
SHOWN = (0.001, 0.01, 0.1)  # false-positive rates of the readings


def rounded(values, digits=6):
    """Numbers as JSON has them: plain floats of so many significant digits."""
    if np.ndim(values):
        return [rounded(value, digits) for value in values]
    return float(f"{values:.{digits}g}")


@functools.cache
def trained():
    """300 digits, and what 64 shadow models and 10 targets say of them.

    The masks are halves of every four models in turn, so that the first 4, 8, 16, ... shadow models
    hold each record in exactly half of them. The signal is rounded before anything is computed from
    it: a page has the same numbers as the library.

    Returns
    -------
    x (300, 8, 8), y (300,), phi (74, 300), masks (74, 300), second (74, 300): the class that a
    model thinks of next.
    """
    digits, rng = data.load("digits"), np.random.default_rng([26, 1])
    drawn = rng.permutation(len(digits.y))[:N_RECORDS]
    x, y = digits.x[drawn], digits.y[drawn]
    parts = [4] * (N_SHADOW // 4) + [ROUNDS]
    masks = np.concatenate([shadow.half_masks(part, N_RECORDS, rng) for part in parts])
    recipe = train.Classifier(
        hidden=(128,), activation="tanh", epochs=100, batch_size=64, learning_rate=0.1
    )
    with tempfile.TemporaryDirectory() as folder:
        logits = np.array(shadow.train(recipe, x, y, masks, folder, seed=1).logits()[:, 0])
    phi = signals.logit_confidence(logits, y).round(2)
    logits[:, np.arange(N_RECORDS), y] = -np.inf
    return x, y, phi, masks, logits.argmax(-1)


def pixels(x):
    """A string for each digit, a character for each pixel, whose levels are sixteenths."""
    return ["".join(PIXEL[level] for level in one.ravel()) for one in (16 * x).round().astype(int)]


def bits(masks):
    """A string of 0 and 1 for each row."""
    return ["".join("01"[int(one)] for one in row) for row in masks]


def game():
    """Ten rounds of twenty records, each round against another target, a coin for each record, and
    no record twice; what LOSS and LiRA answer.
    """
    x, y, phi, masks, second = trained()
    own, known = phi[:N_SHADOW], masks[:N_SHADOW]
    rng = np.random.default_rng([26, 2])
    coins = rng.random((ROUNDS, ROUND)) < 0.5
    waiting, drawn = list(rng.permutation(N_RECORDS)), []
    for target, row in zip(masks[N_SHADOW:], coins):
        for coin in row:
            drawn.append(next(one for one in waiting if target[one] == coin))
            waiting.remove(drawn[-1])
    place = np.repeat(np.arange(N_SHADOW, len(phi)), ROUND), np.array(drawn)
    score = np.array([lira.online(target, own, known) for target in phi[N_SHADOW:]])
    threshold = float(attacks.best_threshold(own.ravel(), known.ravel()))
    coins = coins.ravel()
    score = score[place[0] - N_SHADOW, place[1]]
    answers = {"LOSS": phi[place] >= threshold, "LiRA": score > 0}
    return {
        "round": ROUND,
        "threshold": threshold,
        "index": place[1].tolist(),
        "label": y[drawn].tolist(),
        "second": second[place].tolist(),
        "phi": rounded(phi[place]),
        "lira": rounded(score),
        "member": bits([coins])[0],
        "pixels": pixels(x[drawn]),
        "still": game_still(answers, coins),
    }


def game_still(answers, coins):
    """Right answers of both attacks, round by round and in all."""
    right = {name: answer == coins for name, answer in answers.items()}
    rows = [
        [str(k + 1), *(f"{one[k * ROUND : (k + 1) * ROUND].sum()}" for one in right.values())]
        for k in range(ROUNDS)
    ]
    rows.append(["advantage in all"])
    for one in right.values():
        low, high = intervals.clopper_pearson(one.sum(), one.size)
        rows[-1].append(f"{intervals.Estimate(*(2 * p - 1 for p in (one.mean(), low, high))):.2f}")
    head = ["round", *(f"{name}: right of {ROUND}" for name in right)]
    return {"caption": "The two attacks in all ten rounds.", "head": head, "rows": rows}


def records():
    """The signals of all models on all records, and who trained on what."""
    x, y, phi, masks, _ = trained()
    return {
        "n_shadow": N_SHADOW,
        "models": [4, 8, 16, 32, 64],
        "label": y.tolist(),
        "phi": [rounded(row) for row in phi],
        "member": bits(masks),
        "pixels": pixels(x),
        "cifar10": cifar10(),
        "still": records_still(y, phi[:N_SHADOW], masks[:N_SHADOW]),
    }


def cifar10():
    """The stored signals of some CIFAR-10 images; the images themselves do not travel.

    Drawn are 50 a class of the images that two of every four shadow models in turn, and half of the
    targets, were trained on, so that the first 4, 8, ... shadow models hold each in exactly half of
    them. Who can be drawn depends on the masks alone. JPEG copies and images that occur twice are
    left out.
    """
    found = data.signals("cifar10", CIFAR_SHADOW + CIFAR_TARGETS)
    fours = found.member[:CIFAR_SHADOW].reshape(-1, 4, len(found.labels)).sum(1)
    targets, rng = found.member[CIFAR_SHADOW:], np.random.default_rng([26, 2])
    usable = (fours == 2).all(0) & (targets.sum(0) == CIFAR_TARGETS // 2)
    usable &= ~found.approximate & (found.duplicate_of < 0)
    drawn = [
        np.sort(rng.choice(np.flatnonzero(usable & (found.labels == label)), CIFAR_EACH, False))
        for label in range(len(CIFAR_CLASSES))
    ]
    index = np.concatenate(drawn)
    return {
        "n_shadow": CIFAR_SHADOW,
        "models": list(range(4, CIFAR_SHADOW + 1, 4)),
        "classes": CIFAR_CLASSES,
        "index": index.tolist(),
        "label": found.labels[index].tolist(),
        "phi": [rounded(row) for row in found.phi[:, index].astype(float).round(2)],
        "member": bits(found.member[:, index]),
    }


def records_still(y, phi, masks):
    """Of each class the record whose IN and OUT signals lie furthest apart."""
    side = {True: np.where(masks, phi, np.nan), False: np.where(masks, np.nan, phi)}
    mean = {key: np.nanmean(one, axis=0) for key, one in side.items()}
    spread = {key: np.nanstd(one, axis=0) for key, one in side.items()}
    apart, rows = lira.separation(phi, masks), []
    for label in range(10):
        own = np.flatnonzero(y == label)
        best = own[np.argmax(apart[own])]
        said = [f"{mean[key][best]:.1f} ± {spread[key][best]:.1f}" for key in (True, False)]
        rows.append([str(label), str(best + 1), *said, f"{apart[best]:.1f}"])
    return {
        "caption": "Of each class the digit whose IN and OUT signals lie furthest apart: mean and "
        "standard deviation over 64 models, and the distance of the means over the sum of both "
        "standard deviations.",
        "head": ["class", "record", "IN", "OUT", "distance"],
        "rows": rows,
    }


def readings(guarantee):
    """What a page shows of a guarantee."""
    return {
        "epsilon": rounded(guarantee.epsilon(np.array(DP_DELTAS))),
        "advantage": rounded(guarantee.advantage()),
        "tpr": rounded(guarantee.tpr_at(FPRS), 5),
    }


def grid():
    """Every mechanism that the controls can name."""
    return list(itertools.product(NOISES, RATES, STEPS))


def epsilon():
    """Guarantees on a grid of noise, rate and steps, and of the trainings that we attacked."""
    found = [readings(privacy.subsampled_gaussian(*one)) for one in grid()]
    ours = measured()
    return {
        "noises": NOISES,
        "rates": RATES,
        "steps": STEPS,
        "deltas": DP_DELTAS,
        "fprs": rounded(FPRS),
        **{name: [one[name] for one in found] for name in ("epsilon", "advantage", "tpr")},
        "ours": ours,
        "still": epsilon_still(ours),
    }


def measured():
    """The private trainings of the records, what was promised of them and what attacks found."""
    found = []
    for notebook, name in itertools.product(("dp_canaries", "lira_dp"), ("digits", "mnist")):
        (record,) = results.find(folder=RECORDS, notebook=notebook, data=name, scale="paper")
        given = record["parameters"]
        sizes = {"hidden": tuple(given["hidden"])} | {
            key: given[key] for key in ("epochs", "batch_size", "learning_rate")
        }
        half = (given["n_examples"] or len(data.load(name).y)) // 2
        for noise in filter(None, given["noises"]):
            fit = train.PrivateSGD(train.Classifier(**sizes), noise, 1.0, public_size=half)
            promise = fit.guarantee(half)
            of = f"noise {noise:g}"
            found.append(
                {
                    "name": f"{name}, {of}" + (" (LiRA)" if notebook == "lira_dp" else ""),
                    "mechanism": rounded(
                        [promise.noise_multiplier, promise.sampling_rate, promise.steps]
                    ),
                    **readings(promise),
                    "points": points(record, notebook, of),
                }
            )
    return found


def points(record, notebook, of):
    """(attack, FPR, TPR, low, high) of one training."""
    form = r"TPR at FPR (?P<fpr>[\d.]+)%, (?P<attack>every step|outputs), (?P<of>noise \S+)"
    if notebook == "lira_dp":
        form = r"(?P<attack>LiRA), TPR at FPR (?P<fpr>[\d.]+)%, (?P<of>noise \S+), norm 1"
    found = results.matching(record, form)
    found["fpr"] = found["fpr"].astype(float) / 100
    # From a hundred non-members mere guessing has a TPR of 1.5 % at 1 %: such a point says nothing.
    few = (found["attack"] == "outputs") & (found["fpr"] <= 0.01)
    found = found[~few]
    return plain(found[found["of"] == of], "attack", "fpr", "value", "low", "high")


def plain(found, *columns):
    """Rows of some columns of `results.matching`, as JSON has them."""
    return [
        [value if isinstance(value, str | int) else rounded(value) for value in row]
        for row in found[list(columns)].astype(object).itertuples(index=False)
    ]


def epsilon_still(ours):
    """Promise and attack at a false-positive rate of 1 %."""
    place, rows = int(np.argmin(abs(FPRS - 0.01))), []
    for one in ours:
        best = max((p for p in one["points"] if p[1] == 0.01), key=lambda p: p[2])
        rows.append(
            [
                one["name"],
                f"{one['epsilon'][1]:.3g}",
                f"{one['advantage']:.3f}",
                f"{one['tpr'][place]:.3f}",
                f"{best[2]:.3f} [{max(best[3], 0):.3f}, {best[4]:.3f}]",
                best[0],
            ]
        )
    head = ["training", "ε at δ = 1e-5", "advantage at most"]
    head += ["TPR at FPR 1 %, at most", "found by the best attack", "which saw"]
    return {"caption": "What was promised of our trainings, and found.", "head": head, "rows": rows}


def how_many():
    """Ladders of the records: success against shadow models, and against published records."""
    return {"shadow": shadow_ladders(), "release": release_ladders(), "still": how_many_still()}


def shadow_ladders():
    """{data: {attack: rows of (models, value, low, high)}} of the TPR at a FPR of 0.1 %."""
    form = r"TPR at FPR 0.1 %, (?P<attack>LiRA \S+, \S+ variance), (?P<models>\d+) models"
    records = results.find(folder=RECORDS, notebook="lira", scale="paper")
    found = results.matching(records, form).groupby(["data", "attack"], sort=False)
    ladders = {}
    for (name, attack), rows in found:
        ladders.setdefault(name, {})[attack] = plain(rows, "models", "value", "low", "high")
    return ladders


def release_ladders():
    """{"data, generator": rows of (records, value, low, high)} of the advantage."""
    large = r"[\w-]+(?: without penalty| with a rare class)? of \d+ members"
    kinds = rf"WGAN-GP|JS-GAN|ARF|ARF of large leaves|{large}"
    form = rf"advantage of (?P<n>\d+) records, (?P<of>{kinds})(?P<unseen>, never seen)?"
    records = [
        record
        for notebook in ("gan_one_record", "synthesiser", "gan_stored")
        for record in results.find(folder=RECORDS, notebook=notebook, scale="paper")
    ]
    found = results.matching(records, form).fillna({"unseen": ""})
    return {
        f"{of} of {name.removesuffix('-50000')}{unseen}": plain(rows, "n", "value", "low", "high")
        for (of, name, unseen), rows in found.groupby(["of", "data", "unseen"], sort=False)
    }


def how_many_still():
    """Non-members and members that a claim takes."""
    rows = []
    for fpr in (0.1, 0.01, 0.001, 0.0001, 0.00001):
        purposes = ("certify", "interval")
        counts = [metrics.n_nonmembers_needed(fpr, purpose=one) for one in purposes]
        counts.append(metrics.n_members_needed(2 * fpr, fpr))
        rows.append([f"{100 * fpr:g} %", *(f"{count:,}" for count in counts)])
    return {
        "caption": "Records that a claim about a false-positive rate takes, at 95 %.",
        "head": [
            "FPR",
            "non-members, none accused, to certify it",
            "non-members, for a lower limit of the TPR",
            "members, where the TPR is twice the FPR",
        ],
        "rows": rows,
    }


MAKERS = {"game": game, "records": records, "epsilon": epsilon, "how_many": how_many}


def text_of(made):
    """JSON with a line for each part, so that a change is seen where it is."""
    parts = [
        f"{json.dumps(key)}:{json.dumps(value, ensure_ascii=False, separators=(',', ':'))}"
        for key, value in made.items()
    ]
    return "{\n" + ",\n".join(parts) + "\n}\n"


def main(names):
    for name in names or MAKERS:
        text = text_of(MAKERS[name]())
        disk.write(FOLDER / f"{name}.json", lambda stream, text=text: stream.write(text.encode()))
        print(f"book/play/{name}.json: {len(text) / 1000:.0f} kB", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
