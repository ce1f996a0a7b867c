"""`routes diff`: what loading other tables would change, whoever numbered the LIDs."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

from flitwatch.main import main
from flitwatch_domain.generators import build_xgft
from flitwatch_domain.importers import read_fabric
from flitwatch_routing import lft
from flitwatch_routing.baselines import ftree_tables, random_tables
from flitwatch_routing.difference import compare_tables

TREE = "xgft:2;4,4;1,4"


def changes(capsys: pytest.CaptureFixture[str], before: Path, after: Path, topology: str = TREE) -> dict:
    main(["routes", "diff", str(before), str(after), "--topology", topology, "--json"])
    return json.loads(capsys.readouterr().out)


def test_entries_switches_and_destinations_are_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fabric = build_xgft(2, [4, 4], [1, 4])
    ports, files = ftree_tables(fabric), (tmp_path / "old.lfts", tmp_path / "new.lfts")
    lft.write_dump(files[0], fabric, ports)
    other = ports.copy()
    other[0, [8, 9, 15]] = ports[0, [9, 8, 14]]
    other[2, 15] = -1
    lft.write_dump(files[1], fabric, other)
    found = changes(capsys, *files)
    assert found == {
        "entries": 192,
        "entries_changed": 4,
        "added": 0,
        "removed": 1,
        "switches_changed": 2,
        "destinations_changed": 3,
        "unknown_endpoints": 0,
        "most_changed": [{"switch": "leaf0", "entries": 3}, {"switch": "leaf2", "entries": 1}],
    }
    back = changes(capsys, files[1], files[0])
    assert (back["entries_changed"], back["added"], back["removed"]) == (4, 1, 0)
    same = changes(capsys, files[0], files[0])
    assert same["entries_changed"] == same["switches_changed"] == 0 and same["most_changed"] == []
    main(["routes", "diff", *map(str, files), "--topology", TREE])
    assert re.search(r"^entries_changed +4$", capsys.readouterr().out, re.MULTILINE)


def test_tables_of_a_real_opensm_compare_with_ours(
    tmp_path: Path, shared: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its LIDs follow discovery; entries are matched by port GUID."""
    samples = shared / "samples" / "opensm"
    topology, loaded, ours = samples / "xgft_2_12_6.topo", samples / "xgft_ftree_lfts.dump", tmp_path / "ours.lfts"
    fabric = read_fabric(topology)
    held = lft.read_dump(loaded, fabric)
    lft.write_dump(ours, fabric, held.ports, switch_ports=held.switch_ports)
    assert changes(capsys, loaded, ours, f"file:{topology}")["entries_changed"] == 0
    mine = random_tables(fabric, 1)
    lft.write_dump(ours, fabric, mine, switch_ports=held.switch_ports)
    found = changes(capsys, loaded, ours, f"file:{topology}")
    assert found["entries_changed"] == int((lft.read_ports(loaded, fabric) != mine).sum()) > 0
    assert found["switches_changed"] == len(np.unique(fabric.endpoints.router))


def test_every_lid_of_an_endpoint_is_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With LMC 1 an endpoint has two columns; both changed are one destination."""
    fabric, files = build_xgft(2, [4, 4], [1, 4]), (tmp_path / "old.lfts", tmp_path / "new.lfts")
    ports = np.repeat(ftree_tables(fabric), 2, axis=1)
    lft.write_dump(files[0], fabric, ports, 1)
    ports[0, [30, 31]] = ports[0, [28, 28]]
    lft.write_dump(files[1], fabric, ports, 1)
    main(["routes", "diff", *map(str, files), "--topology", TREE, "--lmc", "1", "--json"])
    found = json.loads(capsys.readouterr().out)
    assert (found["entries"], found["entries_changed"], found["destinations_changed"]) == (320, 2, 1)
    main(["routes", "check", str(files[1]), "--topology", TREE, "--lmc", "1", "--json"])
    assert json.loads(capsys.readouterr().out)["deadlock_free"] is True


def test_port_0_is_a_port() -> None:
    """A switch's own LID leaves by port 0; where it is gone, an entry is removed and not merely absent."""
    fabric = build_xgft(2, [4, 4], [1, 4])
    routers, nothing = len(fabric.routers), np.zeros(len(fabric.endpoints), bool)
    ports = ftree_tables(fabric)
    own = np.where(np.eye(routers, dtype=bool), 0, -1)
    before = lft.Dump(ports, nothing, own)
    assert compare_tables(fabric, before, before).entries == (ports >= 0).sum() + routers
    found = compare_tables(fabric, before, lft.Dump(ports, nothing, np.full_like(own, -1)))
    assert (found.entries, found.changed, found.removed, found.added) == (
        (ports >= 0).sum() + routers,
        routers,
        routers,
        0,
    )
    back = compare_tables(fabric, lft.Dump(ports, nothing, np.full_like(own, -1)), before)
    assert (back.removed, back.added, back.switches, back.destinations) == (0, routers, routers, routers)
