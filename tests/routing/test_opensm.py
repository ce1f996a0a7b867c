"""A real OpenSM under ibsim loads our tables and dumps them back, entry by entry; also where its own ftree refuses."""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest
from noise_core import flow_ibsim
from routing import opensm

from flitwatch_domain.fabric import Fabric, Links
from flitwatch_domain.generators import quartz1, xgft
from flitwatch_routing.forwarding import check
from flitwatch_routing.optimise import optimise
from flitwatch_routing.patterns import traffic


def without_cables(fabric: Fabric, share: float, seed: int) -> Fabric:
    """The fabric after a share of the cables between switches failed."""
    links, routers = fabric.links, len(fabric.routers)
    up = np.flatnonzero((links.src < links.dst) & (links.dst < routers))
    gone = np.random.default_rng(seed).choice(up, round(share * len(up)), replace=False)
    pairs = set(zip(links.src[gone].tolist(), links.dst[gone].tolist(), strict=True))
    keep = np.array([
        (min(a, b), max(a, b)) not in pairs for a, b in zip(links.src.tolist(), links.dst.tolist(), strict=True)
    ])  # fmt: skip
    names = [one.name for one in fields(Links) if one.name not in ("classes",)]
    kept = Links(**{name: getattr(links, name)[keep] for name in names}, classes=links.classes)
    return replace(fabric, links=kept)


@pytest.mark.integration
def test_a_small_tree_with_a_failed_cable(tmp_path: Path) -> None:
    flow_ibsim.require()
    fabric = without_cables(xgft(2, [12, 12], [1, 6]), 0.03, seed=1)
    ports = optimise(fabric, traffic("bisection-shuffle", 144, 1), time_limit_s=0.3).ports
    assert (opensm.loaded(fabric, ports, tmp_path) == ports).all()


@pytest.mark.integration
@pytest.mark.parametrize("failed", [0.0], ids=["intact"])
def test_quartz1(failed: float, tmp_path: Path) -> None:
    flow_ibsim.require()
    fabric = without_cables(quartz1(), failed, seed=2)
    found = optimise(fabric, traffic("bisection-shuffle", 3072, 5), time_limit_s=2)
    assert check(fabric, found.ports).valid
    theirs = opensm.loaded(fabric, found.ports, tmp_path)
    differing = int((theirs != found.ports).sum())
    assert differing == 0, f"{differing} of {found.ports.size} entries differ"
