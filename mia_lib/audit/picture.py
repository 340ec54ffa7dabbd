"""A report as a picture: the curve that it shows, and the area of every attack beside it."""

import textwrap

from matplotlib import pyplot as plt

from mia_lib import plots
from mia_lib.audit import document, family

WRAP = 42  # letters of a line beside the intervals


def picture(report):
    """The report's ROC curve, and the AUC of every attack and of every blind classifier.

    Parameters
    ----------
    report : Report

    Returns
    -------
    (left, right) : matplotlib axes
        Left the curve of the report's first attack, and of the best blind classifier if there is
        one, with bands that hold at each rate by itself. Right the AUCs: a thick line has limits
        that hold by themselves, a thin one limits that hold together, from which the verdict
        follows; the dotted line is what guessing reaches. Blind classifiers have the colour of
        their curve.

    Notes
    -----
    Attacks that put the records in the same order share a line. The limits of all blind
    classifiers hold together, as those of all columns do. Where chance did not decide who is a
    member, a leak takes more than a thin line to the right of guessing: see `verdict.decide`.
    Taught in book/audit.ipynb.

    Examples
    --------
    >>> import numpy as np
    >>> from mia_lib import audit
    >>> rng = np.random.default_rng(0)
    >>> seen = audit.Observations(rng.normal(size=(40, 3)), np.arange(40) % 3, np.arange(40) < 20)
    >>> left, right = picture(audit.run(seen))
    >>> right.get_xlabel(), right.get_yticklabels()[0].get_text()
    ('AUC', 'LOSS')
    """
    c = report.content
    alone = {line["name"]: line["auc"] for line in c["attacks"] if line["lacks"] is None}
    figures = [figure for figure in c["family"] if figure["what"] == family.AUC]
    together = {_wrapped(", ".join(one["attack"])): one["estimate"] for one in figures}
    inner = dict(zip(together, (alone[one["attack"][0]] for one in figures)))
    ways = ("one\xa0way", "the\xa0other\xa0way")  # kept on one line
    blind = {
        _wrapped(f"blind: {line['saw']}, {way}"): limits
        for line in c["blind"]
        for way, limits in zip(ways, line["auc"])
    }
    if c["alone"]:
        blind[_wrapped(f"blind: {c['alone']['saw']} alone")] = c["alone"]["auc"]
    size = (8.8, max(3.8, 0.27 * (len(together) + len(blind)) + 0.8))
    left, right = plt.subplots(1, 2, figsize=size, width_ratios=(6, 5))[1]
    document.draw_roc(c["roc"], left).legend(loc="lower right", fontsize=7, frameon=False)
    orange = dict.fromkeys(blind, plots.COLORS[1])  # as the blind curve on the left
    plots.estimates(together | blind, right, mark=0.5, inner=inner, colors=orange)
    right.tick_params(axis="y", labelsize=8)
    right.set_xlabel("AUC")
    return left, right


def _wrapped(text):
    return textwrap.fill(text, WRAP)
