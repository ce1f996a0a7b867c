"""Figures of the worker and of alerting: what waits, what failed, and the place of the database."""

from __future__ import annotations

import time
from pathlib import Path

from prometheus_client.exposition import generate_latest
from support.waiting import eventually

from flitwatch.own_figures import OwnFigures, place_families
from flitwatch_api.health.metrics import MetricReading
from flitwatch_db import connect
from flitwatch_db.tasks import start_task


def shown(families: list) -> dict[str, float]:
    lines = generate_latest(MetricReading(families)).decode().splitlines()
    return {
        name: float(value) for name, _, value in (line.rpartition(" ") for line in lines if not line.startswith("#"))
    }


def test_a_worker_shows_depth_age_and_failures_of_its_queues(embedded_db: str) -> None:
    with connect(embedded_db, role="writer", autocommit=True) as conn:
        failed, old, _ = (start_task(conn, "ml.blame", {}) for _ in range(3))
        start_task(conn, "sim.study", {})
        conn.execute("UPDATE task SET state = 'failed', finished_at = now() WHERE task_id = %s", [failed])
        conn.execute("UPDATE task SET created_at = now() - interval '1 hour' WHERE task_id = %s", [old])
    figures = OwnFigures(embedded_db, ["db", "ml"])
    eventually(lambda: bool(list(figures.collect())), what="the figures")
    found = shown(list(figures.collect()))
    assert found['flitwatch_tasks{queue="ml",state="queued"}'] == 2
    assert found['flitwatch_tasks{queue="db",state="queued"}'] == 0
    assert found['flitwatch_recent_failed_tasks{queue="ml"}'] == 1
    assert 3600 <= found['flitwatch_task_waiting_seconds{queue="ml"}'] < 7200
    assert not any("sim" in name or 'waiting_seconds{queue="db"' in name for name in found)


def test_alerting_shows_what_was_not_delivered(embedded_db: str) -> None:
    with connect(embedded_db, autocommit=True) as conn:
        conn.execute(
            "INSERT INTO alert (rule, labels, phase, severity, since, seen, value, peak, summary, evidence)"
            " VALUES ('r', '{}', 'firing', 'info', now(), now(), 1, 1, '', '{}')"
        )
        conn.execute(
            "INSERT INTO alert_notice (alert_id, receiver, status, group_key, attempts, created_at, delivered_at)"
            " SELECT alert_id, r, 'firing', '', n, now() - interval '1 hour', d::timestamptz FROM alert,"
            " (VALUES ('chat', 3, NULL), ('mail', 0, NULL), ('told', 1, now()::text)) AS v (r, n, d)"
        )
    figures = OwnFigures(embedded_db, None)
    eventually(lambda: bool(list(figures.collect())), what="the figures")
    found = shown(list(figures.collect()))
    assert (
        found['flitwatch_notices_failing{receiver="chat"}'],
        found['flitwatch_notices_failing{receiver="mail"}'],
    ) == (1, 0)
    assert found['flitwatch_notices_waiting{receiver="mail"}'] == 1 and not any("told" in name for name in found)
    assert found['flitwatch_notice_waiting_seconds{receiver="chat"}'] >= 3600


def test_the_disk_and_the_newest_backup_of_an_embedded_database(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    url = f"postgresql://w@/flitwatch?host={tmp_path}/run&passfile={tmp_path}/logins/worker/pgpass"
    assert shown(place_families(url)).keys() == {"flitwatch_database_disk_free_bytes"}
    base = tmp_path / "bk" / "base" / "one"
    base.mkdir(parents=True)
    (tmp_path / "backup-folder").write_text(f"{tmp_path}/bk\n")
    finished = time.time() - 7200
    text = f'{{"name": "one", "begun_s": 1, "finished_s": {finished}, "first_segment": "0", "size_bytes": 1}}'
    (base / "backup.json").write_text(text)
    assert 7200 <= shown(place_families(url))["flitwatch_backup_age_seconds"] < 7300
    assert shown(place_families("postgresql://w@elsewhere/flitwatch")) == {}
