"""Shared parts of the collector commands: options, a publisher with a checkpoint, and the final report."""

from __future__ import annotations

import functools
import logging
import re
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
    stop_on_signal,
)
from flitwatch.metrics import metrics_option

if TYPE_CHECKING:
    from prometheus_client.registry import Collector

    from flitwatch_domain.fabric import Fabric
    from flitwatch_ingest.collectors import Checkpoint, Publisher
    from flitwatch_ingest.exporters import Intake

log = logging.getLogger(__name__)

#: Refused metrics listed in a report, and number of them printed for people.
_MOST_LISTED, _MOST_PRINTED = 1000, 8

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True)
class Publication:
    """Log to publish to, and file of the publisher's position; see `log_options`."""

    log_url: str | None
    db_url: str | None
    state: Path | None = None


@dataclass(frozen=True, kw_only=True)
class CollectorOptions(Publication):
    """Options of all collector commands; see `add_collector_options` and `add_checkpoint_options`."""

    once: bool
    interval_s: float | None
    as_json: bool


def add_checkpoint_options(function: F) -> F:
    """Add the options of a collector that resumes at a checkpoint (parameter `common`)."""
    state = click.option("--state", type=click.Path(path_type=Path), help="File that stores the collector's position.")
    return state(add_collector_options(function))


def add_collector_options(function: F) -> F:
    """Add the options of all collectors (parameter `common`)."""

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
        click.option("--interval", "interval_s", type=FiniteRange(0.05), help="Seconds between two reads."),
    ):
        outer_command = option(outer_command)
    return json_option(metrics_option(outer_command))


def log_options(function: F) -> F:
    """Add `--log` and `--db` (parameters `log_url`, `db_url`) of commands that publish; see `open_session`."""
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
    """Add `--fabric` (parameter `name`) of a collector that reads the topology."""
    return click.option("--fabric", "name", default=default, help="Name of the fabric in the database.")


def cluster_option(function: F) -> F:
    """Add `--cluster` (parameter `cluster`) of a collector that reads the topology; see `keep_topology`."""
    return click.option(
        "--cluster", help="The scheduler's cluster that the fabric connects, as in `flitwatch import fabric --cluster`."
    )(function)


def discovery_option(function: F) -> F:
    """Add `--discover-every` (parameter `discovery_s`)."""
    return click.option(
        "--discover-every",
        "discovery_s",
        type=FiniteRange(1),
        default=300.0,
        help="Seconds between two reads of the topology.",
    )(function)


def map_option(of: str) -> Callable[[F], F]:
    """Add `--map` (parameter `maps`) of a collector with a table of metrics. `of` ends the help: the mapped names."""
    existing = click.Path(path_type=Path, exists=True, dir_okay=False)
    return click.option("--map", "maps", multiple=True, type=existing, help=f"YAML file that maps your site's {of}")


def ca_file_option(function: F) -> F:
    """Add `--ca-file` (parameter `ca_file`)."""
    return click.option(
        "--ca-file",
        type=click.Path(path_type=Path, exists=True, dir_okay=False),
        help="File with trusted certificates (default: those of this system).",
    )(function)


@contextmanager
def open_session(
    kind: str, about: str, options: Publication, patience_s: float | None = None
) -> Iterator[tuple[Publisher, Checkpoint, threading.Event]]:
    """Yield a publisher that waits up to `patience_s` for the log, a checkpoint, and an event that a stop signal sets."""
    from flitwatch_ingest.collectors import Checkpoint, Publisher
    from flitwatch_ingest.collectors.metrics import PublisherCollector
    from flitwatch_ops import platform
    from flitwatch_ops.home import home_folder
    from flitwatch_ops.watched import own_heartbeat
    from flitwatch_stream.backends import open_log

    stop = stop_on_signal()
    name = re.sub(r"[^A-Za-z0-9.-]+", "-", about).strip("-")[-80:] or "all"
    checkpoint = Checkpoint(options.state or home_folder() / "collect" / f"{kind}-{name}.json")
    with ExitStack() as stack:
        url = options.log_url or platform.log_url(stack.enter_context(platform.open_database(options.db_url)))
        log = stack.enter_context(open_log(url))
        producer = stack.enter_context(log.producer(f"flitwatch-collect-{kind}"))
        publisher = Publisher(producer, stop=stop, say=print_message, patience_s=patience_s, heartbeat=own_heartbeat())
        stack.enter_context(expose_metrics(PublisherCollector(publisher)))
        yield publisher, checkpoint, stop


@contextmanager
def topology_session(
    kind: str, about: str, common: CollectorOptions, patience_s: float | None = None
) -> Iterator[tuple[Publisher, Checkpoint, threading.Event, str | None]]:
    """Open a session of a collector that also reads the topology. The last item is the database that stores it, or None if only --log is given."""
    with ExitStack() as stack:
        database, log_url = None, common.log_url
        if common.db_url or not log_url:  # the agent's package has no database
            from flitwatch_ops import platform

            database = stack.enter_context(platform.open_database(common.db_url))
            log_url = log_url or platform.log_url(database)
        opened = open_session(kind, about, Publication(log_url, None, common.state), patience_s)
        publisher, checkpoint, stop = stack.enter_context(opened)
        yield publisher, checkpoint, stop, database


@contextmanager
def expose_metrics(collector: Collector) -> Iterator[None]:
    """Serve this process's metrics at `--metrics-port` within the context."""
    from prometheus_client import REGISTRY

    REGISTRY.register(collector)
    try:
        yield
    finally:
        REGISTRY.unregister(collector)


@contextmanager
def needs_extra(extra: str) -> Iterator[None]:
    """Convert a failed import to an error that explains how to install the extra. Raise MissingDependency."""
    from flitwatch_domain.errors import MissingDependency

    try:
        yield
    except ModuleNotFoundError as missing:
        raise MissingDependency(
            f"{missing.name} is not installed", advice=f"Install flitwatch-agent[{extra}]."
        ) from None


def keep_topology(fabric: Fabric, cluster: str | None, database: str | None) -> None:
    """Store a collector's topology, replacing one of the same name. Do nothing without a database."""
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
    """Print a message on standard error, or log it for a long-running collector."""
    if logs_json():
        log.info("%s", text)
    else:
        stderr_console().print(text, markup=False, highlight=False)


class RefusedMetric(TypedDict):
    """Refused metric, page of metrics or record, with the reason."""

    what: str
    reason: str


class RefusedMetrics(TypedDict):
    """First refused items, first unknown counters (stored unchanged), and their total numbers."""

    refused: list[RefusedMetric]
    refused_total: int
    unknown_counters: list[str]
    unknown_counters_total: int


def refused_of(intake: Intake) -> RefusedMetrics:
    """Return the report's fields on refused items and unknown counters, and print the first of them."""
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


def say_unknown(intake: Intake, printed: int) -> int:
    """Print the unknown counters after the first `printed`. Return their total number."""
    names = list(intake.unknown)
    if len(names) > printed:
        print_message(
            f"stored unchanged and not in any figure, because they are not in the catalogue: {_join_names(names[printed:])}"
        )
    return len(names)


def _join_names(names: list[str]) -> str:
    """Return the first names and the number of the others."""
    more = f" and {len(names) - _MOST_PRINTED} more" if len(names) > _MOST_PRINTED else ""
    return f"{', '.join(names[:_MOST_PRINTED])}{more}"


def exit_collector(refused: int, common: CollectorOptions) -> None:
    """Exit. With --once, use the status `SOME_REFUSED` if items were refused, as imports do."""
    if common.once and refused:
        sys.exit(SOME_REFUSED)


def report_published(publisher: Publisher, as_json: bool) -> None:
    """Report the items that this run of the collector published."""
    print_result({"published": publisher.published, "rejected": publisher.rejected}, as_json)
