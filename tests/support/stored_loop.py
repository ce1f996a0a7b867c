"""A tree with stored counters of planted traffic, for the loop on stored counters."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import psycopg

from flitwatch_db import connect
from flitwatch_db.core.additive import ensure_chunks
from flitwatch_db.fabrics import route_changes
from flitwatch_db.fabrics import store as fabrics
from flitwatch_domain.fabric import CountedAt, Fabric
from flitwatch_domain.generators import build_xgft
from flitwatch_routing.baselines import ftree_tables
from flitwatch_routing.forwarding import check_routes
from flitwatch_simulation.loop import stored

#: A window's start, aligned to a bucket.
START_S = 1_760_000_000
TREE = replace(build_xgft(2, [4, 4], [1, 2]), name="tree", simulated=False, counted_at=CountedAt.SENDER)
PORTS = ftree_tables(TREE)


def at(seconds: float) -> datetime:
    return datetime.fromtimestamp(START_S + seconds, UTC)


def by_one_spine() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return flows from one node to two others that its leaf reaches over the same spine."""
    leaf = int(TREE.endpoints.router[1])
    away = np.flatnonzero(TREE.endpoints.router != leaf)
    same = away[PORTS[leaf, away] == PORTS[leaf, away[0]]][:2]
    return np.full(2, 1), same, np.array([4e8, 3e8])


def load_of(flows: tuple[np.ndarray, np.ndarray, np.ndarray], fabric: Fabric = TREE) -> np.ndarray:
    """Return the bytes of each link, including links from nodes to their switches."""
    load = check_routes(fabric, PORTS, flows).load
    for source, size in zip(flows[0], flows[2], strict=True):
        load[fabric.links.src == len(fabric.routers) + source] += size
    return load


def store(
    conn: psycopg.Connection, load: np.ndarray, fabric: Fabric = TREE, adapters: bool = True, tables: bool = True
) -> int:
    """Store a fabric whose switches' ports and adapters counted this load in the bucket at the start. Return its id."""
    number = fabrics.save_fabric(conn, fabric)
    routers, links = len(fabric.routers), fabric.links
    ensure_chunks(conn, "port_10s", np.array([START_S]))
    ensure_chunks(conn, "endpoint_1s", np.array([START_S]))
    words = np.full((routers, int(links.src_port.max()) + 1), np.nan)
    for link in np.flatnonzero(links.src < routers):
        words[links.src[link], links.src_port[link]] = load[link] / 4
    for router in range(routers):
        conn.execute(
            "INSERT INTO port_10s (fabric_id, router, ts, port_seconds, flits) VALUES (%s, %s, %s, 10, %s)",
            [number, router, at(0), [None if one != one else one for one in words[router].tolist()]],
        )
    for link in np.flatnonzero(links.src >= routers) if adapters else ():
        conn.execute(
            "INSERT INTO endpoint_1s (fabric_id, endpoint, ts, samples, seconds, tx_bytes) VALUES (%s, %s, %s, 1, 10, %s)",
            [number, int(links.src[link]) - routers, at(5), load[link]],
        )
    if tables:
        route_changes.record_change(conn, number, at(-3600), PORTS)
    conn.commit()
    return number


def asked(**change: float) -> stored.StoredRun:
    run = stored.StoredRun("tree", START_S, START_S + 10, optimise_s=1, reconstruct_s=60)
    return replace(run, **change)  # type: ignore[arg-type]


def looped(url: str, load: np.ndarray, limit_s: float = 60, **how: object) -> stored.StoredTurn:
    run = asked(reconstruct_s=limit_s)
    with connect(url) as conn:
        store(conn, load, **how)  # type: ignore[arg-type]
        return stored.run_stored_turn(run, stored.read_window(conn, run))
