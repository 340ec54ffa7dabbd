"""The audit beside the tools that people use today, and its memory at 256 models of 50,000 records.
Prints, fails nothing.

The same probabilities, labels and masks go as an .npz to SACRO-ML, to the Adversarial Robustness
Toolbox (ART) and to PrivacyGuard, each in a virtual environment of its own, made in the user's
cache folder on first use (ART 0.3 GB; the other two bring torch along, 2 GB and more). Without a
package registry the bench says so and goes on. Each tool is a process of its own: processor seconds
of a step are measured within it, memory is the most that it ever held resident, its imports
included.

What is shared: the AUC of p_y, its true-positive rate at a low false-positive rate, the advantage
of "the prediction is right", and online LiRA from the same shadow outputs. LiRA of SACRO-ML trains
its own shadow models, so its scoring step is called, by a name that starts with an underscore, on
ours. The curve of PrivacyGuard is that of its `MIAResults`; its report shows the mean of a
bootstrap instead. What PrivacyGuard has besides is in bench_privacyguard.py.

`python tests/bench/bench_audit.py --store` also writes book/comparison.json, which the book shows;
`--tools` leaves out the large audit.
"""

import datetime
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

ROOT = Path(__file__).resolve().parents[2]
TOOLS = {
    "SACRO-ML": ("sacroml==2.0.1", "sacroml.attacks.likelihood_attack"),
    # ART imports `packaging` without asking for it.
    "ART": ("adversarial-robustness-toolbox==1.20.1 packaging", "art.estimators.classification"),
    "PrivacyGuard": ("privacyguard-platform==0.0.2", "privacy_guard.attacks.lira_attack"),
}
RECORD = ROOT / "book" / "comparison.json"
FPR = 0.005
SIZES = {"digits": (1797, 32), "made": (20_000, 64)}  # records, shadow models
LARGE = (256, 50_000, 10)  # shadow models, records, classes


def clock(numbers, step, function, *arguments):
    """Call, and note the processor seconds that it took."""
    start = time.process_time()
    result = function(*arguments)
    numbers["seconds"][step] = time.process_time() - start
    return result


def of_mia_lib(given, numbers):
    import numpy as np

    from mia_lib import lira, metrics, signals

    labels, member = given["labels"], given["member"]
    log_p, log_shadow = np.log(given["probabilities"]), np.log(given["shadow_probabilities"])
    p_y = given["probabilities"][np.arange(len(labels)), labels]

    def figures():
        curve = metrics.roc(p_y, member)
        return curve.auc, curve.tpr_at(FPR).value

    def right():
        return log_p.argmax(axis=1) == labels

    def scores():
        phi = signals.logit_confidence(log_p, labels), signals.logit_confidence(log_shadow, labels)
        return lira.online(*phi, given["shadow_member"])

    numbers["AUC of p_y"], numbers["TPR of p_y"] = clock(numbers, "AUC and TPR", figures)
    guess = clock(numbers, "correctness", right)
    numbers["advantage of correctness"] = guess[member].mean() - guess[~member].mean()
    curve = metrics.roc(clock(numbers, "LiRA", scores), member)
    numbers["AUC of LiRA"], numbers["TPR of LiRA"] = curve.auc, curve.tpr_at(FPR).value
    return "mia_lib"


def of_sacroml(given, numbers):
    import logging

    import numpy as np
    import sacroml.version
    from sacroml import metrics
    from sacroml.attacks import utils
    from sacroml.attacks.likelihood_attack import LIRAAttack

    logging.disable()
    labels, member = given["labels"], given["member"].astype(int)
    p_y = given["probabilities"][np.arange(len(labels)), labels]

    def figures(score):
        return metrics.get_metrics(np.stack([1 - score, score], axis=1), member.copy())

    found = clock(numbers, "AUC and TPR", figures, p_y)
    numbers["AUC of p_y"], numbers["TPR of p_y"] = found["AUC"], float(found[f"TPR@{100 * FPR:g}%"])
    guess = (given["probabilities"].argmax(axis=1) == labels).astype(float)
    numbers["advantage of correctness"] = clock(numbers, "correctness", figures, guess)["Advantage"]

    def scores():
        sides = {
            True: {i: [] for i in range(len(labels))},
            False: {i: [] for i in range(len(labels))},
        }
        for outputs, mask in zip(given["shadow_probabilities"], given["shadow_member"]):
            for i, (row, label) in enumerate(zip(outputs, labels)):
                sides[bool(mask[i])][i].append(utils.logit(row[label]))
        with tempfile.TemporaryDirectory() as folder:
            attack = LIRAAttack(output_dir=folder, write_report=False, mode="online-carlini")
            return attack._compute_scores(
                labels, given["probabilities"], sides[False], sides[True]
            )[0]

    found = metrics.get_metrics(np.array(clock(numbers, "LiRA", scores)), member.copy())
    numbers["AUC of LiRA"], numbers["TPR of LiRA"] = (
        found["AUC"],
        float(found[f"TPR@{100 * FPR:g}%"]),
    )
    return f"SACRO-ML {sacroml.version.__version__}"


def of_art(given, numbers):
    import art
    import numpy as np
    from art.attacks.inference.membership_inference import MembershipInferenceBlackBoxRuleBased
    from art.estimators.classification import BlackBoxClassifier
    from art.metrics.privacy.worst_case_mia_score import get_roc_for_fpr

    labels, member, outputs = given["labels"], given["member"], given["probabilities"]
    p_y = outputs[np.arange(len(labels)), labels]
    numbers["TPR of p_y"] = float(
        clock(numbers, "AUC and TPR", lambda: get_roc_for_fpr(p_y, member, targeted_fpr=FPR))[0][1]
    )
    places = np.arange(len(labels), dtype=np.float64)[
        :, None
    ]  # a "record" is the number of its row
    model = BlackBoxClassifier(lambda x: outputs[x[:, 0].astype(int)], (1,), outputs.shape[1])
    attack = MembershipInferenceBlackBoxRuleBased(model)
    guess = np.asarray(clock(numbers, "correctness", attack.infer, places, labels)).ravel()
    numbers["advantage of correctness"] = guess[member].mean() - guess[~member].mean()
    return f"ART {art.__version__}"


def of_privacyguard(given, numbers):
    import logging
    from importlib.metadata import version

    import numpy as np
    import torch
    from privacy_guard.analysis.mia.mia_results import MIAResults
    from privacy_guard.shadow_model_training import training  # noqa: F401 (seconds, not of LiRA)

    logging.disable()
    labels, member, outputs = given["labels"], given["member"], given["probabilities"]

    def figures(score):
        found = MIAResults(torch.from_numpy(score[member]), torch.from_numpy(score[~member]))
        accuracy, auc, _ = found.compute_acc_auc_epsilon(1e-5)
        tpr, fpr = found.get_tpr_fpr()
        return auc, tpr[fpr <= FPR].max(), accuracy

    p_y = outputs[np.arange(len(labels)), labels]
    numbers["AUC of p_y"], numbers["TPR of p_y"], _ = clock(numbers, "AUC and TPR", figures, p_y)
    guess = (outputs.argmax(axis=1) == labels).astype(float)
    numbers["advantage of correctness"] = 2 * clock(numbers, "correctness", figures, guess)[2] - 1
    both = clock(numbers, "LiRA", privacyguard_lira, given)
    score = np.empty(len(labels))
    for side, frame in zip((member, ~member), (both.df_train_user, both.df_test_user)):
        score[side] = frame["score"]
    numbers["AUC of LiRA"], numbers["TPR of LiRA"], _ = figures(score)
    return f"PrivacyGuard {version('privacyguard-platform')}"


def privacyguard_lira(given):
    """Online LiRA by PrivacyGuard from the same outputs: what its analyses take."""
    import numpy as np
    from privacy_guard.analysis.mia.aggregate_analysis_input import AggregationType
    from privacy_guard.attacks.lira_attack import LiraAttack
    from privacy_guard.shadow_model_training.training import prepare_lira_data

    labels, places = given["labels"], np.arange(len(given["labels"]))

    def phi(outputs):  # log p_y - log(1 - p_y)
        right = outputs[..., places, labels]
        rest = np.where(np.eye(outputs.shape[-1], dtype=bool)[labels], 0.0, outputs).sum(axis=-1)
        return np.log(right) - np.log(rest)

    train, test, _, _ = prepare_lira_data(
        phi(given["probabilities"]),
        phi(given["shadow_probabilities"])[..., None],
        (None, given["member"]),
        [(None, mask) for mask in given["shadow_member"]],
    )
    return LiraAttack(train, test, AggregationType.NONE, online_attack=True).run_attack()


def worker(tool, file):
    """In the environment of the tool: one line of JSON."""
    import numpy as np

    if tool == "audit":
        from mia_lib.audit.__main__ import main

        start = time.process_time()
        main([file, "-o", str(Path(file, "report"))])
        print(time.process_time() - start, peak())
        return
    with np.load(file) as stored:
        given = {name: stored[name] for name in stored.files}
    numbers = {"seconds": {}}
    of = {
        "mia_lib": of_mia_lib,
        "SACRO-ML": of_sacroml,
        "ART": of_art,
        "PrivacyGuard": of_privacyguard,
    }
    name = of[tool](given, numbers)
    numbers = {key: value if key == "seconds" else float(value) for key, value in numbers.items()}
    print(json.dumps(numbers | {"tool": name, "memory": peak()}))


def peak():
    """Most bytes that this process held resident."""
    status = Path("/proc/self/status")
    if status.exists():  # Linux counts the size of the process that started this one into ru_maxrss
        return 1024 * int(
            next(
                line for line in status.read_text().splitlines() if line.startswith("VmHWM")
            ).split()[1]
        )
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (
        1 if sys.platform == "darwin" else 1024
    )


def environment(tool):
    """The python of the tool's own environment, made on first use; None where that fails."""
    import pooch

    package, module = TOOLS[tool]
    folder = Path(pooch.os_cache("mia_lib")) / "bench" / package.split()[0]
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    if (folder / "installed").exists():
        return python
    print(f"installing {package} into {folder}", flush=True)
    commands = (
        [sys.executable, "-m", "venv", str(folder)],
        [str(python), "-m", "pip", "install", "-q", *package.split()],
    )
    for command in (*commands, [str(python), "-c", f"import {module}"]):
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            reason = (done.stderr.strip().splitlines() or ["no message"])[-1]
            print(f"{tool} is left out, {package} could not be installed: {reason}", flush=True)
            return None
    (folder / "installed").touch()
    return python


def handed_over(name, folder):
    """An .npz of probabilities: networks on the digits, or made up."""
    import numpy as np

    from mia_lib import data, shadow, train

    n, n_shadow = SIZES[name]
    rng = np.random.default_rng(0)
    masks = shadow.bernoulli_masks(n_shadow + 1, n, rng)
    if name == "digits":
        digits = data.load("digits")
        recipe, labels = train.Classifier(hidden=(64,), epochs=60), digits.y
        state = recipe(
            digits.x, labels, masks, [np.random.default_rng([1, s]) for s in range(n_shadow + 1)]
        )
        logits = np.asarray(recipe.logits(state, digits.x), dtype=np.float64)
    else:
        labels = rng.integers(0, 10, n)
        logits = rng.normal(size=(n, 10)) + 0.5 * rng.normal(size=(n_shadow + 1, n, 10))
        logits[:, np.arange(n), labels] += 2 + masks
    outputs = np.exp(logits - logits.max(axis=-1, keepdims=True))
    outputs /= outputs.sum(axis=-1, keepdims=True)
    file = Path(folder, f"{name}.npz")
    given = {
        "probabilities": outputs[0],
        "shadow_probabilities": outputs[1:],
        "shadow_member": masks[1:],
    }
    np.savez(file, labels=labels, member=masks[0], **given)
    return file


def called(script, tool, python, *arguments):
    """The lines that a script prints in the environment of a tool; None, with a line that says so,
    where it fails.
    """
    command = [str(python), str(script), "--as", tool, *map(str, arguments)]
    outside = os.environ | {
        "PYTHONPATH": str(ROOT) if tool == "mia_lib" else "",
        "PYTHONWARNINGS": "ignore",
    }
    done = subprocess.run(command, env=outside, capture_output=True, text=True)
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or ["no message"])[-1]
        print(f"{tool} failed on {', '.join(map(str, arguments))}: {reason}", flush=True)
        return None
    return done.stdout.splitlines()


def compare(name, pythons, folder):
    """What every tool says about one file."""
    file, found = handed_over(name, folder), {}
    for tool, python in pythons.items():
        started = time.monotonic()
        lines = called(Path(__file__).resolve(), tool, python, file)
        if lines:
            found[tool] = json.loads(lines[-1]) | {"wall": time.monotonic() - started}
    return found


def large(folder):
    """Processor seconds and peak memory of a whole audit of `LARGE`, shadow outputs and pictures
    mapped from files.
    """
    import numpy as np

    n_shadow, n, n_classes = LARGE
    rng = np.random.default_rng(0)
    labels, masks = rng.integers(0, n_classes, n), rng.random((n_shadow, n)) < 0.5
    member, base = rng.random(n) < 0.5, rng.normal(size=(n, n_classes)).astype(np.float32)

    def outputs(mask):
        logits = base + np.float32(0.5) * rng.standard_normal((n, n_classes), dtype=np.float32)
        logits[np.arange(n), labels] += 2 + 0.5 * mask
        return logits

    shadow = np.lib.format.open_memmap(folder / "shadow_logits.npy", "w+", np.float32, LARGE)
    for s in range(n_shadow):
        shadow[s] = outputs(masks[s])
    shadow.flush()
    pictures = rng.integers(0, 256, (n, 32, 32, 3), dtype=np.uint8)
    arrays = {
        "logits": outputs(member),
        "labels": labels,
        "member": member,
        "shadow_member": masks,
        "features": pictures,
    }
    for name, array in (arrays | {"assignment": np.array("random")}).items():
        np.save(folder / f"{name}.npy", array)
    command = [sys.executable, str(Path(__file__).resolve()), "--as", "audit", str(folder)]
    done = subprocess.run(
        command,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    seconds, memory = map(float, done.stdout.split()[-2:])
    return {
        "models": n_shadow,
        "records": n,
        "classes": n_classes,
        "seconds": seconds,
        "memory": memory,
    }


def show(name, found):
    tools = list(found)
    n, n_shadow = SIZES[name]
    print(f"\n{name}: {n:,} records, {n_shadow} shadow models; rates at FPR {FPR:.1%}")
    print(f"{'':<32}" + "".join(f"{found[tool]['tool']:>20}" for tool in tools))
    for key in (
        "AUC of p_y",
        "TPR of p_y",
        "advantage of correctness",
        "AUC of LiRA",
        "TPR of LiRA",
    ):
        cells = (f"{found[tool][key]:.6f}" if key in found[tool] else "none" for tool in tools)
        print(f"{key:<32}" + "".join(f"{cell:>20}" for cell in cells))
    for step in ("AUC and TPR", "correctness", "LiRA"):
        cells = (
            f"{1e3 * found[t]['seconds'][step]:,.1f}" if step in found[t]["seconds"] else "none"
            for t in tools
        )
        print(f"{f'{step}, processor ms':<32}" + "".join(f"{cell:>20}" for cell in cells))
    print(f"{'whole process, s':<32}" + "".join(f"{found[tool]['wall']:>20.1f}" for tool in tools))
    print(
        f"{'peak memory, MB':<32}"
        + "".join(f"{found[tool]['memory'] / 1e6:>20,.0f}" for tool in tools),
        flush=True,
    )


def main():
    import platform

    pythons = {"mia_lib": sys.executable}
    pythons |= {tool: python for tool in TOOLS if (python := environment(tool))}
    kept = {
        "date": datetime.date.today().isoformat(),
        "python": platform.python_version(),
        "processor": platform.machine(),
        "fpr": FPR,
        "worlds": [],
    }
    with tempfile.TemporaryDirectory() as folder:
        for name, (n, n_shadow) in SIZES.items():
            found = compare(name, pythons, folder)
            show(name, found)
            kept["worlds"].append(
                {
                    "data": name,
                    "records": n,
                    "shadow models": n_shadow,
                    "tools": list(found.values()),
                }
            )
    if "--tools" not in sys.argv:
        kept["large"] = whole_audit()
    if "--store" in sys.argv:
        store(kept)


def whole_audit():
    """One audit of `LARGE`, announced and printed."""
    print(
        "The whole audit of {} shadow models x {:,} records x {} classes ...".format(*LARGE),
        flush=True,
    )
    with tempfile.TemporaryDirectory() as folder:
        found = large(Path(folder))
    print(
        f"{found['seconds']:.0f} processor s, peak memory {found['memory'] / 1e6:,.0f} MB "
        f"(at most 2,000)."
    )
    return found


def store(found):
    """Into the record, beside what another bench has left there."""
    before = json.loads(RECORD.read_text(encoding="utf-8")) if RECORD.exists() else {}
    RECORD.write_text(json.dumps(before | found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    if "--as" in sys.argv:
        worker(*sys.argv[-2:])
    else:
        main()
