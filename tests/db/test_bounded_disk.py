"""The demo's database on an accelerated clock: its tables, its log and its jobs stay within what the demo keeps."""

from __future__ import annotations

import os

import numpy as np
import psycopg
import pytest

from flitwatch.commands import up
from flitwatch_db import connect
from flitwatch_db.core import log_keep
from flitwatch_db.core.maintenance import load_database_status, maintain_database, shorten_chunks
from flitwatch_db.counters.store import Batch, Rows, write_batch
from flitwatch_domain.counters import ENDPOINT_COLUMNS, ROUTER_COLUMNS
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
