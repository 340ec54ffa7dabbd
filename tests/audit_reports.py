"""Small observations for reports, and a reader of their pages."""

import html.parser

import numpy as np

from mia_lib import audit


def observed(n=200, gap=3.0, assignment="random", **more):
    rng = np.random.default_rng(0)
    member = rng.random(n) < 0.5
    logits = np.stack([rng.normal(size=n) + gap * member, np.zeros(n)], 1)
    return audit.Observations(logits, np.zeros(n, int), member, assignment=assignment, **more)


def features_that_differ():
    """What a blind classifier separates: the record's own group, nearly."""
    rng = np.random.default_rng(0)
    member = rng.random(200) < 0.5  # that of `observed`
    return (member + 0.1 * rng.normal(size=200))[:, None]


class Page(html.parser.HTMLParser):
    """Opened and closed tags must match."""

    VOID = {"meta", "br"}

    def __init__(self):
        super().__init__()
        self.open, self.seen, self.text = [], [], []

    def handle_starttag(self, tag, attributes):
        self.seen.append(tag)
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.seen.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)
