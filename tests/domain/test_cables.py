"""Cables that run slower than others of their kind are named, and older devices are not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flitwatch_domain.fabric.cables import describe_slow_cables, find_slow_cables
from flitwatch_domain.generators import build_xgft
from flitwatch_domain.importers import read_fabric

TREE = build_xgft(2, [6, 6], [1, 3], bandwidth_bps=200e9)


def with_speed(slow: list[int], speed_bps: float):  # type: ignore[no-untyped-def]
    """The tree with some cables, by the number of a pair of links, at another speed."""
    bandwidth = TREE.links.bandwidth_bps.copy()
    for cable in slow:
        bandwidth[2 * cable : 2 * cable + 2] = speed_bps
    links = TREE.links
    made = type(links)(
        links.src,
        links.dst,
        src_port=links.src_port,
        dst_port=links.dst_port,
        link_class=links.link_class,
        bandwidth_bps=bandwidth,
        classes=links.classes,
    )
    return replace(TREE, links=made)


@given(st.integers(0, len(TREE.links) // 2 - 1), st.sampled_from([25e9, 50e9, 100e9]))
def test_one_planted_slow_cable_is_named(cable: int, speed_bps: float) -> None:
    (found,) = find_slow_cables(with_speed([cable], speed_bps))
    assert found.link // 2 == cable and (found.bandwidth_bps, found.usual_bps) == (speed_bps, 200e9)


def test_nothing_is_said_of_equal_cables_or_of_a_rack_of_older_devices() -> None:
    assert find_slow_cables(TREE) == []
    leaf = np.flatnonzero(TREE.links.src >= len(TREE.routers))[:6] // 2
    assert find_slow_cables(with_speed(leaf.tolist(), 100e9)) == []
    assert find_slow_cables(with_speed([3], 150e9)) == []


@pytest.mark.shared
def test_the_slow_cable_of_an_import_is_said(shared: Path) -> None:
    fabric = read_fabric(shared / "cases/slow-cable/fabric.txt")
    assert [text for text in fabric.warnings if "c02" in text] == describe_slow_cables(fabric)
    assert (
        len(describe_slow_cables(fabric)) == 1
        and "runs at 50 Gb/s; most cables of its kind run at 200 Gb/s" in describe_slow_cables(fabric)[0]
    )
