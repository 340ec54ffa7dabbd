"""PrivacyGuard beside the audit: RMIA, the f-DP audit, and what each prints where nothing leaks.
Prints, fails nothing.

LiRA and the curve are in bench_audit.py, which also makes PrivacyGuard's environment. Here:

- A case of six records and four reference models, on which LiRA and RMIA are computed by loops of
  plain Python from the papers' formulas, by the library and by PrivacyGuard.
- RMIA on the digits of bench_audit.py, by PrivacyGuard's defaults and with all reference models.
- Mahloujifar et al.'s audit in one run, for the Gaussian family, from the same counts of guesses.
- Ten draws of a membership that has nothing to do with the model: what the audit says and what
  PrivacyGuard's `AnalysisNode` prints by default, on the same files. Coins had decided the masks of
  the digits, and a permutation of coins is as good as new coins.

`python tests/bench/bench_privacyguard.py --store` also writes the entry "PrivacyGuard" of
book/comparison.json, which the book shows; `--case` writes the small case alone.
"""

import datetime
import json
import math
import sys
import tempfile
import time
from pathlib import Path

import bench_audit

DRAWS = 10  # of a membership that has nothing to do with the model
DP_DELTA = 1e-5  # at which epsilon is stated
LEVEL = 0.05  # how often a lower bound may be wrong
COUNTS = [(52, 100, 100), (60, 100, 100), (90, 100, 1000), (359, 359, 1797), (600, 1000, 5000)]
SMALL = {
    "probabilities of the label": [0.95, 0.7, 0.42, 0.9, 0.55, 0.2],
    "of the references": [
        [0.90, 0.50, 0.45, 0.60, 0.65, 0.15],
        [0.85, 0.65, 0.30, 0.55, 0.40, 0.30],
        [0.60, 0.60, 0.35, 0.80, 0.50, 0.25],
        [0.50, 0.40, 0.50, 0.85, 0.60, 0.10],
    ],
    "reference members": [
        [True, False, True, False, True, True],
        [True, True, False, False, False, True],
        [False, True, False, True, False, False],
        [False, False, True, True, True, False],
    ],
}


def by_hand():
    """LiRA (Carlini et al. 2022, Algorithm 1) and RMIA (Zarifzadeh et al. 2024) by loops."""
    own, others, sides = SMALL.values()
    ratios, lira = [], []
    for i, p in enumerate(own):
        seen = {side: [q[i] for q, s in zip(others, sides) if s[i] == side] for side in (0, 1)}
        total = 0.0
        for side, sign in ((1, 1), (0, -1)):
            signals = [math.log(q / (1 - q)) for q in seen[side]]
            mean = sum(signals) / len(signals)
            variance = sum((s - mean) ** 2 for s in signals) / len(signals)
            away = math.log(p / (1 - p)) - mean
            total -= sign * (math.log(variance) + away**2 / variance) / 2
        lira.append(total)
        ratios.append(p / (sum(sum(s) / len(s) for s in seen.values()) / 2))
    rmia = [sum(r >= z for j, z in enumerate(ratios) if j != i) / 5 for i, r in enumerate(ratios)]
    return {"LiRA": lira, "RMIA": rmia}


def small_arrays(numpy):
    own, others, sides = map(numpy.array, SMALL.values())
    return own, others, sides, numpy.arange(6) < 3


def small_by_mia_lib():
    import numpy as np

    from mia_lib import attacks, lira

    own, others, sides, _ = small_arrays(np)
    return {
        "LiRA": lira.online(np.log(own / (1 - own)), np.log(others / (1 - others)), sides),
        "RMIA": attacks.rmia(np.log(own), np.log(others), sides),
    }


def of_mia_lib(file, shuffled):
    """What the library makes of the rest."""
    import numpy as np

    from mia_lib import attacks, audit, metrics
    from mia_lib.attacks import normalised
    from mia_lib.privacy import epsilon_lower_bound_f_dp

    found = {}
    with np.load(file) as given:
        labels, member, masks = given["labels"], given["member"], given["shadow_member"]
        places = np.arange(len(labels))
        signal = np.log(given["probabilities"][places, labels])
        shadow = np.log(given["shadow_probabilities"][:, places, labels])
    start = time.process_time()
    score = attacks.rmia(signal, shadow, masks)
    found["RMIA seconds"] = time.process_time() - start
    found["AUC of RMIA"] = metrics.roc(score, member).auc
    mean = normalised.base(signal, shadow, masks)
    found["AUC with the mean of all references"] = metrics.roc(mean, member).auc
    start = time.process_time()
    found["f-DP"] = [epsilon_lower_bound_f_dp(*c, dp_delta=DP_DELTA, delta=LEVEL) for c in COUNTS]
    found["f-DP seconds"] = (time.process_time() - start) / len(COUNTS)
    found["draws"] = []
    for draw in sorted(Path(shuffled).glob("*.npz")):
        start = time.process_time()
        said = audit.run(audit.load(draw), delta=LEVEL).content
        guesses = said["epsilon"].get("correct"), said["epsilon"].get("guesses")
        found["draws"].append(
            {
                "verdict": said["verdict"],
                "epsilon": said["epsilon"].get("bound"),
                "no epsilon because": said["epsilon"]["lacks"],
                "guesses": guesses,
                "TPR - FPR at most": said["most found"],
                "seconds": time.process_time() - start,
            }
        )
    return found


def spread(both, member):
    """The scores of both groups in the order of the records."""
    import numpy as np

    score = np.empty(len(member))
    score[member], score[~member] = both.df_train_user["score"], both.df_test_user["score"]
    return score


def privacyguard_rmia(p, references, masks, member, **options):
    """Everybody is in the population, as for the library's RMIA."""
    import numpy as np
    import pandas as pd
    from privacy_guard.analysis.mia.aggregate_analysis_input import AggregationType
    from privacy_guard.attacks.rmia_attack import RmiaAttack

    columns = {"user_id": np.arange(len(p)), "score_orig": p}
    for s, (reference, mask) in enumerate(zip(references, masks)):
        columns |= {f"score_ref_{s}": reference, f"member_ref_{s}": mask}
    frame = pd.DataFrame(columns)
    given = frame[member], frame[~member], frame.drop(columns="user_id")
    return spread(RmiaAttack(*given, AggregationType.NONE, **options).run_attack(), member)


def small_by_privacyguard():
    import numpy as np

    own, others, sides, member = small_arrays(np)
    outputs = [np.stack([p, 1 - p], axis=-1) for p in (own, others)]  # of two classes, label 0
    case = {"labels": np.zeros(6, int), "member": member, "shadow_member": sides}
    case |= {"probabilities": outputs[0], "shadow_probabilities": outputs[1]}
    given = own, others, sides, member
    return {
        "LiRA": spread(bench_audit.privacyguard_lira(case), member),
        "RMIA": privacyguard_rmia(*given, online=True, num_reference_models=4),
        "RMIA by default": privacyguard_rmia(*given, online=True),
    }


def of_privacyguard(file, shuffled):
    """What PrivacyGuard makes of the rest, by its defaults unless the entry says otherwise."""
    import logging
    from importlib.metadata import version

    import numpy as np
    from privacy_guard.analysis.mia.analysis_node import AnalysisNode
    from privacy_guard.analysis.mia.fdp_analysis_node import FDPAnalysisNode
    from privacy_guard.analysis.mia.mia_results import MIAResults
    from privacy_guard.attacks import rmia_attack  # noqa: F401 (seconds, not of RMIA)
    from privacy_guard.shadow_model_training import training  # noqa: F401 (nor of LiRA)
    from torch import from_numpy

    logging.disable()

    def auc(score, member):
        halves = from_numpy(score[member]), from_numpy(score[~member])
        return MIAResults(*halves).compute_acc_auc_epsilon(DP_DELTA)[1]

    found = {"tool": f"PrivacyGuard {version('privacyguard-platform')}"}
    with np.load(file) as stored:
        given = {name: stored[name] for name in stored.files}
    labels, member = given["labels"], given["member"]
    places = np.arange(len(labels))
    signal = given["probabilities"][places, labels]
    shadow = given["shadow_probabilities"][:, places, labels]
    several = {
        "AUC of RMIA": {"online": True},
        "AUC of RMIA, offline": {},
        "AUC with the mean of all references": {
            "online": True,
            "num_reference_models": len(shadow),
        },
    }
    for name, options in several.items():
        start = time.process_time()
        score = privacyguard_rmia(signal, shadow, given["shadow_member"], member, **options)
        found.setdefault("RMIA seconds", time.process_time() - start)
        found[name] = auc(score, member)
    found["f-DP"] = []
    start = time.process_time()
    for correct, guesses, canaries in COUNTS:
        node = FDPAnalysisNode(canaries, correct, guesses, threshold=LEVEL, delta=DP_DELTA)
        found["f-DP"].append(node.run_analysis().eps)
    found["f-DP seconds"] = (time.process_time() - start) / len(COUNTS)
    found["draws"] = []
    for number, draw in enumerate(sorted(Path(shuffled).glob("*.npz"))):
        with np.load(draw) as stored:
            given = {name: stored[name] for name in stored.files}
        np.random.seed(number)  # noqa: NPY002 (the generator of which AnalysisNode draws)
        start = time.process_time()
        both = bench_audit.privacyguard_lira(given)
        n = min(len(both.df_train_user), len(both.df_test_user))
        said = AnalysisNode(both, delta=DP_DELTA, n_users_for_eval=n).run_analysis()
        names = "eps", "eps_lb", "eps_cp", "auc", "auc_ci", "accuracy", "accuracy_ci"
        found["draws"].append(
            {name: np.asarray(getattr(said, name), dtype=float).tolist() for name in names}
            | {"seconds": time.process_time() - start}
        )
    return found


def hand_out(file, folder):
    """The file as it is, then with its membership permuted `DRAWS` times; coins are declared."""
    import numpy as np

    with np.load(file) as stored:
        given = {name: stored[name] for name in stored.files} | {"assignment": np.array("coins")}
    member = given.pop("member")
    for draw in range(DRAWS + 1):
        rng = np.random.default_rng([1, draw])
        order = rng.permutation(len(member)) if draw else np.arange(len(member))
        np.savez(folder / f"{draw:02d}.npz", member=member[order], **given)


def worker(tool, *files):
    """The small case where no file is named, else the rest."""
    import numpy as np

    of = {
        "mia_lib": (small_by_mia_lib, of_mia_lib),
        "PrivacyGuard": (small_by_privacyguard, of_privacyguard),
    }
    found = of[tool][bool(files)](*files)
    print(json.dumps(found, default=lambda value: np.asarray(value).tolist()))


def show(found):
    ours, theirs = found["mia_lib"], found["theirs"]
    print(f"\n{'':<40}{'mia_lib':>16}{theirs['tool']:>22}")
    for name in ("AUC of RMIA", "AUC of RMIA, offline", "AUC with the mean of all references"):
        cells = (f"{tool[name]:.6f}" if name in tool else "none" for tool in (ours, theirs))
        print("{:<40}{:>16}{:>22}".format(name, *cells))
    for place, counts in enumerate(found["counts"]):
        name = "epsilon, {} of {} guesses right, {} coins".format(*counts)
        print(f"{name:<40}{ours['f-DP'][place]:>16.3f}{theirs['f-DP'][place]:>22.3f}")
    for name in ("RMIA seconds", "f-DP seconds"):
        print(f"{name:<40}{ours[name]:>16.4f}{theirs[name]:>22.4f}")
    print("\ndraw, verdict and epsilon of the audit | eps, eps_lb, eps_cp, interval of the AUC")
    for number, (our, their) in enumerate(zip(ours["draws"], theirs["draws"])):
        epsilon = "none" if our["epsilon"] is None else f"{our['epsilon']:.2f}"
        low, high = their["auc_ci"]
        print(
            f"{number or 'true':>5} {our['verdict']:>16} {epsilon:>6} | {their['eps']:>5.2f} "
            f"{their['eps_lb']:>6.2f} {their['eps_cp']:>6.2f}   {low:.3f} to {high:.3f}"
        )


def small_case(pythons):
    """The case of six records: what goes in, and what comes out of the loops and of both."""
    script = Path(__file__).resolve()
    lines = {tool: bench_audit.called(script, tool, python) for tool, python in pythons.items()}
    found = {tool: json.loads(said[-1]) for tool, said in lines.items()}
    return {"given": SMALL, "by hand": by_hand()} | found


def main():
    pythons = {"mia_lib": sys.executable, "PrivacyGuard": bench_audit.environment("PrivacyGuard")}
    if not pythons["PrivacyGuard"]:
        return
    if "--case" in sys.argv:
        before = json.loads(bench_audit.RECORD.read_text(encoding="utf-8"))["PrivacyGuard"]
        bench_audit.store({"PrivacyGuard": before | {"case": small_case(pythons)}})
        return
    script, found, wall = Path(__file__).resolve(), {}, {}
    with tempfile.TemporaryDirectory() as folder:
        file = bench_audit.handed_over("digits", folder)
        shuffled = Path(folder, "shuffled")
        shuffled.mkdir()
        hand_out(file, shuffled)
        for tool, python in pythons.items():
            start = time.monotonic()
            lines = bench_audit.called(script, tool, python, file, shuffled)
            if not lines:
                return
            found[tool] = json.loads(lines[-1])
            wall[tool] = time.monotonic() - start
    kept = {
        "date": datetime.date.today().isoformat(),
        "level": LEVEL,
        "delta": DP_DELTA,
        "wall": wall,
        "counts": COUNTS,
        "case": small_case(pythons),
        "mia_lib": found["mia_lib"],
        "theirs": found["PrivacyGuard"],
    }
    show(kept)
    if "--store" in sys.argv:
        bench_audit.store({"PrivacyGuard": kept})


if __name__ == "__main__":
    if "--as" in sys.argv:
        worker(*sys.argv[sys.argv.index("--as") + 1 :])
    else:
        main()
