"""Scaling the counters (Taffet 2021, figure 5.14), for a solver that ends as TFOCS does."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import pytest

from flitwatch_research.papers.scaled_counters import LARGEST, reconstruct_scaled

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.system("numeric")
def test_larger_counters_improve_the_barrier_and_not_the_bully() -> None:
    """The solver ends on its own at every scale; the bully is there early, the barrier not; each factor of ten improves the barrier."""
    scaled = reconstruct_scaled()
    assert list(scaled) == list(LARGEST) == sorted(LARGEST)
    assert all(one.ended for one in scaled.values())
    assert all(one.bully_error < 0.01 for one in scaled.values())
    errors = [one.barrier_error for one in scaled.values()]
    assert all(after < before / 2 for before, after in pairwise(errors)) and errors[0] > 0.5 > 0.1 > errors[-1]
    kept = {
        (one["row"], one["column"]): one["ours"]
        for one in json.loads((ROOT / "docs/papers.json").read_text())
        if (one["paper"], one["place"]) == ("taffet2021", "figure 5.14")
    }
    for largest, one in scaled.items():
        assert kept[f"{largest:g}", "barrier"] == pytest.approx(100 * one.barrier_error, rel=0.05)
