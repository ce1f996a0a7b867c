"""The papers' congested fraction plot and the page's picture combine links into the same halves (web/src/charts/tree.test.ts reads the same case)."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from flitwatch_domain.diagnosis import CongestionMap
from flitwatch_research.papers.fraction_plot import compute_halves

CASE = json.loads((Path(__file__).parents[2] / "web/tests/fixture/halves.json").read_text())


def test_halves_are_those_of_the_page() -> None:
    links = CASE["links"]
    ends = SimpleNamespace(src=[one["src"] for one in links], dst=[one["dst"] for one in links])
    fabric = SimpleNamespace(links=ends, routers=CASE["levels"], endpoints=[])
    fraction = np.array([one["fraction"] for one in links], float)
    use = np.array([one["traffic"] for one in links], float)
    halves = compute_halves(CongestionMap(fabric, fraction, use))  # type: ignore[arg-type]
    drawn = zip(halves.src, halves.dst, halves.use, halves.fraction, strict=True)
    assert [tuple(map(float, half)) for half in drawn] == [
        pytest.approx((one["src"], one["dst"], one["traffic"], one["fraction"])) for one in CASE["halves"]
    ]
