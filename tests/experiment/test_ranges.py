"""Each range lets pass what it should and refuses the rest in one line."""

import pytest

from mia_lib import experiment
from mia_lib.experiment import ranges


@pytest.mark.parametrize(
    "check, fits, refused, expected",
    [
        (experiment.whole(), [-3, 0, 7], [1.0, True, "1", None], "a whole number"),
        (experiment.whole(2), [2, 99], [1, 2.5], "a whole number of at least 2"),
        (experiment.whole(2, 4), [2, 3, 4], [1, 5], "a whole number from 2 to 4"),
        (
            experiment.whole(6, multiple_of=2),
            [6, 8],
            [4, 7],
            "a whole number of at least 6 and a multiple of 2",
        ),
        (
            experiment.whole(50, or_zero=True),
            [0, 50],
            [1, 49, -1, False],
            "0 or a whole number of at least 50",
        ),
        (experiment.number("(0, 1)"), [0.5, 1e-9], [0, 1, "a", True], "a number in (0, 1)"),
        (experiment.number("[0, 1]"), [0, 1], [-0.1, 1.1], "a number in [0, 1]"),
        (experiment.number("(0, 0.25]"), [0.25], [0, 0.3], "a number in (0, 0.25]"),
        (experiment.number("[1, inf)"), [1, 1e9], [0.9, float("inf")], "a number in [1, inf"),
        (experiment.one_of("a", "b"), ["a"], ["c", 1], "one of 'a', 'b'"),
        (experiment.one_of(1, 18), [1, 18], [2, True, "1", 1.0], "one of 1, 18"),
        (experiment.share, [0.5], [0.0, 1.0, "x"], "a number in (0, 1)"),
        (experiment.flag, [True, False], [0, "yes"], "true or false"),
        (experiment.word, ["", "paper"], [3, None], "a text"),
        (experiment.several(experiment.share), [[0.1], (0.1, 0.2)], [[1.0]], "a number in (0, 1)"),
        (experiment.several(experiment.share), [[0.1]], [[]], "at least 1 entry"),
        (experiment.several(experiment.share, 2), [[0.1, 0.2]], [[0.1]], "at least 2 entries"),
        (experiment.several(experiment.share, 0), [[]], [0.1, "0.1"], "a list"),
        (experiment.rising(experiment.whole(0)), [[0], [0, 3]], [[3, 0], [1, 1]], "rising"),
    ],
)
def test_what_fits_comes_back_and_the_rest_is_refused(check, fits, refused, expected):
    for value in fits:
        assert check("name", value) is value
    for value in refused:
        with pytest.raises(ValueError) as error:
            check("name", value)
        message = str(error.value)
        assert message.startswith("name: given ") and expected in message and "\n" not in message


@pytest.mark.parametrize("text", ["0, 1", "(0; 1)", "(0, )", ""])
def test_a_text_that_is_no_interval(text):
    with pytest.raises(ValueError, match="interval"):
        experiment.number(text)


def test_usual_ranges_take_the_usual_values():
    usual = {"dataset": "digits", "n_examples": 0, "delta": 0.05, "seed": 0, "n_seeds": 1}
    usual |= {"device": "cpu", "epochs": 3, "n_permutations": 19, "scale": "smoke", "prior": 0.5}
    for name, value in usual.items():
        assert ranges.USUAL[name](name, value) == value
    with pytest.raises(ValueError, match="dataset: given 'imdb', expected one of 'digits'"):
        ranges.USUAL["dataset"]("dataset", "imdb")
