"""Every figure of a report beside the verdict, as plain numbers."""

import numpy as np
from scipy import stats

from mia_lib import attacks as catalogue
from mia_lib import bayes, extras, metrics, risk_score, signals, two_sample
from mia_lib.audit import blind, family
from mia_lib.audit.family import FPRS

BINS = 20  # equal in members' and non-members' pooled order, fixed before the scores are seen
TOP = 10  # most exposed records
SLICE = 20  # members, and non-members, without which a slice has no figures
MOST_VALUES = 12  # values of a column of whole numbers or texts that are shown
SET = 1_000  # records of each side of a set-level test
POWER = 0.8  # of the set test, for which a difference is named
TIMES = (2, 5)  # a TPR this many times the FPR, for which members are counted
PRIORS = (0.01, 0.1, 0.5)  # at which the posterior is given, beside the user's
POINTS = 40  # rates at which a ROC is drawn, evenly on a logarithmic axis
COINS = "membership by a fair coin for each record (assignment 'coins')"
CHANCE = "a random split that no blind classifier contradicts"


def _three(estimate):
    return [float(value) for value in estimate]


def attacks(methods, scores, lacks, member, rows, delta):
    """A line for every attack, strongest adversary first; each interval by itself."""
    lines = []
    for method in methods:
        line = {"name": method.name, "adversary": method.adversary, "lacks": lacks[method.name]}
        if line["lacks"] is None:
            curve = metrics.roc(scores[method.name][rows], member[rows])
            line["auc"] = _three(curve.auc_interval(delta))
            line["balanced accuracy"] = float(curve.balanced_accuracy)
            line["tpr"] = [
                _three(curve.tpr_at(fpr, delta)) if fpr >= curve.fpr_floor else None for fpr in FPRS
            ]
        lines.append(line)
    return lines


def family_lines(figures):
    """The figures that decide; their limits hold together."""
    return [figure | {"estimate": _three(figure["estimate"])} for figure in figures]


def severity(figures, prior):
    """What the attacks find at low rates, and what an accusation is then worth.

    For each rate of the family the first attack, and the attack that finds most; the posterior of
    an accused record, prior TPR / (prior TPR + (1 - prior) FPR), at three priors.
    """
    lines = []
    first = figures[0]["attack"]
    for rate in dict.fromkeys(f["rate"] for f in figures if f["what"] == family.TPR):
        at_rate = [f for f in figures if f["what"] == family.TPR and f["rate"] == rate]
        most = max(at_rate, key=lambda f: f["estimate"].low)
        for figure in [f for f in at_rate if f["attack"] == first or f is most]:
            tpr = figure["estimate"]
            lines.append(
                {
                    "attack": figure["attack"][0],
                    "rate": rate,
                    "tpr": _three(tpr),
                    "posterior": [
                        [p, *(_posterior(t, rate, p) for t in tpr)] for p in priors(prior)
                    ],
                }
            )
    return lines


def priors(prior):
    """Three priors, the user's among them.

    Examples
    --------
    >>> priors(0.5), priors(0.2)
    ([0.01, 0.1, 0.5], [0.01, 0.1, 0.2])
    """
    return sorted({*PRIORS[:2], prior} if prior not in PRIORS else PRIORS)


def _posterior(tpr, fpr, prior):
    return float(prior * tpr / (prior * tpr + (1 - prior) * fpr))


def rocs(scores, baselines, member, rows, delta):
    """The curve of the first attack and of the best blind classifier, with a band that holds at
    each rate by itself.
    """
    name, score = next(iter(scores.items()))
    curves = [(name, metrics.roc(score[rows], member[rows]))]
    if baselines:
        best = max(baselines, key=lambda line: max(limit.value for limit in line.limits))
        curves.append((f"blind: {best.saw}", max(best.curves, key=lambda curve: curve.auc)))
    lines = []
    for what, curve in curves:
        rates = np.geomspace(curve.fpr_floor, 1, POINTS)
        rates[-1] = 1
        points = [[float(rate), *_three(curve.tpr_at(rate, delta))] for rate in rates]
        lines.append({"what": what, "points": points})
    return lines


def advantages(scores, member, rows, prior, delta, rng, levels):
    """The advantage of the first attack's and the loss's binned query."""
    member, lines = member[rows], []
    for name in dict.fromkeys([next(iter(scores)), "LOSS"]):
        if name not in scores:
            continue  # of answers that are labels alone there is no loss
        score = scores[name][rows]
        inside, outside, edges = score[member], score[~member], _edges(score)
        query = bayes.Histogram(inside, outside, prior, edges)
        line = {"name": name, "plug-in": _three(query.advantage(delta)), "bins": len(edges) - 1}
        line["without bias"] = _three(
            bayes.sign_split_advantage(inside, outside, prior, edges, delta, rng)
        )
        line["p"] = None
        if levels:
            line["p"] = float(
                bayes.permutation_p_value(
                    inside, outside, 0.5, bins=edges, n_permutations=999, rng=rng
                )
            )
        lines.append(line)
    return lines


def _edges(score):
    """Edges of bins that hold equally many of all records; ties may leave fewer."""
    inner = np.unique(np.quantile(score, np.linspace(0, 1, BINS + 1)[1:-1]))
    return np.concatenate([[-np.inf], inner, [np.inf]])


def metric_family(score, member, rows, prior, delta, rng):
    """The metric family at the user's prior, by the adversary that Algorithm 2 fits."""
    metric = {
        "accuracy": metrics.accuracy(),
        "precision (PPV)": metrics.ppv(),
        "recall (TPR)": metrics.tpr(),
        "TNR": metrics.tnr(),
        "AM": metrics.am(prior),
    }
    score, member = score[rows], member[rows]
    sides, edges = (score[member], score[~member]), _edges(score)
    found = []
    for name, one in metric.items():
        value, low, high = _three(
            bayes.generalized_advantage(one, *sides, prior, edges, delta, rng)
        )
        # Whoever calls nobody a member has no precision: of few records none may be left to call.
        found.append([name, None if np.isnan(value) else value, low, high])
    return found


def set_tests(o, view, rows, delta, rng, levels):
    """Do members as a set have a smaller loss; and, with a representation, another law of it?

    The first is a permutation test of the mean loss, whose level is exact. Its power is named as
    the smallest AUC of the loss that it finds in `POWER` of all cases, for normal losses of one
    spread: Phi(d / sqrt 2), d = (z_delta + z_power) sqrt(1 / n1 + 1 / n0).
    """
    if not levels:
        return {"lacks": CHANCE, "tests": []}
    outside, inside = (
        rng.permutation(rows[side])[:SET] for side in (~o.member[rows], o.member[rows])
    )
    loss = catalogue.loss(view.logits, view.labels)
    found = two_sample.mean_test(loss[outside], loss[inside], "greater", rng=rng)
    z = stats.norm.isf(delta) + stats.norm.ppf(POWER)
    gap = z * np.sqrt(1 / len(inside) + 1 / len(outside))
    test = {
        "what": "mean loss, smaller among members",
        "p": float(found.p_value),
        "members": len(inside),
        "non-members": len(outside),
        "finds": float(stats.norm.cdf(gap / np.sqrt(2))),
    }
    tests = [test]
    missing = None
    if o.representation is not None and not extras.has("torch"):
        missing = (
            "The kernel test of the representation was not run: it needs torch, which is not "
            "installed (pip install 'mia_lib[train]')."
        )
    elif o.representation is not None:
        size = min(len(inside), len(outside)) // 2
        parts = [side[start : start + size] for side in (outside, inside) for start in (0, size)]
        seen = [np.asarray(o.representation[part], dtype=float) for part in parts]
        raw = seen
        if o.features is not None:
            raw = [blind.inputs(o.features, part, rng).astype(float) for part in parts]
        try:
            kernel = two_sample.HrMmd(n_steps=50, rng=rng).fit(seen[0], raw[0], seen[2], raw[2])
            p = float(kernel.test(seen[1], raw[1], seen[3], raw[3]).p_value)
            what = "representation, by a kernel fitted on as many others"
            tests.append(
                {"what": what, "p": p, "members": size, "non-members": size, "finds": None}
            )
        except ValueError:
            pass  # records that do not differ leave no kernel to be fitted
    return {"lacks": None, "tests": tests, "missing": missing}


def epsilon(score, o, rows, delta, rng, levels):
    """A lower bound from one training, where coins decided who is a member."""
    if o.assignment != "coins":
        return {"lacks": COINS}
    if not levels:
        return {"lacks": CHANCE}
    correct, made = family.guesses(score[rows], o.member[rows], rng)
    return {
        "lacks": None,
        "bound": float(bayes.epsilon_lower_bound_one_run(correct, made, delta)),
        "correct": correct,
        "guesses": made,
        "most": float(bayes.epsilon_lower_bound_one_run(made, made, delta)),
    }


def resolution(member, view, rows, delta):
    """What a claim at each false-positive rate takes, and the first attack with fewer shadow
    models.
    """
    member_once = member[rows]
    n_in, lines, fewer = int(member_once.sum()), [], []
    n_out = int(member_once.size - n_in)
    for fpr in FPRS:
        outside = [
            metrics.n_nonmembers_needed(fpr, delta, purpose) for purpose in ("certify", "interval")
        ]
        inside = [metrics.n_members_needed(times * fpr, fpr, delta) for times in TIMES]
        lines.append([fpr, n_out, *outside, n_in, *inside])
    if view.same_records and min(view.counts) >= 2:
        n_models, online = 4, catalogue.named("LiRA, online")
        while n_models <= 2 * min(view.counts):
            signal, mask = view.fewer_models(n_models)
            score = online.one_target(view.all_phi, signal, mask, **online.options)
            curve = metrics.roc(score[rows], member_once)
            fewer.append(
                [n_models, _three(curve.auc_interval(delta)), _three(curve.tpr_at(FPRS[0], delta))]
            )
            n_models *= 2
    return {"floor": 1 / n_out, "lines": lines, "shadow models": view.n_shadow, "fewer": fewer}


def slices(score, o, rows, delta):
    """AUC and TPR at FPR 10 % by class and by every column, each interval by itself."""
    lines = []
    for name, value, inside in _slices(o):
        inside = rows[inside[rows]]
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


def _slices(o):
    classes = range(o.n_classes) if o.task == "classification" else ()
    groups = [("class", str(k), o.labels == k) for k in classes]
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
    return groups


def risk_scores(view, member, prior, delta, rng):
    """Privacy risk scores from the first shadow model and how well calibrated they are; and the
    scores, if any.
    """
    if view.task == "regression":
        return {"lacks": "classes: the model predicts a number"}, None
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


def exposed(scores, risks, o, prior, delta):
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


def records(scores, risks, o):
    """Every record with its scores, by column; what `Report.records` makes a table of."""
    own = {"record": np.arange(o.n), "label": o.labels, "member": o.member}
    found = scores | ({} if risks is None else {"Privacy risk score": risks})
    taken = own | found
    given = {f"columns.{name}" if name in taken else name: v for name, v in o.columns.items()}
    return own | given | found
