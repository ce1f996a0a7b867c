"""The embedded log: bounded disk use, segment changes, and topic leases."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator

import numpy as np
import psycopg
import pytest
from support.waiting import eventually

from flitwatch.commands import up
from flitwatch_db import connect
from flitwatch_db.core import log_keep
from flitwatch_db.core.maintenance import load_database_status, maintain_database, shorten_chunks
from flitwatch_db.counters.store import Batch, Rows, write_batch
from flitwatch_db.ingest import topic_leases
from flitwatch_db.ingest.topic_leases import TopicLeases, check_epochs
from flitwatch_domain.counters import ENDPOINT_COLUMNS, ROUTER_COLUMNS
from flitwatch_domain.errors import Conflict, Unavailable
from flitwatch_stream.log import Log

BEGIN_S, HOUR_S = 1_790_000_000 // 86_400 * 86_400, 3600

ROUTERS = 40


def number(conn: psycopg.Connection, query: str) -> float:
    (found,) = conn.execute(query.encode()).fetchone() or (0,)
    return float(found)


def write(conn: psycopg.Connection, step: int) -> None:
    """An hour of counters, and a job with a run that ended in it."""
    times = BEGIN_S + step * HOUR_S + np.arange(0, HOUR_S, 60)
    n = len(times) * ROUTERS
    where = np.zeros(n, np.int32), np.tile(np.arange(ROUTERS, dtype=np.int32), len(times)), np.repeat(times, ROUTERS)
    rest = np.ones(n, np.int32), np.ones(n)
    routers = Rows(*where, *rest, np.ones((n, len(ROUTER_COLUMNS))))
    write_batch(conn, Batch(routers=routers, endpoints=Rows(*where, *rest, np.ones((n, len(ENDPOINT_COLUMNS))))))
    conn.execute(
        "WITH new AS (INSERT INTO job (cluster, job_id, state, end_ts) VALUES ('demo', %(step)s, 'COMPLETED', now()) RETURNING job_pk)"
        " INSERT INTO run (run_key, job_pk, exe, ranks) SELECT %(step)s, job_pk, 'milc', 1 FROM new",
        {"step": str(step)},
    )
    conn.commit()


def pass_time(conn: psycopg.Connection, seconds: int) -> None:
    conn.execute("UPDATE time_chunk SET created_at = created_at - make_interval(secs => %s)", [seconds])
    conn.execute("UPDATE job SET end_ts = end_ts - make_interval(secs => %s)", [seconds])
    conn.execute(
        "UPDATE setting SET value = to_jsonb((value #>> '{}')::float8 - %s) WHERE key = 'jobs_keep_since_s'", [seconds]
    )
    conn.commit()


def test_the_demos_earlier_days_stay_and_its_later_jobs_go(embedded_db: str) -> None:
    up._keep_little(embedded_db)
    with connect(embedded_db, role="writer") as conn:
        for name, days in (("past", 30), ("old", 3), ("new", 0)):
            conn.execute(
                "WITH new AS (INSERT INTO job (cluster, job_id, state, end_ts) VALUES ('demo', %(name)s, 'COMPLETED', now() - make_interval(days => %(days)s)) RETURNING job_pk)"
                " INSERT INTO run (run_key, job_pk, exe, ranks) SELECT %(name)s, job_pk, 'milc', 1 FROM new",
                {"name": name, "days": days},
            )
    with connect(embedded_db) as owner:
        # Ten days after its first start.
        owner.execute(
            "UPDATE setting SET value = to_jsonb((value #>> '{}')::float8 - 864000) WHERE key = 'jobs_keep_since_s'"
        )
    assert maintain_database(embedded_db)["failed"] == {}
    with connect(embedded_db, role="reader") as conn:
        kept = [name for (name,) in conn.execute("SELECT run_key FROM run JOIN job USING (job_pk) ORDER BY run_key")]
    assert kept == ["new", "past"]


@pytest.mark.system("numeric")
def test_the_demos_tables_and_jobs_take_no_more_after_days(embedded_db: str, monkeypatch: pytest.MonkeyPatch) -> None:
    most_bytes = 24_000_000
    monkeypatch.setattr(up, "DEMO_TABLES_BYTES", most_bytes)
    up._keep_little(embedded_db)
    sizes = []
    with connect(embedded_db, role="writer") as conn, connect(embedded_db) as owner:
        for step in range(60):
            write(conn, step)
            pass_time(owner, HOUR_S)
            assert maintain_database(embedded_db)["failed"] == {}
            found = load_database_status(conn)
            conn.rollback()
            sizes.append(sum(table["bytes"] for table in found["tables"].values()))
        # Dropped by their age, and by the size of all: minutes are the largest.
        hours = {
            name: number(conn, f"SELECT extract(epoch FROM max(ts) - min(ts)) / 3600 FROM {name}")
            for name in ("router_1s", "router_1m", "router_1h")
        }
        jobs, runs = (number(conn, f"SELECT count(*) FROM {table}") for table in ("job", "run"))
    assert max(sizes) <= most_bytes
    assert 0.4 < hours["router_1s"] < 1.6 < hours["router_1m"] < 24 < hours["router_1h"]
    assert 18 < jobs == runs <= 24


def test_the_log_holds_no_more_than_it_keeps(embedded_db: str, table_log: Log) -> None:
    most_bytes = 8 << 20
    with table_log.producer() as producer, connect(embedded_db, autocommit=True) as conn:
        log_keep.set_kept(conn, size_bytes=most_bytes)
        for number in range(40):
            producer.append("t", os.urandom(500_000), partition=number % 4)
            producer.flush()
            log_keep.trim_log(conn)
            held = log_keep.load_log_status(conn)
            assert held["bytes"] <= most_bytes
        assert held["segments"] > 2
        with table_log.consumer("late", ["t"]) as consumer:
            kept = len(consumer.poll(1, 2))
            gone = sum(consumer.begin_offsets().values())
            while gone + kept < 40:
                kept += len(consumer.poll(100, 2)) or pytest.fail("records that were not dropped are missing")
    assert kept * 500_000 > most_bytes / 2


def test_shorter_chunks_follow_longer_ones(embedded_db: str) -> None:
    with connect(embedded_db, role="writer") as conn, connect(embedded_db, autocommit=True) as owner:
        write(conn, 0)
        shorten_chunks(owner, "router_1m", 2)
        write(conn, 1)  # in the day whose chunk was made before
        write(conn, 24)
        write(conn, 26)
        chunks = conn.execute(
            "SELECT extract(epoch FROM to_ts - from_ts)::int FROM time_chunk WHERE table_name = 'router_1m' ORDER BY from_ts"
        ).fetchall()
    assert chunks == [(86_400,), (7200,), (7200,)]


# The turn of a segment of the embedded log: of two producers that come to it at once, both go on.


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


# Leases on topics: they run out for a member that stands still, and what it writes under an old one is refused.


GROUP = "writers log"


@pytest.fixture
def still(embedded_db: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[TopicLeases]:
    """A member that holds topic `t` and says nothing from then on."""
    with monkeypatch.context() as silent:
        silent.setattr(topic_leases, "RENEW_S", 3600.0)
        silent.setattr(topic_leases, "LEASE_S", 1.0)
        member = TopicLeases(embedded_db, GROUP)
        assert member.take({"t"}) == {"t"}
    yield member
    member.close()


@pytest.fixture
def other(embedded_db: str) -> Iterator[TopicLeases]:
    member = TopicLeases(embedded_db, GROUP)
    yield member
    member.close()


def test_a_member_that_is_silent_loses_its_leases_to_another(
    still: TopicLeases, other: TopicLeases, embedded_db: str
) -> None:
    assert other.take({"t"}) == set()
    eventually(lambda: other.take({"t"}) == {"t"}, what="the lease to run out")
    with pytest.raises(Unavailable):
        still.divide({"t"})
    assert still.take({"t"}) == set()
    with connect(embedded_db, role="writer") as conn:
        check_epochs(conn, GROUP, other.epochs({"t"}))
        with pytest.raises(Conflict, match="taken over t"):
            check_epochs(conn, GROUP, still.epochs({"t"}))


def test_what_it_is_writing_is_ended(still: TopicLeases, other: TopicLeases, embedded_db: str) -> None:
    with connect(embedded_db, role="writer") as writing, connect(embedded_db, role="writer") as elsewhere:
        check_epochs(writing, GROUP, still.epochs({"t"}))
        check_epochs(elsewhere, "others log", {})
        eventually(lambda: other.take({"t"}) == {"t"}, what="the lease to be taken over")
        with pytest.raises(psycopg.OperationalError):
            writing.execute("SELECT")
        elsewhere.execute("SELECT")


def test_a_lease_that_nobody_else_had_meanwhile_is_the_same(still: TopicLeases, embedded_db: str) -> None:
    before = still.epochs({"t"})

    def lost() -> bool:
        try:
            still.divide({"t"})
        except Unavailable:
            return True
        return False

    with connect(embedded_db, role="writer") as conn:
        # Its own transaction goes on.
        check_epochs(conn, GROUP, before)
        with connect(embedded_db, role="writer", autocommit=True) as admin:
            admin.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'flitwatch shares'"
            )
        eventually(lost, what="the connection to be lost")
        assert still.take({"t"}) == {"t"} and still.epochs({"t"}) == before
        conn.execute("SELECT")


def test_a_member_that_is_there_keeps_its_leases(
    embedded_db: str, other: TopicLeases, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(topic_leases, "RENEW_S", 0.1)
    monkeypatch.setattr(topic_leases, "LEASE_S", 1.0)
    busy = TopicLeases(embedded_db, GROUP)
    assert busy.take({"t"}) == {"t"}
    conn = busy._conn
    with connect(embedded_db, role="reader", autocommit=True) as watching:
        # Longer than the lease by the server's own clock, in which the member itself asks nothing.
        watching.execute("SELECT pg_sleep(2)")
    assert other.take({"t"}) == set()
    assert busy.take({"t"}) == {"t"} and busy._conn is conn
    busy.close()
