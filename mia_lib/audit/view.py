"""What an adversary sees of the observations: the target's outputs and the shadow models, never the
target's membership.
"""

import functools

import numpy as np
from scipy import special

from mia_lib import lira, model_checks, signals

BLOCK = 4096  # records that are worked on together


class View:
    """Signals of the target and of the shadow models, computed once and kept.

    Parameters
    ----------
    observations : Observations
        Its `member` is not read.
    left_out : int array (n,), optional
        A shadow model of each record that is not to be used; see `mia_lib.audit.run`.
    """

    def __init__(self, observations, left_out=None):
        self.labels, self.n_classes = observations.labels, observations.n_classes
        self.task, self.labels_alone = observations.task, _labels_alone(observations.logits)
        self.n, self.n_queries = observations.n, observations.n_queries
        self._shadow_logits, self._shadow_member = (
            observations.shadow_logits,
            observations.shadow_member,
        )
        self._zero = _log_zero(
            [observations.logits]
            + ([] if self._shadow_logits is None else list(self._shadow_logits))
        )
        logits = self._without_zeros(
            observations.logits.reshape(self.n_queries, self.n, self.n_classes)
        )
        self.logits = logits[0]
        # whether each query is answered with the right class, (n, Q)
        self.right = (logits.argmax(axis=-1) == self.labels).T
        # (n, Q); the first query is the record itself
        self.all_phi = np.ascontiguousarray(_confidence("logits", logits, self.labels).T)
        self.phi = self.all_phi[:, 0]
        self.same_records = (
            observations.shadow_logits is not None and observations.shadow_labels is None
        )
        self.shadow_labels = (
            self.labels if observations.shadow_labels is None else observations.shadow_labels
        )
        self._kept, self._left_out = None, left_out
        if left_out is not None:
            models = np.arange(len(self._shadow_member))[:, None]
            self._kept = np.argsort(models == left_out, axis=0, kind="stable")[:-1]

    def _without_zeros(self, logits):
        """The array itself, or, where probabilities of 0 occur anywhere, a copy with a small
        probability in their place.
        """
        if self._zero is None or not np.isneginf(logits).any():
            return logits
        total = special.logsumexp(logits, axis=-1, keepdims=True)
        return np.where(np.isneginf(logits), total + self._zero, logits)

    @property
    def n_shadow(self):
        """S, how many shadow models there are (for each record)."""
        if self._shadow_member is None:
            return 0
        return len(self._shadow_member) - (self._kept is not None)

    @property
    def counts(self):
        """Fewest IN and fewest OUT models of any record."""
        inside = np.count_nonzero(self.shadow_member, axis=0)
        return int(inside.min()), int((self.n_shadow - inside).min())

    @functools.cached_property
    def shadow_member(self):
        """(S, n) bool."""
        return (
            self._shadow_member
            if self._kept is None
            else np.take_along_axis(self._shadow_member, self._kept, axis=0)
        )

    @functools.cached_property
    def _every_phi(self):
        phi = np.empty(self._shadow_logits.shape[:-1])
        for row, logits in zip(phi, self._shadow_logits):
            row[:] = _confidence("shadow_logits", self._without_zeros(logits), self.shadow_labels)
        return np.moveaxis(phi, 1, 2) if phi.ndim == 3 else phi[..., None]

    @functools.cached_property
    def shadow_all_phi(self):
        """Logit-scaled confidence of the shadow models, (S, n, Q)."""
        phi = self._every_phi
        return phi if self._kept is None else np.take_along_axis(phi, self._kept[..., None], axis=0)

    def by_model(self):
        """Logit-scaled confidence (S, m) and masks (S, m) of the models as they were given, none
        left out.
        """
        return self._every_phi[..., 0], self._shadow_member

    def read(self):
        """Look at every number of the shadow models before any work rests on them."""
        return self.n_shadow and self.shadow_all_phi.size

    @property
    def shadow_phi(self):
        """Logit-scaled confidence of the records themselves, (S, n)."""
        return self.shadow_all_phi[..., 0]

    def fewer_models(self, n_models):
        """Signals (k, n, Q) and masks (k, n) of k shadow models for each record, half of them
        IN.
        """
        signal = np.empty((n_models, self.n, self.n_queries))
        mask = np.empty((n_models, self.n), dtype=bool)
        for start in range(
            0, self.n, BLOCK
        ):  # the choice takes several times the memory of what it is made from
            rows = slice(start, start + BLOCK)
            parts = self.shadow_all_phi[:, rows], self.shadow_member[:, rows]
            signal[:, rows], mask[:, rows] = lira.balanced_subset(*parts, n_models)
        return signal, mask

    def mean_out(self, rows):
        """Means over a record's OUT models: the logit-scaled confidence of each query, and the
        probabilities of the record itself, (len(rows), Q + K). Where there is no OUT model, the
        mean of the other records.
        """
        out = ~self.shadow_member[:, rows]
        count = out.sum(axis=0)[:, None]
        phi = np.einsum("snq,sn->nq", self.shadow_all_phi[:, rows], out)
        total = np.zeros((len(rows), self.n_classes))
        for s, logits in enumerate(self._shadow_logits):
            used = ~self._shadow_member[s, rows]
            if self._left_out is not None:
                used &= self._left_out[rows] != s
            first = logits[0] if logits.ndim == 3 else logits
            kept = np.flatnonzero(used)
            total[kept] += special.softmax(self._without_zeros(first[rows[kept]]), axis=1)
        with np.errstate(invalid="ignore"):
            means = np.concatenate([phi, total], axis=1) / count
        known = count[:, 0] > 0
        means[~known] = means[known].mean(axis=0) if known.any() else 0.0
        return means

    def shadow_outputs(self, n_models):
        """Logits (k, m, K) of the first shadow models, one answer each, with their masks (k, m) and
        labels (m,).
        """
        logits = self._without_zeros(self._shadow_logits[:n_models])
        return (
            (logits[:, 0] if logits.ndim == 4 else logits),
            self._shadow_member[:n_models],
            self.shadow_labels,
        )


def _confidence(name, logits, labels):
    try:
        phi = signals.logit_confidence(logits, labels)
    except ValueError as error:
        raise ValueError(str(error).replace("logits:", f"{name}:", 1)) from None
    model_checks.bounded(name, phi)
    return phi


def _labels_alone(logits):
    """Whether every answer gives one class all probability: it says a class and nothing else."""
    impossible = np.isneginf(logits)
    return bool((impossible.sum(axis=-1) == logits.shape[-1] - 1).all())


def _log_zero(arrays):
    """Logarithm of what a probability of 0 counts as: half the smallest positive one; None where
    there is no 0.

    Forests and rounded outputs say 0 where they mean "less than one part in so many". Taken for
    1e-45, a few of them would be all that a Gaussian sees.
    """
    if not any(np.isneginf(array).any() for array in arrays):
        return None
    smallest = 0.0
    for array in arrays:
        z = np.asarray(array, dtype=np.float64)
        with np.errstate(invalid="ignore"):
            log_p = z - special.logsumexp(z, axis=-1, keepdims=True)
        smallest = min(smallest, np.min(log_p, initial=0.0, where=np.isfinite(log_p)))
    return max(smallest - np.log(2), signals.LOG_ZERO)
