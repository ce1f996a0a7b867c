"""The closed loop on a small tree: gains where ftree is bad, says why not where it is not, and can be cancelled."""

from __future__ import annotations

import pytest

from flitwatch_domain.errors import Cancelled
from flitwatch_simulation.loop import LoopRun, run

TREE = "xgft:3;4,4,2;1,2,2"


def test_a_turn_on_a_small_tree() -> None:
    stages: list[int] = []
    result, _ = run(
        LoopRun("bisection-shuffle", TREE, seed=3, megabytes=0.5, optimise_s=3),
        lambda done, total, what: stages.append(done),
    )
    assert stages == [0, 1, 2, 3, 4]
    assert result["true_gap"] <= result["ftree_gap"] + 0.3
    assert result["speedup_over_ftree"] == pytest.approx(result["time_ms"]["ftree"] / result["time_ms"]["loop"])
    assert result["recommended"] == (result["time_ms"]["loop"] <= 1.01 * result["time_ms"]["ftree"])
    assert result["reason"] and result["simulated"]


def test_it_stops_when_cancelled() -> None:
    with pytest.raises(Cancelled):
        run(LoopRun("shift", TREE, megabytes=0.1), cancelled=lambda: True)
