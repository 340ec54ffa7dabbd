"""Training one model or a stack of models at once.

`Classifier` is a recipe: call it with data, training sets and generators and it returns the weights
of all models. `recipe` holds the choices, `batches` who sees which example when, `stacked` many
MLPs as batched matrix products with a hand-written backward pass, `looped` any network with
autograd, one after the other, `regularized` the defences that change what is minimised, `penalised`
the one with an L1 penalty, `relaxed` and `hamp` two that keep members from being learnt by heart,
`private` differentially private training, `private_images` that of a convolutional network, built
in `private_network`, `traces` the losses along a run. `products` hands large products to the faster
of torch's two libraries for them.

Taught in book/lira.ipynb, book/defenses.ipynb and book/attacking_dp.ipynb.
"""

from mia_lib.train.hamp import Hamp
from mia_lib.train.penalised import L1Penalty
from mia_lib.train.private import PrivateSGD, epsilon, noise_multiplier
from mia_lib.train.private_images import PrivateImages
from mia_lib.train.recipe import Classifier
from mia_lib.train.regularized import AdversarialRegularization, Distillation, epoch_logits
from mia_lib.train.relaxed import RelaxLoss
from mia_lib.train.traces import epoch_losses

__all__ = [
    "AdversarialRegularization",
    "Classifier",
    "Distillation",
    "Hamp",
    "L1Penalty",
    "PrivateImages",
    "PrivateSGD",
    "RelaxLoss",
    "epoch_logits",
    "epoch_losses",
    "epsilon",
    "noise_multiplier",
]
