"""Checks of the tables after the load, by comparison with the sent records."""

from __future__ import annotations

import time
from typing import TypedDict

import numpy as np

from flitwatch_research.ingest_bench.load import Order

EXAMPLES = 5


def carried_at(url: str, order: Order, limit_s: float) -> float:
    """Wait, at most `limit_s`, until all records of the log are in the database. Return the time of completion."""
    from flitwatch_db import connect
    from flitwatch_db.ingest.store import count_carried
    from flitwatch_stream.backends import open_log

    topics = [metric_set.topic for metric_set in order.sets]
    with open_log(order.log_url) as log, connect(url, autocommit=True) as conn:
        total = sum(sum(log.end_offsets(topic)) for topic in topics)
        deadline = time.monotonic() + limit_s
        while time.monotonic() < deadline:
            if count_carried(conn, topics) >= total:
                break
            time.sleep(0.05)
    return time.time()


class CheckedRows(TypedDict):
    """Contents of the tables.

    Attributes
    ----------
    lost, duplicated : missing or surplus samples in routers' seconds
    wrong : routers whose sums of flits or stalls differ from the growth of their counters, in any table
    wrong_in : number of wrong routers by table;  rows : rows by table
    gaps : gaps that begin before the last second; the load's end is itself a silence, which a waiting writer detects
    """

    lost: int
    duplicated: int
    wrong: int
    wrong_in: dict[str, int]
    examples: list[str]
    rows: dict[str, int]
    rows_expected: int
    gaps: int
    dead_letters: int


def check_rows(url: str, order: Order, first_s: int, seconds: int | None = None) -> CheckedRows:
    """Check the stored rows of the first `seconds` of the order, or of all, with a start at `first_s` (epoch seconds)."""
    from flitwatch_db import connect
    from flitwatch_db.counters import rollups

    routers = len(order.sets[0].routers)
    seconds = order.seconds if seconds is None else seconds
    samples = len(order.sets) * (seconds - 1)
    flits, stalls, ports = (np.zeros(routers) for _ in range(3))
    for i, pool in enumerate(order.pools()):
        flits += pool.grown(seconds, order.sets[i].flits)
        stalls += pool.grown(seconds, order.sets[i].stalls)
        ports += pool.grown(seconds, order.sets[i].port_flits)
    with connect(url, autocommit=True) as conn:
        lost = duplicated = 0
        wrong: dict[str, set[int]] = {}
        examples: list[str] = []
        rows: dict[str, int] = {}
        for table in ("router_1s", "router_1m", "router_1h"):
            router_sums = rollups.by_router(conn, table)
            stored = np.zeros((routers, 5))
            stored[router_sums[:, 0].astype(int)] = router_sums
            rows[table] = int(stored[:, 2].sum())
            if table == "router_1s":
                surplus = stored[:, 1] - samples
                lost, duplicated = int(-surplus[surplus < 0].sum()), int(surplus[surplus > 0].sum())
            unlike = (stored[:, 1] != samples) | (stored[:, 3] != flits) | (stored[:, 4] != stalls)
            for router_index in np.flatnonzero(unlike)[:EXAMPLES]:
                beyond = stored[router_index, [1, 3, 4]] - (samples, flits[router_index], stalls[router_index])
                examples.append(
                    f"{table}: router {router_index} {beyond[0]:+.0f} samples, {beyond[1]:+.0f} flits, {beyond[2]:+.0f} stalls"
                )
            wrong[table] = set(np.flatnonzero(unlike).tolist())
        by_port = rollups.port_flits(conn)
        wrong["port_10s"] = {router for router in range(routers) if by_port.get(router, 0) != ports[router]}
        rows["port_10s"], gaps, letters = rollups.rows_gaps_and_letters(conn, first_s + seconds - 1)
    return {
        "lost": lost,
        "duplicated": duplicated,
        "wrong": len(set().union(*wrong.values())),
        "wrong_in": {table: len(router_sums) for table, router_sums in wrong.items() if router_sums},
        "examples": examples,
        "rows": rows,
        "rows_expected": routers * (seconds - 1),
        "gaps": gaps,
        "dead_letters": letters,
    }
