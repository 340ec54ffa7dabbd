"""The experiment notebook hr_mmd writes every row that its record has, goes on where it was broken
off, and refuses values that cannot be meant; its parameter files pass its checks.
"""

import pytest
from matplotlib import pyplot as plt
from notebook_runs import begin, call, cases, missing_rows, values

from mia_lib import experiment, results
from mia_lib.experiment import work

TINY = {"hidden": [4], "n_targets": 2, "n_reference_models": 2, "n_defended": 2, "draws": 1}
TINY |= {"level_draws": 1, "n_steps": 1, "n_permutations": 19, "gap_targets": 2, "epochs": 1}
TINY |= {"private_epochs": 1}
# Several of everything that a piece of work is kept for, and little of it
FEW = {"representations": ["last", "loss"], "learned": ["loss"], "baselines": ["ME"]}
FEW |= {"set_sizes": [16, 20], "proportions": [1.0], "defences": ["l1", "early stopping"]}
FEW |= {"mixtures": [0.5], "gap_epochs": [1], "gap_members": [20], "gap_noise": [0.0]}


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


class Stopped(BaseException):
    """What ends a run between two pieces of work."""


def checked(**values):
    """The notebook up to what follows from its parameters."""
    return begin("hr_mmd", 4, **values)


def test_every_row_of_the_record_has_its_place(here):
    assert missing_rows("hr_mmd", "digits", "paper", here / "MIA_RESULTS", **TINY) == []


def rows(here):
    assert call("hr_mmd", "digits", "smoke", **TINY, **FEW) == 0
    return results.read(here / "MIA_RESULTS" / "hr_mmd--digits--smoke.json")["rows"]


def pieces(here):
    """When each piece of work was kept."""
    files = (here / "MIA_RUNS").glob("hr_mmd--*/*")
    return {file.name: file.stat().st_mtime_ns for file in files}


def test_a_run_that_was_broken_off_goes_on(here, monkeypatch):
    asked = []

    def stopping(function):
        """Every eleventh piece of work is broken off."""

        def work(folder, name, do):
            def begun():
                asked.append(name)
                if len(asked) % 11 == 0:
                    raise Stopped
                return do()

            return function(folder, name, begun)

        return work

    undisturbed = rows(here)
    whole = pieces(here)
    for file in (here / "MIA_RUNS").glob("hr_mmd--*/*"):
        file.unlink()
    for name in ("kept", "kept_arrays"):
        monkeypatch.setattr(work, name, stopping(getattr(work, name)))
        monkeypatch.setattr(experiment, name, getattr(work, name))
    before, again = {}, None
    while again is None:
        try:
            again = rows(here)
        except Stopped:
            now = pieces(here)
            assert before.items() < now.items()  # nothing is done twice, and something more
            before = now
    assert again == undisturbed and pieces(here).keys() == whole.keys()
    assert len(asked) > len(whole) > 20


def test_a_run_without_what_may_be_left_out(here):
    none = {"learned": [], "baselines": [], "defences": [], "mixtures": [], "gap_epochs": []}
    assert call("hr_mmd", "digits", "smoke", **TINY, **FEW | none) == 0
    record = results.read(here / "MIA_RESULTS" / "hr_mmd--digits--smoke.json")
    assert {row["id"] for row in record["rows"]} == {"H4", "H5", "H12"}
    assert not any("HR-MMD" in row["what"] for row in record["rows"])


@pytest.mark.parametrize(("data", "scale"), cases("hr_mmd"))
def test_every_choice_of_parameters_passes_the_checks(data, scale):
    checked(**values("hr_mmd", data, scale))


def test_there_are_files_of_every_scale():
    names = ("digits", "location30", "mnist", "cifar10", "imdb")
    assert set(cases("hr_mmd")) == {
        (name, scale) for name in names for scale in ("smoke", "default", "seeds", "paper")
    }


def test_no_name_means_every_representation():
    space = checked()
    assert space["representations"] == list(space["KNOWN"])
    assert space["run"].parameters["representations"] == []


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("dataset", "digitz"),
        ("model", "lstm"),
        ("model", "forest"),
        ("mixtures", [1.5]),
        ("text_length", 0),
        ("n_targets", 1),
        ("n_permutations", 5),
        ("draws", 0),
        ("set_sizes", [3]),
        ("set_sizes", []),
        ("proportions", [0.0]),
        ("proportions", [1.5]),
        ("representations", ["logits"]),
        ("learned", ["logits"]),
        ("defences", ["dropout"]),
        ("label_noise", 1.0),
        ("epsilon", 0.0),
        ("alpha", 1.0),
        ("delta", 0.0),
        ("augment", "strong"),
    ],
)
def test_one_line_names_what_cannot_be_meant(name, value):
    with pytest.raises(ValueError, match=name):
        checked(**{name: value})


def test_what_is_learned_must_be_looked_at():
    with pytest.raises(ValueError, match="learned: given 'loss'"):
        checked(representations=["last"], learned=["loss"])


def test_defences_are_for_mlps():
    with pytest.raises(ValueError, match="defences"):
        checked(model="cnn")
