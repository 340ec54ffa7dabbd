"""Canary gradients: what an auditor who reads every step of DP-SGD plants, and what it reads."""

import numpy as np
import torch


class Planted:
    """Canaries of one coordinate each, in every step of a stack of trainings.

    Parameters
    ----------
    coins : (K, m) bool array
        True where canary j takes part in training k.
    fit : PrivateSGD
        Its clipping norm is every canary's length, its noise what they are hidden in.
    rates : (K,) array
        With what probability a step draws each of them, as it does the records.
    rngs : sequence of numpy.random.Generator
        Of which a child each draws canaries, so that records and noise are drawn as without any.
    """

    def __init__(self, coins, fit, rates, rngs):
        self.coins, self.norm, self.rates = coins, fit.max_norm, rates[:, None]
        self.variance = fit.noise_multiplier**2
        self.rngs = [rng.spawn(1)[0] for rng in rngs]
        self.scores, self.places = np.zeros(coins.shape), None

    def add(self, gradients, running):
        """Add the canaries of one step to the clipped sums, in place."""
        if self.places is None:
            sizes = [gradient[0].numel() for gradient in gradients]
            self.ends = np.cumsum([0, *sizes])
            # The same weights in every training; which ones decides nothing.
            picked = np.random.default_rng(0).permutation(self.ends[-1])
            self.places = np.sort(picked[: self.coins.shape[1]])
        self.before, chance = (
            self._values(gradients),
            np.stack([rng.random(self.coins.shape[1]) for rng in self.rngs]),
        )
        drawn = self.coins & (chance < self.rates) & running[:, None]
        for part, gradient, local in self._parts(gradients):
            flat = gradient.view(len(gradient), -1)
            flat[:, local] += self.norm * torch.from_numpy(drawn[:, part]).to(
                flat.device, flat.dtype
            )

    def read(self, gradients, running):
        """Read the same weights of the released sums and subtract what the records gave."""
        seen = (self._values(gradients) - self.before) / self.norm
        with np.errstate(divide="ignore"):  # at rate 1 every step draws them
            ratio = np.logaddexp(
                np.log1p(-self.rates), np.log(self.rates) + (seen - 0.5) / self.variance
            )
        self.scores += np.where(running[:, None], ratio, 0.0)

    def _parts(self, gradients):
        for gradient, low, high in zip(gradients, self.ends, self.ends[1:]):
            part = slice(*np.searchsorted(self.places, (low, high)))
            yield part, gradient, torch.from_numpy(self.places[part] - low).to(gradient.device)

    def _values(self, gradients):
        found = [
            gradient.view(len(gradient), -1)[:, local].double().cpu().numpy()
            for _, gradient, local in self._parts(gradients)
        ]
        return np.concatenate(found, axis=1)
