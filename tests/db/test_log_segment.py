"""The turn of a segment of the embedded log: of two producers that come to it at once, both go on."""

from __future__ import annotations

import threading

import psycopg
from support.waiting import eventually

from flitwatch_db import connect


def test_who_waited_for_a_segment_that_another_made_takes_it(embedded_db: str) -> None:
    found: list[int | Exception] = []

    def second() -> None:
        try:
            with connect(embedded_db, role="writer") as conn:
                # It has looked for the segment before, and did not find it.
                row = conn.execute("SELECT log.current_segment()").fetchone()
                assert row is not None
                found.append(row[0])
        except psycopg.Error as problem:
            found.append(problem)

    with connect(embedded_db, role="writer") as first, connect(embedded_db, autocommit=True) as watching:
        made = first.execute("SELECT log.current_segment()").fetchone()
        other = threading.Thread(target=second)
        other.start()
        waits = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"

        def second_waits() -> bool:
            assert other.is_alive(), found
            return watching.execute(waits).fetchone() != (0,)

        eventually(second_waits, 600, 0.02, what="the second transaction to wait for the lock")
        first.commit()
        other.join()
    assert made is not None and found == [made[0]]
