"""Metrics of the worker and of alerting: queues, deliveries, the database's disk and its backups."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

import psycopg
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from flitwatch_db import connect
from flitwatch_db.alerts.store import ReceiverFigures, receiver_figures
from flitwatch_db.core.log_keep import disk_of
from flitwatch_db.tasks.table import QueueFigures, queue_figures
from flitwatch_domain.errors import FlitwatchError
from flitwatch_ops import backup_files, kept_log

#: Interval of database queries, and their time limit.
EVERY_S, STATEMENT_S = 15.0, 5.0


class OwnFigures(Collector):
    """Metrics from a thread's last read: a scrape never waits for the database. While the database is unavailable, there are none.

    Parameters
    ----------
    queues : sequence of str or None
        Queues to show, with the database's disk and backups. None shows alert deliveries instead.
    """

    def __init__(self, url: str, queues: Sequence[str] | None) -> None:
        self._url, self._queues = url, queues
        self._families: list[Metric] = []
        threading.Thread(target=self._refresh_forever, name="figures", daemon=True).start()

    def collect(self) -> Iterable[Metric]:
        return self._families

    def _refresh_forever(self) -> None:
        pause = threading.Event()
        while True:
            try:
                with connect(
                    self._url, "writer", application="flitwatch figures", autocommit=True, statement_s=STATEMENT_S
                ) as conn:
                    while True:
                        self._families = self._read(conn)
                        pause.wait(EVERY_S)
            except (psycopg.Error, OSError, FlitwatchError):
                self._families = []
                pause.wait(EVERY_S)

    def _read(self, conn: psycopg.Connection[Any]) -> list[Metric]:
        if self._queues is None:
            return delivery_families(receiver_figures(conn))
        return queue_families(queue_figures(conn, self._queues)) + place_families(self._url)


def queue_families(found: Sequence[QueueFigures]) -> list[Metric]:
    """Return depth, age and failures by queue."""
    tasks = GaugeMetricFamily("flitwatch_tasks", "Waiting and running tasks.", labels=["queue", "state"])
    waiting = GaugeMetricFamily(
        "flitwatch_task_waiting_seconds", "Waiting time of the oldest waiting task.", labels=["queue"]
    )
    running = GaugeMetricFamily("flitwatch_task_running_seconds", "Age of the oldest running task.", labels=["queue"])
    failed = GaugeMetricFamily("flitwatch_recent_failed_tasks", "Tasks that failed in the last hour.", labels=["queue"])
    for one in found:
        tasks.add_metric([one.queue, "queued"], one.queued)
        tasks.add_metric([one.queue, "running"], one.running)
        failed.add_metric([one.queue], one.failed)
        for family, seconds in ((waiting, one.waiting_s), (running, one.running_s)):
            if seconds is not None:
                family.add_metric([one.queue], seconds)
    return [tasks, waiting, running, failed]


def delivery_families(found: Sequence[ReceiverFigures]) -> list[Metric]:
    """Return undelivered notices by receiver. A receiver without any is omitted."""
    families = [
        GaugeMetricFamily(
            "flitwatch_notices_waiting", "Notifications that are not delivered yet.", labels=["receiver"]
        ),
        GaugeMetricFamily(
            "flitwatch_notices_failing", "Notifications whose last delivery failed.", labels=["receiver"]
        ),
        GaugeMetricFamily(
            "flitwatch_notice_waiting_seconds",
            "Waiting time of the oldest undelivered notification.",
            labels=["receiver"],
        ),
    ]
    for one in found:
        for family, value in zip(families, (one.waiting, one.failing, one.overdue_s), strict=True):
            family.add_metric([one.receiver], value)
    return list(families)


def place_families(url: str | None) -> list[Metric]:
    """Return disk and backups of the embedded database; empty for a server elsewhere."""
    free = GaugeMetricFamily("flitwatch_database_disk_free_bytes", "Free space on the disk of the embedded database.")
    age = GaugeMetricFamily("flitwatch_backup_age_seconds", "Age of the newest base backup.")
    disk = None if url is None else disk_of(url)
    if disk is not None and disk.folder is not None:
        if (free_bytes := disk.free_bytes()) is not None:
            free.add_metric([], free_bytes)
        folder = kept_log.archive_folder(disk.folder.parent)
        bases = [] if folder is None else backup_files.list_bases(folder)
        if bases:
            age.add_metric([], datetime.now(UTC).timestamp() - bases[-1].finished_s)
    return [free, age]
