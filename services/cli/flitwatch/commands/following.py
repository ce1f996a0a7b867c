"""What every collector's command shares: its options, a publisher with a checkpoint, and the report at its end."""

from __future__ import annotations

import re
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from flitwatch.console import FiniteRange, emit, json_option, stderr
from flitwatch.metrics import metrics_option

if TYPE_CHECKING:
    from flitwatch_domain.fabric import Fabric
    from flitwatch_ingest.collectors import Checkpoint, Publisher

F = TypeVar("F", bound=Callable[..., Any])


def following(function: F) -> F:
    """Options of a collector that goes on at a checkpoint."""
    state = click.option("--state", type=click.Path(path_type=Path), help="Keep the checkpoint in this file.")
    return state(publishing(function))


def publishing(function: F) -> F:
    """Options of every collector."""
    for option in (
        click.option(
            "--log", "log_url", envvar="FLITWATCH_LOG", help="Publish to this log: kafka://... or postgresql://..."
        ),
        click.option(
            "--db",
            "db_url",
            envvar="FLITWATCH_DB",
            help="Without --log: the log of this database (default: the project's own).",
        ),
        click.option("--once", is_flag=True, help="Publish what is there and leave."),
        click.option("--interval", "interval_s", type=FiniteRange(0.05), default=None, help="Seconds between looks."),
    ):
        function = option(function)
    return json_option(metrics_option(function))


@contextmanager
def session(
    kind: str, about: str, log_url: str | None, db_url: str | None, state: Path | None, patience_s: float | None = None
) -> Iterator[tuple[Publisher, Checkpoint, threading.Event]]:
    """A publisher that waits so long for the log, a checkpoint, and an event that a signal to stop sets."""
    from contextlib import ExitStack

    from prometheus_client import REGISTRY

    from flitwatch_ingest.collectors import Checkpoint, Publisher
    from flitwatch_ingest.collectors.metrics import PublisherCollector
    from flitwatch_ops import platform
    from flitwatch_ops.home import home
    from flitwatch_ops.watched import own_heartbeat
    from flitwatch_stream.backends import open_log

    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    name = re.sub(r"[^A-Za-z0-9.-]+", "-", about).strip("-")[-80:] or "all"
    checkpoint = Checkpoint(state or home() / "collect" / f"{kind}-{name}.json")
    with ExitStack() as stack:
        url = log_url or platform.log_url(stack.enter_context(platform.database(db_url)))
        log = stack.enter_context(open_log(url))
        producer = stack.enter_context(log.producer(f"flitwatch-collect-{kind}"))
        publisher = Publisher(producer, stop=stop, say=say, patience_s=patience_s, heartbeat=own_heartbeat())
        figures = PublisherCollector(publisher)
        REGISTRY.register(figures)
        stack.callback(REGISTRY.unregister, figures)
        yield publisher, checkpoint, stop


def keep_topology(fabric: Fabric, cluster: str | None, database: str | None) -> None:
    """Store a collector's topology in the place of another of its name; without a database, nothing."""
    import dataclasses

    if database is None:
        return
    from flitwatch.commands.imports.fabric import store, tell
    from flitwatch_db import connect
    from flitwatch_domain.errors import Conflict

    found = dataclasses.replace(fabric, attributes={**fabric.attributes, "cluster": cluster}) if cluster else fabric
    tell(found.warnings)
    with connect(database) as conn:
        try:
            store(conn, found)
        except Conflict:
            say(f"the topology of {found.name} changed")
            store(conn, found, replace=True)


def say(text: str) -> None:
    """Tell a person on standard error."""
    stderr.print(text, markup=False, highlight=False)


def finish(publisher: Publisher, as_json: bool) -> None:
    """Report what this run of the collector published."""
    emit({"published": publisher.published, "rejected": publisher.rejected}, as_json)
