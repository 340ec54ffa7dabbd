"""Models of every kind, asked for observations: what they answer, and what is refused."""

import warnings

import numpy as np
import pandas as pd
import pytest
import torch
import torch.utils._pytree as pytree
from scipy import sparse
from sklearn.base import clone
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, NuSVC

from mia_lib import audit
from mia_lib.audit import answers, records, regression
from mia_lib.audit.from_model import Noise

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
Y = np.arange(60) % 3
MEMBER = np.arange(60) < 30
TWO = np.arange(60) % 2


class Tokens(torch.nn.Module):
    """A small text classifier; `form` says how it hands out its logits."""

    def __init__(self, form="table"):
        super().__init__()
        torch.manual_seed(0)
        self.embed, self.last, self.form = torch.nn.Embedding(20, 4), torch.nn.Linear(4, 3), form

    def forward(self, tokens, mask=None):
        vectors = self.embed(tokens)
        if mask is not None:
            vectors = vectors * mask[..., None]
        logits = self.last(vectors.mean(1))
        return {
            "table": logits,
            "dict": {"loss": torch.zeros(()), "hidden": vectors.mean(1), "logits": logits},
            "tuple": (torch.zeros(()), logits, vectors.mean(1)),
            "unnamed": {"scores": logits},
        }[self.form]


TOKENS = RNG.integers(0, 20, (60, 5))


def outputs(net, *inputs):
    with torch.no_grad():
        return net(*map(torch.as_tensor, inputs)).numpy()


@pytest.mark.parametrize("form", ["table", "dict", "tuple", "unnamed"])
def test_tokens_stay_whole_and_logits_are_found(form):
    seen = audit.observe(Tokens(form), TOKENS.astype(np.int32), Y, MEMBER)
    np.testing.assert_array_equal(seen.logits, outputs(Tokens(), TOKENS))
    assert seen.features.shape == (60, 5)


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int16, np.uint16, np.uint32])
def test_whole_numbers_of_every_size_are_tokens(kind):
    class Masked(Tokens):
        def forward(self, tokens, mask):
            return super().forward(tokens.masked_fill(~mask, 0))  # a mask of truths stays one

    mask = RNG.random((60, 5)) < 0.5
    seen = audit.observe(Tokens(), TOKENS.astype(kind), Y, MEMBER)
    np.testing.assert_array_equal(seen.logits, outputs(Tokens(), TOKENS))
    seen = audit.observe(Masked(), (TOKENS.astype(kind), mask), Y, MEMBER)
    np.testing.assert_array_equal(seen.logits, outputs(Tokens(), TOKENS * mask))


def test_inputs_by_name():
    mask = (RNG.random((60, 5)) < 0.5).astype(np.float32)
    seen = audit.observe(Tokens(), {"tokens": TOKENS, "mask": mask}, Y, MEMBER)
    np.testing.assert_array_equal(seen.logits, outputs(Tokens(), TOKENS, mask))
    assert seen.features.shape == (60, 10)
    with pytest.raises(ValueError, match="x: given a dict of unequal lengths"):
        audit.observe(Tokens(), {"tokens": TOKENS, "mask": mask[1:]}, Y, MEMBER)


def test_inputs_by_place():
    mask = (RNG.random((60, 5)) < 0.5).astype(np.float32)
    wanted = outputs(Tokens(), TOKENS, mask)
    parts = [torch.tensor(part) for part in (TOKENS, mask, Y)]
    every = torch.utils.data.TensorDataset(*parts)
    alone = torch.utils.data.TensorDataset(*parts[:2])
    nested = [((t, m), c) for t, m, c in zip(*parts)]
    column = [(t, m, c[None]) for t, m, c in zip(*parts)]
    for x, y in (
        ((TOKENS, mask), Y),
        ((parts[0], mask), Y),
        (every, None),
        (every, Y),
        (alone, Y),  # two inputs, and no label that could be taken for one
        (nested, None),
        (column, Y),
    ):
        x = torch.utils.data.DataLoader(x, batch_size=7) if isinstance(x, list) else x
        seen = audit.observe(Tokens(), x, y, MEMBER)
        np.testing.assert_allclose(seen.logits, wanted, rtol=1e-6)
        assert (seen.labels == Y).all() and seen.features.shape == (60, 10)


def test_shadow_models_of_two_inputs(tmp_path):
    """`fit` is given what `observe` was: a tuple of the rows that train."""
    trained = []

    def fit(x, y):
        trained.append([len(part) for part in (*x, y)])
        return Tokens()

    x = TOKENS, np.ones((60, 5), np.float32)
    more = {"fit": fit, "n_shadow": 4, "store": tmp_path}
    seen = audit.observe(Tokens(), x, Y, MEMBER, **more)
    assert trained == [[size] * 3 for size in seen.shadow_member.sum(axis=1)]
    np.testing.assert_allclose(seen.shadow_logits, seen.logits[None].repeat(4, 0), rtol=1e-6)
    other = records.digest((x[0], 1 - x[1]), Y)
    assert records.digest(x, Y) == records.digest(x, Y) != other


def test_texts_of_a_loader():
    texts = ["a" * (1 + k % 7) for k in range(60)]
    loaders = [(list(zip(texts, Y.tolist())), None), (texts, Y)]
    for rows, y in loaders:
        loader = torch.utils.data.DataLoader(rows, batch_size=7)
        seen = audit.observe(
            lambda x: np.array([[len(text), 0.0, 1.0] for text in x]), loader, y, MEMBER
        )
        assert seen.logits[:, 0].tolist() == [len(text) for text in texts]
        assert (seen.labels == Y).all()


def test_a_loader_gives_records_and_labels():
    data = torch.utils.data.TensorDataset(torch.tensor(TOKENS), torch.tensor(Y))
    loader = torch.utils.data.DataLoader(data, batch_size=7)
    wanted = outputs(Tokens(), TOKENS)
    for x, y in ((loader, None), (data, None), (loader, Y), (torch.tensor(TOKENS), Y)):
        seen = audit.observe(Tokens(), x, y, torch.tensor(MEMBER))
        np.testing.assert_array_equal(seen.logits, wanted)
        assert (seen.labels == Y).all() and (seen.member == MEMBER).all()
    rows = [{"tokens": t, "labels": torch.tensor(c)} for t, c in zip(torch.tensor(TOKENS), Y)]
    seen = audit.observe(Tokens(), torch.utils.data.DataLoader(rows, batch_size=9), None, MEMBER)
    np.testing.assert_array_equal(seen.logits, wanted)
    assert (seen.labels == Y).all()
    tools = torch.utils.data
    batches = tools.BatchSampler(tools.RandomSampler(data), 7, False)
    for shuffled in (
        tools.DataLoader(data, shuffle=True),
        tools.DataLoader(data, batch_sampler=batches),
        tools.DataLoader(data, sampler=tools.SubsetRandomSampler(range(60))),
        tools.DataLoader(data, sampler=tools.WeightedRandomSampler([1.0] * 60, 60)),
    ):
        with pytest.raises(ValueError, match="x: given a DataLoader that shuffles"):
            audit.observe(Tokens(), shuffled, None, MEMBER)
    ragged = [(torch.zeros(5 + k // 9, dtype=int), 0) for k in range(60)]
    with pytest.raises(ValueError, match=r"records of shapes \(5,\) and \(11,\) \(x\), expected"):
        audit.observe(Tokens(), tools.DataLoader(ragged, batch_size=1), None, MEMBER)
    mixed = [({"tokens": t}, t, 0) for t in torch.tensor(TOKENS)]
    with pytest.raises(ValueError, match=r"batches of type dict \(x\), expected tensors"):
        audit.observe(Tokens(), tools.DataLoader(mixed, batch_size=9), None, MEMBER)
    with pytest.raises(ValueError, match="y: given None"):
        audit.observe(Tokens(), TOKENS, None, MEMBER)


def test_a_network_keeps_its_modes_and_says_what_fails():
    net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Dropout(0.5), torch.nn.Linear(4, 3))
    net.train()
    net[1].eval()
    seen = audit.observe(net, torch.tensor(X).requires_grad_(), Y, MEMBER)
    assert net.training and not net[1].training
    net.eval()
    np.testing.assert_array_equal(seen.logits, outputs(net, X.astype(np.float32)))
    with pytest.raises(ValueError, match=r"predict: given a network that fails \(mat1 and mat2"):
        audit.observe(net, X[:, :2], Y, MEMBER)
    for x, said in (
        (TOKENS + 100, r"\(index out of range"),
        ({"token": TOKENS}, r"\(.*unexpected keyword argument 'token'\)"),
        ((TOKENS, TOKENS, TOKENS), r"\(.*takes from 2 to 3 positional arguments"),
    ):
        with pytest.raises(ValueError, match="predict: given a network that fails " + said):
            audit.observe(Tokens(), x, Y, MEMBER)

    class Failing(torch.nn.Module):
        def forward(self, x):
            return {}["k"]

    with pytest.raises(ValueError, match="given a network that fails .* on float64 of shape"):
        audit.observe(Failing(), X, Y, MEMBER)
    with pytest.raises(ValueError, match="a network and records that are no numbers"):
        audit.observe(net, [str(i) for i in range(60)], Y, MEMBER)


class Far(torch.Tensor):
    """A tensor of the device that `Elsewhere` pretends to have."""

    __torch_function__ = torch._C._disabled_torch_function_impl


class Elsewhere(torch.overrides.TorchFunctionMode):
    """A second device on a machine without one: what is not moved there or back fails as there.

    Its tensors are those of the processor under another type, so it shows that inputs and outputs
    are moved, and nothing of how a real device computes.
    """

    DEVICE = torch.device("cuda", 0)

    def __init__(self):
        super().__init__()
        self.moved, self.fetched = [], 0

    def __torch_function__(self, func, types, args=(), kwargs=None):
        given, kwargs = pytree.tree_leaves([args, kwargs]), kwargs or {}
        tensors = [one for one in given if isinstance(one, torch.Tensor)]
        far = [one for one in tensors if isinstance(one, Far)]
        plain = [a.as_subclass(torch.Tensor) if isinstance(a, Far) else a for a in args]
        if func == torch.Tensor.device.__get__ and far:
            return self.DEVICE
        if func is torch.Tensor.to and self.DEVICE in given:
            self.moved.append(args[0].dtype)
            return plain[0].to(*(one for one in args[1:] if one != self.DEVICE)).as_subclass(Far)
        if not far:
            return func(*args, **kwargs)
        if func is torch.Tensor.cpu:
            self.fetched += 1
            return plain[0]
        if func in (torch.Tensor.numpy, torch.Tensor.__array__):
            raise TypeError("can't convert cuda:0 device type tensor to numpy")
        if len(far) < len(tensors):
            raise RuntimeError("Expected all tensors to be on the same device")
        found = func(*plain, **kwargs)
        return found.as_subclass(Far) if isinstance(found, torch.Tensor) else found

    def network(self, net):
        """A network that was moved there."""
        for module in net.modules():
            for name, weight in module._parameters.items():
                there = torch.nn.Parameter(weight.detach().as_subclass(Far), requires_grad=False)
                module._parameters[name] = there
        return net


@pytest.mark.parametrize("form", ["table", "dict", "tuple"])
def test_inputs_go_to_the_networks_device_and_outputs_come_back(form):
    given = {"tokens": TOKENS, "mask": (RNG.random((60, 5)) < 0.5).astype(np.float32)}
    with Elsewhere() as device:
        net = device.network(Tokens(form))
        for x, wanted in (
            (TOKENS, outputs(Tokens(), TOKENS)),
            (torch.tensor(TOKENS).as_subclass(Far), outputs(Tokens(), TOKENS)),
            (given, outputs(Tokens(), *given.values())),
        ):
            y, member = (torch.tensor(part).as_subclass(Far) for part in (Y, MEMBER))
            device.moved, device.fetched = [], 0
            seen = audit.observe(net, x, y, member)
            np.testing.assert_array_equal(seen.logits, wanted)
            assert (seen.labels == Y).all() and (seen.member == MEMBER).all()
            assert device.moved == [torch.int64, torch.float32][: len(x) if x is given else 1]
            own = isinstance(x, Far)  # records, labels and membership are fetched too
            assert device.fetched == 3 + own
        # what this machine pretends: without the move the network fails
        with pytest.raises(RuntimeError, match="on the same device"):
            net(torch.tensor(TOKENS))
        with pytest.raises(TypeError, match="cuda:0"):
            net.last.bias.numpy()


def test_a_network_whose_numbers_are_buffers():
    """Without a parameter, or with whole numbers first, the type of its inputs is still found."""

    class Fixed(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("order", torch.tensor([2, 0, 1]))
            self.register_buffer("weight", torch.eye(3, dtype=torch.float64))

        def forward(self, x):
            return x[:, self.order] @ self.weight

    np.testing.assert_array_equal(audit.observe(Fixed(), X, Y, MEMBER).logits, X[:, [2, 0, 1]])


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a second device")
def test_a_network_on_another_device():
    net = Tokens()
    seen = audit.observe(net.cuda(), torch.tensor(TOKENS).cuda(), torch.tensor(Y).cuda(), MEMBER)
    np.testing.assert_allclose(seen.logits, outputs(Tokens(), TOKENS), atol=1e-5)


def test_half_precision():
    net = torch.nn.Linear(3, 3).to(torch.bfloat16)
    seen = audit.observe(net, X, Y, MEMBER)
    with torch.no_grad():
        wanted = net(torch.tensor(X).to(torch.bfloat16)).float().numpy()
    np.testing.assert_array_equal(seen.logits, wanted)


def test_scores_of_a_decision_function():
    model = SVC().fit(X, TWO)
    seen = audit.observe(model, X, TWO, MEMBER)
    np.testing.assert_allclose(seen.logits[:, 1] - seen.logits[:, 0], model.decision_function(X))
    three = SVC().fit(X, Y)
    np.testing.assert_array_equal(
        audit.observe(three, X, Y, MEMBER).logits, three.decision_function(X)
    )


@pytest.mark.parametrize(
    "model",
    [
        SVC(decision_function_shape="ovo"),
        NuSVC(nu=0.2, decision_function_shape="ovo"),
        make_pipeline(StandardScaler(), SVC(decision_function_shape="ovo")),
        GridSearchCV(SVC(), {"decision_function_shape": ["ovo"]}, cv=2),
    ],
    ids=lambda model: type(model).__name__,
)
def test_scores_of_pairs_of_classes_are_no_scores_of_classes(model):
    """Of three classes there are three pairs, so that the shape does not tell."""
    for k in (3, 4):
        y = np.arange(60) % k
        with pytest.raises(ValueError, match="predict: given a score for each pair of classes"):
            audit.observe(model.fit(X, y), X, y, MEMBER)
    scores = model.fit(X, TWO).decision_function(X)  # of one pair, as without "ovo"
    seen = audit.observe(model, X, TWO, MEMBER)
    np.testing.assert_allclose(seen.logits[:, 1] - seen.logits[:, 0], scores)


class Known:
    """An estimator whose `classes_` stand in an order of its own; it is sure of what it keeps."""

    def __init__(self, classes, kept=None):
        self.classes_, self.kept = np.array(classes), kept

    def right(self, x):
        return np.array([self.kept[tuple(row)] for row in x])

    def share(self, x):
        """Which class a record has, a little less sure for later records."""
        sure = np.linspace(0.9, 0.6, len(x))[:, None]
        rest = max(1, len(self.classes_) - 1)
        table = np.where(self.right(x)[:, None] == self.classes_, sure, (1 - sure) / rest)
        return table / table.sum(axis=1, keepdims=True)


class Shares(Known):
    def predict_proba(self, x):
        return self.share(x)


class Scores(Known):
    """One score of the second class where there are two, as in scikit-learn."""

    def decision_function(self, x):
        share = self.share(x)
        return share[:, 1] - share[:, 0] if share.shape[1] == 2 else 3 * share


class Words(Known):
    def predict(self, x):
        return self.right(x)


def of_the_right(logits, labels):
    return np.take_along_axis(logits, labels[:, None], axis=1)[:, 0]


@pytest.mark.parametrize("kind", [Shares, Scores, Words])
@pytest.mark.parametrize("names", [(0, 1, 2), (7, 3, 5), ("cat", "dog", "eel")])
def test_classes_in_an_order_of_their_own(kind, names):
    """What is said of a record's right class is the same in whatever order the classes stand."""
    for k in (2, 3):
        y = np.array(names[:k])[np.arange(60) % k]
        kept = {tuple(row): label for row, label in zip(X, y)}
        orders = [names[:k], names[:k][::-1], names[1:k] + names[:1]]
        said = []
        for classes in orders:
            queries = [] if kind is Words else None
            seen = audit.observe(kind(classes, kept), X, y, MEMBER, queries=queries)
            assert (np.array(classes)[seen.labels] == y).all()
            # what speaks for the right class over the best of the others
            own = of_the_right(seen.logits, seen.labels)
            others = seen.logits.copy()
            np.put_along_axis(others, seen.labels[:, None], -np.inf, axis=1)
            said.append(own - others.max(axis=1))
            assert (said[-1] > 0).all()
        np.testing.assert_allclose(said, [said[0]] * 3)


@pytest.mark.parametrize("kind", [Shares, Scores])
@pytest.mark.parametrize(
    ("names", "others"),
    [
        ("abc", ["abc", "cab", "cb", "ba"]),
        ("cab", ["abc", "bca", "bc", "ac"]),
        ("ab", ["ab", "ba", "ba", "ab"]),
        ("ba", ["ab", "ba", "ab", "ba"]),
    ],
)
def test_shadow_models_whose_classes_stand_otherwise(kind, names, others):
    y = np.array(list(names))[np.arange(60) % len(names)]
    kept = {tuple(row): label for row, label in zip(X, y)}
    drawn = [kind(list(classes), kept) for classes in others]
    models = iter(drawn)
    seen = audit.observe(
        kind(list(names), kept), X, y, MEMBER, fit=lambda x, y: next(models), n_shadow=4
    )
    for logits, model in zip(seen.shadow_logits, drawn):
        known = np.isin(y, model.classes_)
        right = of_the_right(logits, seen.labels)
        assert (right[known] == logits[known].max(axis=1)).all() and known.any()
        assert (right[~known] == -np.inf).all()


@pytest.mark.parametrize("only", [0, 1])
@pytest.mark.parametrize("y", [TWO, Y], ids=["two", "three"])
def test_a_shadow_model_that_knows_one_class(y, only):
    """Its table has one column, which is no probability of the second class."""
    kept = {tuple(row): label for row, label in zip(X, y)}

    def fit(x, y):
        return Shares([only], kept)

    target = Shares(range(y.max() + 1), kept)
    seen = audit.observe(target, X, y, MEMBER, fit=fit, n_shadow=4)
    assert (seen.shadow_logits.argmax(axis=-1) == only).all()
    with pytest.raises(ValueError, match="given"):
        audit.observe(Shares([0], kept), X, np.zeros(60, int), MEMBER)


def test_one_number_for_two_classes():
    p = RNG.random(60)
    by_probability = audit.observe(lambda x: p, X, TWO, MEMBER)
    np.testing.assert_allclose(np.exp(by_probability.logits), np.stack([1 - p, p], 1))
    by_logit = audit.observe(lambda x: (8 * p - 4)[:, None], X, TWO, MEMBER)
    np.testing.assert_allclose(by_logit.logits[:, 1] - by_logit.logits[:, 0], 8 * p - 4)
    assert by_logit.task == "classification"


def test_numbers_from_0_to_1_are_scores_only_where_it_is_said():
    found, classes = np.array([0.25, 0.75]), np.array([0, 1])
    given = answers.logits("predict", found, classes)
    np.testing.assert_allclose(np.exp(given), [[0.75, 0.25], [0.25, 0.75]])
    said = answers.logits("predict", found, classes, scores=True)
    np.testing.assert_array_equal(said, [[0.0, 0.25], [0.0, 0.75]])


def test_labels_alone_and_their_attacks():
    named = np.array(["cat", "dog", "eel"])
    answered = named[np.where(RNG.random(60) < 0.7, Y, (Y + 1) % 3)]
    seen = audit.observe(
        lambda x: answered, X.astype(object), named[Y], MEMBER, assignment="random"
    )
    assert (np.exp(seen.logits).argmax(1) == np.searchsorted(named, answered)).all()
    assert set(np.exp(seen.logits).ravel()) == {0.0, 1.0}
    content = audit.run(seen).content
    possible = {line["name"]: line for line in content["attacks"] if line["lacks"] is None}
    assert list(possible) == ["Correctness"] and content["labels alone"]
    right = answered == named[Y]
    gap = right[MEMBER].mean() - right[~MEMBER].mean()
    assert possible["Correctness"]["auc"][0] == pytest.approx(0.5 + gap / 2)
    assert "every attack here is label-only" in audit.run(seen).to_markdown()
    with pytest.raises(ValueError, match="predict: given the answer 'fox'"):
        answers.logits("predict", np.array(["fox"]), named)


def test_noisy_copies_of_a_model_that_says_labels():
    """One weight decides: the share of copies that are right follows the distance to the border."""
    x = np.linspace(-2, 2, 60)[:, None]
    y = (x[:, 0] > 0).astype(int)
    member = np.arange(60) % 2 == 0
    seen = audit.observe(lambda x: (x[:, 0] > 0).astype(int), x, y, member, assignment="random")
    assert seen.logits.shape == (17, 60, 2)
    copies = [Noise(s, k)(x) for s in (0.125, 0.25, 0.5, 1.0) for k in range(4)]
    share = np.mean([y == y] + [(c[:, 0] > 0) == y for c in copies], axis=0)
    report = audit.run(seen)
    np.testing.assert_allclose(report.records()["Copies answered right"], share)
    far = np.abs(x[:, 0]) > 1
    assert share[far].mean() > share[~far].mean() + 0.05
    own = audit.observe(
        lambda x: (x[:, 0] > 0).astype(int), x, y, member, queries=[lambda x: -x], fit=None
    )
    assert own.logits.shape == (2, 60, 2) and (own.logits[1, :, 1] == own.logits[0, :, 0]).all()
    with pytest.raises(ValueError, match="queries: given a query that returns 59 records"):
        audit.observe(
            lambda x: np.eye(3)[:1].repeat(len(x), 0), X, Y, MEMBER, queries=[lambda x: x[1:]]
        )


def test_noisy_copies_of_a_frame_of_numbers():
    frame = pd.DataFrame({"a": X[:, 0], "b": np.arange(60)}, index=np.arange(60) % 7)
    asked = []

    def model(x):
        asked.append(x)
        return (np.asarray(x)[:, 0] > 0).astype(int)

    seen = [audit.observe(model, x, TWO, MEMBER).logits for x in (frame.to_numpy(), frame)]
    np.testing.assert_array_equal(*seen)
    assert all(list(x) == ["a", "b"] and (x.index == frame.index).all() for x in asked[17:])
    named = frame.assign(b=TWO.astype(str))
    assert audit.observe(lambda x: TWO, named, TWO, MEMBER).logits.shape == (60, 2)


def test_shadow_models_are_asked_every_query(tmp_path):
    def fit(x, y):
        return LogisticRegression().fit(x, y)

    given = fit(X[MEMBER], Y[MEMBER]), X, Y, MEMBER
    more = {"queries": [lambda x: -x], "store": tmp_path, "rng": np.random.default_rng(0)}
    seen = audit.observe(*given, fit=fit, n_shadow=4, **more)
    assert seen.shadow_logits.shape == (4, 2, 60, 3)
    for logits, mask in zip(seen.shadow_logits, seen.shadow_member):
        model = fit(X[mask], Y[mask])
        for found, x in zip(np.exp(logits), (X, -X)):
            np.testing.assert_allclose(found, model.predict_proba(x), rtol=1e-5)


def test_a_regression():
    x = RNG.normal(size=(60, 40))
    y = x[:, 0] + 0.3 * RNG.normal(size=60)

    def fit(x, y):
        return LinearRegression().fit(x[:, :25], y)

    class Short(LinearRegression):
        def predict(self, x):
            return super().predict(x[:, :25])

    target = Short().fit(x[MEMBER][:, :25], y[MEMBER])
    seen = audit.observe(
        target,
        x,
        y,
        MEMBER,
        fit=lambda x, y: Short().fit(x[:, :25], y),
        n_shadow=4,
        assignment="random",
    )
    error = (target.predict(x) - y) ** 2
    assert seen.task == "regression" and not seen.labels.any()
    np.testing.assert_allclose(seen.logits[:, 0], -error / error.mean())
    assert (seen.logits[:, 1] == 0).all() and (seen.columns["target"] == y).all()
    report = audit.run(seen)
    lines = {line["name"]: line for line in report.content["attacks"]}
    assert {n for n in lines if lines[n]["lacks"] is not None} == {*regression.OF_CLASSES}
    below = np.mean(error[MEMBER][:, None] < error[~MEMBER]) + 0.5 * np.mean(
        error[MEMBER][:, None] == error[~MEMBER]
    )
    assert lines["LOSS"]["auc"][0] == pytest.approx(below) and below > 0.7
    assert regression.SAID in report.to_markdown()
    assert {line["column"] for line in report.content["slices"]} == {"target"}
    assert report.content["risk score"]["lacks"].startswith("classes")
    # the shadow models are scaled like the target
    again = Short().fit(x[seen.shadow_member[1]][:, :25], y[seen.shadow_member[1]])
    np.testing.assert_allclose(
        seen.shadow_logits[1, :, 0], -((again.predict(x) - y) ** 2) / error.mean(), rtol=1e-4
    )


def test_each_target_of_a_regression_has_shadow_models_of_its_own_scale(tmp_path, monkeypatch):
    monkeypatch.setenv("MIA_RUNS", str(tmp_path))
    y = X[:, 0] + 0.3 * RNG.normal(size=60)

    def fit(x, y):
        return LinearRegression().fit(x, y)

    far, near = (lambda x: np.full(len(x), 10.0)), fit(X, y)

    def seen(target, **more):
        rng = np.random.default_rng(0)
        return audit.observe(target, X, y, MEMBER, fit=fit, n_shadow=4, rng=rng, **more)

    seen(far)
    found = seen(near)
    np.testing.assert_array_equal(
        found.shadow_logits, seen(near, store=tmp_path / "a").shadow_logits
    )
    mask, scale = found.shadow_member[0], np.mean((near.predict(X) - y) ** 2)
    own = -((fit(X[mask], y[mask]).predict(X) - y) ** 2) / scale
    np.testing.assert_allclose(found.shadow_logits[0, :, 0], own, rtol=1e-4, atol=1e-6)
    with pytest.raises(ValueError, match="store: given .*read_by"):
        seen(far, store=tmp_path / "a")


def test_a_store_is_for_one_order_of_classes(tmp_path, monkeypatch):
    monkeypatch.setenv("MIA_RUNS", str(tmp_path))
    kept = {tuple(row): label for row, label in zip(X, Y)}
    for classes in ([0, 1, 2], [2, 0, 1]):
        seen = audit.observe(Shares(classes, kept), X, Y, MEMBER,
            fit=lambda x, y: Shares([0, 1, 2], kept), n_shadow=4,
            rng=np.random.default_rng(0))  # fmt: skip
        assert (seen.shadow_logits.argmax(axis=-1) == seen.labels).all()


def test_what_counts_as_a_regression():
    for found, y, wanted in (
        (np.zeros(4), np.array([0.5, 1, 2, 3]), "regression"),
        (np.zeros((4, 1)), np.array([1, 2, 3, 4]), "regression"),
        (np.zeros((4, 1)), np.array([0.0, 1, 1, 0]), "classification"),
        (np.zeros((4, 2)), np.array([0.5, 1, 2, 3]), "classification"),
        (np.zeros(4, int), np.array([1, 2, 3, 4]), "classification"),
    ):
        assert answers.task(None, found, y) == wanted
    assert answers.task(LinearRegression(), np.zeros(4), np.arange(2)) == "regression"
    with pytest.raises(ValueError, match="predict: given predictions of shape"):
        audit.observe(LinearRegression().fit(X, X), X, X[:, 0], MEMBER)


def test_texts_and_sparse_tables():
    words = ["red", "green", "blue", "loud", "soft", "wide"]
    texts = [" ".join(RNG.choice(words, 6)) + f" {i}" for i in range(60)]

    def fit(x, y):
        return make_pipeline(TfidfVectorizer(), MultinomialNB()).fit(x, y)

    seen = audit.observe(fit(texts, TWO), texts, TWO, MEMBER, fit=fit, n_shadow=4)
    assert seen.features.shape == (60, records.WORDS) and seen.shadow_logits.shape == (4, 60, 2)
    table = TfidfVectorizer().fit_transform(texts)
    model = LogisticRegression().fit(table[:30], TWO[:30])
    found = audit.observe(
        model, table, TWO, MEMBER, fit=lambda x, y: LogisticRegression().fit(x, y), n_shadow=4
    )
    np.testing.assert_allclose(np.exp(found.logits), model.predict_proba(table))
    np.testing.assert_allclose(found.features, table.toarray())
    frame = pd.DataFrame({"note": texts, "size": X[:, 0]})
    assert records.numbers(frame).shape == (60, records.WORDS + 1)
    assert records.numbers(sparse.eye(60).tocsr()).shape == (60, 60)


def test_a_series_of_texts_stays_one():
    texts = pd.Series([f"w{k % 5} of {k}" for k in range(60)], index=np.arange(60) % 9, name="note")

    def fit(x, y):
        return make_pipeline(TfidfVectorizer(), MultinomialNB()).fit(x, y)

    target = fit(texts, TWO)
    for kind in (object, "string"):
        seen = audit.observe(target, texts.astype(kind), TWO, MEMBER, fit=fit, n_shadow=4)
        np.testing.assert_allclose(np.exp(seen.logits), target.predict_proba(texts.tolist()))
        assert seen.shadow_logits.shape == (4, 60, 2)
        assert seen.features.shape == (60, records.WORDS)
    assert records.taken(pd.Series(X[:, 0]), Y)[0].shape == (60, 1)


@pytest.mark.parametrize(
    ("column", "wanted"),
    [
        (pd.to_datetime(["2020-01-02", None, "2020-01-01"]), [[86400, 0], [0, 1], [0, 0]]),
        (pd.to_datetime(["2020-01-02", "2020-01-01"] * 2, utc=True), [[86400], [0]] * 2),
        (pd.to_timedelta([5, None], unit="s"), [[5, 0], [0, 1]]),
        (pd.period_range("2020-01-01", periods=2), [[0], [86400]]),
        (pd.array([3, None], dtype="Int64"), [[3, 0], [0, 1]]),
        (pd.array([True, None], dtype="boolean"), [[1, 0], [0, 1]]),
        ([[1], [2]], [[1, 0], [0, 1]]),
        ([{"a": 1}, {"b": 1}], [[1, 0], [0, 1]]),
        (np.array([1j, 2.0]), [[0, 1], [1, 0]]),
        (pd.Categorical(["one"] * 2), [[1], [1]]),
    ],
    ids=["time", "zone", "span", "period", "Int64", "boolean", "list", "dict", "complex", "one"],
)
def test_columns_of_every_kind_are_numbers(column, wanted):
    frame = pd.DataFrame({"a": column})
    assert records.numbers(frame).tolist() == wanted
    beside = records.numbers(frame.assign(b=0.5, c=True))  # texts come last, marks of gaps too
    assert sorted(beside[0]) == sorted([0.5, 1.0, *wanted[0]])
    twice = pd.concat([frame, frame], axis=1)  # two columns of one name
    assert records.numbers(twice).shape[1] == 2 * len(wanted[0])
    assert records.digest(frame) == records.digest(frame.copy()) != records.digest(frame[1:])


def test_missing_numbers_are_marked():
    x = X.copy()
    x[3, 1] = np.nan
    found = records.numbers(x)
    assert found.shape == (60, 4) and found[3].tolist()[1:] == [0, x[3, 2], 1]
    assert records.numbers(X) is X and records.numbers(X[:, 0]).shape == (60, 1)


def never(x, y):
    raise AssertionError("trained before the arguments were checked")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"member": MEMBER[1:]}, "member: given shape"),
        ({"member": np.zeros(60, bool)}, "member: given 0 members"),
        ({"assignment": "fair"}, "assignment: given 'fair'"),
        ({"columns": {"age": [1, 2]}}, "columns.age: given shape"),
        ({"columns": [1]}, "columns: given list"),
        ({"y": Y[1:]}, "y: given shape"),
        ({"y": Y + 7}, "labels: given largest label"),
        ({"y": Y.astype(str)}, "y: given labels of dtype"),
        ({"n_shadow": 5}, "n_shadow: given 5"),
        ({"n_shadow": 2}, "n_shadow: given 2"),
        ({"fit": 3}, "fit: given int"),
        ({"rng": 3}, "rng: given int"),
        ({"queries": 3}, "queries: given int"),
        ({"queries": [3]}, "queries: given an entry"),
        ({"x": [[1], [1, 2]]}, "x: given a ragged sequence"),
        ({"x": 3}, "x: given int"),
        ({"predict": lambda x: np.where(x > x.min(), x, np.nan)}, "logits: given 1 NaN"),
        ({"predict": lambda x: np.where(x > x.min(), x, np.inf)}, r"logits: given 1 of \+inf"),
        ({"x": np.full((60, 3), np.inf), "predict": lambda x: X}, "features: given 180 entries"),
        ({"predict": lambda x: "one"}, "predict: given predictions of shape"),
        ({"predict": lambda x: [{"a": 0.5}] * 60}, "predict: given answers of type dict, expected"),
        ({"predict": lambda x: x[:, :2].astype(int)}, "predict: given predictions of dtype"),
    ],
)
def test_everything_is_checked_before_anything_is_trained(change, message):
    given = {"predict": lambda x: x, "x": X, "y": Y, "member": MEMBER, "fit": never} | change
    with pytest.raises(ValueError, match=message):
        audit.observe(**given)


def test_shadow_models_are_kept_and_a_broken_off_call_goes_on(tmp_path, monkeypatch):
    trained = []

    class Counted(LogisticRegression):
        def fit(self, x, y):
            if len(trained) == last:
                raise KeyboardInterrupt
            trained.append(x.sum())
            return super().fit(x, y)

    def fit(x, y):
        return Counted().fit(x, y)

    target = LogisticRegression().fit(X, TWO).predict_proba

    def seen(runs):
        monkeypatch.setenv("MIA_RUNS", str(tmp_path / runs))
        more = {"n_shadow": 6, "rng": np.random.default_rng(1)}
        return audit.observe(target, X, TWO, MEMBER, fit=fit, **more).shadow_logits

    last = 3
    with pytest.raises(KeyboardInterrupt):
        seen("first")
    assert len(trained) == 3
    last = 6
    goes_on = seen("first")
    assert len(trained) == len(set(trained)) == 6  # three more
    np.testing.assert_array_equal(seen("first"), goes_on)
    assert len(trained) == 6  # all were found
    last = 99
    np.testing.assert_array_equal(seen("fresh"), goes_on)
    assert trained[6:] == trained[:6]


def test_a_store_of_ones_own_and_none_without_a_seed(tmp_path, monkeypatch):
    monkeypatch.setenv("MIA_RUNS", str(tmp_path / "runs"))

    def fit(x, y):
        return LogisticRegression().fit(x, y)

    def seen(**more):
        return audit.observe(fit(X, Y), X, Y, MEMBER, fit=fit, n_shadow=4, **more)

    seen()
    assert not (tmp_path / "runs").exists()
    first = seen(rng=np.random.default_rng(3), store=tmp_path / "mine")
    assert (tmp_path / "mine" / "manifest.json").exists() and not (tmp_path / "runs").exists()
    kept = seen(rng=np.random.default_rng(3))
    assert len(list((tmp_path / "runs").iterdir())) == 1
    np.testing.assert_array_equal(kept.shadow_logits, first.shadow_logits)
    with pytest.raises(ValueError, match="another masks|masks"):
        seen(rng=np.random.default_rng(4), store=tmp_path / "mine")


def told(target, x=X, **more):
    """The warnings of a call."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        audit.observe(target, x, TWO, MEMBER, n_shadow=4, **more)
    return [str(one.message) for one in caught]


def test_another_recipe_is_told_whenever_it_is_asked_for(tmp_path):
    def fit(x, y):
        return LogisticRegression(C=100).fit(x, y)

    def said(target):
        return told(target, fit=fit, store=tmp_path / "s", rng=np.random.default_rng(0))

    other = LogisticRegression(C=0.1).fit(X, TWO)
    assert said(other) == said(other) == ["target and shadow models differ in C"]
    assert said(fit(X, TWO)) == []
    assert said(SVC().fit(X, TWO)) == [
        "the target is a SVC, the shadow models are LogisticRegressions"
    ]


def test_networks_are_compared_by_their_layers_and_functions_not_at_all():
    net = torch.nn.Sequential(torch.nn.Linear(3, 2))
    deep = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Linear(4, 2))
    assert told(net, fit=lambda x, y: deep) == ["target and shadow models differ in their layers"]
    assert told(net, fit=lambda x, y: torch.nn.Sequential(torch.nn.Linear(3, 2))) == []
    assert told(lambda x: x[:, :2], fit=lambda x, y: lambda z: z[:, 1:]) == []
    assert told(LogisticRegression().fit(X, TWO), fit=lambda x, y: lambda z: z[:, 1:]) == []
    mine = [Shares([0, 1], {tuple(row): c for row, c in zip(X, TWO)}) for _ in range(2)]
    assert told(mine[0], fit=lambda x, y: mine[1]) == []  # each prints with an address of its own


def test_a_fit_may_hold_a_model_of_frames_and_names(tmp_path):
    frame, names = pd.DataFrame(X, columns=list("abc")), np.array(["no", "yes"], object)[TWO]
    model = LogisticRegression().fit(frame, names)
    seen = audit.observe(model, frame, names, MEMBER, fit=lambda x, y: clone(model).fit(x, y),
        n_shadow=4, rng=np.random.default_rng(0), store=tmp_path / "s")  # fmt: skip
    assert seen.shadow_logits.shape == (4, 60, 2)


# Probabilities under the name of logits, and the reverse


def probabilities(n, k, rng, peak=1.0):
    z = peak * rng.normal(size=(n, k))
    p = np.exp(z - z.max(1, keepdims=True))
    return p / p.sum(1, keepdims=True)


@pytest.mark.parametrize("digits", [16, 4, 3])
@pytest.mark.parametrize("k", [2, 3, 10])
def test_probabilities_under_the_name_of_logits_are_noticed(k, digits):
    p = probabilities(60, k, np.random.default_rng(k)).round(digits)
    with pytest.raises(ValueError, match="logits: given nonnegative rows that sum to 1, which"):
        audit.Observations(p, TWO, MEMBER)
    with pytest.raises(ValueError, match="logits: given nonnegative rows that sum to 100"):
        audit.Observations((100 * p).round(1), TWO, MEMBER)
    masks = np.array([MEMBER, ~MEMBER])
    with pytest.raises(ValueError, match="shadow_logits: given nonnegative rows"):
        audit.Observations(np.log(p + 1e-9), TWO, MEMBER, np.stack([p, p]), masks)


def test_ordinary_logits_raise_no_alarm():
    """Of every size and offset that a network has, ReLU outputs, log-probabilities, scores; but
    outputs that hardly move from 1 / K nobody could tell from probabilities.
    """
    rng = np.random.default_rng(0)
    with np.errstate(divide="ignore"):
        for k in (2, 3, 10, 100):
            for scale in (1e-3, 0.1, 1, 10, 100):
                for shift in (0, 0.5, 1 / k, 3):
                    z = scale * rng.normal(size=(60, k)) + shift
                    p = probabilities(60, k, rng, scale)
                    for logits in (
                        z,
                        np.abs(z),
                        np.maximum(z, 0),
                        np.log(p),
                        z - z.mean(1)[:, None],
                    ):
                        if scale > 1e-3 or abs(logits.sum(1).mean() - 1) > 0.02:
                            audit.Observations(logits, TWO, MEMBER)
    # one sure class: a logit of about 1 and zeros, but not in every row
    audit.Observations(np.where(np.arange(60)[:, None] > 0, np.eye(3)[Y], 0.5), TWO, MEMBER)


def test_logits_under_the_name_of_probabilities_are_noticed(tmp_path):
    rng = np.random.default_rng(0)
    for logits in (rng.normal(size=(60, 3)), np.abs(rng.normal(size=(60, 3))), rng.random((60, 3))):
        np.savez(tmp_path / "seen.npz", probabilities=logits, labels=Y, member=MEMBER)
        with pytest.raises(ValueError, match="probabilities: given .* expected probabilities"):
            audit.load(tmp_path / "seen.npz")
    np.savez(
        tmp_path / "seen.npz", probabilities=probabilities(60, 3, rng), labels=Y, member=MEMBER
    )
    assert audit.load(tmp_path / "seen.npz").n == 60
