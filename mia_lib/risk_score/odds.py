"""From the odds of a sample to those at a prior."""


def factor(prior, n_members, n):
    """What turns the odds of a sample with so many members into those at the prior."""
    return prior / (1 - prior) * (n - n_members) / n_members


def times(probability, factor):
    """The probability whose odds are so many times as large."""
    return factor * probability / (1 + (factor - 1) * probability)
