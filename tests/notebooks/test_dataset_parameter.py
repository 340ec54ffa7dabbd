"""Experiments on arrays of numbers refuse a data set of texts before they read it."""

import pytest
from notebook_runs import begin

ON_ARRAYS = (
    "attack_settings audit bayes defense_curves defenses dp_canaries exposed family fixed_pool "
    "hr_mmd lira lira_ablations lira_dp more_data risk_probability risk_scores two_sample_levels "
    "without_shadows"
).split()


@pytest.mark.parametrize("notebook", ON_ARRAYS)
def test_one_line_says_that_texts_do_not_fit(notebook):
    with pytest.raises(ValueError, match="dataset: given 'wikitext103', expected one of"):
        begin(notebook, 5, dataset="wikitext103")
