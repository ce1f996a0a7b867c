"""Kept values: found only for the data from which they were made, and loads of links that are computed once."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from flitwatch_domain.generators import build_dragonfly
from flitwatch_domain.kept import Kept
from flitwatch_domain.link_shares import DragonflyRoutes, JobTraffic


def test_a_value_is_found_only_in_its_state_and_the_one_unused_longest_goes() -> None:
    kept = Kept[str](2)
    assert kept.keep("a", "one", 1) == "one" and kept.find("a", 1) == "one"
    assert kept.find("a", 2) is None and kept.find("b") is None
    kept.keep("b", "two")
    kept.find("a", 1)
    kept.keep("c", "three")
    assert (kept.find("a", 1), kept.find("b"), kept.find("c")) == ("one", None, "three")


def test_loads_are_computed_again_only_for_other_traffic(monkeypatch: pytest.MonkeyPatch) -> None:
    fabric = build_dragonfly(4)
    links = np.flatnonzero(fabric.router_links())[::7]
    rng = np.random.default_rng(3)
    job = JobTraffic(rng.integers(0, len(fabric.routers), 40), *rng.uniform(1e9, 2e9, (2, 40)))
    carried = rng.uniform(1e9, 2e9, len(fabric.links))
    silent = replace(job, sent=np.where(np.arange(40) == 5, np.nan, job.sent))
    others = [[([job], carried), ([job], 3 * carried)], [([job, job], carried)], [([silent], carried)], [([job], None)]]
    routes = DragonflyRoutes(fabric)
    (loads,) = routes.loads_as_carried([([job], carried)], links)
    with monkeypatch.context() as computing:
        computing.setattr(routes, "_compute_loads", None)
        (again,) = routes.loads_as_carried([([job], carried.copy())], links.copy())
    assert loads.any() and (again == loads).all()
    for moments in others:
        found, fresh = (one.loads_as_carried(moments, links) for one in (routes, DragonflyRoutes(fabric)))
        assert all((load == expected).all() for load, expected in zip(found, fresh, strict=True))
    assert (routes.loads_as_carried([([silent], carried)], links)[0] != loads).any()
