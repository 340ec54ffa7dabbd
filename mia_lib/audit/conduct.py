"""The audit itself: every figure that the observations permit, as plain numbers and words."""

import numpy as np

from mia_lib import attacks, bayes, checks, metrics, risk_score, signals, two_sample
from mia_lib.audit import blind, methods
from mia_lib.audit.files import describe
from mia_lib.audit.observations import ASSIGNMENTS, Observations, finite_rows
from mia_lib.audit.report import FPRS, Report
from mia_lib.audit.view import View

BINS = 20  # equal in members' and non-members' pooled order, fixed before the scores are seen
TOP = 10  # most exposed records
SLICE = 20  # members, and non-members, without which a slice has no figures
MOST_VALUES = 12  # values of a column of whole numbers or texts that are shown
SET = 500  # records of a set in the set-level test
TIMES = (
    2,
    5,
)  # a true-positive rate this many times the false-positive rate, for which members are counted
GUESSED = 0.2  # share of the records that the one-run bound guesses


def run(observations, prior=0.5, delta=0.05, seed=0):
    """Audit a model: every attack that the observations permit, and what may be concluded.

    Parameters
    ----------
    observations : Observations
    prior : float
        p = Pr(member) of a record in question, in (0, 1): for the metric family, risks and risk
        scores.
    delta : float
        1 minus the level of every interval by itself.
    seed : int
        Of splits and permutations: the same observations and seed give the same report.

    Returns
    -------
    Report

    Raises
    ------
    ValueError
        Anything but `Observations`; a prior or delta outside (0, 1); entries that are no numbers.

    Notes
    -----
    Where the shadow models and the target together hold every record equally often, as half masks
    of S + 1 models do, the shadow models alone would betray membership. Then of every record one
    model of the other side is left out. Taught in book/audit.ipynb.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> seen = Observations(rng.normal(size=(60, 3)), rng.integers(3, size=60), np.arange(60) < 30)
    >>> run(seen).to_markdown().splitlines()[0]
    '# Membership inference audit'
    """
    if not isinstance(observations, Observations):
        checks.fail("observations", type(observations).__name__, "audit.Observations")
    prior, delta, seed = checks.prior(prior), checks.delta(delta), checks.integer("seed", seed, 0)

    def rng(place):  # each part draws for itself
        return np.random.default_rng([seed, place])

    o, view = observations, View(observations, _left_out(observations))
    view.read()
    scores, table = _attacks(view, o.member, delta, rng(1))
    first, blinds = next(iter(scores)), blind.baselines(o, rng(0))
    content = {
        "given": [list(line) for line in describe(o)],
        "assignment": ASSIGNMENTS[o.assignment],
        "settings": {"prior": prior, "delta": delta, "seed": seed},
        "counts": {
            "records": o.n,
            "members": int(o.member.sum()),
            "non-members": int((~o.member).sum()),
            "classes": o.n_classes,
            "shadow models": view.n_shadow,
        },
        "blind": [
            [what, *_three(curve.auc_interval(delta / len(blinds)))] for what, curve in blinds
        ],
        "attacks": table,
        "first": first,
        "advantage": _advantages(scores, o, prior, delta, rng(2)),
        "metrics": _metrics(scores[first], o.member, prior, delta, rng(3)),
        "set": _set_test(o, rng(5)),
        "epsilon": _epsilon(scores[first], o, delta),
        "resolution": _resolution(o.member, view, delta),
        "slices": _slices(scores[first], o, delta),
    }
    content["risk score"], risks = _risk_score(view, o.member, prior, delta, rng(4))
    content["exposed"] = _exposed(scores, risks, o, prior, delta)
    content["summary"] = _summary(content, o)
    return Report(content)


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
    return [(method.name, methods.lacks(method, view)) for method in methods.METHODS]


def _left_out(o):
    """One model of the other side for each record, where the counts would betray the target; else
    None.
    """
    if o.shadow_member is None or o.shadow_labels is not None:
        return None
    held = o.shadow_member.sum(axis=0)
    if np.ptp(held + o.member):
        return None
    other = np.where(o.member, ~o.shadow_member, o.shadow_member)
    return other.argmax(axis=0)


def _three(estimate):
    return [float(value) for value in estimate]


def _attacks(view, member, delta, rng):
    """Scores by name, strongest adversary first, and a line for every attack."""
    scores, lines = {}, []
    for method in methods.METHODS:
        lacks = methods.lacks(method, view)
        line = {"name": method.name, "adversary": method.adversary, "lacks": lacks}
        if lacks is None:
            scores[method.name] = checks.real_array(
                f"score of {method.name}", methods.score(method, view, rng), 1
            )
            curve = metrics.roc(scores[method.name], member)
            line["auc"] = _three(curve.auc_interval(delta))
            line["balanced accuracy"] = float(curve.balanced_accuracy)
            line["tpr"] = [
                _three(curve.tpr_at(fpr, delta)) if fpr >= curve.fpr_floor else None for fpr in FPRS
            ]
        lines.append(line)
    return scores, lines


def _edges(score):
    """Edges of bins that hold equally many of all records; ties may leave fewer."""
    inner = np.unique(np.quantile(score, np.linspace(0, 1, BINS + 1)[1:-1]))
    return np.concatenate([[-np.inf], inner, [np.inf]])


def _advantages(scores, o, prior, delta, rng):
    lines = []
    for name in dict.fromkeys([next(iter(scores)), "LOSS"]):
        inside, outside, edges = (
            scores[name][o.member],
            scores[name][~o.member],
            _edges(scores[name]),
        )
        query = bayes.Histogram(inside, outside, prior, edges)
        line = {"name": name, "plug-in": _three(query.advantage(delta)), "bins": len(edges) - 1}
        line["without bias"] = _three(
            bayes.sign_split_advantage(inside, outside, prior, edges, delta, rng)
        )
        line["p"] = None
        if o.assignment != "given":
            line["p"] = float(
                bayes.permutation_p_value(
                    inside, outside, 0.5, bins=edges, n_permutations=999, rng=rng
                )
            )
        lines.append(line)
    return lines


def _metrics(score, member, prior, delta, rng):
    """The metric family at the user's prior, by the adversary that Algorithm 2 fits."""
    family = {
        "accuracy": metrics.accuracy(),
        "precision (PPV)": metrics.ppv(),
        "recall (TPR)": metrics.tpr(),
        "TNR": metrics.tnr(),
        "AM": metrics.am(prior),
    }
    edges = _edges(score)
    return [
        [
            name,
            *_three(
                bayes.generalized_advantage(
                    metric, score[member], score[~member], prior, edges, delta, rng
                )
            ),
        ]
        for name, metric in family.items()
    ]


def _risk_score(view, member, prior, delta, rng):
    """Privacy risk scores from the first shadow model and how well calibrated they are; and the
    scores, if any.
    """
    if view.n_shadow == 0:
        return {"lacks": "shadow models"}, None
    logits, shadow_member, labels = view.shadow_outputs(1)
    missing = sorted(set(view.labels.tolist()) - set(labels.tolist()))
    if missing:
        return {"lacks": f"class {missing[0]} among the shadow model's records"}, None
    target = signals.modified_entropy(view.logits, view.labels)
    shadow = signals.modified_entropy(logits[0], labels)
    try:
        score = risk_score.privacy_risk_score(
            target, view.labels, shadow, labels, shadow_member[0], prior
        )
    except ValueError as reason:
        return {"lacks": f"what the risk score needs ({reason})"}, None
    found = risk_score.calibration(score, member, prior, delta=delta, rng=rng)
    curve = np.stack(
        [found.score, found.fraction, found.low, found.high, found.count], axis=1
    ).tolist()
    figures = {
        "rmse": found.rmse,
        "noise floor": found.noise_floor,
        "noise limit": found.noise_limit,
    }
    figures = {name: float(value) for name, value in figures.items()}
    return {
        "lacks": None,
        **figures,
        "above 0.9": float((score > 0.9).mean()),
        "curve": curve,
    }, score


def _set_test(o, rng):
    """HR-MMD on one half of a balanced sample, fitted on the other; None where the split was not
    random.
    """
    if o.assignment == "given":
        return {
            "lacks": "a random split: any other difference between the groups would be called "
            "membership"
        }
    inside, outside = (rng.permutation(np.flatnonzero(side)) for side in (o.member, ~o.member))
    size = min(len(inside), len(outside), 2 * SET) // 2
    rows = np.concatenate([outside[: 2 * size], inside[: 2 * size]])
    outputs = o.logits[0] if o.logits.ndim == 3 else o.logits
    # Only these records are read: there may be many more, memory-mapped.
    seen = np.asarray(
        (outputs if o.representation is None else o.representation)[rows], dtype=float
    )
    seen = np.nan_to_num(seen, neginf=-1e3) if o.representation is None else seen
    raw = seen if o.features is None else blind.inputs(o.features, rows, rng).astype(float)
    parts = np.arange(4 * size).reshape(
        4, size
    )  # of non-members a half to fit and a half to test, then of members
    try:
        test = two_sample.HrMmd(n_steps=50, rng=rng).fit(
            seen[parts[0]], raw[parts[0]], seen[parts[2]], raw[parts[2]]
        )
        found = test.test(seen[parts[1]], raw[parts[1]], seen[parts[3]], raw[parts[3]])
    except ValueError as reason:
        return {"lacks": f"records that differ ({reason})"}
    return {
        "lacks": None,
        "p": float(found.p_value),
        "records": size,
        "on": "the outputs" if o.representation is None else "the representation",
    }


def _epsilon(score, o, delta):
    """A lower bound from one training, where coins decided who is a member."""
    if o.assignment != "coins":
        return {"lacks": "membership by a fair coin for each record (assignment 'coins')"}
    half = max(1, int(o.n * GUESSED / 2))
    order = np.argsort(score, kind="stable")
    correct = int((~o.member[order[:half]]).sum() + o.member[order[-half:]].sum())
    bound = bayes.epsilon_lower_bound_one_run(correct, 2 * half, delta)
    return {
        "lacks": None,
        "bound": float(bound),
        "correct": correct,
        "guesses": 2 * half,
        "most": float(bayes.epsilon_lower_bound_one_run(2 * half, 2 * half, delta)),
    }


def _resolution(member, view, delta):
    """What a claim at each false-positive rate takes, and the first attack with fewer shadow
    models.
    """
    n_in, lines, fewer = int(member.sum()), [], []
    for fpr in FPRS:
        outside = [
            metrics.n_nonmembers_needed(fpr, delta, purpose) for purpose in ("certify", "interval")
        ]
        inside = [metrics.n_members_needed(times * fpr, fpr, delta) for times in TIMES]
        lines.append([fpr, int(member.size - n_in), *outside, n_in, *inside])
    if view.same_records and min(view.counts) >= 2:
        n_models, online = 4, attacks.named("LiRA, online")
        while n_models <= 2 * min(view.counts):
            signal, mask = view.fewer_models(n_models)
            curve = metrics.roc(
                online.one_target(view.all_phi, signal, mask, **online.options), member
            )
            fewer.append(
                [n_models, _three(curve.auc_interval(delta)), _three(curve.tpr_at(FPRS[0], delta))]
            )
            n_models *= 2
    return {
        "floor": 1 / (member.size - n_in),
        "lines": lines,
        "shadow models": view.n_shadow,
        "fewer": fewer,
    }


def _slices(score, o, delta):
    """AUC and TPR at FPR 10 % by class and by every column."""
    groups = [("class", str(k), o.labels == k) for k in range(o.n_classes)]
    for name, column in o.columns.items():
        values = np.unique(column)
        if column.dtype.kind == "f" or (column.dtype.kind in "iu" and len(values) > MOST_VALUES):
            cuts = np.unique(np.quantile(column, [0, 0.25, 0.5, 0.75, 1]))
            for low, high in zip(cuts, cuts[1:]):
                inside = (column >= low) & (
                    (column < high) | ((column == high) & (high == cuts[-1]))
                )
                groups.append((name, f"{low:.4g} to {high:.4g}", inside))
        else:
            groups += [(name, str(value), column == value) for value in values[:MOST_VALUES]]
    lines = []
    for name, value, inside in groups:
        member = o.member[inside]
        line = {
            "column": name,
            "value": value,
            "members": int(member.sum()),
            "non-members": int((~member).sum()),
            "auc": None,
        }
        if min(line["members"], line["non-members"]) >= SLICE:
            curve = metrics.roc(score[inside], member)
            line["auc"], line["tpr"] = (
                _three(curve.auc_interval(delta)),
                _three(curve.tpr_at(FPRS[0], delta)),
            )
        lines.append(line)
    return lines


def _exposed(scores, risks, o, prior, delta):
    """The members that the first attack is surest of, with all their scores and the limits of their
    risk.
    """
    name = next(iter(scores))
    shown = scores if risks is None else scores | {"Privacy risk score": risks}
    query = bayes.Histogram(
        scores[name][o.member], scores[name][~o.member], prior, _edges(scores[name])
    )
    rows = np.flatnonzero(o.member)
    rows = rows[np.argsort(-scores[name][rows], kind="stable")][:TOP]
    low, high = query.risk_interval(scores[name][rows], delta)
    risk = query.risk(scores[name][rows])
    return [
        {
            "record": int(i),
            "label": int(o.labels[i]),
            "risk": [float(f), float(a), float(b)],
            "scores": {attack: float(score[i]) for attack, score in shown.items()},
        }
        for i, f, a, b in zip(rows, risk, low, high)
    ]


def _summary(content, o):
    """Sentences that claim no more than the intervals do."""
    said = []
    permitted = [line for line in content["attacks"] if line["lacks"] is None]
    delta = content["settings"]["delta"]
    level = f"{1 - delta:.0%}"
    first = permitted[0]
    auc, low, high = first["auc"]
    said.append(
        f"{first['name']}, chosen before any score was seen as the strongest attack "
        f"that the observations permit, "
        f"has an AUC of {auc:.3f} ({level} interval {low:.3f} to {high:.3f})."
    )
    blinds = content["blind"]
    most = max((line for line in blinds), key=lambda line: line[1]) if blinds else None
    if most:
        said.append(
            f"A classifier that never saw the model separates the groups with AUC "
            f"{most[1]:.3f} "
            f"({most[2]:.3f} to {most[3]:.3f}) from {most[0]}."
        )
    if most and most[2] > 0.5:
        if o.assignment != "given":
            said.append(
                "If chance decided who is a member, as was said, that is rare: see whether it did."
            )
        said.append(
            "So members and non-members differ by themselves. What an attack finds up "
            "to this figure is no evidence "
            "about the model."
        )
        if low > most[3]:
            said.append(
                "The attack does better than that, which the difference of the groups alone "
                "does not explain."
            )
        else:
            said.append(
                "The attack is not shown to do better: this audit shows no leak of the model."
            )
    elif low > 0.5:
        said.append(
            "Its interval excludes guessing: the model treats members and non-members differently."
        )
    else:
        said.append(
            "Its interval holds guessing: this audit shows no leak. It does not show that there "
            "is none."
        )
    if o.assignment == "given":
        said.append(
            "Nothing says that chance decided who is a member. Levels, p-values and "
            "bounds of epsilon are therefore "
            "not printed, and every interval describes these two groups only."
        )
    bound = content["epsilon"]
    if bound["lacks"] is None:
        said.append(
            f"{bound['correct']} of {bound['guesses']} guesses were right: epsilon of "
            f"the training is at least "
            f"{bound['bound']:.2f} ({level} confidence, delta = 0; more than "
            f"{bound['most']:.2f} cannot be "
            f"shown)."
        )
    floor = content["resolution"]["floor"]
    said.append(
        f"False-positive rates below {floor:.2%} cannot be seen with "
        f"{content['counts']['non-members']:,} non-members."
    )
    return said
