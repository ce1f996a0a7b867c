"""A trained attention net without PyTorch, which takes half a gigabyte of memory, for workers that only forecast with a net of a few thousand numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import erf, softmax

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class ServedNet:
    """The arrays of `flitwatch_ml.forecast.attention.Attention` with the same names, as float64."""

    arrays: Mapping[str, Floats]

    @classmethod
    def of(cls, stored: Mapping[str, NDArray[Any]]) -> ServedNet:
        """Return a net with the arrays of a trained net."""
        return cls({name: array.astype(np.float64) for name, array in stored.items()})

    def predict(self, past: Floats, linear: Floats) -> Floats:
        """Compute the mean output (windows,) of the nets from (windows, m, features) and (windows, linear inputs)."""
        a = self.arrays
        rows = past[None] @ a["embed.weight"][:, None]
        embedded = np.tanh(rows + a["embed.bias"][:, None] + a["position"])
        last = embedded[:, :, -1]
        query = self._apply_layer("query", last) @ a["key.weight"].swapaxes(1, 2)
        scores = (embedded @ query[..., None])[..., 0] / math.sqrt(embedded.shape[-1])
        weights = softmax(scores, axis=-1)
        context = self._apply_layer("value", (weights[..., None, :] @ embedded)[..., 0, :])
        inputs = np.broadcast_to(linear, (len(context), *linear.shape))
        hidden = self._apply_layer("first", np.concatenate([context, last, inputs], axis=-1))
        bent = hidden * (1 + erf(hidden / math.sqrt(2))) / 2
        outputs = (self._apply_layer("linear", inputs) + self._apply_layer("last", bent))[..., 0]
        return np.asarray(outputs.mean(0))

    def _apply_layer(self, name: str, rows: Floats) -> Floats:
        mapped: Floats = rows @ self.arrays[f"{name}.weight"] + self.arrays[f"{name}.bias"]
        return mapped
