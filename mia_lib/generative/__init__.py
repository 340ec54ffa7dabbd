"""Generative models: GANs that are trained here.

Taught in book/generative.ipynb.
"""

from mia_lib.generative.dp import dp_cgan
from mia_lib.generative.gan import Gan
from mia_lib.generative.js import js_gan
from mia_lib.generative.networks import NETWORKS, Networks, dense
from mia_lib.generative.privgan import priv_gan
from mia_lib.generative.wasserstein import gradient_penalty, wgan_gp

__all__ = ["NETWORKS", "Gan", "Networks", "dense", "dp_cgan", "gradient_penalty", "js_gan", "priv_gan", "wgan_gp"]
