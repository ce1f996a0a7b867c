"""Dumps that lack something: entries of an endpoint, of switches, of a whole switch; GUIDs that could be two endpoints'."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from flitwatch_domain.errors import BadInput
from flitwatch_domain.fabric import Fabric
from flitwatch_domain.generators import build_xgft
from flitwatch_routing import lft
from flitwatch_routing.baselines import ftree_tables
from flitwatch_routing.switch_lids import towards_switches


@pytest.fixture(scope="module")
def fabric() -> Fabric:
    return build_xgft(2, [4, 4], [1, 4])


def kept(fabric: Fabric, ports: np.ndarray, path: Path, without: str = "", bare: bool = False, lmc: int = 0) -> Path:
    """A dump less the entries that match `without`; `bare`: without the comments that name destinations."""
    lines = [line for line in lft.format_dump(fabric, ports, lmc) if not (without and re.search(without, line))]
    path.write_text("\n".join(line.split("#")[0] if bare and line.startswith("0x") else line for line in lines))
    return path


def numbered(fabric: Fabric, file: Path) -> Fabric:
    """The fabric with the LIDs that a dump gives its endpoints."""
    lid_of = {
        int(guid, 16): int(lid, 16)
        for lid, guid in re.findall(r"(0x\w+) \d+ # Channel Adapter portguid (0x\w+)", file.read_text())
    }
    lids = [lid_of[guid] for guid in lft.list_guids(fabric)[1]]
    return replace(fabric, attributes={**fabric.attributes, "lids": lids})


def test_entries_for_switches_are_read_and_where_nothing_tells_whose_they_are_they_are_not_known(
    fabric: Fabric, tmp_path: Path
) -> None:
    ports, file = ftree_tables(fabric), tmp_path / "r.lfts"
    read = lft.read_dump(kept(fabric, ports, file), fabric)
    expected = towards_switches(fabric)
    assert read.switch_ports is not None and (read.switch_ports[expected >= 0] == expected[expected >= 0]).all()
    with_lids = numbered(fabric, file)
    # Entries without names, of LIDs that no endpoint has, may be those of switches.
    assert lft.read_dump(kept(fabric, ports, file, bare=True), with_lids).switch_ports is None
    # Where every entry is an endpoint's, there are none of switches: that is known.
    for bare in (False, True):
        none = lft.read_dump(kept(fabric, ports, file, without="# Switch portguid", bare=bare), with_lids)
        assert none.switch_ports is not None and (none.switch_ports == -1).all() and (none.ports == ports).all()


def test_an_endpoint_without_entries_is_a_hole_and_not_unknown(fabric: Fabric, tmp_path: Path) -> None:
    ports = ftree_tables(fabric)
    file = kept(fabric, ports, tmp_path / "r.lfts", without=rf"portguid 0x{lft.list_guids(fabric)[1][5]:016x}")
    read = lft.read_dump(file, fabric)
    assert not read.unknown.any() and (read.ports[:, 5] == -1).all()
    assert (np.delete(read.ports, 5, axis=1) == np.delete(ports, 5, axis=1)).all()


def test_entries_of_the_first_endpoint_alone_are_its(fabric: Fabric, tmp_path: Path) -> None:
    ports, first = ftree_tables(fabric), lft.list_guids(fabric)[1][0]
    file = kept(fabric, ports, tmp_path / "r.lfts", without=rf"Adapter portguid 0x(?!{first:016x})")
    read = lft.read_dump(file, fabric)
    assert (read.ports[:, 0] == ports[:, 0]).all() and (read.ports[:, 1:] == -1).all() and not read.unknown.any()


def test_tables_without_any_entry_are_empty(fabric: Fabric, tmp_path: Path) -> None:
    read = lft.read_dump(kept(fabric, ftree_tables(fabric), tmp_path / "r.lfts", without="^0x"), fabric)
    assert (read.ports == -1).all() and read.switch_ports is not None and (read.switch_ports == -1).all()


def test_endpoints_that_have_no_lids_do_not_spoil_those_that_have_several(fabric: Fabric, tmp_path: Path) -> None:
    ports = np.repeat(ftree_tables(fabric), 2, axis=1)
    absent = "|".join(f"portguid 0x{lft.list_guids(fabric)[1][one]:016x}" for one in (2, 7))
    file = kept(fabric, ports, tmp_path / "r.lfts", without=absent, lmc=1)
    read = lft.read_dump(file, fabric, 1).ports.reshape(len(ports), -1, 2)
    there = np.setdiff1d(np.arange(read.shape[1]), [2, 7])
    assert (read[:, there] == ports.reshape(read.shape)[:, there]).all() and (read[:, [2, 7]] == -1).all()


def test_an_lmc_under_which_every_endpoint_has_one_lid_is_refused(fabric: Fabric, tmp_path: Path) -> None:
    """LIDs that are all even look like the first of two each; OpenSM fills in both."""
    ports = np.repeat(ftree_tables(fabric), 2, axis=1)
    assert (lft.read_dump(kept(fabric, ports, tmp_path / "both.lfts", lmc=1), fabric, 1).ports == ports).all()
    file = kept(fabric, ports, tmp_path / "first.lfts", without=r"^0x\w*[13579bdf] ", lmc=1)
    with pytest.raises(BadInput, match="with LMC 1 an endpoint has 2 LIDs of its own"):
        lft.read_dump(file, fabric, 1)


def test_lids_that_none_or_several_claim_are_nobodys(fabric: Fabric) -> None:
    count = len(fabric.endpoints)
    lids = [4 + 2 * one for one in range(count)]
    lids[1] = lids[0] + 1
    given = replace(fabric, attributes={**fabric.attributes, "lids": lids, "lmc": [1, *[0] * (count - 1)]})
    owners = lft._find_lid_owners(given)
    assert owners[lids[0]] == 0 and owners[lids[1]] == -1, "the second LID of endpoint 0 is the first of endpoint 1"
    assert [int(owners[lid]) for lid in lids[2:]] == list(range(2, count)) and set(owners[:4].tolist()) == {-1}
    fewer = replace(fabric, attributes={**fabric.attributes, "lids": lids[:-1]})
    assert set(lft._find_lid_owners(fewer).tolist()) == {-1}
    from_one = replace(fabric, attributes={**fabric.attributes, "lids": list(range(count))})
    assert lft._find_lid_owners(from_one)[:count].tolist() == [-1, *range(1, count)], (
        "LID 0 is nobody's, LID 1 may be an endpoint's"
    )


def test_a_switch_with_cables_needs_a_table_and_one_without_needs_none(fabric: Fabric, tmp_path: Path) -> None:
    lines = list(lft.format_dump(fabric, ftree_tables(fabric)))
    last = max(at for at, line in enumerate(lines) if line.startswith("Unicast"))
    file = tmp_path / "r.lfts"
    file.write_text("\n".join(lines[:last]))
    with pytest.raises(BadInput, match="1 switches of the topology have no table"):
        lft.read_ports(file, fabric)
    cables, gone = fabric.links, len(fabric.routers) - 1
    left = np.flatnonzero((cables.src != gone) & (cables.dst != gone))
    columns = {name: value[left] for name, value in vars(cables).items() if isinstance(value, np.ndarray)}
    alone = replace(fabric, links=replace(cables, **columns))
    assert lft.read_ports(file, alone).shape == (len(fabric.routers), len(fabric.endpoints))


def test_a_port_guid_of_the_file_comes_before_an_adapters_plus_its_port(fabric: Fabric, tmp_path: Path) -> None:
    """n1's port GUID is n0's plus one: an entry that names it is n1's."""
    guid = np.array([f"0x{0x50 + one:016x}" for one in range(len(fabric.endpoints))], object)
    close = replace(fabric, endpoints=replace(fabric.endpoints, guid=guid))
    others = "|".join(f"portguid 0x{0x50 + one:016x}" for one in range(2, len(guid))) + "|portguid 0x0000000000000050"
    ports = ftree_tables(close)
    read = lft.read_ports(kept(close, ports, tmp_path / "r.lfts", without=others), close)
    assert (read[:, 1] == ports[:, 1]).all() and (read[:, 0] == -1).all()


def test_a_generated_ports_guid_is_its_adapters_plus_one(fabric: Fabric) -> None:
    switches, ports = lft.list_guids(fabric)
    assert [port - lft.FIRST_ADAPTER_GUID for port in ports[:2]] == [1, 1 + lft.ADAPTER_STEP]
    assert len({*switches, *ports}) == len(fabric.routers) + len(fabric.endpoints)
