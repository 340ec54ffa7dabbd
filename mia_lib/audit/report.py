"""The report of an audit: one content, written as JSON, Markdown, a page or a PDF."""

import json
from dataclasses import dataclass, field

from mia_lib.audit import document
from mia_lib.audit.sections import sections

SCHEMA = 4  # of the JSON; a number is never used for two forms
# The keys of the JSON and what they hold; [v, low, high] is a value with its limits.
KEYS = {
    "schema": "number of this form",
    "model": "text or null",
    "date": "text or null",
    "observations": "SHA-256 of everything that was handed over",
    "versions": "library to version",
    "verdict": "one of verdict.VERDICTS",
    "reasons": "list of sentences",
    "separated": "whether a blind classifier tells the groups apart",
    "levels": "whether levels, p-values and epsilon are printed",
    "most found": "upper limit of TPR - FPR of any attack at any threshold",
    "given": "[array, shape and type], ...",
    "assignment": "given, random or coins",
    "assigned": "what that means",
    "settings": "prior, delta, seed",
    "counts": "records, members, non-members, copies, classes, shadow models",
    "blind": "saw, auc: [v, low, high] for each way; limits of all hold together",
    "alone": "null, or the column that tells most by itself: saw, columns (of how many), auc",
    "family": "attack (names that coincide), what, rate, estimate, chance; limits hold together",
    "task": "classification or regression",
    "labels alone": "whether the model's answers are classes and nothing else",
    "structure": "list of sentences about the model itself; null: it was not looked at",
    "attacks": "name, adversary, lacks, auc, balanced accuracy, tpr at FPRS; limits by themselves",
    "first": "the attack that slices, exposed records and epsilon are read from",
    "severity": "attack, rate, tpr, posterior: [prior, v, low, high], ...",
    "roc": "what, points: [fpr, v, low, high], ...",
    "advantage": "name, plug-in, bins, without bias, p",
    "metrics": "[name, v, low, high], ...",
    "set": "lacks, missing, tests: what, p, members, non-members, finds (an AUC, with power 0.8)",
    "epsilon": "lacks, bound, correct, guesses, most",
    "resolution": "floor, lines, shadow models, fewer",
    "predicted": "lacks, measured, tnr, p, tpr: [v, low, high] between which half of the cases lie",
    "slices": "column, value, members, non-members, auc, tpr",
    "risk score": "lacks, rmse, noise floor, noise limit, above 0.9, curve",
    "exposed": "record, label, risk [f_p, low, high], scores by attack",
}
TITLE = "Membership inference audit"


@dataclass(frozen=True, eq=False)
class Report:
    """What an audit found, from `run`.

    Parameters
    ----------
    content : dict
        Plain numbers, words and lists, as `to_json` writes them; "schema" names their form, `KEYS`
        says what they are.
    columns : dict of str to array (n,)
        Every record's scores, as `records` gives them.

    Notes
    -----
    No path is in it, and no date but one that the caller gives: the same observations and seed give
    the same report, byte for byte. Taught in book/audit.ipynb.

    Examples
    --------
    >>> import numpy as np
    >>> from mia_lib import audit
    >>> rng = np.random.default_rng(0)
    >>> seen = audit.Observations(rng.normal(size=(40, 3)), np.arange(40) % 3, np.arange(40) < 20)
    >>> report = audit.run(seen)
    >>> report.verdict, report.reasons[0][:51]
    ('check the input', 'Nothing says that chance decided who is a member (a')
    """

    content: dict
    columns: dict = field(default_factory=dict, repr=False)

    @property
    def verdict(self):
        """ "check the input", "leak", "groups differ" or "no leak shown"."""
        return self.content["verdict"]

    @property
    def reasons(self):
        """Sentences, each naming a figure that decides."""
        return self.content["reasons"]

    def records(self):
        """Every record's label, membership and scores, one row each.

        Returns
        -------
        pandas.DataFrame
            Larger scores speak for a member. ``to_csv(path)`` and, where pyarrow is there (the
            extra [parquet]), ``to_parquet(path)`` write it.

        Examples
        --------
        >>> import numpy as np
        >>> Report({}, {"record": np.arange(2), "LOSS": np.zeros(2)}).records().shape
        (2, 2)
        """
        import pandas as pd  # only here: a report is often read without it

        return pd.DataFrame(self.columns)

    def to_json(self):
        """The whole content."""
        return json.dumps(self.content, indent=1, allow_nan=False) + "\n"

    def to_markdown(self):
        """For reading as text."""
        return document.markdown(TITLE, sections(self.content))

    def to_html(self):
        """A page that needs nothing outside itself, light or dark as the reader has it, on a
        telephone and on paper.
        """
        return document.page(TITLE, sections(self.content))

    def to_pdf(self, path):
        """Write it as a PDF of A4 pages, the verdict on the first.

        Parameters
        ----------
        path : path-like

        Notes
        -----
        By matplotlib, which is installed in any case and draws the same bytes every time; letters
        stay letters, which can be searched and read aloud.
        """
        document.pdf(path, TITLE, sections(self.content))
