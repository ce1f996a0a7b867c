"""Shared parts of the collectors' commands: options, a publisher with a checkpoint, and the final report."""

from __future__ import annotations

import functools
import logging
import re
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar, cast

import click

from flitwatch.console import (
    SOME_REFUSED,
    FiniteRange,
    json_option,
    log_to_stderr,
    logs_json,
    print_result,
    stderr_console,
)
from flitwatch.metrics import metrics_option

if TYPE_CHECKING:
    from prometheus_client.registry import Collector

    from flitwatch_domain.fabric import Fabric
    from flitwatch_ingest.collectors import Checkpoint, Publisher
    from flitwatch_ingest.exporters import Intake

log = logging.getLogger(__name__)

#: Refused metrics in a report, and those of them that a person is told.
_MOST_LISTED, _MOST_TOLD = 1000, 8

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True)
class CollectorOptions:
    """Options of every collector's command; see `add_collector_options` and `add_checkpoint_options`."""

    log_url: str | None
    db_url: str | None
    once: bool
    interval_s: float | None
    as_json: bool
    state: Path | None = None


def add_checkpoint_options(function: F) -> F:
    """Options of a collector that goes on at a checkpoint (parameter `common`)."""
    state = click.option("--state", type=click.Path(path_type=Path), help="File that stores the collector's position.")
    return state(add_collector_options(function))


def add_collector_options(function: F) -> F:
    """Options of every collector (parameter `common`)."""

    @functools.wraps(function)
    def command(**options: Any) -> Any:
        common = CollectorOptions(
            **{field.name: options.pop(field.name) for field in fields(CollectorOptions) if field.name in options}
        )
        if not common.once:
            log_to_stderr()
        return function(common=common, **options)

    outer_command = log_options(cast(F, command))
    for option in (
        click.option("--once", is_flag=True, help="Publish what is available and exit."),
        click.option(
            "--interval", "interval_s", type=FiniteRange(0.05), default=None, help="Seconds between two reads."
        ),
    ):
        outer_command = option(outer_command)
    return json_option(metrics_option(outer_command))


def log_options(function: F) -> F:
    """`--log` and `--db` (parameters `log_url`, `db_url`) of what publishes; see `open_session`."""
    function = click.option(
        "--db",
        "db_url",
        envvar="FLITWATCH_DB",
        help="Without --log, publish to the log of this database (default: the embedded one).",
    )(function)
    return click.option(
        "--log", "log_url", envvar="FLITWATCH_LOG", help="Log to publish to: kafka://... or postgresql://..."
    )(function)


def fabric_option(default: str) -> Callable[[F], F]:
    """`--fabric` (parameter `name`) of a collector that reads the topology."""
    return click.option(
        "--fabric", "name", default=default, show_default=True, help="Name of the fabric in the database."
    )


def cluster_option(function: F) -> F:
    """`--cluster` (parameter `cluster`) of a collector that reads the topology; see `keep_topology`."""
    return click.option(
        "--cluster", help="The scheduler's cluster that the fabric connects, as in `flitwatch import fabric --cluster`."
    )(function)


def discovery_option(function: F) -> F:
    """`--discover-every` (parameter `discovery_s`)."""
    return click.option(
        "--discover-every",
        "discovery_s",
        type=FiniteRange(1),
        default=300.0,
        show_default=True,
        help="Seconds between two reads of the topology.",
    )(function)


def ca_file_option(function: F) -> F:
    """`--ca-file` (parameter `ca_file`)."""
    return click.option(
        "--ca-file",
        type=click.Path(path_type=Path, exists=True, dir_okay=False),
        help="File with trusted certificates (default: those of this system).",
    )(function)


@contextmanager
def open_session(
    kind: str, about: str, log_url: str | None, db_url: str | None, state: Path | None, patience_s: float | None = None
) -> Iterator[tuple[Publisher, Checkpoint, threading.Event]]:
    """A publisher that waits so long for the log, a checkpoint, and an event that a signal to stop sets."""
    from flitwatch_ingest.collectors import Checkpoint, Publisher
    from flitwatch_ingest.collectors.metrics import PublisherCollector
    from flitwatch_ops import platform
    from flitwatch_ops.home import home_folder
    from flitwatch_ops.watched import own_heartbeat
    from flitwatch_stream.backends import open_log

    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    name = re.sub(r"[^A-Za-z0-9.-]+", "-", about).strip("-")[-80:] or "all"
    checkpoint = Checkpoint(state or home_folder() / "collect" / f"{kind}-{name}.json")
    with ExitStack() as stack:
        url = log_url or platform.log_url(stack.enter_context(platform.open_database(db_url)))
        log = stack.enter_context(open_log(url))
        producer = stack.enter_context(log.producer(f"flitwatch-collect-{kind}"))
        publisher = Publisher(producer, stop=stop, say=print_message, patience_s=patience_s, heartbeat=own_heartbeat())
        stack.enter_context(expose_metrics(PublisherCollector(publisher)))
        yield publisher, checkpoint, stop


@contextmanager
def topology_session(
    kind: str, about: str, common: CollectorOptions, patience_s: float | None = None
) -> Iterator[tuple[Publisher, Checkpoint, threading.Event, str | None]]:
    """A session of a collector that reads the topology too, and the database that keeps it: None with --log alone."""
    with ExitStack() as stack:
        database, log_url = None, common.log_url
        if common.db_url or not log_url:  # the agent's package has no database
            from flitwatch_ops import platform

            database = stack.enter_context(platform.open_database(common.db_url))
            log_url = log_url or platform.log_url(database)
        opened = open_session(kind, about, log_url, None, common.state, patience_s)
        publisher, checkpoint, stop = stack.enter_context(opened)
        yield publisher, checkpoint, stop, database


@contextmanager
def expose_metrics(collector: Collector) -> Iterator[None]:
    """Figures of this process at `--metrics-port`, meanwhile."""
    from prometheus_client import REGISTRY

    REGISTRY.register(collector)
    try:
        yield
    finally:
        REGISTRY.unregister(collector)


@contextmanager
def needs_extra(extra: str) -> Iterator[None]:
    """Says how to install what an import does not find.

    Raises
    ------
    MissingDependency
    """
    from flitwatch_domain.errors import MissingDependency

    try:
        yield
    except ModuleNotFoundError as missing:
        raise MissingDependency(
            f"{missing.name} is not installed", advice=f"Install flitwatch-agent[{extra}]."
        ) from None


def keep_topology(fabric: Fabric, cluster: str | None, database: str | None) -> None:
    """Store a collector's topology in the place of another of its name; without a database, nothing."""
    import dataclasses

    if database is None:
        return
    from flitwatch.commands.imports.fabric import print_warnings, store_fabric
    from flitwatch_db import connect
    from flitwatch_domain.errors import Conflict

    labelled_fabric = (
        dataclasses.replace(fabric, attributes={**fabric.attributes, "cluster": cluster}) if cluster else fabric
    )
    print_warnings(labelled_fabric.warnings)
    with connect(database) as conn:
        try:
            store_fabric(conn, labelled_fabric)
        except Conflict:
            print_message(f"the topology of {labelled_fabric.name} changed")
            store_fabric(conn, labelled_fabric, replace=True)


def print_message(text: str) -> None:
    """Tell a person on standard error, or the log of a collector that goes on."""
    if logs_json():
        log.info("%s", text)
    else:
        stderr_console().print(text, markup=False, highlight=False)


class RefusedMetric(TypedDict):
    """A metric, a page of metrics or a record that was not taken, and why."""

    what: str
    reason: str


class RefusedMetrics(TypedDict):
    """The first of what was not taken, and of the counters that are kept as they came because no catalogue has them; and how many in all."""

    refused: list[RefusedMetric]
    refused_total: int
    unknown_counters: list[str]
    unknown_counters_total: int


def refused_of(intake: Intake) -> RefusedMetrics:
    """The report's keys about what was not taken, and what no catalogue has; a person receives the first."""
    names: dict[str, list[str]] = {}
    for what, reason in intake.refused.items():
        names.setdefault(reason, []).append(what)
    for reason, metric_names in names.items():
        print_message(f"not taken: {_join_names(metric_names)}: {reason}")
    if intake.unknown:
        print_message(
            f"stored unchanged and not in any figure, because they are not in the catalogue: {_join_names(list(intake.unknown))}"
        )
    listed = list(intake.refused.items())[:_MOST_LISTED]
    return {
        "refused": [{"what": what, "reason": reason} for what, reason in listed],
        "refused_total": len(intake.refused),
        "unknown_counters": list(intake.unknown)[:_MOST_LISTED],
        "unknown_counters_total": len(intake.unknown),
    }


def say_unknown(intake: Intake, told: int) -> int:
    """Name the counters after the first `told` that no catalogue has; return how many there are."""
    names = list(intake.unknown)
    if len(names) > told:
        print_message(
            f"stored unchanged and not in any figure, because they are not in the catalogue: {_join_names(names[told:])}"
        )
    return len(names)


def _join_names(names: list[str]) -> str:
    """The first names, and how many more there are."""
    more = f" and {len(names) - _MOST_TOLD} more" if len(names) > _MOST_TOLD else ""
    return f"{', '.join(names[:_MOST_TOLD])}{more}"


def exit_collector(refused: int, common: CollectorOptions) -> None:
    """End a collector: one look ends as an import does, with `SOME_REFUSED` where something was refused."""
    if common.once and refused:
        sys.exit(SOME_REFUSED)


def report_published(publisher: Publisher, as_json: bool) -> None:
    """Report what this run of the collector published."""
    print_result({"published": publisher.published, "rejected": publisher.rejected}, as_json)
