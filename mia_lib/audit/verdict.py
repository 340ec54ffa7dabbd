"""What may be concluded: one of four verdicts, and the figures that decide.

`decide` sees figures and nothing else, so that each situation can be written down and its verdict
tested. How often each verdict is wrong is simulated in tests/simulations/verdicts.py.
"""

import math

from mia_lib.audit import family

CHECK, LEAK, DIFFER, NONE = "check the input", "leak", "groups differ", "no leak shown"
VERDICTS = (CHECK, LEAK, DIFFER, NONE)  # in this order: the first that applies


def decide(figures, blind, *, assignment, features, contradictions=(), ceiling=None, unlabelled=()):
    """The verdict and its reasons.

    Parameters
    ----------
    figures : list of dict
        From `family.figures`; limits hold together.
    blind : list of dict
        "saw" and "limits", the AUC of both ways as `Estimate`; all hold together. One that is a
        single column has "columns", of how many it was chosen.
    assignment : {"given", "random", "coins"}
    features : bool
        Whether there are raw inputs for a blind classifier to see.
    contradictions : list of str
        What is wrong with the masks, from `masks.contradictions`.
    ceiling : dict, optional
        (what, rate) to the upper limit of what the blind classifiers reach; with "given" alone.
    unlabelled : list of str
        Attacks that do not know the label: of these a score may point either way.

    Returns
    -------
    dict
        "verdict" (one of `VERDICTS`), "reasons" (list of str), "separated" (bool: a blind
        classifier tells the groups apart), "levels" (bool: whether levels, p-values and epsilon may
        be printed), "most found" (upper limit of any attack's TPR - FPR over all thresholds).

    Notes
    -----
    Taught in book/audit.ipynb.

    Examples
    --------
    >>> from mia_lib.intervals import Estimate
    >>> gap = {"attack": ["LOSS"], "what": "TPR - FPR", "rate": None, "chance": 0.0}
    >>> gap["estimate"] = Estimate(0.05, 0.0, 0.0614)
    >>> decide([gap], [], assignment="random", features=False)["verdict"]
    'no leak shown'
    """
    by_chance = assignment != "given"
    separating = [line for line in blind if any(way.low > 0.5 for way in line["limits"])]
    bars = [_bar(figure, by_chance, ceiling) for figure in figures]
    found = [pair for pair in zip(figures, bars) if pair[0]["estimate"].low > pair[1]]
    below = [] if separating else _below(figures, by_chance, ceiling, unlabelled)
    most = max(f["estimate"].high for f in figures if f["what"] == family.ADVANTAGE)

    wrong = list(contradictions)
    if not by_chance and not features:
        wrong.append(
            "Nothing says that chance decided who is a member (assignment 'given'), and without "
            "features no blind classifier can say whether the groups differ by themselves."
        )
    if by_chance:
        wrong += [
            f"Chance is said to have decided who is a member (assignment '{assignment}'), but "
            + _separates(line)
            for line in separating
        ]
    wrong += below
    if wrong:
        verdict, reasons = CHECK, wrong
    elif found:
        verdict, reasons = LEAK, [_exceeds(*pair, by_chance) for pair in _clearest(found)]
        if len(found) > len(reasons):
            reasons.append(
                f"{len(found)} of the {len(figures)} figures that were fixed beforehand exceed "
                f"their bar; the clearest of each kind stand above."
            )
    elif separating:
        verdict, reasons = DIFFER, [_sentence(_separates(line)) for line in separating]
        reasons.append(
            "No attack does better than a blind classifier may, so what the attacks find is no "
            "evidence about the model."
        )
    else:
        verdict, reasons = NONE, [persons_at_most(most), _nothing(figures, by_chance)]
    return {
        "verdict": verdict,
        "reasons": reasons,
        "separated": bool(separating),
        "levels": by_chance and not separating,
        "most found": float(most),
    }


def persons_at_most(most):
    """The upper limit of TPR - FPR, in persons.

    Examples
    --------
    >>> persons_at_most(0.0614)[:56]
    'Of 1,000 members, an attack of this report finds at most'
    """
    count = min(1000, math.ceil(1000 * most - 1e-9))
    return (
        f"Of 1,000 members, an attack of this report finds at most {count:,} more than it falsely "
        f"accuses of 1,000 non-members, at whatever threshold (TPR - FPR at most {most:.4f})."
    )


def name(figure):
    """A figure in words.

    Examples
    --------
    >>> name({"attack": ["LOSS", "Hinge"], "what": "TPR", "rate": 0.01})
    'TPR at an FPR of 1 % of LOSS (the same as Hinge)'
    """
    first, *same = figure["attack"]
    what = {family.ADVANTAGE: "largest TPR - FPR", family.EPSILON: "bound of epsilon"}.get(
        figure["what"], figure["what"]
    )
    if figure["rate"] is not None:
        what += f" at an FPR of {rate(figure['rate'])}"
    return f"{what} of {first}" + (f" (the same as {', '.join(same)})" if same else "")


def limits(figure):
    """Value and limits of a figure; a bound of epsilon is a lower limit alone.

    Examples
    --------
    >>> limits({"what": "TPR", "rate": 0.01, "estimate": (0.2, 0.1, 0.3)})
    '20.00% [10.00%, 30.00%]'
    >>> limits({"what": "epsilon", "rate": None, "estimate": (0.7, 0.7, 3.0)})
    'at least 0.700 (if all guesses were right: 3.000)'
    """
    value, low, high = figure["estimate"]
    if figure["what"] == family.EPSILON:
        return f"at least {value:.3f} (if all guesses were right: {high:.3f})"
    form = ".2%" if figure["rate"] else ".3f"
    return f"{value:{form}} [{low:{form}}, {high:{form}}]"


def rate(value):
    """A rate in per cent, with as many digits as tell it from others.

    Examples
    --------
    >>> rate(0.1), rate(0.001), rate(0.0017094)
    ('10 %', '0.1 %', '0.171 %')
    """
    return f"{100 * value:.3g} %"


def _bar(figure, by_chance, ceiling):
    """What the lower limit has to exceed."""
    if by_chance:
        return figure["chance"]
    return max(figure["chance"], ceiling[figure["what"], figure["rate"]])


def _below(figures, by_chance, ceiling, unlabelled):
    """Attacks that point the wrong way, further than chance or a drift explains."""
    lowest = 0.5 if by_chance else min(0.5, 1 - ceiling[family.AUC, None])
    return [
        f"The {name(f)} is {f['estimate']:.3f}, below {lowest:.3f}: it takes members for "
        f"non-members, though no blind classifier tells the groups apart. The masks may be "
        f"inverted, or belong to other models."
        for f in figures
        if f["what"] == family.AUC
        and f["estimate"].high < lowest
        and not set(f["attack"]) <= set(unlabelled)
    ]


def _clearest(found):
    """Of each kind of figure the one that is furthest above its bar, relative to its interval."""
    best = {}
    for figure, bar in found:
        value, low, _ = figure["estimate"]
        margin = (low - bar) / max(value - low, 1e-3)
        if margin > best.get(figure["what"], (-1,))[0]:
            best[figure["what"]] = margin, figure, bar
    return [(figure, bar) for _, figure, bar in best.values()]


def _exceeds(figure, bar, by_chance):
    value, low, high = figure["estimate"]
    what, show = name(figure), "{:.3f}".format
    if figure["what"] == family.TPR:
        show = rate
    if figure["what"] == family.EPSILON:
        return f"The {what}: epsilon of this training is at least {low:.2f}."
    said = f"The {what} is {show(value)} (limits {show(low)} to {show(high)}), "
    if by_chance:
        return said + f"and guessing reaches {show(bar)}."
    return said + (
        f"and a classifier that never saw the model reaches at most {show(bar)} "
        f"(unless the labels drift)."
    )


def _separates(line):
    way = max(line["limits"], key=lambda way: way.low)
    if line.get("columns"):
        return (
            f"{line['saw']} alone, without the model, tells members from non-members with an AUC "
            f"of {way.value:.3f} (limits {way.low:.3f} to {way.high:.3f}, which hold for all "
            f"{line['columns']:,} columns together)."
        )
    return (
        f"a classifier that saw {line['saw']}, and never the model, tells members from non-members "
        f"with an AUC of {way.value:.3f} (limits {way.low:.3f} to {way.high:.3f}) on records that "
        f"it was not fitted on."
    )


def _nothing(figures, by_chance):
    bar = "guessing" if by_chance else "a classifier that never saw the model"
    return (
        f"None of the {len(figures)} figures that were fixed beforehand is shown to exceed what "
        f"{bar} reaches. That does not show that there is no leak."
    )


def _sentence(text):
    return text[0].upper() + text[1:]
