"""What a report says, in order. Every form of it reads these, so that all say the same."""

import math

from mia_lib import attacks
from mia_lib.audit import family, prediction, regression, verdict, words
from mia_lib.audit.family import FPRS

SHOWN = 20  # most figures of the family that a report lists


def sections(c):
    """Titles, each with its parts.

    Parameters
    ----------
    c : dict
        The content of a `Report`.

    Yields
    ------
    (str, list of tuples)
        A part is ("text", str), ("list", list of str), ("table", head, rows) or ("roc", list of
        curves).
    """
    sure = f"with a probability of {100 * (1 - c['settings']['delta']):g} %"
    together = f"hold together {sure}" if c["levels"] else "hold for these two groups alone"
    each = f"by itself, {sure}" if c["levels"] else "by itself, for these two groups alone"
    yield "Which model", list(_identity(c))
    yield f"Verdict: {c['verdict']}", [("list", c["reasons"])]
    yield "How serious it is", list(_severity(c, together))
    yield "What to do next", [("text", words.NEXT[c["verdict"]])]
    yield (
        "What this audit cannot say",
        [("list", [f"It cannot say {text}." for text in words.CANNOT])],
    )
    yield "Blind classifiers: how far the groups differ without the model", list(_blind(c))
    yield (
        "How many members are found at which price",
        [
            (
                "text",
                f"The share of members that {c['first']} finds against the share of non-members "
                f"that it accuses, on logarithmic axes; beside it the best blind classifier. The "
                f"bands hold at each rate {each}.",
            ),
            ("roc", c["roc"]),
        ],
    )
    yield "The model itself", list(_structure(c))
    yield "Attacks", list(_attacks(c, each))
    yield "The figures that decide", list(_family(c, together))
    yield "Membership advantage", list(_advantage(c))
    yield f"Metrics of {c['first']} at prior {c['settings']['prior']:g}", list(_metrics(c))
    yield "Privacy risk scores", list(_risk(c))
    yield "Tests of all records as one set", list(_set(c))
    yield "Lower bound of epsilon", list(_epsilon(c))
    yield "How many more records it would take", list(_needed(c))
    yield "How many more shadow models it would take", list(_fewer(c))
    yield "A prediction: what shadow models would find", list(_predicted(c))
    yield f"Slices, {c['first']}", list(_slices(c, each))
    yield "Most exposed members", list(_exposed(c))
    yield "What was handed over", [("table", ["array", "shape and type"], c["given"])]
    yield "Words for a data-protection impact assessment", list(_assessment(c))
    yield "Glossary", [("table", ["word", "meaning"], [list(line) for line in words.GLOSSARY])]


def _identity(c):
    versions = ", ".join(f"{name} {version}" for name, version in c["versions"].items())
    counts = ", ".join(f"{value:,} {name}" for name, value in c["counts"].items())
    settings = ", ".join(f"{name} {value:g}" for name, value in c["settings"].items())
    rows = [
        ["model", c["model"] or "not named"],
        ["date", c["date"] or "not given"],
        ["observations (SHA-256)", c["observations"]],
        ["records", counts],
        ["assignment", f"{c['assignment']}: {c['assigned']}"],
        ["settings", settings],
        ["versions", versions],
    ]
    yield "table", ["", ""], rows


def _severity(c, together):
    if c["verdict"] == verdict.CHECK:
        yield "text", "Not stated, because the input contradicts itself or says too little."
        return
    if c["verdict"] == verdict.DIFFER:
        yield (
            "text",
            "Not stated: what an attack finds here, it may find by the difference of the groups.",
        )
        return
    yield "text", f"Persons, by figures whose limits {together}:"
    lines = [
        line
        for line in c["severity"]
        if c["verdict"] == verdict.LEAK or line["attack"] == c["first"]
    ]
    yield "list", [persons(line) for line in lines]
    if lines:
        yield "text", words.WHOSE_RATE
    priors = [p for p, *_ in lines[0]["posterior"]] if lines else []
    if not priors:
        return
    yield (
        "text",
        "How likely an accused person then is a member, by how likely that was before (the prior): "
        "with a small prior most accusations are false even where the attack finds many.",
    )
    rows = [
        [
            f"{line['attack']} at an FPR of {verdict.rate(line['rate'])}",
            *(_estimate(three, "{:.1%}") for _, *three in line["posterior"]),
        ]
        for line in lines
    ]
    yield "table", ["accused by", *(f"prior {p:g}" for p in priors)], rows


def persons(line):
    """A TPR in persons.

    Examples
    --------
    >>> persons({"attack": "LOSS", "rate": 0.001, "tpr": [0.02, 0.0123, 0.03]})
    '1 false accusation in 1,000 non-members: of 1,000 members LOSS finds about 20 (12 to 30).'
    """
    value, low, high = (1000 * rate for rate in line["tpr"])
    false = 1000 * line["rate"]
    wrong = f"{false:.3g} false accusation" + ("" if abs(false - 1) < 0.005 else "s")
    return (
        f"{wrong} in 1,000 non-members: of 1,000 members {line['attack']} finds about {value:.0f} "
        f"({math.floor(low)} to {math.ceil(high)})."
    )


def _blind(c):
    if not c["blind"]:
        yield (
            "text",
            "None: without features, and with one class, there is nothing that a blind classifier "
            "could see. Whether the groups differ by themselves was not checked.",
        )
        return
    yield (
        "text",
        "Each was fitted on one half of the records and judged on the other, both ways; copies of "
        "a record stay in one half and count once. All these limits hold together.",
    )
    rows = [[line["saw"], *(_estimate(way) for way in line["auc"])] for line in c["blind"]]
    yield "table", ["saw", "AUC, one way", "AUC, the other way"], rows
    if c["alone"]:
        yield (
            "text",
            f"Of {c['alone']['columns']:,} columns of the records, each by itself and on all "
            f"records, {c['alone']['saw']} tells most, with an AUC of "
            f"{_estimate(c['alone']['auc'])}; these limits hold for all columns together.",
        )
    if not any("inputs" in line["saw"] for line in c["blind"]):
        yield (
            "text",
            "Features were not handed over, so differences of the inputs were not looked for, and "
            "copies of a record were not noticed.",
        )


def _structure(c):
    if c["structure"] is None:
        yield (
            "text",
            "Not looked at: its answers were handed over, not the model. Models that store records "
            "(nearest neighbours, kernel machines), trees with leaves of few records, and models "
            "with more trained numbers than records give records away in other ways too.",
        )
    elif not c["structure"]:
        yield (
            "text",
            "It stores no record, has no leaf of few records, and fewer trained numbers than "
            "records, so far as this audit knows its kind.",
        )
    else:
        yield "list", c["structure"]


def _attacks(c, each):
    if c["task"] == "regression":
        yield "text", regression.SAID
    if c["labels alone"]:
        yield (
            "text",
            "The model answers with labels alone, so every attack here is label-only: those that "
            "read how sure the model is are not possible.",
        )
    yield (
        "text",
        f"In the order of what their adversaries are given, strongest first; attacks that put the "
        f"records in the same order share a line. Every interval holds {each}. The threshold of "
        f"the balanced accuracy is the best on these records, which flatters it.",
    )
    first = {names[0]: names for names in _merged(c)}
    rows, absent = [], []
    for line in c["attacks"]:
        if line["lacks"] is not None:
            absent.append(f"{line['name']} (needs {line['lacks']})")
        elif line["name"] in first:
            floor = f"below the floor of {verdict.rate(c['resolution']['floor'])}"
            tpr = [floor if t is None else _estimate(t, "{:.2%}") for t in line["tpr"]]
            name = ", ".join(first[line["name"]])
            rows.append([name, _estimate(line["auc"]), f"{line['balanced accuracy']:.3f}", *tpr])
    rates = [f"TPR at FPR {verdict.rate(fpr)}" for fpr in FPRS]
    yield "table", ["attack", "AUC", "balanced accuracy", *rates], rows
    if absent:
        yield "text", f"Not possible with what was given: {'; '.join(absent)}."


def _merged(c):
    return list({tuple(figure["attack"]): None for figure in c["family"]})


def _family(c, together):
    lines = [f for f in c["family"] if c["levels"] or f["what"] != family.EPSILON]
    yield (
        "text",
        f"The verdict rests on {len(c['family'])} figures that were fixed before any score was set "
        f"beside membership. Their limits are wider than those above, because they {together}. "
        f"The {min(SHOWN, len(lines))} whose lower limit is furthest above what guessing reaches:",
    )
    lines = sorted(lines, key=lambda f: f["chance"] - f["estimate"][1])[:SHOWN]
    rows = [
        [
            verdict.name(f),
            verdict.limits(f),
            verdict.rate(f["rate"]) if f["rate"] else f"{f['chance']:g}",
        ]
        for f in lines
    ]
    yield "table", ["figure", "value and limits", "guessing"], rows


def _advantage(c):
    yield (
        "text",
        f"2 Pr(correct) - 1 of the best adversary against each query, cut into at most "
        f"{c['advantage'][0]['bins']} bins, at prior {c['settings']['prior']:g}. The upper limit "
        f"belongs to the plug-in, the lower one to the sign split. Both are of the binned query.",
    )
    head = ["query", "plug-in, biased upwards", "without bias (sign split)"]
    rows = [
        [line["name"], _estimate(line["plug-in"]), _estimate(line["without bias"])]
        for line in c["advantage"]
    ]
    if c["levels"]:
        head.append("permutation p-value")
        rows = [[*row, f"{line['p']:.3f}"] for row, line in zip(rows, c["advantage"])]
    yield "table", head, rows


def _metrics(c):
    yield (
        "text",
        "Each line is another adversary, one that cares for this figure alone: a recall of 1 is "
        "reached by calling everybody a member. All are reached on records that neither the "
        "posterior nor the threshold was fitted on.",
    )
    yield "table", ["figure", "value"], [[name, _estimate(rest)] for name, *rest in c["metrics"]]


def _risk(c):
    risk = c["risk score"]
    if risk["lacks"]:
        yield "text", f"Not computed: needs {risk['lacks']}."
        return
    yield (
        "text",
        f"The root mean square error of their calibration is {risk['rmse']:.3f}. It would be "
        f"{risk['noise floor']:.3f} if every score were right, and above {risk['noise limit']:.3f} "
        f"in a share of {c['settings']['delta']:g} of samples. {risk['above 0.9']:.1%} of the "
        f"records score above 0.9.",
    )
    rows = [
        [f"{s:.2f}", _estimate([f, a, b], "{:.2f}"), f"{n:.0f}"] for s, f, a, b, n in risk["curve"]
    ]
    yield "table", ["mean score", "fraction of members", "records"], rows


def _set(c):
    if c["set"]["lacks"]:
        yield "text", f"Not printed: needs {c['set']['lacks']}."
        return
    yield "text", "Whether the two groups have one law, by permutations of all records."
    rows = []
    for test in c["set"]["tests"]:
        power = "not known beforehand"
        if test["finds"] is not None:
            power = f"an AUC of the loss of {test['finds']:.3f} is found four times in five"
        sizes = f"{test['members']:,} and {test['non-members']:,}"
        rows.append([test["what"], sizes, f"{test['p']:.3f}", power])
    yield "table", ["compared", "members and non-members", "p-value", "power"], rows
    if c["set"]["missing"]:
        yield "text", c["set"]["missing"]


def _epsilon(c):
    bound = c["epsilon"]
    if bound["lacks"]:
        yield "text", f"Not printed: needs {bound['lacks']}."
        return
    yield (
        "text",
        f"{bound['correct']} of {bound['guesses']} guesses of {c['first']} are right: epsilon of "
        f"this training is at least {bound['bound']:.2f}; if all were right, the bound would be "
        f"{bound['most']:.2f}.",
    )


def _needed(c):
    yield "text", "Non-members and members that a claim about a false-positive rate needs."
    head = [
        "FPR",
        "non-members here",
        "to certify it with zero false positives",
        "for an interval of the TPR",
        "members here",
        "to see a TPR of twice this rate",
        "of five times",
    ]
    rows = [
        [verdict.rate(fpr), *(f"{n:,}" for n in rest)] for fpr, *rest in c["resolution"]["lines"]
    ]
    yield "table", head, rows


def _fewer(c):
    if not c["resolution"]["fewer"]:
        yield "text", "None was given with and without each record."
        return
    shadows = c["counts"]["shadow models"]
    switch = attacks.named("LiRA, online").options["per_example_from"]
    shared = (
        f"With {shadows} the Gaussians share one spread; from {switch} on each record gets its "
        f"own. "
    )
    yield (
        "text",
        (shared if shadows < switch else "")
        + "LiRA, online, with fewer of them, as many IN as OUT for each record. Where the "
        "intervals of the last lines overlap, these records do not show that more shadow models "
        "would find more.",
    )
    rows = [
        [f"{n}", _estimate(auc), _estimate(tpr, "{:.1%}")]
        for n, auc, tpr in c["resolution"]["fewer"]
    ]
    yield "table", ["shadow models", "AUC", f"TPR at FPR {verdict.rate(FPRS[0])}"], rows


def _predicted(c):
    found, rate = c["predicted"], verdict.rate(prediction.RATE)
    if c["verdict"] == verdict.CHECK:
        yield "text", "Not stated, because the input contradicts itself or says too little."
        return
    if found["lacks"]:
        start = "Not needed" if found["measured"] else "No predictor holds here"
        yield "text", f"{start}: {found['lacks']}."
        return
    value, low, high = (f"{share:.1%}" for share in found["tpr"])
    yield (
        "text",
        f"Predicted, not measured: from a loss TNR of {found['tnr']:.1%}, an attacker with "
        f"{prediction.N_SHADOW} shadow models (LiRA, online) would find about {value} of the "
        f"members at an FPR of {rate} ({low} to {high}: of the predictions for data sets on which "
        f"the line had not been fitted half missed by less than a factor of {prediction.HALF:g}, "
        f"the other half by more).",
    )
    yield (
        "text",
        f"The loss TNR is the share of non-members whose loss is above all but {rate} of the "
        f"members' losses. The line leads from it to what LiRA found in {prediction.SETTINGS} "
        f"settings, small networks on four data sets; for other models its error is not known. "
        f"It sees too little where the exposed records are not the hard ones, so a small "
        f"prediction acquits no model; it says whether shadow models are worth training.",
    )


def _slices(c, each):
    yield "text", f"Every interval holds {each}: among many slices some look worse by chance."
    rows = []
    for line in c["slices"]:
        figures = ["too few", ""]
        if line["auc"] is not None:
            figures = [_estimate(line["auc"]), _estimate(line["tpr"], "{:.1%}")]
        sizes = f"{line['members']:,}", f"{line['non-members']:,}"
        rows.append([line["column"], line["value"], *sizes, *figures])
    head = ["by", "value", "members", "non-members", "AUC", f"TPR at FPR {verdict.rate(FPRS[0])}"]
    yield "table", head, rows


def _exposed(c):
    yield (
        "text",
        f"By {c['first']}. The probability of being a member is that of all records whose scores "
        f"fall into the same bin, at prior {c['settings']['prior']:g}; scores of attacks have "
        f"scales of their own. Report.records() has every record.",
    )
    names = [names[0] for names in _merged(c)]
    names += [name for name in c["exposed"][0]["scores"] if name == "Privacy risk score"]
    rows = []
    for line in c["exposed"]:
        chance = _estimate([(1 + f) / 2 for f in line["risk"]], "{:.2f}")
        scores = [f"{line['scores'][name]:.4g}" for name in names]
        rows.append([str(line["record"]), str(line["label"]), chance, *scores])
    head = ["record", "label", "probability of being a member", *(f"score of {n}" for n in names)]
    yield "table", head, rows


def _assessment(c):
    yield (
        "list",
        [
            "Risk: somebody with access to the model's outputs learns that a person's record was "
            "used for training (membership inference).",
            f'Likelihood: the verdict is "{c["verdict"]}"; see its reasons and the persons named '
            f"under How serious it is.",
            "Impact: follows from what membership says about a person, such as being a patient of "
            "the clinic whose records were used; this report does not judge it.",
            "Measures: differential privacy, fewer passes over the data, regularisation, coarser "
            "or rarer answers of the model, restricted access; compare before and after with "
            "audit.compare.",
            f"Remaining risk: {c['reasons'][0]}",
            "These are findings of a measurement and no legal advice.",
        ],
    )


def _estimate(three, form="{:.3f}"):
    value, low, high = three
    if value is None:
        return "not defined on these records"
    return f"{form.format(value)} [{form.format(low)}, {form.format(high)}]"
