"""Recurrent networks that read tokens: a classifier of texts and a language model, as fits for
`shadow.train`.

Both are recipes like `train.Classifier`: call one with tokens, training sets and generators and it
returns the weights of all models, one array for each layer with the models on the leading axis.

Run in notebooks/language_model.ipynb and notebooks/hr_mmd.ipynb.
"""

from dataclasses import dataclass

import numpy as np
import torch
from torch import nn

from mia_lib import checks, models, reseed
from mia_lib.train import batches

PADDING = 0  # the token that fills short texts; the classifier takes no notice of it
MAX_NORM = 1.0  # of a batch's gradient: recurrent networks are known for gradients that explode
AT_ONCE = 256  # texts whose outputs are held at a time


@dataclass(frozen=True)
class LstmClassifier:
    """Recipe of a classifier of texts: an embedding, LSTM layers, the mean over the text, a linear
    layer.

    Parameters
    ----------
    vocabulary : int
        V, the number of tokens, at least 2. Token 0 is padding.
    n_classes : int
        K, at least 2.
    embedding : int
        Numbers that stand for a token.
    hidden : tuple of int
        Units of each LSTM layer, at least one layer.
    epochs : float
        Passes over a model's own training set.
    batch_size : int
        Every batch has min(batch_size, members) texts.
    learning_rate : float
        Of Adam, at its peak.
    schedule : {"constant", "cosine", "linear"}
        Constant, or falling to 0 over the run.
    device : {"cpu", "cuda", "auto"}

    Raises
    ------
    ValueError
        For a value out of its range.

    Notes
    -----
    HR-MMD App. G.4 has two layers of 128 units. Layers are named ``embedding``, ``layer1``,
    ``layer2``, ..., ``summary`` (what `features` returns) and ``head``; `two_sample.layer_outputs`
    reads any of them from `network`. The mean leaves padding out, and what a text is filled up with
    changes nothing. Run in notebooks/hr_mmd.ipynb.

    Examples
    --------
    >>> recipe = LstmClassifier(vocabulary=5, n_classes=2, embedding=3, hidden=(4, 4), epochs=1)
    >>> x, y = np.array([[1, 2, 0], [3, 4, 1]]), np.array([0, 1])
    >>> state = recipe(x, y, np.ones((3, 2), bool), [np.random.default_rng(s) for s in range(3)])
    >>> recipe.logits(state, x).shape, recipe.features(state, x).shape
    ((3, 2, 2), (3, 2, 4))
    """

    vocabulary: int
    n_classes: int
    embedding: int = 64
    hidden: tuple = (128, 128)
    epochs: float = 10
    batch_size: int = 32
    learning_rate: float = 0.002
    schedule: str = "cosine"
    device: str = "cpu"
    stop, warmup = None, 0.0  # what `batches` also asks a recipe for

    def __post_init__(self):
        checks.integer("n_classes", self.n_classes, 2)
        _check(self)

    @property
    def torch_device(self):
        """The device that will be used; ValueError where there is no GPU and one is asked for."""
        return models.torch_device(self.device)

    def __call__(self, x, y, members, rngs):
        """Train k models.

        Parameters
        ----------
        x : (n, T) int array
            Tokens 0 ... V - 1; each text has at least one that is not padding.
        y : (n,) int array
            Labels 0 ... K - 1.
        members : (k, n) boolean array
        rngs : sequence of k numpy.random.Generator
            One per model: initial weights and order of the texts.

        Returns
        -------
        dict of numpy arrays with leading axis k

        Raises
        ------
        ValueError
            For wrong shapes, tokens or labels out of range, a text that is all padding, a model
            without members.
        """
        x = _tokens(self, x, padded=True)
        y = torch.from_numpy(checks.labels("y", y, len(x), n_classes=self.n_classes)).to(x.device)
        return _train(
            self, x, members, rngs, lambda net, i: nn.functional.cross_entropy(net(x[i]), y[i])
        )

    def logits(self, state, x):
        """Outputs of trained models, (k, n, K) float32, before the softmax."""
        return _evaluated(self, state, _tokens(self, x, padded=True), lambda net, texts: net(texts))

    def features(self, state, x):
        """What the last layer of trained models reads, (k, n, width) float32."""
        return _evaluated(
            self, state, _tokens(self, x, padded=True), lambda net, texts: net.summarised(texts)
        )

    def network(self, state, k=0):
        """Model k as a torch module in evaluation mode, for `two_sample.layer_outputs`."""
        return _loaded(self, state, k)

    def build(self):
        """The module without values."""
        return _Classifier(self.vocabulary, self.embedding, self.hidden, self.n_classes)


@dataclass(frozen=True)
class LanguageModel:
    """Recipe of a language model: an embedding, LSTM layers and a linear layer give the law of each
    next token.

    Parameters
    ----------
    vocabulary : int
        V, the number of tokens, at least 2.
    embedding, hidden, epochs, batch_size, learning_rate, schedule, device
        As in `LstmClassifier`.

    Raises
    ------
    ValueError
        For a value out of its range.

    Notes
    -----
    Stands for the GPT-2 of Carlini et al. 2022, section V. Where the library says logits of an
    example, (n, K), this model gives the log-likelihood of each of its T tokens, (n, T): all that
    `text.sequence_features` needs, and little to store. The first token is predicted from the
    beginning of the text alone. Run in notebooks/language_model.ipynb.

    Examples
    --------
    >>> recipe = LanguageModel(vocabulary=5, embedding=3, hidden=(4,), epochs=1)
    >>> x = np.array([[1, 2, 0], [3, 4, 1]])
    >>> state = recipe(x, np.zeros(2, int), np.ones((3, 2), bool),
    ...     [np.random.default_rng(s) for s in range(3)])
    >>> recipe.logits(state, x).shape
    (3, 2, 3)
    """

    vocabulary: int
    embedding: int = 64
    hidden: tuple = (128,)
    epochs: float = 20
    batch_size: int = 16
    learning_rate: float = 0.003
    schedule: str = "cosine"
    device: str = "cpu"
    stop, warmup = None, 0.0

    def __post_init__(self):
        _check(self)

    @property
    def torch_device(self):
        """The device that will be used; ValueError where there is no GPU and one is asked for."""
        return models.torch_device(self.device)

    def __call__(self, x, y, members, rngs):
        """Train k models.

        Parameters
        ----------
        x : (n, T) int array
            Tokens 0 ... V - 1, no padding.
        y : (n,) array
            Not looked at: a text is its own label.
        members : (k, n) boolean array
        rngs : sequence of k numpy.random.Generator
            One per model: initial weights and order of the texts.

        Returns
        -------
        dict of numpy arrays with leading axis k

        Raises
        ------
        ValueError
            For wrong shapes, tokens out of range, a model without members.
        """
        x = _tokens(self, x)
        return _train(self, x, members, rngs, lambda net, i: -net.log_likelihood(x[i]).mean())

    def logits(self, state, x):
        """Log-likelihood of every token given those before it, (k, n, T) float32, in nat, at most
        0.
        """
        # float32 can round the logarithm of a probability of nearly 1 to a little above 0
        return _evaluated(
            self, state, _tokens(self, x), lambda net, texts: net.log_likelihood(texts).clamp(max=0)
        )

    def network(self, state, k=0):
        """Model k as a torch module in evaluation mode: tokens (n, T) to the logits of all next
        tokens (n, T, V).
        """
        return _loaded(self, state, k)

    def build(self):
        """The module without values."""
        return _LanguageModel(self.vocabulary, self.embedding, self.hidden)


class _Layer(nn.Module):
    """One LSTM layer that returns its outputs alone, (n, T, width), so that a hook reads a
    tensor.
    """

    def __init__(self, before, width):
        super().__init__()
        self.lstm = nn.LSTM(before, width, batch_first=True)

    def forward(self, x):
        return self.lstm(x)[0]


class _Mean(nn.Module):
    """Mean over the positions that are not padding."""

    def forward(self, outputs, kept):
        return (outputs * kept[..., None]).sum(1) / kept.sum(1, keepdim=True)


def _layers(embedding, hidden):
    """The LSTM layers by name."""
    widths = [embedding, *hidden]
    return nn.ModuleDict(
        {f"layer{i + 1}": _Layer(*pair) for i, pair in enumerate(zip(widths, widths[1:]))}
    )


class _Classifier(nn.Module):
    def __init__(self, vocabulary, embedding, hidden, n_classes):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, embedding)
        for name, layer in _layers(embedding, hidden).items():
            self.add_module(name, layer)
        self.depth = len(hidden)
        self.summary = _Mean()
        self.head = nn.Linear(hidden[-1], n_classes)

    def summarised(self, tokens):
        outputs = self.embedding(tokens)
        for i in range(self.depth):
            outputs = getattr(self, f"layer{i + 1}")(outputs)
        return self.summary(outputs, (tokens != PADDING).to(outputs.dtype))

    def forward(self, tokens):
        return self.head(self.summarised(tokens))


class _LanguageModel(nn.Module):
    def __init__(self, vocabulary, embedding, hidden):
        super().__init__()
        self.begin = (
            vocabulary  # one more row of the embedding: what is read before the first token
        )
        self.embedding = nn.Embedding(vocabulary + 1, embedding)
        self.layers = nn.Sequential(*_layers(embedding, hidden).values())
        self.head = nn.Linear(hidden[-1], vocabulary)

    def forward(self, tokens):
        read = torch.cat([torch.full_like(tokens[:, :1], self.begin), tokens[:, :-1]], 1)
        return self.head(self.layers(self.embedding(read)))

    def log_likelihood(self, tokens):
        logits = self(tokens)
        return -nn.functional.cross_entropy(
            logits.flatten(0, 1), tokens.flatten(), reduction="none"
        ).view(tokens.shape)


def _check(recipe):
    checks.integer("vocabulary", recipe.vocabulary, 2)
    checks.integer("embedding", recipe.embedding, 1)
    hidden = checks.widths("hidden", recipe.hidden)
    if not hidden:
        checks.fail("hidden", "no layer", "at least one")
    object.__setattr__(recipe, "hidden", hidden)  # a parameter file has a list
    checks.number("epochs", recipe.epochs, 0, open_low=True)
    checks.integer("batch_size", recipe.batch_size, 1)
    checks.number("learning_rate", recipe.learning_rate, 0, open_low=True)
    checks.choice("schedule", recipe.schedule, ("constant", "cosine", "linear"))
    checks.choice("device", recipe.device, models.DEVICES)


def _tokens(recipe, x, padded=False):
    """Checked tokens as an int64 tensor on the recipe's device."""
    x = np.asarray(x)
    if x.ndim != 2 or x.size == 0 or x.dtype.kind not in "iu":
        checks.fail("x", f"shape {x.shape} of dtype {x.dtype}", "whole numbers of shape (n, T)")
    if x.min() < 0 or x.max() >= recipe.vocabulary:
        checks.fail(
            "x", f"tokens from {x.min()} to {x.max()}", f"tokens 0 ... {recipe.vocabulary - 1}"
        )
    if padded and (x == PADDING).all(1).any():
        checks.fail(
            "x",
            f"{int((x == PADDING).all(1).sum())} texts that are all padding",
            "at least one token in each",
        )
    return torch.from_numpy(x.astype(np.int64)).to(recipe.torch_device)


def _start(net, rng):
    """Values of a module that was made without: they depend on the generator alone.

    Linear and LSTM layers uniform within 1/sqrt(units), embeddings standard normal, as in torch.
    """
    with torch.no_grad():
        for module in net.modules():
            if isinstance(module, nn.Linear):
                weight, bias = models.linear_weights(module.in_features, module.out_features, rng)
                module.weight.copy_(torch.from_numpy(weight))
                module.bias.copy_(torch.from_numpy(bias))
            elif isinstance(module, nn.Embedding):
                draws = rng.standard_normal(tuple(module.weight.shape), dtype=np.float32)
                module.weight.copy_(torch.from_numpy(draws))
            elif isinstance(module, nn.LSTM):
                bound = np.float32(1 / np.sqrt(module.hidden_size))
                for parameter in module.parameters():
                    draws = rng.random(tuple(parameter.shape), dtype=np.float32)
                    parameter.copy_(torch.from_numpy((2 * draws - 1) * bound))
    return net


def _empty(recipe):
    with torch.device("meta"):  # shapes only: nothing is drawn from torch's global generator
        net = recipe.build()
    return net.to_empty(device=recipe.torch_device)


def _loaded(recipe, state, k):
    net = _empty(recipe)
    net.load_state_dict(
        {name: torch.from_numpy(np.array(array[k])) for name, array in state.items()}
    )
    return net.eval()


@reseed.fit
def _train(recipe, x, members, rngs, loss):
    """Train one network per row of `members`; ``loss(net, index)`` is what a step minimises."""
    states = [
        _train_one(recipe, ids, rng, loss)
        for ids, rng in zip(batches.training_sets(members, rngs, len(x)), rngs)
    ]
    return {name: np.stack([state[name] for state in states]) for name in states[0]}


def _train_one(recipe, ids, rng, loss):
    net = _start(_empty(recipe), rng).train()
    optimizer = torch.optim.Adam(net.parameters(), lr=recipe.learning_rate)
    batch, total = batches.batch_size(recipe, len(ids)), batches.step_count(recipe, len(ids))
    stream, rates = (
        batches.Stream(ids, rng),
        batches.learning_rates(recipe, np.arange(total), total),
    )
    for rate in rates:
        optimizer.param_groups[0]["lr"] = float(rate)
        optimizer.zero_grad(set_to_none=True)
        loss(net, torch.from_numpy(stream.take(batch)).to(recipe.torch_device)).backward()
        nn.utils.clip_grad_norm_(net.parameters(), MAX_NORM)
        optimizer.step()
    return {name: tensor.cpu().numpy() for name, tensor in net.state_dict().items()}


def _evaluated(recipe, state, x, outputs):
    """``outputs(network, texts)`` of every model for all texts, stacked as float32."""
    found = []
    for k in range(len(state["head.weight"])):
        net = _loaded(recipe, state, k)
        with torch.no_grad():
            parts = [
                outputs(net, x[start : start + AT_ONCE]) for start in range(0, len(x), AT_ONCE)
            ]
        found.append(torch.cat(parts).float().cpu().numpy())
    return np.stack(found)
