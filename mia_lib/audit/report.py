"""The report of an audit: one content, written as JSON, Markdown or a page."""

import html
import json
from dataclasses import dataclass

from mia_lib import attacks

FPRS = (0.1, 0.01, 0.001)  # at which true-positive rates are read off; slices at the first

STYLE = """
:root { color-scheme: light dark; --text: #1b1f24; --back: #ffffff; --line: #c9d1d9; --head: #f3f5f7; }
@media (prefers-color-scheme: dark) { :root { --text: #e6e9ee; --back: #14181d; --line: #3a424c; --head: #20262d; } }
body { color: var(--text); background: var(--back); font: 16px/1.5 system-ui, sans-serif; }
body { max-width: 60rem; margin: 0 auto; padding: 1rem; }
.table { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { border-bottom: 1px solid var(--line); padding: 0.25em 0.8em; text-align: left; vertical-align: top; }
th { background: var(--head); }
"""  # noqa: E501


@dataclass(frozen=True)
class Report:
    """What an audit found, from `run`.

    Parameters
    ----------
    content : dict
        Plain numbers, words and lists, as `to_json` writes them.

    Notes
    -----
    No date and no path are in it: the same observations and seed give the same report, byte for
    byte. Taught in book/audit.ipynb.
    """

    content: dict

    def to_json(self):
        """The whole content."""
        return json.dumps(self.content, indent=1, allow_nan=False) + "\n"

    def to_markdown(self):
        """For reading as text."""
        lines = ["# Membership inference audit", ""]
        for title, parts in sections(self.content):
            lines += [f"## {title}", ""]
            for part in parts:
                if isinstance(part, str):
                    lines += [part, ""]
                    continue
                head, *rows = part
                lines += ["| " + " | ".join(map(_cell, head)) + " |", "|" + "---|" * len(head)]
                lines += ["| " + " | ".join(map(_cell, row)) + " |" for row in rows] + [""]
        return "\n".join(lines)

    def to_html(self):
        """A page that needs nothing outside itself, light or dark as the reader has it."""
        body = ["<h1>Membership inference audit</h1>"]
        for title, parts in sections(self.content):
            body.append(f"<h2>{html.escape(title)}</h2>")
            for part in parts:
                if isinstance(part, str):
                    body.append(f"<p>{html.escape(part)}</p>")
                    continue
                head, *rows = part
                cells = "".join(f"<th>{html.escape(text)}</th>" for text in head)
                body.append(f'<div class="table"><table><thead><tr>{cells}</tr></thead><tbody>')
                for row in rows:
                    body.append(
                        "<tr>" + "".join(f"<td>{html.escape(text)}</td>" for text in row) + "</tr>"
                    )
                body.append("</tbody></table></div>")
        head = (
            '<meta charset="utf-8"><meta name="viewport" content="width=device-width, '
            'initial-scale=1">'
        )
        title = "<title>Membership inference audit</title>"
        return (
            f"<!doctype html>\n<html "
            f'lang="en"><head>{head}{title}<style>{STYLE}</style></head>\n<body>\n'
            + "\n".join(body)
            + "\n</body></html>\n"
        )  # noqa: E501


def sections(c):
    """Titles, each with paragraphs (text) and tables (lists of rows of texts, the first the
    head).
    """
    shadows = c["counts"]["shadow models"]
    yield "Summary", c["summary"]
    yield (
        "What was given",
        [
            ", ".join(f"{value:,} {name}" for name, value in c["counts"].items()) + ".",
            f"Assignment: {c['assignment']}.",
            [["array", "shape and type"], *c["given"]],
        ],
    )
    blind = [["saw", "AUC"], *([what, _estimate(rest)] for what, *rest in c["blind"])]
    yield (
        "Blind baseline: how far the groups differ without the model",
        [
            "An attack must beat these. Their intervals hold together. "
            "The features, if given, serve for nothing else but this and the set-level test.",
            blind if len(blind) > 1 else "Nothing to compare was given.",
        ],
    )
    rates = [_rate(fpr) for fpr in FPRS]
    rows, absent = (
        [["attack", "AUC", "balanced accuracy", *(f"TPR at FPR {rate}" for rate in rates)]],
        [],
    )
    for line in c["attacks"]:
        if line["lacks"] is None:
            seen = [
                f"below the floor of {c['resolution']['floor']:.2%}"
                if tpr is None
                else _estimate(tpr, "{:.2%}")
                for tpr in line["tpr"]
            ]
            rows.append(
                [line["name"], _estimate(line["auc"]), f"{line['balanced accuracy']:.3f}", *seen]
            )
        else:
            absent.append(f"{line['name']} (needs {line['lacks']})")
    yield (
        "Attacks",
        [
            "In the order of what their adversaries are given, strongest first. "
            "Thresholds of the balanced accuracy are the best on these records.",
            rows,
            *([f"Not possible with what was given: {'; '.join(absent)}."] if absent else []),
        ],
    )
    rows = [
        ["query", "plug-in, biased upwards", "without bias (sign split)", "permutation p-value"]
    ]
    rows += [
        [line["name"], _estimate(line["plug-in"]), _estimate(line["without bias"]), _p(line["p"])]
        for line in c["advantage"]
    ]
    yield (
        "Membership advantage",
        [
            f"2 Pr(correct) - 1 of the best adversary against each query, cut into at most "
            f"{c['advantage'][0]['bins']} bins, at prior {c['settings']['prior']:g}. "
            "The upper limit belongs to the plug-in, the lower one to the sign split. Both are "
            "of the binned query.",
            rows,
        ],
    )
    yield (
        f"Metrics of {c['first']} at prior {c['settings']['prior']:g}",
        [
            "Reached on records that neither the posterior nor the threshold was fitted on.",
            [["metric", "value"], *([name, _estimate(rest)] for name, *rest in c["metrics"])],
        ],
    )
    risk = c["risk score"]
    if risk["lacks"]:
        yield "Privacy risk scores", [f"Not computed: needs {risk['lacks']}."]
    else:
        yield (
            "Privacy risk scores",
            [
                f"The root mean square error of their calibration is {risk['rmse']:.3f}. "
                f"It would be {risk['noise floor']:.3f} if every score were right, "
                f"and above {risk['noise limit']:.3f} in a share of {c['settings']['delta']:g} of "
                f"samples. "
                f"{risk['above 0.9']:.1%} of the records score above 0.9.",
                [
                    ["mean score", "fraction of members", "records"],
                    *(
                        [f"{s:.2f}", _estimate([f, a, b], "{:.2f}"), f"{n:.0f}"]
                        for s, f, a, b, n in risk["curve"]
                    ),
                ],
            ],
        )
    test = c["set"]
    yield (
        "Set-level test",
        [
            f"Not printed: needs {test['lacks']}."
            if test["lacks"]
            else f"Two random sets of {test['records']} members and non-members, compared through "
            f"{test['on']} "
            f"by a kernel fitted on as many others: "
            f"p = {test['p']:.3f}. It tests whether the sets have one law."
        ],
    )
    bound = c["epsilon"]
    yield (
        "Lower bound of epsilon",
        [
            f"Not printed: needs {bound['lacks']}."
            if bound["lacks"]
            else f"{bound['correct']} of {bound['guesses']} guesses right, epsilon at least "
            f"{bound['bound']:.2f}; "
            f"all right would give {bound['most']:.2f}."
        ],
    )
    needed = [
        [
            "FPR",
            "non-members here",
            "to certify it with zero false positives",
            "for an interval of the TPR",
            "members here",
            "to see a TPR of twice this rate",
            "of five times",
        ]
    ]
    needed += [[_rate(fpr), *(f"{n:,}" for n in rest)] for fpr, *rest in c["resolution"]["lines"]]
    yield (
        "How many more records it would take",
        ["Non-members and members that a claim about a false-positive rate needs.", needed],
    )
    fewer = [["shadow models", "AUC", f"TPR at FPR {_rate(FPRS[0])}"]]
    fewer += [
        [f"{n}", _estimate(auc), _estimate(tpr, "{:.1%}")]
        for n, auc, tpr in c["resolution"]["fewer"]
    ]
    switch = attacks.named("LiRA, online").options["per_example_from"]
    more = (
        f"With {shadows} the Gaussians share one spread; "
        f"from {switch} on each record gets its own. "
        if 0 < shadows < switch
        else ""
    )
    yield (
        "How many more shadow models it would take",
        [
            f"{more}LiRA, online, with fewer of them, as many IN as OUT for each record. Where the "
            f"last lines still rise, "
            "more shadow models would find more.",
            fewer,
        ]
        if len(fewer) > 1
        else ["None was given with and without each record."],
    )
    rows = [["by", "value", "members", "non-members", "AUC", f"TPR at FPR {_rate(FPRS[0])}"]]
    for line in c["slices"]:
        figures = (
            ["too few", ""]
            if line["auc"] is None
            else [_estimate(line["auc"]), _estimate(line["tpr"], "{:.1%}")]
        )
        rows.append(
            [
                line["column"],
                line["value"],
                f"{line['members']:,}",
                f"{line['non-members']:,}",
                *figures,
            ]
        )
    yield (
        f"Slices, {c['first']}",
        ["Every interval by itself: among many slices some look worse by chance.", rows],
    )
    names = list(c["exposed"][0]["scores"])
    rows = [["record", "label", "risk f_p", *names]]
    for line in c["exposed"]:
        seen = [f"{line['scores'][name]:.4g}" for name in names]
        rows.append(
            [str(line["record"]), str(line["label"]), _estimate(line["risk"], "{:.2f}"), *seen]
        )
    yield (
        "Most exposed members",
        [f"By {c['first']}. The risk is that of the bin that a record falls into.", rows],
    )


def _estimate(three, form="{:.3f}"):
    value, low, high = three
    return f"{form.format(value)} [{form.format(low)}, {form.format(high)}]"


def _rate(fpr):
    return f"{100 * fpr:g} %"


def _p(value):
    return "not printed, the split was not random" if value is None else f"{value:.3f}"


def _cell(text):
    return text.replace("|", "\\|")
