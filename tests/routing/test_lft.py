"""Dumps of forwarding tables as they come: without GUIDs, repeated, contradicting, with a byte order mark, of several LIDs a port."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path

import numpy as np
import pytest
from routing.lft_dumps import dumped, numbered

from flitwatch.main import main
from flitwatch_domain.errors import BadInput
from flitwatch_domain.fabric import Fabric
from flitwatch_domain.generators import build_xgft
from flitwatch_domain.importers import read_fabric
from flitwatch_routing import lft
from flitwatch_routing.baselines import ftree_tables
from flitwatch_routing.forwarding import check_routes

TREE = "xgft:2;4,4;1,4"


def tree() -> Fabric:
    return build_xgft(2, [4, 4], [1, 4])


def test_lids_of_the_fabric_file_tell_what_bare_entries_are_for(tmp_path: Path) -> None:
    fabric, file = tree(), tmp_path / "r.lfts"
    ports = ftree_tables(fabric)
    dumped(file, fabric, ports, bare=True)
    assert (lft.read_ports(file, numbered(fabric)) == ports).all()
    with pytest.raises(BadInput, match=r"r\.lfts: the endpoint of an entry is unknown"):
        lft.read_ports(file, fabric)
    partly = numbered(fabric)
    partly.attributes["lids"][3] = 0
    assert np.flatnonzero(lft.read_dump(file, partly).unknown).tolist() == [3]
    shared = numbered(fabric)
    shared.attributes["lids"][3] = shared.attributes["lids"][4]
    assert np.flatnonzero(lft.read_dump(file, shared).unknown).tolist() == [3, 4]


def test_a_topology_that_has_adapters_guids_alone(shared: Path) -> None:
    """ibsim's files give no port GUIDs: n0's port has the GUID of n1's adapter. A real OpenSM dumped these tables."""
    samples = shared / "samples" / "opensm"
    fabric = read_fabric(samples / "xgft_2_12_6.topo")
    dump = lft.read_dump(samples / "xgft_ftree_lfts.dump", fabric)
    assert not dump.unknown.any() and check_routes(fabric, dump.ports).valid


def test_a_dump_of_another_machine_is_refused(tmp_path: Path) -> None:
    fabric, file = tree(), tmp_path / "r.lfts"
    text = "\n".join(lft.format_dump(fabric, ftree_tables(fabric)))
    file.write_text(re.sub(r"portguid 0x0{3}2", "portguid 0x0009", text))
    with pytest.raises(BadInput, match="the endpoint of an entry is unknown"):
        lft.read_ports(file, fabric)


def test_the_lowest_of_several_lids_counts(tmp_path: Path) -> None:
    fabric, file = tree(), tmp_path / "r.lfts"
    ports = ftree_tables(fabric)
    lines = []
    for line in lft.format_dump(fabric, ports):
        entry = re.match(r"0x(\w+) (\d+) (.*)", line)
        if entry is None:
            lines.append(line)
            continue
        lid = 64 + 4 * (int(entry[1], 16) - 9)
        lines += [f"0x{lid + k:04x} {1 + (int(entry[2]) - 1 + k) % 8:03d} {entry[3]}" for k in (3, 1, 0, 2)]
    file.write_text("\n".join(lines))
    assert (lft.read_ports(file, fabric) == ports).all()
    file.write_text("\n".join(line.split("#")[0] if line.startswith("0x") else line for line in lines))
    assert (lft.read_ports(file, numbered(fabric, 64, lmc=2)) == ports).all()


@pytest.mark.parametrize(
    ("extra", "words"),
    [
        (
            "{lid} 007 # Channel Adapter portguid {guid}: 'n'",
            r"r\.lfts: line 3: LID {lid} leaves by port 7, but by port \d",
        ),
        (
            "{lid} {port} # Channel Adapter portguid 0x00000000000000aa: 'n'",
            r"r\.lfts: line 3: LID {lid} belongs to port GUID 0x00000000000000aa, but to {guid}",
        ),
        (
            "0x0fff {port} # Channel Adapter portguid {guid}: 'n'",
            r"r\.lfts: line 3: port GUID {guid} has LID 0x0fff, but {lid}",
        ),
    ],
)
def test_lines_that_contradict_are_named(tmp_path: Path, extra: str, words: str) -> None:
    fabric, file = tree(), tmp_path / "r.lfts"
    lines = dumped(file, fabric, ftree_tables(fabric))
    found = re.match(r"(?P<lid>0x\w+) (?P<port>\d+) .*portguid (?P<guid>0x\w+)", lines[1])
    assert found
    file.write_text("\n".join([*lines[:2], extra.format(**found.groupdict()), *lines[2:]]))
    with pytest.raises(BadInput, match=words.format(**found.groupdict())):
        lft.read_ports(file, fabric)


def test_repeated_lines_and_marks_of_editors_change_nothing(tmp_path: Path) -> None:
    fabric, file = tree(), tmp_path / "r.lfts"
    ports = ftree_tables(fabric)
    lines = dumped(file, fabric, ports)
    for text in ("\ufeff" + "\n".join(lines), "\r\n".join(lines), "\n".join([*lines, *lines])):
        file.write_bytes(text.encode())
        assert (lft.read_ports(file, fabric) == ports).all()


def test_what_is_no_dump_is_named(tmp_path: Path) -> None:
    file = tmp_path / "r.lfts"
    for content, words in (
        (gzip.compress(b"Unicast lids"), "line 1: the switch has no guid"),  # read as what is inside
        (b"", "line 1: no switch"),
        (b"src,dst\n", "line 1: 'src,dst'"),
        # Cut within a character, the message would be no text.
        (b"x" * 39 + "é and more\n".encode(), f"line 1: '{'x' * 39}' is neither"),
        ("漢".encode() * 14, f"line 1: '{'漢' * 13}' is neither"),
    ):
        file.write_bytes(content)
        with pytest.raises(BadInput, match=rf"r\.lfts: {words}"):
            lft.read_ports(file, tree())
    with pytest.raises(BadInput, match="Is a directory"):
        lft.read_ports(tmp_path, tree())


def test_lids_come_with_ibnetdiscover(tmp_path: Path) -> None:
    file = tmp_path / "t.topo"
    file.write_text(
        '\ufeffSwitch\t4 "S-00000000000000a0"\t\t# "leaf0" base port 0 lid 3 lmc 0\n'
        '[1]\t"H-00000000000000b0"[1](b1) \t\t# "n0" lid 8 4xHDR\n[2]\t"H-00000000000000c0"[1](c1) \t\t# "n1" lid 12 4xHDR\n\n'
        'Ca\t1 "H-00000000000000b0"\t\t# "n0"\n[1](b1) \t"S-00000000000000a0"[1]\t\t# lid 8 lmc 2 "leaf0" lid 3 4xHDR\n\n'
        'Ca\t1 "H-00000000000000c0"\t\t# "n1"\n[1](c1) \t"S-00000000000000a0"[2]\n'
    )
    fabric = read_fabric(file)
    assert fabric.attributes["lids"] == [8, 12] and fabric.attributes["lmc"] == [2, 0]


def checked(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, dict]:
    with pytest.raises(SystemExit) as left:
        main(["routes", "check", *arguments, "--json"])
    return int(left.value.code or 0), json.loads(capsys.readouterr().out)


def test_a_port_without_a_cable_is_a_hole_that_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fabric, file, demand = tree(), tmp_path / "r.lfts", tmp_path / "t.csv"
    ports = ftree_tables(fabric)
    ports[0, 15] = 200
    lft.write_dump(file, fabric, ports)
    demand.write_text("src,dst,bytes\n0,15,5\n")
    status, found = checked(capsys, str(file), "--topology", TREE, "--traffic", str(demand))
    assert status == 1 and found["valid"] is False and found["holes"] == 1
    assert found["where"] == ["leaf0 sends endpoint 15 (n15) to port 200, which has no cable"]
    assert found["max_load"] is None and found["ar_gap"] is None
    demand.write_text("src,dst,bytes\n4,15,5\n")
    _, found = checked(capsys, str(file), "--topology", TREE, "--traffic", str(demand))
    assert found["max_load"] == 5 and found["ar_gap"] == pytest.approx(3)
