"""Dumps, their differences and their dependencies against plain implementations, on tables with every kind of entry."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from routing.lft_dumps import graph

from flitwatch_domain.errors import BadInput
from flitwatch_domain.fabric import Fabric
from flitwatch_domain.generators import build_dragonfly, build_quartz1, build_xgft
from flitwatch_domain.importers.read import read_fabric
from flitwatch_domain.link_shares import DragonflyRoutes, JobTraffic
from flitwatch_domain.routes import HOLES, OTHER_FABRIC, TableRoutes, routes_of
from flitwatch_domain.tree_routes import TreeRoutes
from flitwatch_routing import lft
from flitwatch_routing.baselines import ftree_tables, random_tables
from flitwatch_routing.deadlock import find_dependencies
from flitwatch_routing.difference import Difference, compare_tables
from flitwatch_routing.lft import Dump


def small() -> Fabric:
    """Two leaves with two nodes each below two spines."""
    return build_xgft(2, [2, 2], [1, 2])


def test_a_dump_reads_line_by_line_as_opensm_writes_it() -> None:
    fabric, ports = small(), np.full((4, 4), -1)
    ports[0] = [0, 7, -1, 12]
    between = np.full((4, 4), -1)
    between[0, 0], between[0, 2] = 0, 3
    guid, end = lft.list_guids(fabric)
    assert list(lft.format_dump(fabric, ports, 0, between))[:7] == [
        f"Unicast lids [0-8] of switch Lid 1 guid 0x{guid[0]:016x} ('{fabric.routers.name[0]}'):",
        f"0x0001 000 # Switch portguid 0x{guid[0]:016x}: '{fabric.routers.name[0]}'",
        f"0x0003 003 # Switch portguid 0x{guid[2]:016x}: '{fabric.routers.name[2]}'",
        f"0x0005 000 # Channel Adapter portguid 0x{end[0]:016x}: '{fabric.endpoints.node[0]}'",
        f"0x0006 007 # Channel Adapter portguid 0x{end[1]:016x}: '{fabric.endpoints.node[1]}'",
        f"0x0008 012 # Channel Adapter portguid 0x{end[3]:016x}: '{fabric.endpoints.node[3]}'",
        "5 lids dumped ",
    ]
    doubled = list(lft.format_dump(fabric, np.repeat(ports, 2, axis=1), 1, between))
    # With LMC 1 endpoints begin at the next multiple of two, 6, and have two LIDs each.
    assert doubled[0].startswith("Unicast lids [0-13]") and [line[:10] for line in doubled[3:9]] == [
        "0x0006 000", "0x0007 000", "0x0008 007", "0x0009 007", "0x000c 012", "0x000d 012",
    ]  # fmt: skip


@pytest.mark.parametrize("lmc", [0, 2])
def test_what_is_written_is_read_with_port_0_and_holes(tmp_path: Path, lmc: int) -> None:
    rng = np.random.default_rng(5)
    fabric, file = small(), tmp_path / "tables.lfts"
    for _ in range(20):
        ports = rng.integers(-1, 6, (4, 4 * lft.lids_each(lmc)))
        ports[0, :: lft.lids_each(lmc)] = 0
        between = rng.integers(-1, 6, (4, 4))
        between[0, 0] = 0
        lft.write_dump(file, fabric, ports, lmc, between)
        found = lft.read_dump(file, fabric, lmc)
        assert (found.ports == ports).all() and not found.unknown.any()
        assert found.switch_ports is not None and (found.switch_ports == between).all()


def test_an_lmc_that_the_dump_was_not_made_with_is_refused(tmp_path: Path) -> None:
    fabric, file = small(), tmp_path / "tables.lfts"
    lft.write_dump(file, fabric, np.ones((4, 8), np.int64), 1)
    assert lft.read_ports(file, fabric, 1).shape == (4, 8)
    with pytest.raises(BadInput, match=r"with LMC 2, an endpoint has 4 LIDs, starting at a multiple of 4; endpoint"):
        lft.read_ports(file, fabric, 2)
    # One LID each says nothing of an LMC.
    lft.write_dump(file, fabric, np.ones((4, 4), np.int64))
    with pytest.raises(BadInput, match="with LMC 1"):
        lft.read_ports(file, fabric, 1)


def test_a_digest_tells_shapes_and_entries_apart() -> None:
    ports = np.arange(12).reshape(3, 4)
    digests = {lft.digest_ports(ports), lft.digest_ports(ports.reshape(4, 3)), lft.digest_ports(ports + 1)}
    assert len(digests) == 3 and lft.digest_ports(ports) == lft.digest_ports(ports.astype(np.int32))


def plain(fabric: Fabric, before: Dump, after: Dump) -> Difference:
    """The difference by dictionaries."""
    each, known = before.ports.shape[1] // len(before.unknown), ~(before.unknown | after.unknown)

    def entries(dump: Dump, both: bool) -> dict[tuple[int, str, int, int], int]:
        held = {
            (switch, "end", column // each, column): int(dump.ports[switch, column])
            for switch, column in np.ndindex(dump.ports.shape)
            if known[column // each]
        }
        if both and dump.switch_ports is not None:
            held |= {(a, "switch", b, b): int(dump.switch_ports[a, b]) for a, b in np.ndindex(dump.switch_ports.shape)}
        return held

    both = before.switch_ports is not None and after.switch_ports is not None
    old, new = entries(before, both), entries(after, both)
    changed = [key for key in old if old[key] != new[key]]
    by_switch = {switch: sum(key[0] == switch for key in changed) for switch in range(len(fabric.routers))}
    order = sorted((switch for switch in by_switch if by_switch[switch]), key=lambda one: (-by_switch[one], one))
    return Difference(
        sum(old[key] >= 0 or new[key] >= 0 for key in old),
        len(changed),
        sum(old[key] < 0 for key in changed),
        sum(new[key] < 0 for key in changed),
        len(order),
        len({key[1:3] for key in changed}),
        int((~known).sum()),
        tuple((str(fabric.routers.name[one]), by_switch[one]) for one in order[:10]),
    )


@pytest.mark.parametrize("each", [1, 2])
def test_a_difference_is_that_of_the_entries(each: int) -> None:
    rng = np.random.default_rng(6)
    fabric = build_xgft(2, [3, 8], [1, 6])
    routers, ends = len(fabric.routers), len(fabric.endpoints)

    def drawn(first: Dump | None) -> Dump:
        ports = rng.integers(-1, 4, (routers, ends * each))
        switches = rng.integers(-1, 4, (routers, routers))
        if first is not None and first.switch_ports is not None:
            ports = np.where(rng.random(ports.shape) < 0.9, first.ports, ports)
            switches = np.where(rng.random(switches.shape) < 0.9, first.switch_ports, switches)
        return Dump(ports, rng.random(ends) < 0.1, switches)

    for _ in range(20):
        before = drawn(None)
        after = drawn(before)
        for one, other in ((before, after), (before, before), (before, replace(after, switch_ports=None)), (replace(before, switch_ports=None), after)):  # fmt: skip
            assert compare_tables(fabric, one, other) == plain(fabric, one, other)


def test_dependencies_are_those_of_every_way_followed_link_by_link() -> None:
    rng = np.random.default_rng(7)
    for fabric in (build_xgft(2, [2, 3], [1, 3]), build_xgft(3, [2, 2, 2], [1, 2, 2])):
        for seed in range(6):
            ports = random_tables(fabric, seed)
            # Holes, entries that lead nowhere, and port 0, which is the switch itself.
            ports = np.where(rng.random(ports.shape) < 0.1, rng.integers(-1, 4, ports.shape), ports)
            assert find_dependencies(fabric, ports).pairs == graph(fabric, ports).number_of_edges()
    assert find_dependencies(build_quartz1(), random_tables(build_quartz1(), 1)).pairs > 0


def adapters(fabric: Fabric, number: int) -> Fabric:
    """The fabric as a topology that knows adapters' GUIDs alone, whose endpoints are cabled by the port of this number."""
    guid = np.array([f"0x{0x1000 + 0x20 * one:016x}" for one in range(len(fabric.endpoints))], object)
    links = fabric.links
    first = links.src >= len(fabric.routers)
    cabled = replace(links, src_port=np.where(first, number, links.src_port), dst_port=links.dst_port)
    return replace(fabric, endpoints=replace(fabric.endpoints, guid=guid), links=cabled)


@pytest.mark.parametrize("number", [1, 2])
def test_a_ports_guid_is_its_adapters_plus_its_number(tmp_path: Path, number: int) -> None:
    fabric, file = adapters(small(), number), tmp_path / "tables.lfts"
    ports = np.arange(16).reshape(4, 4)
    lft.write_dump(file, fabric, ports)
    ends = lft.list_guids(fabric)[1]
    text = file.read_text()
    for end in ends:
        text = text.replace(f"Adapter portguid 0x{end:016x}", f"Adapter portguid 0x{end + number:016x}")
    file.write_text(text)
    assert (lft.read_ports(file, fabric) == ports).all()


def test_a_block_of_lids_ends_where_the_next_begins(tmp_path: Path) -> None:
    fabric, file = small(), tmp_path / "tables.lfts"
    lft.write_dump(file, fabric, np.ones((4, 8), np.int64), 1)
    # The first endpoint's second LID, 7, becomes 8: the first of the next one's block, which is left without it.
    lines = [line for line in file.read_text().splitlines() if not line.startswith("0x0008")]
    file.write_text("\n".join(line.replace("0x0007", "0x0008") for line in lines))
    with pytest.raises(
        BadInput, match=r"has 2 LIDs, starting at a multiple of 2; endpoint 0 \(.*\) has 0x0006 to 0x0008"
    ):
        lft.read_ports(file, fabric, 1)


# Expected loads of links under forwarding tables: against the ways that the tables give, and against an even spread.


def everyone(fabric: Fabric, known: bool = True) -> JobTraffic:
    ends = len(fabric.endpoints)
    end = np.arange(ends) if known else None
    return JobTraffic(fabric.endpoints.router.astype(np.int64), np.full(ends, 1e9), np.full(ends, 1e9), end)


def between(fabric: Fabric) -> np.ndarray:
    return np.flatnonzero(fabric.router_links())


@pytest.mark.parametrize("known", [True, False], ids=["endpoints", "switches"])
@pytest.mark.parametrize(
    "fabric", [build_xgft(2, [4, 4], [1, 4]), build_xgft(3, [4, 4, 3], [1, 4, 4]), build_quartz1()]
)
def test_where_all_send_to_all_tables_that_are_even_load_links_as_an_even_spread_does(
    fabric: Fabric, known: bool
) -> None:
    tables = TableRoutes(fabric, ftree_tables(fabric))
    assert tables.reason is None and tables.known_by == "tables"
    links = between(fabric)
    found, even = (one.loads([everyone(fabric, known)], links, 0.0)[:, 0] for one in (tables, TreeRoutes(fabric)))
    assert found.sum() == pytest.approx(even.sum())
    level = fabric.routers.level
    key = level[fabric.links.src[links]] * 3 + level[fabric.links.dst[links]]
    for one in np.unique(key):
        assert found[key == one].mean() == pytest.approx(even[key == one].mean())
    if fabric.name != "quartz1":
        np.testing.assert_allclose(found, even, rtol=1e-6)


def test_one_pair_takes_the_way_of_the_tables_and_every_switch_passes_on_what_it_gets() -> None:
    fabric = build_quartz1()
    ports, links = ftree_tables(fabric), fabric.links
    routes = TableRoutes(fabric, ports)
    pair = np.array([5, 2900])
    traffic = JobTraffic(fabric.endpoints.router[pair].astype(np.int64), np.array([1e9, 0]), np.array([0, 1e9]), pair)
    load = routes.loads([traffic], np.arange(len(links)), 0.0)[:, 0]
    at, way = int(fabric.endpoints.router[5]), []
    while at < len(fabric.routers):
        way.append(int(np.flatnonzero((links.src == at) & (links.src_port == ports[at, 2900]))[0]))
        at = int(links.dst[way[-1]])
    assert set(way) <= set(np.flatnonzero(load > 0).tolist()) and load[way] == pytest.approx(1e9)
    into, out = (np.bincount(end, load, fabric.vertices)[: len(fabric.routers)] for end in (links.dst, links.src))
    np.testing.assert_allclose(into, out)
    idle = JobTraffic(traffic.router, np.zeros(2), np.zeros(2), pair)
    assert not routes.loads([idle], np.arange(len(links)), 0.0).any() and not len(routes.loads([], links.src[:0], 0.0))


def test_tables_that_do_not_fit_or_go_in_circles_are_no_trouble() -> None:
    fabric = build_xgft(2, [4, 4], [1, 2])
    ports = ftree_tables(fabric)
    assert TableRoutes(fabric, ports[:, :-1]).reason == OTHER_FABRIC
    assert isinstance(routes_of(fabric, ports[:, :-1]), TreeRoutes)
    assert isinstance(routes_of(fabric, ports), TableRoutes)
    assert isinstance(routes_of(build_dragonfly(3, blue_routers=12), ports), DragonflyRoutes)
    holes = ports.copy()
    holes[0, 9] = -1
    assert TableRoutes(fabric, holes).reason == HOLES
    holes[:, 9] = -1
    away = TableRoutes(fabric, holes)
    assert away.reason is None and np.isfinite(away.loads([everyone(fabric)], between(fabric), 0.0)).all()
    circle = ports.copy()
    circle[[0, 4], 15] = [5, 1]
    assert np.isfinite(TableRoutes(fabric, circle).loads([everyone(fabric)], between(fabric), 0.0)).all()


@pytest.mark.shared
def test_the_tables_that_a_real_opensm_dumped_spread_traffic_as_a_tree_does(shared: Path) -> None:
    samples = shared / "samples" / "opensm"
    fabric = read_fabric(samples / "xgft_2_12_6.topo")
    ports = lft.read_dump(samples / "xgft_ftree_lfts.dump", fabric).ports
    tables, even = routes_of(fabric, ports), routes_of(fabric)
    assert isinstance(tables, TableRoutes) and isinstance(even, TreeRoutes) and even.reason is None
    links = between(fabric)
    found, spread = (one.loads([everyone(fabric)], links, 0.0)[:, 0] for one in (tables, even))
    assert found.sum() == pytest.approx(spread.sum()) and (found > 0).all()
    np.testing.assert_allclose(found, spread, rtol=0.25)


@pytest.mark.shared
def test_quartz1_as_opensm_saw_it_has_the_loads_of_the_generated_one(shared: Path) -> None:
    real, made = read_fabric(shared / "samples" / "opensm" / "quartz1.topo"), build_quartz1()
    found, want = (np.sort(TreeRoutes(one).loads([everyone(one)], between(one), 0.0)[:, 0]) for one in (real, made))
    np.testing.assert_allclose(found, want, rtol=1e-9)
