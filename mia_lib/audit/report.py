"""The report of an audit: one content, written as JSON, Markdown, a page or a PDF."""

import json
from dataclasses import dataclass, field

from mia_lib.audit import document
from mia_lib.audit.sections import sections

SCHEMA = 2  # of the JSON; a number is never used for two forms
TITLE = "Membership inference audit"


@dataclass(frozen=True, eq=False)
class Report:
    """What an audit found, from `run`.

    Parameters
    ----------
    content : dict
        Plain numbers, words and lists, as `to_json` writes them; "schema" names their form.
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
            Larger scores speak for a member. ``to_csv(path)`` and, where pyarrow is there,
            ``to_parquet(path)`` write it.

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
