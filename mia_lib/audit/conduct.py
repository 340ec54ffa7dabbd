"""The audit itself: scores, the verdict that they permit, and every figure beside it."""

import numpy as np
import scipy
import sklearn

import mia_lib
from mia_lib import checks, disk
from mia_lib.audit import blind, copies, descriptive, family, masks, methods, prediction, verdict
from mia_lib.audit.files import describe
from mia_lib.audit.observations import ASSIGNMENTS, LEAST, Observations, finite_rows
from mia_lib.audit.report import SCHEMA, Report
from mia_lib.audit.view import View


def run(observations, prior=0.5, delta=0.05, seed=0, *, model=None, date=None):
    """Audit a model: every attack that the observations permit, and what may be concluded.

    Parameters
    ----------
    observations : Observations
    prior : float
        p = Pr(member) of a record in question, in (0, 1): for the posterior, the metric family,
        risks and risk scores.
    delta : float
        How often, at most, each of the four verdicts may be wrong. Limits of the family that
        decides hold together at this level, every other interval by itself.
    seed : int
        Of splits and permutations: the same observations and seed give the same report.
    model : str, optional
        What the report calls the model.
    date : str, optional
        As the report shall show it. None: no date, so that the report does not depend on the day.

    Returns
    -------
    Report

    Raises
    ------
    ValueError
        Anything but `Observations`; a prior or delta outside (0, 1); entries that are no numbers; a
        name or date that is no text.

    Notes
    -----
    Where the shadow models and the target together hold every record equally often, as half masks
    of S + 1 models do, the shadow models alone would betray membership. Then of every record one
    model of the other side is left out, chosen by chance, always the same: were it the first one,
    most records would lack the same model, and how sure that one is would tell the sides apart.
    Taught in book/audit.ipynb.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> labels, member = rng.integers(3, size=60), np.arange(60) < 30
    >>> run(Observations(rng.normal(size=(60, 3)), labels, member, assignment="random")).verdict
    'no leak shown'
    """
    prior, delta, seed = checks.prior(prior), checks.delta(delta), checks.integer("seed", seed, 0)
    for name, value in (("model", model), ("date", date)):
        if value is not None and not isinstance(value, str):
            checks.fail(name, type(value).__name__, "a text")
    found = judge(observations, delta, seed)
    o, view, scores, rows, decided = (
        found[name] for name in ("observations", "view", "scores", "rows", "decided")
    )
    levels, first = decided["levels"], next(iter(scores))

    def rng(place):  # each part draws for itself
        return np.random.default_rng([seed, place])

    content = {
        "schema": SCHEMA,
        "model": model,
        "date": date,
        "observations": identity(o),
        "versions": {
            "mia_lib": mia_lib.__version__,
            "numpy": np.__version__,
            "scipy": scipy.__version__,
            "scikit-learn": sklearn.__version__,
        },
        **decided,
        "given": [list(line) for line in describe(o)],
        "assignment": o.assignment,
        "assigned": ASSIGNMENTS[o.assignment],
        "settings": {"prior": prior, "delta": delta, "seed": seed},
        "counts": {
            "records": o.n,
            "members": int(o.member.sum()),
            "non-members": int((~o.member).sum()),
            "copies": int(o.n - len(rows)),
            "classes": o.n_classes,
            "shadow models": view.n_shadow,
        },
        "blind": [
            {"saw": line.saw, "auc": [list(map(float, way)) for way in line.limits]}
            for line in found["blind"]
        ],
        "alone": found["alone"]
        and {
            "saw": found["alone"].saw,
            "columns": found["alone"].columns,
            "auc": list(map(float, found["alone"].limits[0])),
        },
        "family": descriptive.family_lines(found["figures"]),
        "task": o.task,
        "labels alone": view.labels_alone,
        "structure": None if o.structure is None else list(o.structure),
        "attacks": descriptive.attacks(
            methods.of(view), scores, found["lacks"], o.member, rows, delta
        ),
        "first": first,
        "severity": descriptive.severity(found["figures"], prior),
        "roc": descriptive.rocs(scores, found["blind"], o.member, rows, delta),
        "advantage": descriptive.advantages(scores, o.member, rows, prior, delta, rng(2), levels),
        "metrics": descriptive.metric_family(scores[first], o.member, rows, prior, delta, rng(3)),
        "set": descriptive.set_tests(o, view, rows, delta, rng(5), levels),
        "epsilon": descriptive.epsilon(scores[first], o, rows, delta, rng(6), levels),
        "resolution": descriptive.resolution(o.member, view, rows, delta),
        "predicted": prediction.without_shadows(
            view, o.member, rows, delta, found["lacks"], levels
        ),
        "slices": descriptive.slices(scores[first], o, rows, delta),
    }
    content["risk score"], risks = descriptive.risk_scores(view, o.member, prior, delta, rng(4))
    content["exposed"] = descriptive.exposed(scores, risks, o, prior, delta)
    return Report(content, descriptive.records(scores, risks, o))


def judge(observations, delta=0.05, seed=0):
    """Scores, blind classifiers, the family of figures, and the verdict: `run` without the rest.

    Parameters
    ----------
    observations : Observations
    delta : float
        As for `run`.
    seed : int

    Returns
    -------
    dict
        "observations", "view", "group" (n,), "rows" (records that are no copies of each other),
        "scores" (name to (n,)), "lacks" (name to what an attack lacks, or None), "blind" (list of
        `blind.Baseline`), "alone" (the column that tells most by itself, or None), "figures" (see
        `family.figures`), "decided" (see `verdict.decide`).

    Raises
    ------
    ValueError
        As `run`.

    Notes
    -----
    The sentences have a share of `delta` each, which is split further: of the family half for each
    side; of "check the input" a half for the blind classifiers and the columns and a quarter for
    the masks, the rest for the upper limits of the AUC; of what a blind classifier can do a half.
    Run in tests/simulations/verdicts.py.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> member = np.arange(60) < 30
    >>> seen = Observations(rng.normal(size=(60, 3)) + 9 * member[:, None] * np.eye(3)[0],
    ...     np.zeros(60, int), member, assignment="random")
    >>> judge(seen)["decided"]["verdict"]
    'leak'
    """
    if not isinstance(observations, Observations):
        checks.fail("observations", type(observations).__name__, "audit.Observations")
    o, view = observations, View(observations, _left_out(observations))
    view.read()
    group = copies.groups(o.features, o.labels)
    rows = copies.once(group, o.member, LEAST)
    rng = [np.random.default_rng([seed, place]) for place in (0, 1, 7)]
    attacks = methods.of(view)
    lacks = {method.name: methods.lacks(method, view) for method in attacks}
    scores = {
        method.name: checks.real_array(
            f"score of {method.name}", methods.score(method, view, rng[1]), 1
        )
        for method in attacks
        if lacks[method.name] is None
    }
    looks = blind.baselines(o, view, group, delta, rng[0])
    baselines = [line for line in looks if not line.columns]
    once = {name: score[rows] for name, score in scores.items()}
    figures = family.figures(once, o.member[rows], delta, o.assignment == "coins", rng[2])
    decided = verdict.decide(
        figures,
        [{"saw": line.saw, "limits": line.limits, "columns": line.columns} for line in looks],
        assignment=o.assignment,
        features=o.features is not None,
        contradictions=masks.contradictions(o, view, rows, delta / 4),
        ceiling=_ceiling(baselines, figures, delta) if o.assignment == "given" else None,
        unlabelled=[m.name for m in attacks if "label" not in m.needs],
    )
    return {
        "observations": o,
        "view": view,
        "group": group,
        "rows": rows,
        "scores": scores,
        "lacks": lacks,
        "blind": baselines,
        "alone": next((line for line in looks if line.columns), None),
        "figures": figures,
        "decided": decided,
    }


def permits(observations):
    """Read every number once, and say which attacks the observations permit.

    Parameters
    ----------
    observations : Observations

    Returns
    -------
    list of (str, str or None)
        Each attack and what it lacks, None where it is possible.

    Raises
    ------
    ValueError
        A number that no attack could use; the message names the array.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> permits(Observations(rng.normal(size=(40, 3)), rng.integers(3, size=40),
    ...     np.arange(40) < 20))[0]
    ('LiRA, online', 'shadow models on the same records')
    """
    view = View(observations)
    view.read()
    if observations.features is not None:
        finite_rows("features", observations.features)
    return [(method.name, methods.lacks(method, view)) for method in methods.of(view)]


def identity(observations):
    """SHA-256 over everything that was handed over, by which a report can be told to belong to it.

    Examples
    --------
    >>> logits, labels, member = np.eye(40)[:, :3], np.zeros(40, int), np.arange(40) < 20
    >>> len(identity(Observations(logits, labels, member)))
    64
    """
    o = observations
    names = [line[0] for line in describe(o) if line[0] not in ("assignment", "task")]
    arrays = [
        o.columns[name.removeprefix("columns.")]
        if name.startswith("columns.")
        else getattr(o, name)
        for name in names
    ]
    said = [o.assignment] + ([o.task] if o.task != "classification" else [])
    said += list(o.structure or ())
    return disk.hash_arrays(np.array([*names, *said]), *arrays)


def _left_out(o):
    """One model of the other side for each record, by chance, where the counts would betray the
    target; else None.
    """
    if o.shadow_member is None or o.shadow_labels is not None:
        return None
    held = o.shadow_member.sum(axis=0)
    if np.ptp(held + o.member):
        return None
    other = np.where(o.member, ~o.shadow_member, o.shadow_member)
    drawn = np.random.default_rng(0).random(other.shape)
    return np.where(other, drawn, -1).argmax(axis=0)


def _ceiling(baselines, figures, delta):
    """(what, rate) to the largest upper limit of any blind classifier, either way; all hold
    together, with half of delta.
    """
    rates = sorted({f["rate"] for f in figures if f["rate"] is not None})
    kinds = [(family.AUC, None), (family.ADVANTAGE, None), *((family.TPR, r) for r in rates)]
    if not baselines:
        return {kind: 1.0 for kind in kinds}
    level = delta / (blind.WAYS * len(baselines) * len(kinds))
    each = [baseline.ceiling(level, rates) for baseline in baselines]
    return {kind: max(limits) for kind, limits in zip(kinds, zip(*each))}
