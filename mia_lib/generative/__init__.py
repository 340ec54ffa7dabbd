"""Generative models under attack: queries of a trained network or of what it generated, one signal per example.

Taught in book/generative.ipynb.
"""

from mia_lib.generative.density import domias
from mia_lib.generative.embedding import classifier_embedding
from mia_lib.generative.nearest import ball_radius, monte_carlo, nearest_distance, nearest_distances
from mia_lib.generative.queries import (
    all_scores,
    discriminator_score,
    hybrid,
    max_score,
    mean_score,
    reconstruction,
)

__all__ = [
    "all_scores",
    "ball_radius",
    "classifier_embedding",
    "discriminator_score",
    "domias",
    "hybrid",
    "max_score",
    "mean_score",
    "monte_carlo",
    "nearest_distance",
    "nearest_distances",
    "reconstruction",
]
