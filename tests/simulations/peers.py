"""Who accuses falsely, and who misses? The audit and three other tools on the same files.

    python tests/simulations/peers.py [--draws 3] [--again mia_lib]

draws 30 of the worlds of verdicts.py, writes every draw as a file, hands it to the audit, SACRO-ML,
ART and PrivacyGuard, and writes notebooks/results/peers--simulation.json after every round of
draws; what the record holds is kept, and the draws that it lacks are made. Each tool is one process
in its own environment (tests/bench/bench_audit.py makes them); one runs at a time. `--again` asks
one tool again about the files of all draws that are there, as when its code has changed.

All of this was fixed before anything was run, but for the number of draws: the third round was
asked for when the first two were known, because time was left.


- The worlds are `PICKED`, a draw without replacement with seed 0 from all worlds. Draws are
  numbered from `FIRST`: those below belong to the record of verdicts.py.
- A world leaks where its model lifts or is fitted to members, and does not where outputs and labels
  have nothing to do with membership given the features. To say so where nothing leaks is a false
  accusation; not to say so where something does is a miss.
- What counts as accusing is in `ACCUSES`, by what a reader of the tool's own report or
  documentation takes for a finding, and a stricter reading of the same output in `STRICTLY`.
- The tools get what they can read. All get the target's outputs; the audit gets the labels,
  features, the assignment, reference models and their masks, ART the labels, PrivacyGuard the
  labels, and reference models with masks. SACRO-ML and ART have attacks with models of their own,
  which a file of outputs does not permit.
- A tool that raises an error on a file has failed on it, and its message is kept.
"""

import argparse
import datetime
import json
import logging
import os
import platform
import sys
import tempfile
import time
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
RECORD = ROOT / "notebooks/results/peers--simulation.json"
N_WORLDS, SEED, FIRST = 30, 0, 50
LEVEL = 0.05
GROUPS = ("nothing leaks, groups alike", "nothing leaks, groups differ", "leaks")
ACCUSES = {
    "mia_lib": "the verdict is 'leak'",
    "SACRO-ML": "its summary lists evidence supporting rejection: the AUC has a p-value below 0.05 "
    "in more than a tenth of the ten repetitions of its worst-case attack, or those AUCs have a "
    "mean above 0.65",
    "ART": "its black-box attack (a random forest), trained on the first half of either group as "
    "in its notebook, is more often right on the second half than naming the larger group is",
    "PrivacyGuard": "the 95 % interval of the AUC that it prints lies above one half, for online "
    "LiRA where there are reference models and for the loss elsewhere",
}
STRICTLY = {
    "mia_lib": "the same",
    "SACRO-ML": "a p-value of the AUC stays significant in its report after the correction for ten "
    "repetitions (Benjamini-Hochberg)",
    "ART": "and the reader, for ART does not, rejects guessing by an exact binomial test at 5 %",
    "PrivacyGuard": "its epsilon by Clopper-Pearson limits is above 0",
}


def picked(worlds):
    """The names of the worlds that take part."""
    places = np.random.default_rng(SEED).choice(len(worlds), N_WORLDS, replace=False)
    return [list(worlds)[place] for place in sorted(places)]


def group(world):
    """Which of `GROUPS` a world belongs to."""
    return GROUPS[2] if world.leak else GROUPS[1] if world.drifting else GROUPS[0]


def write(folder, number):
    """A file of every world that takes part, and their names in that order."""
    from simulations import verdicts

    names = picked(verdicts.WORLDS)
    for place, name in enumerate(names):
        rng = np.random.default_rng([list(verdicts.WORLDS).index(name), number])
        o = verdicts.draw(verdicts.WORLDS[name], rng)
        given = {"labels": o.labels, "member": o.member, "assignment": np.array(o.assignment)}
        given["probabilities"] = probabilities(o.logits)
        if o.features is not None:
            given["features"] = o.features
        if o.shadow_logits is not None:
            given["shadow_probabilities"] = probabilities(o.shadow_logits)
            given["shadow_member"] = o.shadow_member
        np.savez(folder / f"{place:02d}.npz", **given)
    return names


def probabilities(logits):
    logits = np.asarray(logits, dtype=float)
    found = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return found / found.sum(axis=-1, keepdims=True)


def by_mia_lib(file):
    from mia_lib import audit
    from mia_lib.audit import conduct

    said = conduct.judge(audit.load(file), delta=LEVEL)["decided"]["verdict"]
    return {"said": said, "accuses": said == "leak", "strictly": said == "leak"}


def by_sacroml(file):
    from sacroml.attacks.attack_report_formatter import FinalRecommendationModule
    from sacroml.attacks.target import Target
    from sacroml.attacks.worst_case_attack import WorstCaseAttack

    given = np.load(file)
    inside, outputs = given["member"], given["probabilities"]
    target = Target(proba_train=outputs[inside], proba_test=outputs[~inside])
    with tempfile.TemporaryDirectory() as folder:
        # Neither the PDF nor the attack on random numbers for its pictures changes what is said.
        attack = WorstCaseAttack(output_dir=folder, write_report=False, n_dummy_reps=0)
        output = attack.attack(target)
    summary = FinalRecommendationModule({"attack": output})
    summary.process_dict()
    immediate, rejection, _ = summary.get_recommendation()
    corrected = output["metadata"]["global_metrics"]["n_sig_auc_p_vals_corrected"]
    return {
        "said": "; ".join(immediate + rejection) or "no evidence supporting rejection",
        "accuses": bool(immediate + rejection),
        "strictly": bool(corrected),
    }


def by_art(file):
    from art.attacks.inference.membership_inference import MembershipInferenceBlackBox
    from art.estimators.classification import BlackBoxClassifier
    from scipy import stats

    given = np.load(file)
    inside, outputs, labels = given["member"], given["probabilities"], given["labels"]
    places = np.arange(len(labels), dtype=float)[:, None]  # a "record" is the number of its row
    model = BlackBoxClassifier(lambda x: outputs[x[:, 0].astype(int)], (1,), outputs.shape[1])
    attack = MembershipInferenceBlackBox(model, attack_model_type="rf")
    groups = np.flatnonzero(inside), np.flatnonzero(~inside)
    known = [rows[: len(rows) // 2] for rows in groups]
    asked = [rows[len(rows) // 2 :] for rows in groups]
    attack.fit(*(part[rows] for rows in known for part in (places, labels)))
    right = 0
    for rows, answer in zip(asked, (1, 0)):
        right += int((np.ravel(attack.infer(places[rows], labels[rows])) == answer).sum())
    n, larger = sum(map(len, asked)), max(map(len, asked))
    return {
        "said": f"{right} of {n} right",
        "accuses": right > larger,
        "strictly": bool(stats.binom.sf(right - 1, n, larger / n) <= LEVEL),
    }


def by_privacyguard(file):
    import torch
    from privacy_guard.analysis.mia.analysis_node import AnalysisNode
    from privacy_guard.attacks.loss_attack import LossAttack
    from torch.utils.data import DataLoader, TensorDataset

    sys.path.insert(0, str(ROOT / "tests" / "bench"))
    import bench_audit

    given = dict(np.load(file))
    inside = given["member"]
    if "shadow_member" in given:
        both = bench_audit.privacyguard_lira(given)
    else:  # a "model" that passes on the outputs that it is given
        with np.errstate(divide="ignore"):
            logs, labels = np.log(given["probabilities"]), given["labels"].astype(np.int64)
        loaders = [
            DataLoader(TensorDataset(torch.from_numpy(logs[s]), torch.from_numpy(labels[s])), 1000)
            for s in (inside, ~inside)
        ]
        both = LossAttack(torch.nn.Identity(), *loaders).run_attack()
    n = min(len(both.df_train_user), len(both.df_test_user))
    said = AnalysisNode(both, delta=1e-5, n_users_for_eval=n).run_analysis()
    low, high = (float(end) for end in said.auc_ci)
    return {
        "said": f"AUC {low:.3f} to {high:.3f}, eps {said.eps:.2f}, eps_cp {said.eps_cp:.2f}",
        "accuses": low > 0.5,
        "strictly": bool(said.eps_cp > 0),
    }


BY = {"mia_lib": by_mia_lib, "SACRO-ML": by_sacroml, "ART": by_art, "PrivacyGuard": by_privacyguard}
PACKAGES = {
    "mia_lib": "mia_lib",
    "SACRO-ML": "sacroml",
    "ART": "adversarial-robustness-toolbox",
    "PrivacyGuard": "privacyguard-platform",
}


def worker(tool, folder):
    """In the environment of the tool: a line of JSON for each file, after one with its version."""
    from importlib.metadata import version

    print(json.dumps(version(PACKAGES[tool])))
    for place, file in enumerate(sorted(Path(folder).glob("*.npz"))):
        np.random.seed(place)  # noqa: NPY002 (what the tools draw of)
        logging.disable()
        start = time.process_time()
        try:
            found = BY[tool](file)
        except Exception as error:
            found = {"failed": f"{type(error).__name__}: {error}"[:300]}
        print(json.dumps(found | {"seconds": time.process_time() - start}), flush=True)


def asked(tool, python, folder):
    """Version and answers of a tool."""
    from bench import bench_audit

    said = bench_audit.called(Path(__file__).resolve(), tool, python, folder) or []
    lines = [line for line in said if line.startswith(("{", '"'))]
    if not lines:
        raise RuntimeError(f"{tool} said nothing about the files in {folder}")
    return json.loads(lines[0]), [json.loads(line) for line in lines[1:]]


def totals(rows, tools):
    """Of each tool and group of worlds: files, failures and accusations."""
    found = {}
    for tool in tools:
        found[tool] = {}
        for name in GROUPS:
            said = [row["tools"][tool] for row in rows if row["group"] == name]
            heard = [one for one in said if "failed" not in one]
            found[tool][name] = {
                "files": len(said),
                "failed": len(said) - len(heard),
                "accused": sum(one["accuses"] for one in heard),
                "accused strictly": sum(one["strictly"] for one in heard),
            }
    return found


def ask_again(tool, python, rows):
    """Put a tool's answers of today about the files of all rows in the place of those it gave."""
    for number in sorted({row["draw"] for row in rows}):
        with tempfile.TemporaryDirectory() as folder:
            names = write(Path(folder), number)
            version, answers = asked(tool, python, folder)
        at = {row["world"]: row["tools"] for row in rows if row["draw"] == number}
        for name, said in zip(names, answers, strict=True):
            before = at[name].get(tool, {})
            if before.get("accuses") != said.get("accuses"):
                print(f"{tool}, draw {number}, {name}: {before.get('said')}, now {said['said']}")
            at[name][tool] = said
    return version


def save(rows, versions, dates):
    """Write the record; `dates` has the day on which each tool was asked."""
    from simulations import verdicts

    tools = rows[0]["tools"]
    record = {
        "what": "who accuses falsely and who misses, on the same files",
        "dates": dates,
        "versions": versions | {"python": platform.python_version()},
        "worlds": {"picked": N_WORLDS, "seed": SEED, "of": len(verdicts.WORLDS)},
        "draws": len(rows) // N_WORLDS,
        "accuses": ACCUSES,
        "strictly": STRICTLY,
        "seconds": {tool: sum(row["tools"][tool]["seconds"] for row in rows) for tool in tools},
        "totals": totals(rows, tools),
        "rows": rows,
    }
    RECORD.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=3)
    parser.add_argument("--again", choices=BY)
    given = parser.parse_args()
    sys.path.insert(0, str(ROOT / "tests"))
    from bench import bench_audit
    from simulations import verdicts

    wanted = [given.again] if given.again else list(BY)
    pythons = {
        tool: sys.executable if tool == "mia_lib" else bench_audit.environment(tool)
        for tool in wanted
    }
    pythons = {tool: python for tool, python in pythons.items() if python}
    rows, versions, dates = [], {}, {}
    if RECORD.exists():
        kept = json.loads(RECORD.read_text(encoding="utf-8"))
        rows, versions, dates = kept["rows"], kept["versions"], kept["dates"]
    if given.again:
        if given.again not in pythons or not rows:
            raise SystemExit(f"--again {given.again}: needs its environment and {RECORD.name}")
        versions[given.again] = ask_again(given.again, pythons[given.again], rows)
        dates[given.again] = datetime.date.today().isoformat()
        save(rows, versions, dates)
        return
    for number in range(FIRST + len(rows) // N_WORLDS, FIRST + given.draws):
        with tempfile.TemporaryDirectory() as folder:
            names = write(Path(folder), number)
            answers = {}
            dates |= dict.fromkeys(pythons, datetime.date.today().isoformat())
            for tool, python in pythons.items():
                start = time.monotonic()
                versions[tool], answers[tool] = asked(tool, python, folder)
                print(f"{tool}, draw {number}: {time.monotonic() - start:.0f} s", flush=True)
        for place, name in enumerate(names):
            rows.append(
                {
                    "world": name,
                    "draw": number,
                    "group": group(verdicts.WORLDS[name]),
                    "tools": {tool: said[place] for tool, said in answers.items()},
                }
            )
        save(rows, versions, dates)


if __name__ == "__main__":
    if "--as" in sys.argv:
        worker(*sys.argv[-2:])
    else:
        main()
