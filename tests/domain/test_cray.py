"""Cray names and numbers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flitwatch_domain import cray
from flitwatch_domain.errors import BadInput


@given(
    group=st.integers(0, 60),
    row=st.integers(0, 5),
    col=st.integers(0, 15),
    node=st.integers(0, 3),
    half=st.integers(1, 8),
)
def test_places_names_and_nids_agree(group: int, row: int, col: int, node: int, half: int) -> None:
    name = cray.router_cname(group, row, col, 2 * half)
    assert cray.parse_cname(name).place(2 * half) == (group, row, col)
    assert cray.nid_of(f"{name[:-2]}n{node}", 2 * half) == 4 * cray.router_id(group, row, col) + node


@pytest.mark.parametrize(
    "text", ["c0-0", "c3-1c2", "c0-0c1s15", "c0-0c0s0a0", "c0-0c0s0n3", "c10-2c1s7a0l57", "c0-0c0s0a0n2"]
)
def test_names_come_back_as_written(text: str) -> None:
    assert str(cray.parse_cname(text)) == text


@pytest.mark.parametrize(
    "text",
    ["", "c0", "c0-0c3s0a0", "c0-0c0s16a0", "c0-0c0s0n4", "c0-0c0s0a0l48", "c0-0c0s0a0l60", "nid00001", "c0-0c0s0a0l0"],
)
def test_names_outside_a_cabinet_are_refused(text: str) -> None:
    with pytest.raises(BadInput):
        cray.parse_cname(text)


def test_tiles() -> None:
    assert [cray.tile_name(tile) for tile in cray.BLUE_TILES] == [
        "01",
        "02",
        "03",
        "04",
        "05",
        "06",
        "12",
        "13",
        "14",
        "15",
    ]
    assert len(cray.LOCAL_TILES) == 30
    assert [cray.nic_of_tile(tile) for tile in range(40, 48)] == [0, 0, 1, 1, 2, 2, 3, 3]
    with pytest.raises(BadInput):
        cray.nic_of_tile(39)
