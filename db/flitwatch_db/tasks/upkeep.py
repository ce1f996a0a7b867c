"""Maintenance and other periodic work, in threads alongside a worker's tasks, which cannot delay it."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping

import psycopg

from flitwatch_db.core import log_keep
from flitwatch_db.core.connection import connect
from flitwatch_db.core.deadlines import STILL_S
from flitwatch_db.core.maintenance import maintain_database
from flitwatch_domain.errors import FlitwatchError

log = logging.getLogger(__name__)

#: Interval of maintenance, and of a worker's checks whether it is due.
EVERY_S, LOOK_S = 600.0, 20.0


def run_upkeep(url: str, stop: threading.Event) -> None:
    """Maintain the database until `stop` is set; only one of several workers does it."""
    while True:
        try:
            if _is_due(url):
                log.info("maintenance: %s", maintain_database(url)["dropped"])
            else:
                _trim_log(url)
        except (psycopg.Error, OSError, FlitwatchError) as problem:
            log.warning("maintenance waits: %s", problem)
        if stop.wait(LOOK_S):
            return


def run_periodic(calls: Mapping[str, tuple[float, Callable[[str], object]]], url: str, stop: threading.Event) -> None:
    """Call each with the database's URL once per period until `stop` is set; only one of several workers does it."""
    while True:
        try:
            for name in _claim_periods(url, {name: period_s for name, (period_s, _) in calls.items()}):
                _call_periodic(name, calls[name][1], url)
        except (psycopg.Error, OSError, FlitwatchError) as problem:
            log.warning("periodic work waits: %s", problem)
        if stop.wait(min(LOOK_S, *(period_s / 12 for period_s, _ in calls.values()))):
            return


def _call_periodic(name: str, call: Callable[[str], object], url: str) -> None:
    try:
        call(url)
    except (psycopg.Error, OSError, FlitwatchError) as problem:
        log.warning("%s: %s", name, problem)


def _claim_periods(url: str, periods_s: Mapping[str, float]) -> list[str]:
    """Claim the names whose period is over; by the database's clock, which may have been set back."""
    with connect(url, role="writer", application="flitwatch periodic", still_s=STILL_S) as conn:
        return [
            name
            for name, period_s in periods_s.items()
            if conn.execute(
                "INSERT INTO periodic_task (name) VALUES (%s) ON CONFLICT (name) DO UPDATE SET begun_at = clock_timestamp()"
                " WHERE periodic_task.begun_at NOT BETWEEN clock_timestamp() - make_interval(secs => %s) AND clock_timestamp()",
                [name, period_s],
            ).rowcount
        ]


def _trim_log(url: str) -> None:
    """Apply the log's limits between maintenance runs, because it grows by hundreds of megabytes from one to the next."""
    with connect(url, role="keeper", application="flitwatch upkeep", still_s=STILL_S) as conn:
        conn.execute("SET lock_timeout = '5s'")
        log_keep.trim_log(conn)


def _is_due(url: str) -> bool:
    """Return whether maintenance is due and no other worker has begun it; by the database's clock, which may have been set back."""
    with connect(url, role="keeper", application="flitwatch upkeep", still_s=STILL_S) as conn:
        cursor = conn.execute(
            "INSERT INTO setting VALUES ('maintained_at', to_jsonb(clock_timestamp())) ON CONFLICT (key) DO UPDATE SET value = excluded.value"
            " WHERE (setting.value #>> '{}')::timestamptz NOT BETWEEN clock_timestamp() - make_interval(secs => %s) AND clock_timestamp()",
            [EVERY_S],
        )
        return cursor.rowcount == 1
