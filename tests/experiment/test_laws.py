"""What is kept of a law: its numbers, its answers, and what it cannot answer."""

import numpy as np
import pytest

from mia_lib import experiment, generative


def begun():
    space = {"__name__": "__main__"}
    run = experiment.begin("toy", space)
    space |= {"dataset": "digits", "delta": 0.1, "seed": 3, "n_seeds": 1, "scale": "smoke"}
    run._space = space | {"run": run}
    run.check()
    return run


def test_a_law_is_kept_with_what_it_allows():
    sizes, ceilings = np.array([10, 100, 1_000]), np.repeat([0.3, 0.5], 4)[:, None]
    given = sizes, ceilings * (1 - 0.99**sizes)
    law, run = generative.release_law(*given, rng=np.random.default_rng(0)), begun()
    experiment.keep_law(run, "X14", law, (0.1, 0.39, 0.6), "toy", note="of networks", n=8)
    experiment.keep_law(run, "X14", None, (0.1,), "nothing")
    rows = {row["what"]: row for row in run.rows(n=1)}
    assert rows["rate of the law, toy"]["value"] == pytest.approx(0.01, rel=1e-4)
    assert rows["ceiling of the law, toy"]["value"] == pytest.approx(0.4, rel=1e-4)
    truth = np.log(1 - 0.1 / 0.4) / np.log(0.99)
    assert rows["records until advantage 0.1, toy"]["value"] == pytest.approx(truth, rel=1e-3)
    assert rows["records until advantage 0.1, toy"]["n"] == 8
    absent = [what for what, row in rows.items() if row["value"] is None]
    assert absent == [
        "records until advantage 0.39, toy",  # too many resamples never get there
        "records until advantage 0.6, toy",
        *(f"{what}, nothing" for what in ("rate of the law", "ceiling of the law")),
        "records until advantage 0.1, nothing",
    ]
