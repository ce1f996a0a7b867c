"""`flitwatch collect`: follow a producer and publish what it writes to the log."""

from __future__ import annotations

import re
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from flitwatch.console import emit, json_option, stderr
from flitwatch.metrics import metrics_option

if TYPE_CHECKING:
    from flitwatch_ingest.collectors import Checkpoint, Publisher

F = TypeVar("F", bound=Callable[..., Any])


@click.group()
def collect() -> None:
    """Follow a producer and publish what it writes to the log, until stopped.

    A collector may be killed at any moment: it goes on at its checkpoint, and nothing is counted twice or lost.
    """


def following(function: F) -> F:
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
        click.option("--state", type=click.Path(path_type=Path), help="Keep the checkpoint in this file."),
        click.option("--once", is_flag=True, help="Publish what is there and leave."),
        click.option(
            "--interval", "interval_s", type=click.FloatRange(0.05), default=None, help="Seconds between looks."
        ),
    ):
        function = option(function)
    return json_option(metrics_option(function))


@contextmanager
def session(
    kind: str, about: str, log_url: str | None, db_url: str | None, state: Path | None
) -> Iterator[tuple[Publisher, Checkpoint, threading.Event]]:
    """A publisher, a checkpoint, and an event that a signal to stop sets."""
    from contextlib import ExitStack

    from prometheus_client import REGISTRY

    from flitwatch_ingest.collectors import Checkpoint, Publisher
    from flitwatch_ingest.collectors.metrics import PublisherCollector
    from flitwatch_ops import platform
    from flitwatch_ops.home import home
    from flitwatch_ops.watched import own_pulse
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
        publisher = Publisher(producer, stop=stop, say=say, pulse=own_pulse())
        figures = PublisherCollector(publisher)
        REGISTRY.register(figures)
        stack.callback(REGISTRY.unregister, figures)
        yield publisher, checkpoint, stop


def say(text: str) -> None:
    """Tell a person on standard error."""
    stderr.print(text, markup=False, highlight=False)


def finish(publisher: Publisher, as_json: bool) -> None:
    """Report what this run of the collector published."""
    emit({"published": publisher.published, "rejected": publisher.rejected}, as_json)


@collect.command("ldms-csv")
@click.argument("places", type=click.Path(path_type=Path), nargs=-1, required=True)
@following
def ldms_csv(
    places: tuple[Path, ...], log_url: str | None, db_url: str | None, state: Path | None, once: bool, interval_s: float | None, as_json: bool
) -> None:  # fmt: skip
    """Follow the store_csv files in PLACES (files or folders), their growth and their rollovers."""
    from flitwatch_ingest.collectors.ldms_csv import CsvCollector

    with session("ldms-csv", str(places[0].absolute()), log_url, db_url, state) as (publisher, checkpoint, stop):
        collector = CsvCollector(places, publisher, checkpoint, follow=True)
        try:
            collector.once(stop) if once else collector.run(stop, interval_s or 1.0, say)
        finally:
            collector.close()
    finish(publisher, as_json)


@collect.command("ncl")
@click.argument("folder", type=click.Path(path_type=Path))
@click.option(
    "--settle",
    "settle_s",
    type=click.FloatRange(0),
    default=10.0,
    show_default=True,
    help="Seconds a run's files must rest.",
)
@following
def ncl(
    folder: Path, settle_s: float, log_url: str | None, db_url: str | None, state: Path | None, once: bool, interval_s: float | None,
    as_json: bool,
) -> None:  # fmt: skip
    """Follow FOLDER, or the folders in it, for runs that AriesNCL has recorded."""
    from flitwatch_ingest.collectors.ncl import NclCollector

    with session("ncl", str(folder.absolute()), log_url, db_url, state) as (publisher, checkpoint, stop):
        collector = NclCollector(folder, publisher, checkpoint, settle_s=settle_s)
        if once:
            collector.look(stop)
        else:
            collector.run(stop, interval_s or 2.0, say)
    finish(publisher, as_json)


@collect.command("sacct")
@click.option("--sacct", "command", default="sacct", show_default=True, help="The program to ask.")
@click.option(
    "--since",
    "since_s",
    type=click.FloatRange(0),
    default=86400.0,
    show_default=True,
    help="Seconds the first look goes back.",
)
@following
def sacct(
    command: str, since_s: float, log_url: str | None, db_url: str | None, state: Path | None, once: bool, interval_s: float | None,
    as_json: bool,
) -> None:  # fmt: skip
    """Ask this machine's sacct again and again and publish the jobs that changed."""
    from flitwatch_ingest.collectors.sacct import SacctCollector

    with session("sacct", command, log_url, db_url, state) as (publisher, checkpoint, stop):
        collector = SacctCollector(publisher, checkpoint, command=command, since_s=since_s)
        if once:
            collector.once()
        else:
            collector.run(stop, interval_s or 30.0, say)
    finish(publisher, as_json)
