"""Cray cable lists: real and contradictory ones."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest
from domain.sound_fabrics import written
from hypothesis import given, settings
from hypothesis import strategies as st

from flitwatch_domain import cray
from flitwatch_domain.errors import BadInput, BadRequest, NotFound
from flitwatch_domain.fabric import FabricKind, LinkClass, Technology
from flitwatch_domain.generators import build_dragonfly
from flitwatch_domain.importers import read_fabric
from flitwatch_domain.importers.interconnect import parse_fabric

WIRING = Path("data") / "cray-wiring"

TINY = written(build_dragonfly(2, 2, 3, blue_routers=2))


@pytest.mark.shared
@pytest.mark.parametrize(
    ("file", "name", "routers", "groups"),
    [
        ("links-edison.txt", "edison", 1440, [*range(12), 13, 14, 15]),
        ("theta.interconnect", "theta", 864, [*range(9)]),
    ],
)
def test_real_cable_lists(shared: Path, file: str, name: str, routers: int, groups: list[int]) -> None:
    fabric = read_fabric(shared / WIRING / file)
    assert (fabric.name, fabric.kind, fabric.technology) == (name, FabricKind.DRAGONFLY, Technology.CRAY_XC)
    assert len(fabric.routers) == routers
    assert fabric.groups == groups
    assert fabric.warnings == ()
    assert not fabric.simulated
    ends = np.stack([fabric.links.src, fabric.links.dst])
    for kind, cables in ((LinkClass.GREEN, 1), (LinkClass.BLACK, 3), (LinkClass.BLUE, 2)):
        assert set(np.unique(ends[:, fabric.of_class(kind)], axis=1, return_counts=True)[1]) == {cables}


@given(seed=st.integers(0, 10_000), ends=st.sampled_from(["\n", "\r\n", "\r"]))
@settings(max_examples=20, deadline=None)
def test_order_blanks_and_line_ends_do_not_matter(seed: int, ends: str) -> None:
    lines = TINY.copy()
    random.Random(seed).shuffle(lines)
    lines = ["# rtr --interconnect", "", *(line.replace(" -> ", "\t->  ") for line in lines)]
    shuffled = parse_fabric(ends.join(lines), "x", "tiny")
    straight = parse_fabric("\n".join(TINY), "x", "tiny")
    assert shuffled.summary() == straight.summary()
    assert (shuffled.links.src == straight.links.src).all()
    assert (shuffled.links.dst_port == straight.links.dst_port).all()


def replaced(old: str, new: str) -> list[str]:
    assert old in TINY
    return [new if line == old else line for line in TINY]


GREEN = next(line for line in TINY if "green" in line)

BACK = next(line for line in TINY if line.startswith(GREEN.split(" -> ")[1]))

BLUE = next(line for line in TINY if "blue" in line)


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ([*TINY, TINY[0].split(" -> ")[0] + " -> unused"], "listed twice"),
        (replaced(BACK, BACK.split(" -> ")[0] + " -> unused"), "is unused"),
        (replaced(GREEN, GREEN.replace("green", "black")), "run within one column"),
        (replaced(BLUE, BLUE.replace("blue", "green")), "run within one row"),
        (replaced(GREEN, GREEN.replace("green", "blue")), "between two groups"),
        (replaced(GREEN, GREEN.replace("(0:0:0)", "(0:1:0)", 1)), "is at"),
        (replaced(GREEN, GREEN.replace("green", "purple")), "unknown link colour"),
        (replaced(GREEN, GREEN[: len(GREEN) // 2]), "cannot read"),
        (replaced(GREEN, GREEN.split(" green")[0].replace("l", "l5", 1)[:-1]), "cannot read"),
        ([*TINY, "c9-0c0s0a0l48(7:0:0) green -> unused"], "does not exist"),
        ([*TINY, "c9-0c0s0a0l00(0:0:0) green -> unused"], "both are at"),
        ([*TINY, "c9-0c0s0a0l00(4:0:0) green -> nowhere"], "unknown target"),
        ([*TINY, "c9-0c0s0a0l00(4:3:0) green -> processor"], "cannot be green"),
    ],
)
def test_contradictions_name_file_and_line(lines: list[str], said: str) -> None:
    with pytest.raises(BadInput, match=said) as caught:
        parse_fabric("\n".join(lines), "machine.txt", "m")
    file, line = caught.value.where.split(":")
    assert file == "machine.txt"
    assert 1 <= int(line) <= len(lines)


def test_a_cable_listed_from_one_end_only_is_kept_with_a_warning() -> None:
    fabric = parse_fabric("\n".join(line for line in TINY if line != BACK), "machine.txt", "m")
    whole = parse_fabric("\n".join(TINY), "machine.txt", "m")
    assert fabric.summary()["links_by_class"] == whole.summary()["links_by_class"]
    assert len(fabric.warnings) == 1
    assert fabric.warnings[0].startswith(f"machine.txt:{TINY.index(GREEN) + 1}: ")


def test_a_file_cut_off_at_a_lines_end_is_refused() -> None:
    lines = sorted(TINY)  # as the producer does: all of a router's tiles together
    cut = next(at for at in range(len(lines) - 1, 0, -1) if lines[at].split("l")[0] != lines[at - 1].split("l")[0])
    with pytest.raises(BadInput, match="incomplete") as caught:
        parse_fabric("\n".join(lines[:cut]), "machine.txt", "m")
    assert 1 <= int(caught.value.where.split(":")[1]) <= cut and f"line {cut}" in str(caught.value)


def test_many_warnings_are_counted_not_listed() -> None:
    greens = [line for line in TINY if "green" in line]
    kept = [line for line in TINY if line not in greens or line.split(" -> ")[0] < line.split(" -> ")[1]]
    fabric = parse_fabric("\n".join(kept), "machine.txt", "m")
    assert len(greens) / 2 > 5
    assert len(fabric.warnings) == 6
    assert "more of" in fabric.warnings[-1]


def test_files_that_are_no_topology(tmp_path: Path) -> None:
    nothing = tmp_path / "empty.txt"
    nothing.write_bytes(b"")
    for choice in ("auto", "cray", "ibnetdiscover"):
        with pytest.raises(BadInput, match=r"empty\.txt"):
            read_fabric(nothing, choice)
    with pytest.raises(NotFound):
        read_fabric(tmp_path / "absent.txt")
    with pytest.raises(BadRequest):
        read_fabric(nothing, "dot")
    with pytest.raises(BadInput):
        read_fabric(tmp_path)


@given(data=st.binary(max_size=400), cut=st.integers(0, 4000))
@settings(max_examples=150, deadline=None)
def test_damaged_files_raise_bad_input_only(data: bytes, cut: int) -> None:
    text = ("\n".join(TINY)[:cut]).encode() + data
    try:
        parse_fabric(text.decode("utf-8", errors="replace"), "machine.txt", "m")
    except BadInput as bad:
        assert bad.where.startswith("machine.txt")


# Cray names and numbers.


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
    assert cray.nid_of(f"{name[:-2]}n{node}", 2 * half) == 4 * ((group * cray.ROWS + row) * cray.COLS + col) + node


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
