"""Expected loads of links under forwarding tables: against the ways that the tables give, and against an even spread."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from flitwatch_domain.fabric import Fabric
from flitwatch_domain.generators import build_dragonfly, build_quartz1, build_xgft
from flitwatch_domain.importers.read import read_fabric
from flitwatch_domain.link_shares import DragonflyRoutes, JobTraffic
from flitwatch_domain.routes import routes_of
from flitwatch_domain.table_routes import HOLES, OTHER_FABRIC, TableRoutes
from flitwatch_domain.tree_routes import TreeRoutes
from flitwatch_routing import lft
from flitwatch_routing.baselines import ftree_tables


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
