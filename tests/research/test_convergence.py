"""Curves of figures 4.11 and 4.12: the error falls to what was sent, and a curve is kept beside those of other devices."""

from __future__ import annotations

import json
from pathlib import Path

from flitwatch_research.papers_routes.convergence import main


def test_the_error_falls_to_what_is_sent_and_curves_are_kept(tmp_path: Path) -> None:
    out = tmp_path / "curves.json"
    given = ["--case", "bisection", "--topology", "xgft:3;4,4,4;1,2,2", "--limit", "20", "--out", str(out)]
    for name in ("one", "other", "one"):
        assert main([*given, "--called", name]) == 0
    kept = json.loads(out.read_text())
    assert [one["device"] for one in kept] == ["other", "one"]
    for point in kept:
        assert len(point["seconds"]) == len(point["iterations"]) == len(point["error"]) > 0
        assert point["converged"] and point["error"][-1] < 1e-3 and point["error"][-1] <= point["error"][0]
        assert point["settled"]["error"] < 1e-3
