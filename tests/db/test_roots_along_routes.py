"""Stalls are walked along the tables that were loaded: a full link that no stalled traffic can reach is no root."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import psycopg

from flitwatch_db import connect
from flitwatch_db.counters import store as counters
from flitwatch_db.diagnosis import roots
from flitwatch_db.fabrics import route_changes
from flitwatch_db.fabrics import store as fabrics
from flitwatch_domain.counters import COUNT_BYTES
from flitwatch_domain.fabric import CountedAt, Fabric, Technology
from flitwatch_domain.generators import build_xgft
from flitwatch_routing.baselines import ftree_tables

START = 1_795_000_000 // 3600 * 3600
END = START + 60


def named(fabric: Fabric, link: int) -> str:
    return f"{fabric.vertex_name(int(fabric.links.src[link]))} {fabric.vertex_name(int(fabric.links.dst[link]))}"


def machine() -> Fabric:
    """Four leaves of two nodes, two spines; ports count at their senders."""
    made = build_xgft(2, [2, 4], [1, 2])
    return replace(made, name="tree", counted_at=CountedAt.SENDER, technology=Technology.INFINIBAND)


def write(conn: psycopg.Connection, fabric_id: int, fabric: Fabric, figures: dict[int, tuple[float, float]]) -> None:
    """A minute of counters: use and stalls per flit of some links; the others are used a little."""
    use, stalls = np.full(len(fabric.links), 0.1), np.zeros(len(fabric.links))
    for link, (used, stalled) in figures.items():
        use[link], stalls[link] = used, stalled
    flits = use * fabric.links.bandwidth_bps / 8 * 10 / COUNT_BYTES[fabric.technology]
    table = fabric.counted_links()
    for ts in range(START, END, 10):
        ports = counters.PortRows(
            np.full(len(table), fabric_id, np.int32),
            np.arange(len(table), dtype=np.int32),
            np.full(len(table), ts, np.int64),
            np.full(len(table), 10.0),
            np.where(table >= 0, flits[table], np.nan),
            np.where(table >= 0, (stalls * flits)[table], np.nan),
        )
        counters.write_batch(conn, counters.Batch(ports=ports))


def test_of_two_full_links_behind_a_stall_the_one_on_its_routes_is_named(embedded_db: str) -> None:
    fabric = machine()
    links, routers = fabric.links, len(fabric.routers)
    ports = ftree_tables(fabric)
    away = 2  # a node of the second leaf
    at = {(int(src), int(port)): link for link, (src, port) in enumerate(zip(links.src, links.src_port, strict=True))}
    leaf = int(fabric.endpoints.router[0])
    up = at[leaf, int(ports[leaf, away])]
    spine = int(links.dst[up])
    down = at[spine, int(ports[spine, away])]
    # A link from the same spine down to another leaf. Its nodes' traffic from the first leaf is led through the other spine.
    beside = next(
        int(one)
        for one in np.flatnonzero((links.src == spine) & (links.dst < routers))
        if one != down and int(links.dst[one]) != leaf
    )
    other_up = next(int(one) for one in np.flatnonzero((links.src == leaf) & (links.dst < routers)) if one != up)
    ports[leaf, fabric.endpoints.router == links.dst[beside]] = links.src_port[other_up]
    with connect(embedded_db) as conn:
        fabric_id = fabrics.save_fabric(conn, fabric)
        write(conn, fabric_id, fabric, {up: (0.3, 2.5), down: (0.98, 0.0), beside: (0.98, 0.0)})

        def found() -> set[str]:
            return {named(fabric, one["link"]) for one in roots.of_fabric(conn, fabric_id, START, END)["roots"]}

        both = {named(fabric, down), named(fabric, beside)}
        assert found() == both  # no tables are known
        loaded = datetime.fromtimestamp(START - 60, UTC)
        route_changes.record_change(conn, fabric_id, loaded, ports)
        assert found() == {named(fabric, down)}
        # Known in part, changed within the window, or of another machine: any turn may be taken.
        holes = ports.copy()
        holes[spine, away] = -1
        route_changes.record_change(conn, fabric_id, loaded, holes, note="in part")
        assert found() == both
        route_changes.record_change(conn, fabric_id, loaded, ports)
        route_changes.record_change(
            conn, fabric_id, datetime.fromtimestamp(START + 30, UTC), None, note="a switch came back"
        )
        assert found() == both
