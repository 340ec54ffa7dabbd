"""The recipe: every choice of a training run in one frozen record."""

from dataclasses import dataclass, field

import numpy as np
import torch

from mia_lib import checks, models, reseed
from mia_lib.train import batches, looped, products, stacked

DTYPES = {"float32": torch.float32, "float64": torch.float64, "bfloat16": torch.float32}


@dataclass(frozen=True)
class Classifier:
    """A classifier's training recipe; calling it trains one model per row of `members`.

    Target and shadow models made by one recipe differ in their training set and random numbers
    alone, as the likelihood-ratio attack needs it (Carlini et al. 2022, section IV).

    Parameters
    ----------
    model : {"mlp", "cnn", "resnet18", "wide_resnet", "speednet"}
    hidden : tuple of int
        Widths of the hidden layers of "mlp".
    activation : {"tanh", "relu", "sigmoid"}
        Of "mlp".
    dropout : float
        Of "mlp": the probability, in [0, 1), with which training sets each hidden activation to
        zero.
    init : {"fan-in", "glorot"}
        How linear layers start (see `models.linear_weights`).
    options : dict
        Keywords of the other architectures (see `models`), such as ``{"depth": 28, "width": 2}``.
    n_classes : int, optional
        K. None: the largest label of the whole data set plus one.
    epochs : float
        Passes over a model's own training set.
    stop : float, optional
        Training breaks off after so many passes, with the schedule of the whole run: the model that
        a checkpoint of that run would hold (with augmentation, but for the draws of its last
        steps). None: after the last.
    batch_size : int
        Every batch has min(batch_size, members) examples.
    optimizer : {"sgd", "adam"}
    learning_rate : float
        At its peak, per step.
    momentum : float
        In [0, 1), of "sgd".
    nesterov : bool
    weight_decay : float
        Added to the gradient of weights as weight_decay x weight; biases and normalisation are left
        alone.
    schedule : {"constant", "cosine", "linear"}
        Constant, or falling to 0 over the run.
    warmup : float
        Fraction of the run, in [0, 1), in which the rate also rises linearly.
    shift_rate : float
        Factor on the learning rate of BatchNorm's shifts (airbench: 64).
    label_smoothing : float
        In [0, 1).
    augment : {None, "weak"}
        "weak": each image of a batch mirrored with probability 1/2, and shifted by up to 4 pixels
        with reflected border. Needs images.
    center, scale : float, optional
        Networks read (x - center) / scale. None: 127.5 and 127.5 for images of bytes, which gives
        [-1, 1]; 0 and 1 for everything else, so 0/1 features stay 0/1. Constants, never estimated:
        an estimate would tell who was a member.
    device : {"cpu", "cuda", "auto"}
    dtype : {"float32", "float64", "bfloat16"}
        "bfloat16" keeps weights and logits in float32 and computes the layers between in bfloat16.
    stacked : {"auto", True, False}
        Whether MLPs train as one stack of batched products. "auto": wherever it is possible, which
        is "mlp" without augmentation and dropout and not in bfloat16. The result is the same up to
        rounding.

    Raises
    ------
    ValueError
        For a choice outside its range.

    Notes
    -----
    Training: model s runs through consecutive shuffled passes over its own members, drawn from its
    own generator, in ceil(epochs x members / B) steps; the schedule follows the model's own number
    of steps. On the CPU the same generators give the same bits; on a GPU up to rounding.
    Taught in book/lira.ipynb.

    Examples
    --------
    >>> recipe = Classifier(hidden=(16,), epochs=5)
    >>> x, y = np.eye(4)[[0, 1, 2, 3] * 8], np.array([0, 1, 2, 3] * 8)
    >>> state = recipe(x, y, np.ones((2, 32), bool), [np.random.default_rng(s) for s in (0, 1)])
    >>> recipe.logits(state, x).shape
    (2, 32, 4)
    """

    model: str = "mlp"
    hidden: tuple = (128,)
    activation: str = "tanh"
    dropout: float = 0.0
    init: str = "fan-in"
    options: dict = field(default_factory=dict)
    n_classes: int | None = None
    epochs: float = 50
    stop: float | None = None
    batch_size: int = 64
    optimizer: str = "sgd"
    learning_rate: float = 0.1
    momentum: float = 0.9
    nesterov: bool = False
    weight_decay: float = 0.0
    schedule: str = "cosine"
    warmup: float = 0.0
    shift_rate: float = 1.0
    label_smoothing: float = 0.0
    augment: str | None = None
    center: float | None = None
    scale: float | None = None
    device: str = "cpu"
    dtype: str = "float32"
    stacked: bool | str = "auto"

    def __post_init__(self):
        checks.choice("model", self.model, models.ARCHITECTURES)
        object.__setattr__(
            self, "hidden", checks.widths("hidden", self.hidden)
        )  # a parameter file has a list
        checks.choice("activation", self.activation, models.ACTIVATIONS)
        checks.choice("init", self.init, ("fan-in", "glorot"))
        checks.number("dropout", self.dropout, 0, high=1, open_high=True)
        if self.dropout and not self.reads_rows:
            checks.fail("dropout", repr(self.dropout), f"0 for {self.model!r}; only 'mlp' has it")
        if not isinstance(self.options, dict):
            checks.fail("options", repr(self.options), "a dictionary")
        if self.options and self.reads_rows:
            checks.fail(
                "options", repr(self.options), "none for 'mlp', which takes hidden and activation"
            )
        if self.n_classes is not None:
            checks.integer("n_classes", self.n_classes, 2)
        checks.number("epochs", self.epochs, 0, open_low=True)
        if self.stop is not None:
            checks.number("stop", self.stop, 0, high=self.epochs, open_low=True)
        checks.integer("batch_size", self.batch_size, 1)
        checks.choice("optimizer", self.optimizer, ("sgd", "adam"))
        checks.number("learning_rate", self.learning_rate, 0, open_low=True)
        checks.number("momentum", self.momentum, 0, high=1, open_high=True)
        checks.number("weight_decay", self.weight_decay, 0)
        checks.choice("schedule", self.schedule, ("constant", "cosine", "linear"))
        checks.number("warmup", self.warmup, 0, high=1, open_high=True)
        checks.number("shift_rate", self.shift_rate, 0)
        checks.number("label_smoothing", self.label_smoothing, 0, high=1, open_high=True)
        if self.augment is not None:
            checks.choice("augment", self.augment, ("weak",))
        if self.center is not None:
            checks.number("center", self.center)
        if self.scale is not None:
            checks.number("scale", self.scale, 0, open_low=True)
        checks.choice("device", self.device, models.DEVICES)
        checks.choice("dtype", self.dtype, DTYPES)
        if not isinstance(self.nesterov, (bool, np.bool_)):
            checks.fail("nesterov", repr(self.nesterov), "True or False")
        if self.nesterov and (self.optimizer != "sgd" or self.momentum == 0):
            checks.fail("nesterov", "True", "False without momentum or with 'adam'")
        if not (self.stacked == "auto" or isinstance(self.stacked, bool)):
            checks.fail("stacked", repr(self.stacked), "True, False or 'auto'")
        if self.stacked is True and not self.stackable:
            checks.fail(
                "stacked",
                "True",
                "False or 'auto' unless model='mlp', without augment, dropout and 'bfloat16'",
            )

    @property
    def stackable(self):
        """Whether the recipe can train as one stack of batched products."""
        return (
            self.reads_rows
            and self.augment is None
            and not self.dropout
            and self.dtype != "bfloat16"
        )

    @property
    def reads_rows(self):
        """Whether the network reads an example as one row of numbers; the others read images,
        channels first.
        """
        return self.model == "mlp"

    @property
    def torch_device(self):
        """The device that will be used; ValueError where there is no GPU and one is asked for."""
        return models.torch_device(self.device)

    @property
    def torch_dtype(self):
        """Type of the weights."""
        return DTYPES[self.dtype]

    @reseed.fit
    @products.at_full_speed
    def __call__(self, x, y, members, rngs):
        """Train k models.

        Parameters
        ----------
        x : (n, d), (n, height, width) or (n, height, width, channels) array
            Bytes or numbers. The whole of it is held in the device's memory.
        y : (n,) int array
            Labels 0 ... K - 1.
        members : (k, n) boolean array
            Row s: the training set of model s.
        rngs : sequence of k numpy.random.Generator
            One per model: initial weights, order of the examples, augmentation.

        Returns
        -------
        dict of numpy arrays with leading axis k
            Weights and normalisation statistics, named as in the torch module.

        Raises
        ------
        ValueError
            For wrong shapes, NaN, a label out of range, a model without members.
        """
        data, labels, ids, n_classes = self.prepared(x, y, members, rngs)
        with torch.backends.cudnn.flags(enabled=True, benchmark=True):
            if self.stackable and self.stacked is not False:
                flat = self.normalised(data).flatten(1)
                return stacked.train(self, flat, labels, ids, rngs, n_classes)
            return looped.train(self, data, labels, ids, rngs, n_classes)

    def prepared(self, x, y, members, rngs):
        """What a call takes, checked and on the device.

        Returns
        -------
        data : tensor of the shape that the networks' batches are taken from
        labels : (n,) int64 tensor
        ids : list of k int arrays, each model's members
        n_classes : int
        """
        x = _inputs("x", x)
        y = checks.labels("y", y, len(x), n_classes=self.n_classes)
        ids = batches.training_sets(members, rngs, len(x))
        n_classes = self.n_classes or int(y.max()) + 1
        checks.integer("n_classes", n_classes, 2)
        data = self._on_device(x)
        return data, torch.from_numpy(y).to(data.device), ids, n_classes

    @products.at_full_speed
    def logits(self, state, x):
        """Outputs of trained models, always in evaluation mode (BatchNorm uses its running
        statistics).

        Parameters
        ----------
        state : dict
            As the call returned it, k models.
        x : (n, ...) array
            Examples of the shape that the models were trained on.

        Returns
        -------
        (k, n, K) float32 array
            Before the softmax.

        Raises
        ------
        ValueError
            For NaN and examples of another shape.
        """
        data = self._on_device(_inputs("x", x))
        with torch.backends.cudnn.flags(enabled=True, benchmark=True):
            return looped.logits(self, state, data)

    @products.at_full_speed
    def features(self, state, x):
        """What the last layer of trained models reads: the white-box view of an example, in
        evaluation mode.

        Parameters
        ----------
        state : dict
            As the call returned it, k models.
        x : (n, ...) array
            Examples of the shape that the models were trained on.

        Returns
        -------
        (k, n, width) float32 array
            Activations of the layer before `head`.

        Raises
        ------
        ValueError
            As `logits`.
        """
        data = self._on_device(_inputs("x", x))
        with torch.backends.cudnn.flags(enabled=True, benchmark=True):
            return looped.features(self, state, data)

    def normalised(self, x):
        """(x - center) / scale in the type of the weights, for a tensor of any shape."""
        bytes_of_image = x.dtype == torch.uint8 and x.ndim > 2
        center = self.center if self.center is not None else 127.5 if bytes_of_image else 0.0
        scale = self.scale if self.scale is not None else 127.5 if bytes_of_image else 1.0
        x = x.to(self.torch_dtype)
        return x if (center, scale) == (0.0, 1.0) else (x - center) / scale

    def network(self, shape, n_classes, rng=None):
        """The network before training.

        Parameters
        ----------
        shape : tuple of int
            Of an example as it is stored: (height, width, channels), or (d,) for "mlp".
        n_classes : int
            K, at least 2.
        rng : numpy.random.Generator, optional
            The only source of the initial weights. None means fresh entropy.

        Returns
        -------
        torch.nn.Module
            float32, on the CPU, in training mode.
        """
        options = self.options
        if self.reads_rows:
            options = {name: getattr(self, name) for name in ("hidden", "activation", "dropout")}
        else:
            shape = (shape[2], *shape[:2])
        return models.build(self.model, shape, n_classes, rng=rng, init=self.init, **options)

    def as_read(self, x):
        """A batch as the network reads it: normalised, images with their channels first
        (channels_last in memory, as they are stored).
        """
        x = self.normalised(x)
        return x if self.reads_rows else x.permute(0, 3, 1, 2)

    def _on_device(self, x):
        """Images as (n, height, width, channels), records as (n, d); bytes stay bytes, the rest
        gets the weights' type.
        """
        if (self.augment or not self.reads_rows) and x.ndim < 3:
            what = "augmentation" if self.reads_rows else f"model {self.model!r}"
            checks.fail(
                "x",
                f"shape {x.shape}",
                f"(n, height, width) or (n, height, width, channels) for {what}",
            )
        if self.augment and min(x.shape[1:3]) <= looped.PAD:
            checks.fail(
                "x",
                f"shape {x.shape}",
                f"images of more than {looped.PAD} pixels a side for augmentation",
            )
        x = x[..., None] if x.ndim == 3 else x
        tensor = torch.from_numpy(np.require(x, requirements="CW"))
        tensor = tensor.to(
            self.torch_device, torch.uint8 if x.dtype == np.uint8 else self.torch_dtype
        )
        # Products of matrices round differently where memory starts elsewhere, as it does on
        # another process.
        return tensor.clone() if tensor.data_ptr() % 64 else tensor


def _inputs(name, x):
    x = np.asarray(x)
    if x.ndim not in (2, 3, 4):
        checks.fail(
            name,
            f"shape {x.shape}",
            "shape (n, d), (n, height, width) or (n, height, width, channels)",
        )
    return x if x.dtype == np.uint8 and x.size else checks.real_array(name, x, dtype=None)
