"""The experiment notebook two_sample_levels writes every row that its record has, goes on where it
was broken off, and refuses values that cannot be meant; its parameter files pass its checks.
"""

import pytest
from notebook_runs import begin, call, cases, missing_rows, values

from mia_lib import results

TINY = {"epochs": 1, "n_networks": 1, "repetitions": 1, "n_reference_models": 2, "n_steps": 1}
TINY |= {"n_permutations": 19, "shared_sets": 1, "shared_tests": 20}


def checked(**values):
    """The notebook up to its data set."""
    return begin("two_sample_levels", 5, **values)


def test_every_row_of_the_record_has_its_place(here):
    missing = missing_rows("two_sample_levels", "digits", "paper", here / "MIA_RESULTS", **TINY)
    assert missing == []


def test_a_run_that_was_broken_off_goes_on(here):
    def rows_and_files():
        assert call("two_sample_levels", "digits", "smoke", **TINY) == 0
        record = results.read(here / "MIA_RESULTS" / "two_sample_levels--digits--smoke.json")
        kept = (here / "MIA_RUNS").glob("two_sample_levels--*/*.json")
        return record["rows"], {file: file.stat().st_mtime_ns for file in kept}

    rows, files = rows_and_files()
    # 22 tests, 7 learned kernels, the rule for one network, 8 thresholds
    assert len(files) == 22 + 7 + 1 + 8
    gone = [file for file in files if file.stem in ("test-3", "rule-0")]
    for file in gone:
        file.unlink()
    again, new = rows_and_files()
    assert again == rows and new.keys() == files.keys()
    assert {file for file in files if new[file] != files[file]} == set(gone)


@pytest.mark.parametrize(("data", "scale"), cases("two_sample_levels"))
def test_every_choice_of_parameters_passes_the_checks(data, scale):
    checked(**values("two_sample_levels", data, scale))


def test_there_are_files_of_every_scale():
    assert set(cases("two_sample_levels")) == {
        ("digits", scale) for scale in ("smoke", "default", "seeds", "paper")
    }


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("dataset", "digitz"),
        ("n_examples", 500),
        ("n_members", 5),
        ("hidden", [128]),
        ("n_networks", 0),
        ("set_size", 8),
        ("large_size", 600),
        ("n_permutations", 5),
        ("shared_tests", 3),
        ("learning_rate", 0.0),
        ("alpha", 1.0),
        ("delta", 0.0),
    ],
)
def test_one_line_names_what_cannot_be_meant(name, value):
    with pytest.raises(ValueError, match=name if name != "large_size" else "n_examples"):
        checked(**{name: value})
