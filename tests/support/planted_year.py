"""A year of counters with a planted shift and days without counters."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np
from numpy.typing import NDArray

from flitwatch_db import connect
from flitwatch_db.fabrics import store as fabrics
from flitwatch_domain.generators import build_dragonfly

HOUR_S, DAY_S = 3600, 86_400
#: The last full hour of a year that contains both clock changes and the ends of all months.
END_S = int(datetime(2026, 9, 21, 15, tzinfo=UTC).timestamp())
HOURS = 365 * 24
START_S = END_S - HOURS * HOUR_S
#: Traffic stalls twice as long from this day on, the day after Europe's clock change.
SHIFT_S = int(datetime(2026, 3, 30, tzinfo=UTC).timestamp())
#: Days without counters, and days without counters of router 5.
SILENT = (int(datetime(2026, 1, 30, tzinfo=UTC).timestamp()), int(datetime(2026, 2, 3, tzinfo=UTC).timestamp()))
LOST = (int(datetime(2026, 6, 1, tzinfo=UTC).timestamp()), int(datetime(2026, 7, 1, tzinfo=UTC).timestamp()))
ROUTERS = 32


@dataclass(frozen=True)
class Year:
    """A year of hours, float64[HOURS, ROUTERS], NaN without stored data."""

    url: str
    flits: NDArray[np.float64]
    stalls: NDArray[np.float64]

    def of(self, ts: list[str], step_s: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return flits and stalls by step and router."""
        out = []
        for values in (self.flits, self.stalls):
            rows = []
            for text in ts:
                first = (int(datetime.fromisoformat(text).timestamp()) - START_S) / HOUR_S
                part = values[max(0, int(first)) : max(0, int(first + step_s / HOUR_S))]
                known = ~np.isnan(part)
                rows.append(np.where(known.any(axis=0), np.nansum(part, axis=0), np.nan))
            out.append(np.array(rows))
        return out[0], out[1]


def fill(url: str) -> Year:
    """Store and return a year of hours of a small machine, and minutes of its last two days."""
    hour, router = np.indices((HOURS, ROUTERS))
    at = START_S + hour * HOUR_S
    flits = 60.0 * (1000 + (hour * 7 + router * 13) % 100)
    stalls = flits * np.where(at < SHIFT_S, 1 + router % 2, 2 + 2 * (router % 2))
    gone = (at >= SILENT[0]) & (at < SILENT[1]) | (at >= LOST[0]) & (at < LOST[1]) & (router == 5)
    flits[gone] = stalls[gone] = np.nan
    with connect(url, role="writer") as conn:
        fabric_id = fabrics.save_fabric(
            conn,
            build_dragonfly(
                4, 2, 4, endpoints_per_router=2, blue_routers=2, blue_cables=1, black_cables=1, name="year"
            ),
        )
        fabrics.save_fabric(conn, build_dragonfly(2, 2, 2, endpoints_per_router=1, blue_routers=2, name="never"))
    with connect(url, role="owner") as conn:
        keep = ~gone
        rows = np.column_stack((router[keep], at[keep], flits[keep], stalls[keep]))
        conn.execute("CREATE TEMPORARY TABLE planted (router int, ts bigint, flits float8, stalls float8)")
        with conn.cursor() as cursor, cursor.copy("COPY planted FROM STDIN") as copy:
            for a, b, c, d in rows.tolist():
                copy.write_row((int(a), int(b), c, d))
        for table, parts, since in (("router_1h", 1, START_S), ("router_1m", 60, END_S - 2 * DAY_S)):
            conn.execute(f"SELECT ensure_chunks('{table}', ARRAY(SELECT DISTINCT to_timestamp(ts) FROM planted WHERE ts >= {since}))".encode())  # fmt: skip
            conn.execute(
                f"INSERT INTO {table} (fabric_id, router, ts, samples, tile_seconds, rt_flits, rt_stall_cycles)"
                f" SELECT {fabric_id}, router, to_timestamp(ts + part * {HOUR_S // parts}), {HOUR_S // parts}, 48.0 * {HOUR_S // parts}, flits / {parts}, stalls / {parts}"
                f" FROM planted, generate_series(0, {parts - 1}) AS part WHERE ts >= {since}".encode()
            )
        conn.execute("INSERT INTO rollup_due (fabric_id, hour) SELECT DISTINCT fabric_id, ts FROM router_1h")
    return Year(url, flits, stalls)
