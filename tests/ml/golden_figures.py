"""Figures of blame, and their differences from golden ones."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from flitwatch_ml.blame.selection import Problem


def figures(estimator: Any, names: str) -> dict[str, Any]:
    """Attributes of a fitted estimator."""
    return {name: plain(getattr(estimator, f"{name}_")) for name in names.split()}


def plain(value: Any) -> Any:
    """Lists and numbers of arrays; NaN as text, as JSON has none."""
    if isinstance(value, np.ndarray):
        return [plain(one) for one in value.tolist()]
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    if isinstance(value, float):
        return float(f"{value:.8g}") if np.isfinite(value) else str(value)
    return value


def differences(found: Any, kept: Any, where: str = "") -> list[str]:
    """Places that differ by more than rounding on another processor."""
    if isinstance(kept, dict) and isinstance(found, dict) and kept.keys() == found.keys():
        return [one for name in kept for one in differences(found[name], kept[name], f"{where}/{name}")]
    if isinstance(kept, list) and isinstance(found, list) and len(kept) == len(found):
        return [one for at, held in enumerate(kept) for one in differences(found[at], held, f"{where}/{at}")]
    if isinstance(kept, float) and isinstance(found, float | int):
        return [] if np.isclose(found, kept, rtol=1e-5, atol=1e-9) else [f"{where}: {found} for {kept}"]
    return [] if found == kept else [f"{where}: {found} for {kept}"]


# Problems of blame with random exposures, for tests of its parts.


def problem(runs: int = 30, users: int = 4, seed: int = 1, clusters: tuple[np.ndarray, ...] = ()) -> Problem:
    rng = np.random.default_rng(seed)
    axes = np.full((runs, 1), 1 / math.sqrt(runs))
    raw, outcome = rng.normal(size=(runs, users)), rng.normal(size=runs)
    return Problem(raw - raw.mean(0), outcome - outcome.mean(), axes, ((raw - raw.mean(0)) ** 2).sum(0), clusters)
