"""Years of counters of a large machine."""

from __future__ import annotations

from flitwatch_db import connect
from flitwatch_db.fabrics import store as fabrics
from flitwatch_domain.generators import build_dragonfly

END_S = 1_790_000_000 // 86_400 * 86_400
HOUR_S, DAY_S = 3600, 86_400
ROUTERS = 3264
#: Table, width and length of what is stored.
LEVELS = (("fabric_1d", DAY_S, 365 * DAY_S), ("fabric_2h", 7200, 30 * DAY_S), ("fabric_5m", 300, DAY_S))
ROWS = (("router_1h", HOUR_S, 7 * DAY_S), ("router_1m", 60, HOUR_S))


def fill(url: str, days: int = 7) -> None:
    """Rows of the whole fabric for a year, hours of routers for `days`, minutes for the last hour: flits, twice as many stall cycles."""
    made = build_dragonfly(
        34, 6, 16, endpoints_per_router=1, blue_routers=2, blue_cables=1, black_cables=1, name="large"
    )
    assert len(made.routers) == ROUTERS
    with connect(url, role="writer") as conn:
        fabric_id = fabrics.save_fabric(conn, made)
    with connect(url, role="owner") as conn:
        for table, width, length in LEVELS:
            times = f"SELECT generate_series(to_timestamp({END_S - length}), to_timestamp({END_S - width}), interval '{width} s')"
            conn.execute(f"SELECT ensure_chunks('{table}', ARRAY({times}))".encode())
            arrays = [
                f"array_fill({each}::float8, ARRAY[{ROUTERS}])" for each in (48 * width, 100 * width, 200 * width)
            ]
            conn.execute(
                f"INSERT INTO {table} (fabric_id, ts, counted, tile_seconds, rt_flits, rt_stall_cycles)"
                f" SELECT {fabric_id}, t, {ROUTERS}, {', '.join(arrays)} FROM ({times} AS t) AS times".encode()
            )
        for (table, width, _), kept in zip(ROWS, (days * DAY_S, HOUR_S), strict=True):
            times = f"SELECT generate_series(to_timestamp({END_S - kept}), to_timestamp({END_S - width}), interval '{width} s')"
            conn.execute(f"SELECT ensure_chunks('{table}', ARRAY({times}))".encode())
            conn.execute(
                f"INSERT INTO {table} (fabric_id, router, ts, samples, tile_seconds, rt_flits, rt_stall_cycles)"
                f" SELECT {fabric_id}, r, t, {width}, {48 * width}, {100 * width}, {200 * width}"
                f" FROM ({times} AS t) AS times, generate_series(0, {ROUTERS - 1}) AS r".encode()
            )
    with connect(url, role="owner", autocommit=True) as conn:
        conn.execute("ANALYZE")
