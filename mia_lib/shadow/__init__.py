"""Shadow models: who is in which training set; running, resuming, spreading and storing the runs.

`mia_lib.masks` draws the training sets, `queries` the copies of an example that are asked about,
`run` trains the models, here or on any executor, `store` keeps masks, weights and outputs in a
folder, `identity` says when two runs are the same, `place` where each is kept.

Taught in book/lira.ipynb.
"""

from mia_lib.masks import bernoulli_masks, half_masks
from mia_lib.shadow.place import folder
from mia_lib.shadow.queries import Augmentation, augmentations
from mia_lib.shadow.run import Each, each, train
from mia_lib.shadow.store import Store, load

__all__ = [
    "Augmentation",
    "Each",
    "Store",
    "augmentations",
    "bernoulli_masks",
    "each",
    "folder",
    "half_masks",
    "load",
    "train",
]
