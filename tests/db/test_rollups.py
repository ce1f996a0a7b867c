"""Rows of a whole fabric are the sums of its routers' rows, whatever was written and rolled up in whatever order."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from flitwatch_db import async_pool, connect
from flitwatch_db.core.maintenance import maintain_database
from flitwatch_db.counters import reads
from flitwatch_db.counters.rollups import TABLES, roll_up_hours
from flitwatch_db.counters.store import Batch, Rows, write_batch
from flitwatch_db.fabrics import store as fabrics
from flitwatch_domain.counters import ROUTER_COLUMNS
from flitwatch_domain.generators import build_dragonfly

NAMES = ("tile_seconds", "rt_flits", "blue_stall_cycles")
AT = {name: ROUTER_COLUMNS.index(name) for name in NAMES[1:]}
#: Clocks of Europe and America change, a leap day, and the last second of a year.
ODD_TIMES = [
    int(datetime(*parts, tzinfo=UTC).timestamp())
    for parts in ((2026, 3, 29, 0, 59, 59), (2026, 10, 25, 1, 0), (2026, 3, 8, 7, 0), (2024, 2, 29, 23, 59, 58), (2025, 12, 31, 23, 59, 59))
]  # fmt: skip
SIZE = 8


def planted(url: str) -> int:
    with connect(url, role="writer") as conn:
        return fabrics.save_fabric(
            conn, build_dragonfly(2, 2, 2, endpoints_per_router=1, blue_routers=2, name="rolled")
        )


def write(url: str, fabric_id: int, entries: list[tuple[int, int]], values: list[float]) -> None:
    """Entries are (router, second); values are those of `rt_flits` and `blue_stall_cycles`, NaN is unknown."""
    with connect(url, role="writer") as conn:
        write_batch(conn, batch(fabric_id, entries, values))


def batch(fabric_id: int, entries: list[tuple[int, int]], values: list[float]) -> Batch:
    n = len(entries)
    cells = np.full((n, len(ROUTER_COLUMNS)), np.nan)
    cells[:, list(AT.values())] = np.array(values, dtype=float).reshape(n, 2)
    router, ts = np.array(entries, dtype=np.int64).T
    return Batch(
        routers=Rows(np.full(n, fabric_id, np.int32), router.astype(np.int32), ts, np.ones(n, np.int32), np.full(n, 40.0), cells)
    )  # fmt: skip


def roll_now(url: str) -> int:
    with connect(url, role="keeper", autocommit=True) as conn:
        return roll_up_hours(conn, settled_s=0)


def summed(url: str, fabric_id: int, width: int) -> dict[int, np.ndarray]:
    """What the routers' seconds say: float64[names, SIZE] by bucket."""
    out: dict[int, np.ndarray] = {}
    with connect(url, role="reader") as conn:
        query = f"SELECT extract(epoch FROM ts)::bigint, router, {', '.join(NAMES)} FROM router_1s WHERE fabric_id = %s"
        for ts, router, *row in conn.execute(query.encode(), [fabric_id]):
            cell = out.setdefault(ts // width * width, np.full((len(NAMES), SIZE), np.nan))
            for i, value in enumerate(row):
                if value is not None:
                    cell[i, router] = np.nansum([cell[i, router], value])
    return out


def read(url: str, fabric_id: int, width: int, from_s: int, to_s: int) -> tuple[dict[int, np.ndarray], set[int]]:
    """What readers get of a span: float64[names, SIZE] by bucket, and which of them were due."""

    async def ask() -> tuple[dict[int, np.ndarray], set[int]]:
        async with async_pool(url, role="reader") as pool, pool.connection() as conn:
            found = await reads.fabric_rows(conn, fabric_id, NAMES, from_s, to_s, width)
            out = {}
            for ts, columns in found.values.items():
                out[ts] = np.full((len(NAMES), SIZE), np.nan)
                for i, name in enumerate(NAMES):
                    values = columns[name]
                    if values is not None:
                        out[ts][i, : len(values)] = values
            for ts in found.due_s:
                rows = await reads.router_rows(conn, fabric_id, NAMES, ts, ts + width, width)
                assert ts not in out
                if len(rows["router"]):
                    out[ts] = np.full((len(NAMES), SIZE), np.nan)
                    out[ts][:, rows["router"]] = [rows[name] for name in NAMES]
            return out, set(found.due_s)

    return asyncio.run(ask())


def assert_as_summed(url: str, fabric_id: int) -> None:
    for width in TABLES:
        expected = summed(url, fabric_id, width)
        for at in ODD_TIMES:
            from_s, to_s = (at // 86_400 - 2) * 86_400, (at // 86_400 + 3) * 86_400
            got, _ = read(url, fabric_id, width, from_s, to_s)
            here = {ts: cell for ts, cell in expected.items() if from_s <= ts < to_s}
            assert got.keys() == here.keys()
            for ts, cell in here.items():
                np.testing.assert_array_equal(got[ts], cell)


CELL = st.one_of(st.just(float("nan")), st.integers(-(2**40), 2**52).map(float))
ENTRY = st.tuples(
    st.integers(0, SIZE - 1), st.tuples(st.sampled_from(ODD_TIMES), st.integers(-90_000, 90_000)).map(sum)
)
WRITE = st.lists(st.tuples(ENTRY, CELL, CELL), min_size=1, max_size=8)


@given(work=st.lists(st.one_of(st.none(), WRITE), min_size=2, max_size=6))
@settings(max_examples=3, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_bucket_is_the_sum_of_its_seconds(any_db: str, work: list) -> None:
    """None rolls up, a list is written; clocks that change, leap days and ends of years are days as others."""
    with connect(any_db, role="owner") as conn:
        conn.execute("TRUNCATE router_1s, router_1m, router_1h, fabric_5m, fabric_2h, fabric_1d, rollup_due")
        conn.execute("DELETE FROM fabric")
    fabric_id = planted(any_db)
    for part in [*work, None]:
        if part is None:
            roll_now(any_db)
        else:
            write(any_db, fabric_id, [entry for entry, *_ in part], [v for _, *two in part for v in two])
        assert_as_summed(any_db, fabric_id)
    with connect(any_db, role="reader") as conn:
        assert conn.execute("SELECT count(*) FROM rollup_due").fetchone() == (0,)


def test_what_a_writer_has_not_committed_is_due_when_it_is(embedded_db: str) -> None:
    """A batch whose transaction began before the roll-up and ends after it."""
    fabric_id, at = planted(embedded_db), ODD_TIMES[0]
    write(embedded_db, fabric_id, [(0, at)], [1.0, 2.0])
    with connect(embedded_db, role="writer") as conn:
        write_batch(conn, batch(fabric_id, [(0, at), (1, at)], [10.0, 20.0, 30.0, 40.0]))
        assert roll_now(embedded_db) == 1
        _, due = read(embedded_db, fabric_id, 300, at - 86_400, at)
        assert not due
        conn.commit()
    assert_as_summed(embedded_db, fabric_id)
    _, due = read(embedded_db, fabric_id, 86_400, at // 86_400 * 86_400, at // 86_400 * 86_400 + 86_400)
    assert due == {at // 86_400 * 86_400}
    assert roll_now(embedded_db) == 1
    assert_as_summed(embedded_db, fabric_id)


def test_a_rolled_back_batch_marks_nothing(embedded_db: str) -> None:
    fabric_id = planted(embedded_db)
    with connect(embedded_db, role="writer") as conn:
        write_batch(conn, batch(fabric_id, [(0, ODD_TIMES[0])], [1.0, 2.0]))
        conn.rollback()
    assert roll_now(embedded_db) == 0


def test_hours_that_are_still_written_wait(embedded_db: str) -> None:
    fabric_id = planted(embedded_db)
    write(embedded_db, fabric_id, [(0, ODD_TIMES[0])], [1.0, 2.0])
    assert maintain_database(embedded_db)["rolled_up"] == 0
    with connect(embedded_db, role="owner") as conn:
        conn.execute("UPDATE rollup_due SET marked_at = now() - interval '2 minutes'")
    assert maintain_database(embedded_db)["rolled_up"] == 1
    assert_as_summed(embedded_db, fabric_id)


def test_what_retention_took_from_the_minutes_stays_in_the_sums(embedded_db: str) -> None:
    """A late record, or a restored job, of an hour whose minutes are gone: the sums over more routers stay."""
    fabric_id, at = planted(embedded_db), ODD_TIMES[3]
    write(embedded_db, fabric_id, [(router, at) for router in range(SIZE)], [5.0] * (2 * SIZE))
    roll_now(embedded_db)
    with connect(embedded_db, role="owner") as conn:
        conn.execute("TRUNCATE router_1s, router_1m, router_1h")
    write(embedded_db, fabric_id, [(3, at)], [1.0, 1.0])
    roll_now(embedded_db)
    for width in TABLES:
        got, _ = read(embedded_db, fabric_id, width, at // width * width, at // width * width + width)
        (cell,) = got.values()
        np.testing.assert_array_equal(cell[1], [5.0] * SIZE)


def test_of_two_rolls_at_once_one_does_the_work(embedded_db: str) -> None:
    fabric_id = planted(embedded_db)
    write(embedded_db, fabric_id, [(0, ODD_TIMES[0])], [1.0, 2.0])
    with (
        connect(embedded_db, role="keeper") as first,
        connect(embedded_db, role="owner", autocommit=True) as watching,
        ThreadPoolExecutor(1) as pool,
    ):
        first.execute("DELETE FROM rollup_due")
        second = pool.submit(roll_now, embedded_db)
        while watching.execute(
            "SELECT count(*) FROM pg_locks WHERE NOT granted AND locktype = 'transactionid'"
        ).fetchone() == (0,):
            assert not second.done()
        first.commit()
        assert second.result() == 0
