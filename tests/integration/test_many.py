"""Three writers of one consumer group on Kafka, and four workers of one queue: each gets a share, with no duplicates and no remainder."""

from __future__ import annotations

import contextlib
import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from ingest.writing import Quarters, append, quality, stored
from support.waiting import eventually

from flitwatch_db import connect
from flitwatch_db.fabrics import store as fabrics
from flitwatch_db.tasks import start_task
from flitwatch_domain.generators import build_dragonfly
from flitwatch_stream.backends import open_log

PATIENCE_S = 90.0
pytestmark = [pytest.mark.system("stores"), pytest.mark.integration, pytest.mark.timeout(300)]


@contextlib.contextmanager
def processes(folder: Path, count: int, *argv: str) -> Iterator[list[subprocess.Popen]]:
    """`flitwatch ...` so many times; what each prints stands in the folder."""
    running = [
        subprocess.Popen(
            [sys.executable, "-m", "flitwatch.main", *argv],
            stdout=open(folder / f"{argv[0]}{number}.out", "wb"),
            stderr=open(folder / f"{argv[0]}{number}.err", "wb"),
        )
        for number in range(count)
    ]
    try:
        yield running
    finally:
        for one in running:
            one.kill()
            one.wait()


until = partial(eventually, timeout_s=PATIENCE_S, every_s=0.3)


def held(url: str) -> list[int]:
    """How many locks each writer of the group holds: one as a member, one per topic."""
    with connect(url, autocommit=True) as conn:
        rows = conn.execute(
            "SELECT count(*) FROM pg_locks JOIN pg_stat_activity USING (pid) WHERE locktype = 'advisory' AND granted"
            " AND application_name = 'flitwatch shares' GROUP BY pid"
        ).fetchall()
    return [row[0] for row in rows]


@pytest.mark.system("stores")
def test_three_writers_share_the_topics_and_take_over_from_a_dead_one(
    embedded_db: str, kafka: str, topic: str, tmp_path: Path
) -> None:
    fabric = build_dragonfly(1, 2, 4, name="many")
    with connect(embedded_db) as conn:
        fabrics.save_fabric(conn, fabric)
    feeds = [
        Quarters(fabric, routers, seed=n, topic=f"ldms.{topic}_{n}")
        for n, routers in enumerate(((0, 1), (2, 3), (4, 5, 6)))
    ]
    # One node stops as a writer dies. The sums of its router are not compared.
    router, node = 0, feeds[0].component[0, 1]
    argv = (
        "writer",
        "--db",
        embedded_db,
        "--log",
        kafka,
        "--interval",
        "0.3",
        "--topics",
        rf"^ldms\.{topic}_",
        "--json",
    )

    def expected() -> dict:
        return {one: row for feed in feeds for one, row in feed.expected().items()}

    def seconds(rows: dict) -> dict:
        return {one: row[:4] for one, row in rows.items() if one != router}

    with open_log(kafka) as log:
        for feed in feeds:
            log.create_topic(feed.topic, 2)
    with open_log(kafka) as log, processes(tmp_path, 3, *argv) as writers:
        # Every writer has a share before anything comes.
        until(lambda: len(locks := held(embedded_db)) == 3 and min(locks) > 1)
        topics = sum(held(embedded_db)) - 3
        for feed in feeds:
            append(log, feed.topic, feed.ticks(5), spread=(0, 1))
        until(lambda: seconds(stored(embedded_db)) == seconds(expected()))
        # What a dead one held goes to the two that are left; all nodes but one go on meanwhile.
        stopped_s = feeds[0].second - 1
        writers[0].send_signal(signal.SIGKILL)

        def taken_over() -> bool:
            for feed in feeds:
                going = [record for record in feed.tick() if b'"component_id":%d,' % node not in record]
                append(log, feed.topic, going, spread=(0, 1))
            locks = held(embedded_db)
            return len(locks) == 2 and sum(locks) - 2 == topics and quality(embedded_db)[0] != []

        until(taken_over)
        until(lambda: seconds(stored(embedded_db)) == seconds(expected()))
        for one in writers[1:]:
            one.send_signal(signal.SIGTERM)
            assert one.wait(60) == 0
    assert stored(embedded_db) | {router: None} == expected() | {router: None}
    gaps, letters = quality(embedded_db)
    # Where the last samples wait, the end of all is a silence, too.
    silent = {(gap[0], gap[1], int(gap[2].timestamp())) for gap in gaps if gap[2].timestamp() < feeds[0].second - 1}
    assert (silent, letters) == ({(f"nid{node:05d}", "silence", stopped_s)}, [])
    reports = [json.loads((tmp_path / f"writer{number}.out").read_text()) for number in (1, 2)]
    total = sum(feed.seconds * 4 * len(feed.routers) for feed in feeds) - (feeds[0].second - 1 - stopped_s)
    shares = [report["records"] for report in reports]
    # The dead one wrote the rest.
    assert all(share > 0 for share in shares) and sum(shares) < total, (shares, total)


def test_four_workers_share_the_queue(embedded_db: str, tmp_path: Path) -> None:
    with connect(embedded_db, role="writer", autocommit=True) as conn:

        def rows(query: str) -> list[tuple]:
            return conn.execute(query.encode()).fetchall()

        with processes(tmp_path, 4, "worker", "--db", embedded_db, "--queue", "demo"):
            until(lambda: rows("SELECT count(*) FROM worker") == [(4,)])
            for _ in range(4 * 4):
                start_task(conn, "demo.count", {"to": 6, "delay_s": 0.15})
            until(lambda: rows("SELECT FROM task WHERE state NOT IN ('succeeded', 'failed')") == [])
        assert rows("SELECT state, attempts, result, count(*)::int FROM task GROUP BY 1, 2, 3") == [
            ("succeeded", 1, {"counted": 6}, 16)
        ]
        shares = rows("SELECT worker, count(*) FROM task GROUP BY 1")
        # Four at a time, on four workers.
        assert len(shares) == 4 and sum(share for _, share in shares) == 16
        together = rows(
            "SELECT max(n) FROM (SELECT count(*) AS n FROM task a JOIN task b ON b.started_at <= a.started_at AND a.started_at < b.finished_at GROUP BY a.task_id) AS m"
        )
        assert together == [(4,)]
