"""An entry of the list of attacks: who found it, what its adversary needs, and how it is run."""

import dataclasses
import inspect
from collections.abc import Callable, Mapping
from types import MappingProxyType

# What an adversary may have to have.
NEEDS = {
    "class": "the predicted class",
    "outputs": "the target's outputs, logits or probabilities",
    "label": "the right class of the record",
    "queries": "the target's outputs at points of the adversary's own choice",
    "weights": "the target's weights",
    "known": "the membership of other records of the target",
    "features": "features of the record",
    "shadow": "shadow models, on any records",
    "classes": "members and non-members of every class among the shadow models' records",
    "OUT": "shadow models that did not train on the record",
    "IN": "shadow models that did",
}


@dataclasses.dataclass(frozen=True, eq=False)
class Attack:
    """One attack: who found it, what its adversary needs, and how it is run.

    Parameters
    ----------
    name : str
        What the book calls it.
    authors : str
    year : int
        Of publication.
    equation : str
        What is computed, and where that is printed.
    needs : tuple of str
        Words of `entry.NEEDS`.
    signal : callable
        ``signal(logits, labels)`` makes what the attack reads, (..., n) or (..., n, d), of outputs
        (..., n, K); larger speaks for a member where it is one number. An attack that needs
        "queries" or "weights" asks the model itself: ``signal(fit, x)`` of MERLIN returns a
        function for `shadow.Store.apply`, and the gradients' is ``signal(recipe, state, x, y)``.
    options : mapping of str
        The settings, keyword arguments of both functions below. Settings of a signal are bound to
        it.
    one_target : callable
        ``one_target(target, shadow, shadow_member, **options)`` returns scores (n,) of one target
        with signals (n,), from S shadow models' signals (S, n) and masks (S, n), larger meaning
        more likely a member. Without shadow models among the needs the first argument is enough.
    every_target : callable
        ``every_target(signals, member, **options)`` returns (S, n), every model in turn the target;
        ``lira.leave_one_out(signals, member, entry)`` checks its arguments and calls it.
    chapter : str
        The page that teaches it.

    Notes
    -----
    Taught in book/which_attack.ipynb.

    Examples
    --------
    >>> from mia_lib.attacks import named
    >>> entry = named("Midpoint")
    >>> entry.authors, entry.needs
    ('Sablayrolles et al.', ('outputs', 'label', 'IN', 'OUT'))
    >>> entry.one_target([2.5], [[3.0], [1.0]], [[True], [False]], **entry.options)
    array([0.5])
    """

    name: str
    authors: str
    year: int
    equation: str
    needs: tuple
    signal: Callable
    options: Mapping
    one_target: Callable
    every_target: Callable
    chapter: str

    def __post_init__(self):
        object.__setattr__(self, "options", MappingProxyType(dict(self.options)))

    def __repr__(self):
        return f"Attack({self.name!r})"

    @property
    def adversary(self):
        """What its adversary has beyond the target's outputs, in a few words."""
        has = set(self.needs)
        if "IN" in has:
            return "shadow models trained with and without the record"
        if "OUT" in has:
            return "shadow models trained without the record"
        if "shadow" in has:
            return "shadow models, on any records"
        if "known" in has:
            more = has & {"weights", "features"}
            return "the membership of other records" + (f", the {more.pop()}" if more else "")
        if "queries" in has:
            return "outputs at points of its own choice"
        if "class" in has:
            return "the predicted class alone"
        return "the outputs" if "label" in has else "the outputs, not the label"

    def takes(self, **given):
        """Those of the given arguments that both of its functions have, such as labels or rng.

        Examples
        --------
        >>> from mia_lib.attacks import named
        >>> named("Privacy risk score").takes(labels=[0, 1], features=None)
        {'labels': [0, 1]}
        """
        names = inspect.signature(self.one_target, follow_wrapped=False).parameters
        return {name: value for name, value in given.items() if name in names}
