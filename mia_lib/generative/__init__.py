"""Generative models: GANs that are trained here, and queries of a GAN or of what it generated, one
signal per example.

Taught in book/generative.ipynb.
"""

from mia_lib.generative.density import domias
from mia_lib.generative.dp import DpCganRecipe, dp_cgan, epochs_within
from mia_lib.generative.embedding import classifier_embedding
from mia_lib.generative.gan import Gan, Release, release
from mia_lib.generative.js import JsGanRecipe, js_gan
from mia_lib.generative.looks import Looks, looks
from mia_lib.generative.merf import Embedding, MerfGan, dp_merf
from mia_lib.generative.nearest import ball_radius, monte_carlo, nearest_distance, nearest_distances
from mia_lib.generative.networks import NETWORKS, Networks, dense, upsampling
from mia_lib.generative.one_record import nearest_by_size, record_signals
from mia_lib.generative.privgan import PrivGanRecipe, priv_gan
from mia_lib.generative.queries import (
    all_scores,
    discriminator_score,
    hybrid,
    max_score,
    mean_score,
    named_queries,
)
from mia_lib.generative.recipe import GanRecipe
from mia_lib.generative.reconstruction import reconstruction
from mia_lib.generative.release_size import (
    ReleaseLaw,
    blocked_advantages,
    release_advantages,
    release_law,
    release_size,
)
from mia_lib.generative.stacked import GanStack, gan_stack
from mia_lib.generative.training import REVISION
from mia_lib.generative.wasserstein import WganGpRecipe, wgan_gp

__all__ = [
    "NETWORKS",
    "REVISION",
    "DpCganRecipe",
    "Embedding",
    "Gan",
    "GanRecipe",
    "GanStack",
    "JsGanRecipe",
    "Looks",
    "MerfGan",
    "Networks",
    "PrivGanRecipe",
    "Release",
    "ReleaseLaw",
    "WganGpRecipe",
    "all_scores",
    "ball_radius",
    "blocked_advantages",
    "classifier_embedding",
    "dense",
    "discriminator_score",
    "domias",
    "dp_cgan",
    "dp_merf",
    "epochs_within",
    "gan_stack",
    "hybrid",
    "js_gan",
    "looks",
    "max_score",
    "mean_score",
    "monte_carlo",
    "nearest_by_size",
    "nearest_distance",
    "nearest_distances",
    "named_queries",
    "priv_gan",
    "reconstruction",
    "record_signals",
    "release",
    "release_advantages",
    "release_law",
    "release_size",
    "upsampling",
    "wgan_gp",
]
