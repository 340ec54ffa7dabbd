"""What is promised, what was found and what is certified, in one picture."""

import numpy as np

from mia_lib import checks
from mia_lib.plots.figures import roc

RATES = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3)


def sandwich(curves, guarantee, certified=None, *, ax=None, rates=RATES, delta=0.05, rng=None):
    """Attacks on a private training between what it promises and what audits certify.

    Parameters
    ----------
    curves : dict of str to metrics.Roc
        The attacks and their names.
    guarantee : privacy.Guarantee
        What holds against every attack, drawn from ``tpr_at``: black and dashed, above.
    certified : dict of str to privacy.Guarantee, optional
        By names of `curves`, the curve that the attack's audit certifies, dotted in the attack's
        colour, below; `privacy.gaussian_at` makes it of an epsilon. An attack of which nothing can
        be certified is left out.
    ax : matplotlib axes, optional
        None makes a new one.
    rates : sequence of float
        False-positive rates at which the attacks' intervals are computed; between them the band is
        filled in.
    delta : float
        Probability, at most, that some interval of an attack's band misses: each rate has its
        share.
    rng : numpy.random.Generator, optional
        For the bootstrap of pooled curves.

    Returns
    -------
    matplotlib axes
        As `roc`, from half the smallest step of the largest group of non-members on.

    Raises
    ------
    ValueError
        No curve, something else than a guarantee, a certified name that is no attack's, rates
        outside (0, 1].

    Notes
    -----
    A guarantee holds in expectation over trainings, so that the curve of a few of them may cross
    it. A certified curve has a confidence of its own and is no end of a band. Taught in
    book/epsilon_from_below.ipynb.

    Examples
    --------
    >>> from mia_lib import metrics, privacy
    >>> rng = np.random.default_rng(0)
    >>> coin = rng.random(2000) < 0.5
    >>> found = {"attack": metrics.roc(rng.normal(coin), coin)}
    >>> ax = sandwich(found, privacy.gaussian(1.0), {"attack": privacy.gaussian(0.5)})
    >>> ax.get_lines()[-1].get_label()
    'certified, attack'
    """
    certified = certified or {}
    for name in certified:
        checks.choice("certified", name, curves)
    for name, one in {"guarantee": guarantee, **certified}.items():
        if not callable(getattr(one, "tpr_at", None)):
            checks.choice(name, type(one).__name__, ("Guarantee",))
    for rate in checks.real_array("rates", rates, ndim=1):
        checks.number("rates", float(rate), 0, high=1, open_low=True)
    level = checks.delta(delta) / len(rates)
    before = 0 if ax is None else len(ax.lines)
    named = {f"attack, {name}": curve for name, curve in curves.items()}
    ax = roc(named, ax, band=rates, delta=level, rng=rng)
    colors = {name: line.get_color() for name, line in zip(curves, ax.lines[before:])}
    left = ax.get_xlim()[0]
    fpr = np.geomspace(left, 1, 200)
    ax.plot(fpr, guarantee.tpr_at(fpr), "k--", label="any attack: the guarantee")
    for name, one in certified.items():
        ax.plot(fpr, one.tpr_at(fpr), ":", color=colors[name], label=f"certified, {name}")
    ax.set_ylim(left, 1.1)
    ax.legend(loc="lower right", fontsize="x-small")
    return ax
