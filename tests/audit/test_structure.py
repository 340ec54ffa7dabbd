"""What a model's structure says by itself; each warning where it belongs and nowhere else."""

import numpy as np
import pytest
import torch
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier, RadiusNeighborsRegressor
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier

from mia_lib.audit import structure

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
Y = (X[:, 0] + 0.5 * RNG.normal(size=60) > 0).astype(int)


def said(model, n=60):
    return structure.warnings_of(model.fit(X, Y), n)


@pytest.mark.parametrize(
    "model",
    [
        KNeighborsClassifier(),
        RadiusNeighborsRegressor(),
        make_pipeline(StandardScaler(), KNeighborsClassifier()),
        GridSearchCV(KNeighborsClassifier(), {"n_neighbors": [1, 3]}, cv=3),
    ],
    ids=lambda model: type(model).__name__,
)
def test_neighbours_store_records(model):
    (line,) = said(model)
    assert "stores records themselves, 60 of them" in line


def test_kernel_machines_store_records():
    machine = SVC().fit(X, Y)
    (line,) = structure.warnings_of(machine, 60)
    assert f"is a kernel machine that stores {len(machine.support_):,} of its records" in line
    (line,) = said(GaussianProcessRegressor())
    assert "stores 60 of its records" in line
    inside = CalibratedClassifierCV(SVC(), cv=3).fit(X, Y)
    assert "(SVC) is a kernel machine" in structure.warnings_of(inside, 60)[0]
    assert said(LinearSVC()) == ()  # a linear one keeps a plane


def test_leaves_of_few_records():
    tree = DecisionTreeClassifier(random_state=0).fit(X, Y)
    sizes = np.unique(tree.apply(X), return_counts=True)[1]  # counted by sending records down
    (line,) = structure.warnings_of(tree, 60)
    assert line.startswith(f"{(sizes < 5).sum()} of {len(sizes)} leaves (DecisionTreeClassifier)")
    assert f"the smallest {sizes.min()}:" in line
    assert said(DecisionTreeClassifier(min_samples_leaf=5)) == ()
    forest = RandomForestClassifier(4, bootstrap=False, random_state=0).fit(X, Y)
    counts = [np.unique(row, return_counts=True)[1] for row in forest.apply(X).T]
    few, every = sum((c < 5).sum() for c in counts), sum(map(len, counts))
    assert structure.warnings_of(forest, 60)[0].startswith(f"{few} of {every} leaves")
    assert said(RandomForestClassifier(4, min_samples_leaf=20, bootstrap=False)) == ()
    assert "leaves" in said(GradientBoostingClassifier(n_estimators=3, max_depth=5))[0]
    assert "leaves" in said(HistGradientBoostingClassifier(max_iter=3, min_samples_leaf=1))[0]
    assert said(HistGradientBoostingClassifier(max_iter=3, min_samples_leaf=20)) == ()


def test_more_numbers_than_records():
    assert said(LogisticRegression()) == said(Ridge()) == ()
    (line,) = said(LogisticRegression(), n=3)  # three weights and an intercept
    assert "has 4 trained numbers for 3 training records" in line
    (line,) = said(MLPClassifier((20,), max_iter=5))
    assert f"has {3 * 20 + 20 + 20 + 1} trained numbers for 60 training records" in line
    net = torch.nn.Linear(10, 6)
    assert "(Linear) has 66 trained numbers" in structure.warnings_of(net, 65)[0]
    assert structure.warnings_of(net, 66) == ()


def test_a_function_is_not_looked_into():
    assert structure.warnings_of(lambda x: x, 60) is None


class ByHeart(ClassifierMixin, BaseEstimator):
    """Knows its records by heart, in a way that no class of scikit-learn has."""

    def fit(self, x, y):
        self.classes_, self.known_ = np.unique(y), dict(zip(map(tuple, x), y))
        return self

    def predict(self, x):
        return np.array([self.known_.get(tuple(row), 0) for row in x])


def test_of_a_kind_that_is_not_known_nothing_is_said():
    assert said(ByHeart()) is None
    assert said(make_pipeline(StandardScaler(), ByHeart())) is None
    assert said(GridSearchCV(ByHeart(), {}, cv=2)) is None

    class Ours(LogisticRegression):
        pass

    assert said(Ours()) == ()  # made from a class that is known
    model = ByHeart().fit(X, Y)
    model.coef_ = np.zeros(70)  # what is found is said
    assert "has 70 trained numbers" in structure.warnings_of(model, 60)[0]
