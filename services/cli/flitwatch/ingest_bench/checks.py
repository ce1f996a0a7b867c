"""What the tables say after the load, against what was sent."""

from __future__ import annotations

from typing import Any

import numpy as np

from flitwatch.ingest_bench.load import Order

_GROUPED = "SELECT router, sum(samples), count(*), sum(rt_flits), sum(rt_stall_cycles) FROM {table} GROUP BY router ORDER BY router"


def checked(url: str, order: Order) -> dict[str, Any]:
    """Count what is stored.

    Returns
    -------
    dict
        `lost` and `duplicated`: samples that are missing from a router's seconds, or too many; `wrong`: routers whose sums of flits or stalls
        differ from what their counters grew by, in any of the tables; `rows` by table; `gaps`, `dead_letters`.
    """
    from flitwatch_db import connect

    routers = len(order.sets[0].routers)
    samples = len(order.sets) * (order.seconds - 1)
    flits, stalls, ports = (np.zeros(routers) for _ in range(3))
    for i, pool in enumerate(order.pools()):
        flits += pool.grown(order.seconds, order.sets[i].flits)
        stalls += pool.grown(order.seconds, order.sets[i].stalls)
        ports += pool.grown(order.seconds, order.sets[i].port_flits)
    with connect(url, autocommit=True) as conn:
        lost = duplicated = 0
        wrong: set[int] = set()
        rows: dict[str, int] = {}
        for table in ("router_1s", "router_1m", "router_1h"):
            found = np.array(conn.execute(_GROUPED.format(table=table).encode()).fetchall(), float).reshape(-1, 5)
            stored = np.zeros((routers, 5))
            stored[found[:, 0].astype(int)] = found
            rows[table] = int(stored[:, 2].sum())
            if table == "router_1s":
                surplus = stored[:, 1] - samples
                lost, duplicated = int(-surplus[surplus < 0].sum()), int(surplus[surplus > 0].sum())
            unlike = (stored[:, 1] != samples) | (stored[:, 3] != flits) | (stored[:, 4] != stalls)
            wrong |= set(np.flatnonzero(unlike).tolist())
        by_port = dict(
            conn.execute("SELECT router, sum(f) FROM port_10s, unnest(flits) AS f GROUP BY router").fetchall()
        )
        wrong |= {router for router in range(routers) if by_port.get(router, 0) != ports[router]}
        count = "SELECT (SELECT count(*) FROM port_10s), (SELECT count(*) FROM gap), (SELECT count(*) FROM dead_letter)"
        rows["port_10s"], gaps, letters = conn.execute(count).fetchone() or (0, 0, 0)
    return {
        "lost": lost, "duplicated": duplicated, "wrong": len(wrong), "rows": rows, "rows_expected": routers * (order.seconds - 1),
        "gaps": gaps, "dead_letters": letters,
    }  # fmt: skip
