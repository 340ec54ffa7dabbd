"""Every test of a drawing begins with the house's settings and leaves no figure open."""

import matplotlib

matplotlib.use("Agg")

import pytest
from matplotlib import pyplot as plt


@pytest.fixture(autouse=True)
def clean():
    with matplotlib.rc_context():
        yield
    plt.close("all")
