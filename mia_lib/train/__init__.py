"""Training one model or a stack of models at once.

`Classifier` is a recipe: call it with data, training sets and generators and it returns the weights of all models.
`recipe` holds the choices, `batches` who sees which example when, `stacked` many MLPs as batched matrix products with a
hand-written backward pass, `looped` any network with autograd, one after the other.

Taught in book/lira.ipynb.
"""

from mia_lib.train.recipe import Classifier

__all__ = ["Classifier"]
