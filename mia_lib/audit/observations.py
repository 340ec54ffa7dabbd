"""What an audit is given: the outputs of a model, who its members are, and whatever else there
is.
"""

from dataclasses import dataclass

import numpy as np

from mia_lib import checks

LEAST = 10  # members, and non-members, below which no figure of a report would say anything
BLOCK = 1 << 20  # numbers that are looked at together
ASSIGNMENTS = {
    "given": "members and non-members are as they came: nothing says that chance decided which "
    "is which",
    "random": "chance decided who is a member: one pool of records, a random part of it trained "
    "the model",
    "coins": "a fair coin decided for each record by itself, independently of all others",
}
TASKS = ("classification", "regression")
NEAR_ONE = 0.02  # how far rows of rounded probabilities may be from a sum of 1
LOOKED_AT = 10_000  # rows of outputs that are looked at to tell logits from probabilities


@dataclass(frozen=True, eq=False)
class Observations:
    """The outputs of one target model on n records, and what else is known; checked when it is
    made.

    Parameters
    ----------
    logits : array (n, K) or (Q, n, K)
        The target's outputs for K >= 2 classes, before the softmax, or log-probabilities
        (``np.log(probabilities)``). With Q queries of each record, the first is the record itself.
    labels : array (n,)
        The right class of each record, 0 ... K - 1.
    member : bool array (n,)
        True where the record trained the target. At least 10 members and 10 non-members.
    shadow_logits : array (S, n, K) or (S, Q, n, K), optional
        Outputs of S shadow models on the same records; with `shadow_labels` on m others, (S, m, K).
        May be a memory map.
    shadow_member : bool array (S, n) or (S, m)
        True where the record trained shadow model s. Needed with `shadow_logits`.
    shadow_labels : array (m,), optional
        Labels of the other records. Such shadow models serve attacks that fit thresholds, not LiRA.
    representation : array (n, d), optional
        The target's last hidden layer, or another vector for each record.
    features : array (n, ...), optional
        The raw inputs, for the blind baseline.
    columns : dict of str to array (n,), optional
        Named attributes, by which the report is sliced: texts, booleans or numbers (cut at their
        quartiles).
    assignment : {"given", "random", "coins"}
        How records came to be members. "random": chance alone, say a shuffled split of one pool;
        the report may then test at a level. "coins": by a fair coin for each record by itself; a
        bound of epsilon becomes possible too. "given", the default, allows neither.
    task : {"classification", "regression"}
        "regression": the outputs come from `regression.outputs`, and no attack that reads classes
        is run.
    structure : sequence of str
        What the model's structure says by itself, for the report; `observe` fills it in. None: the
        model was not looked at.

    Raises
    ------
    ValueError
        Names the array, its shape or type, and what was expected.

    Notes
    -----
    Outputs whose entries are all at least 0 and whose rows all sum to 1 within 0.02 (or to 100
    within 2) are probabilities under the name of logits, and refused: of 20 rows and more, logits
    that do so by chance do not occur. Taught in book/audit.ipynb.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> seen = Observations(rng.normal(size=(40, 3)), rng.integers(3, size=40), np.arange(40) < 20)
    >>> seen.n, seen.n_classes, seen.assignment
    (40, 3, 'given')
    """

    logits: np.ndarray
    labels: np.ndarray
    member: np.ndarray
    shadow_logits: np.ndarray | None = None
    shadow_member: np.ndarray | None = None
    shadow_labels: np.ndarray | None = None
    representation: np.ndarray | None = None
    features: np.ndarray | None = None
    columns: dict | None = None
    assignment: str = "given"
    task: str = "classification"
    structure: tuple | None = None

    def __post_init__(self):
        put = lambda name, value: object.__setattr__(self, name, value)  # noqa: E731
        logits = _outputs("logits", self.logits, "(n, K) or (Q, n, K)", (2, 3))
        put("logits", logits)
        put("labels", checks.labels("labels", self.labels, self.n, n_classes=self.n_classes))
        put("member", checks.boolean_array("member", self.member, shape=(self.n,)))
        members = int(self.member.sum())
        if min(members, self.n - members) < LEAST:
            checks.fail(
                "member",
                f"{members} members and {self.n - members} non-members",
                f"at least {LEAST} of each",
            )
        checks.choice("assignment", self.assignment, ASSIGNMENTS)
        if self.assignment == "coins":
            far = abs(members - self.n / 2) / (np.sqrt(self.n) / 2)
            if far > 5:  # a fair coin does this once in a million times
                checks.fail(
                    "assignment",
                    f"'coins' with {members} members of {self.n}",
                    "about half, or 'random'",
                )
        self._check_shadow(put)
        if self.representation is not None:
            representation = _numeric("representation", self.representation)
            if (
                representation.ndim != 2
                or len(representation) != self.n
                or representation.size == 0
            ):
                checks.fail(
                    "representation", f"shape {representation.shape}", f"shape ({self.n}, d)"
                )
            finite_rows("representation", representation)
            put("representation", representation)
        if self.features is not None:
            features = _numeric("features", self.features)
            if features.ndim < 2 or len(features) != self.n or features.size == 0:
                checks.fail(
                    "features",
                    f"shape {features.shape}",
                    f"shape ({self.n}, ...), at least one number per record",
                )
            put("features", features)
        put("columns", _columns(self.columns, self.n))
        checks.choice("task", self.task, TASKS)
        if self.task == "regression" and (self.n_classes > 2 or self.labels.any()):
            given = f"'regression', {self.n_classes} outputs, labels up to {self.labels.max()}"
            checks.fail("task", given, "outputs from regression.outputs, labels 0")
        if self.structure is not None:
            if isinstance(self.structure, str) or not all(
                isinstance(said, str) for said in self.structure
            ):
                checks.fail("structure", type(self.structure).__name__, "a sequence of texts")
            put("structure", tuple(self.structure))

    def _check_shadow(self, put):
        if self.shadow_logits is None:
            for name in ("shadow_member", "shadow_labels"):
                if getattr(self, name) is not None:
                    checks.fail(name, "without shadow_logits", "both, or neither")
            return
        if self.shadow_member is None:
            checks.fail(
                "shadow_member",
                "nothing, with shadow_logits",
                "a bool array (S, n): who trained which shadow model",
            )
        shadow = _outputs("shadow_logits", self.shadow_logits, "(S, n, K) or (S, Q, n, K)", (3, 4))
        if self.shadow_labels is None:
            tail = (
                (self.n_queries, self.n, self.n_classes)
                if shadow.ndim == 4
                else (self.n, self.n_classes)
            )
            if shadow.shape[1:] != tail or (shadow.ndim == 3 and self.n_queries > 1):
                expected = f"(S, {self.n}, {self.n_classes})" if self.n_queries == 1 else ""
                expected += (
                    " or " if expected else ""
                ) + f"(S, {self.n_queries}, {self.n}, {self.n_classes})"
                checks.fail(
                    "shadow_logits",
                    f"shape {shadow.shape}",
                    f"shape {expected} to go with logits "
                    f"{self.logits.shape}; or shadow_labels, if the records are others",
                )
            count = self.n
        else:
            if shadow.ndim == 4 and shadow.shape[1] == 1:
                shadow = shadow[:, 0]
            if shadow.ndim != 3 or shadow.shape[2] != self.n_classes:
                checks.fail(
                    "shadow_logits",
                    f"shape {shadow.shape}",
                    f"shape (S, m, {self.n_classes}) with shadow_labels (m,)",
                )
            count = shadow.shape[1]
            put(
                "shadow_labels",
                checks.labels("shadow_labels", self.shadow_labels, count, n_classes=self.n_classes),
            )
        put("shadow_logits", shadow)
        member = checks.boolean_array(
            "shadow_member", self.shadow_member, shape=(len(shadow), count)
        )
        bad = np.flatnonzero(member.all(axis=1) | ~member.any(axis=1))
        if bad.size:
            inside = f"{int(member[bad[0]].sum())} of {count}"
            checks.fail(
                "shadow_member",
                f"shadow model {bad[0]} with {inside} records as members",
                "members and non-members in every shadow model",
            )
        put("shadow_member", member)

    @property
    def n(self):
        """Number of records."""
        return self.logits.shape[-2]

    @property
    def n_classes(self):
        """K."""
        return self.logits.shape[-1]

    @property
    def n_queries(self):
        """Q, how often each record was asked about."""
        return self.logits.shape[0] if self.logits.ndim == 3 else 1


def _numeric(name, value):
    """A numeric array as it is, so that a memory map stays one; entries are looked at when they are
    read.
    """
    try:
        array = value if isinstance(value, np.ndarray) else np.asarray(value)
    except ValueError:
        checks.fail(name, "a ragged sequence", "a numeric array")
    if array.dtype.kind not in "fiub":
        checks.fail(name, f"an array of dtype {array.dtype}", "a numeric array")
    return array


def finite_rows(name, array):
    """Raise unless all numbers of an array (n, ...) are finite; it is looked through a block at a
    time.
    """
    step = max(1, BLOCK // array[0].size)
    bad = sum(
        int(np.count_nonzero(~np.isfinite(array[start : start + step])))
        for start in range(0, len(array), step)
    )
    if bad:
        checks.fail(name, f"{bad} entries that are not finite", "finite numbers")


def _outputs(name, value, shapes, ndim):
    array = _numeric(name, value)
    if array.ndim not in ndim or array.size == 0 or array.shape[-1] < 2:
        checks.fail(
            name, f"shape {array.shape}", f"shape {shapes} with K >= 2 classes and no empty axis"
        )
    _refuse_probabilities(name, array)
    return array


def _refuse_probabilities(name, array):
    first = array[tuple([0] * (array.ndim - 2))][:LOOKED_AT]  # of a memory map no more is read
    if not (first >= 0).all():
        return
    total = first.sum(axis=-1, dtype=np.float64)
    for whole in (1, 100):
        if (np.abs(total - whole) <= NEAR_ONE * whole).all():
            checks.fail(
                name,
                f"nonnegative rows that sum to {whole}, which look like probabilities",
                "outputs before the softmax, or np.log(probabilities)",
            )


def _columns(columns, n):
    if columns is None:
        return {}
    if not isinstance(columns, dict):
        checks.fail("columns", type(columns).__name__, "a dict of name to array")
    checked = {}
    for name, value in columns.items():
        array = np.asarray(value)
        if array.shape != (n,):
            checks.fail(f"columns.{name}", f"shape {array.shape}", f"shape ({n},)")
        if array.dtype.kind == "O" and all(isinstance(item, str) for item in array):
            array = array.astype(str)
        if array.dtype.kind not in "fiubU":
            checks.fail(
                f"columns.{name}", f"an array of dtype {array.dtype}", "texts, booleans or numbers"
            )
        if array.dtype.kind == "f":
            checks.real_array(f"columns.{name}", array)
        checked[str(name)] = array
    return checked
