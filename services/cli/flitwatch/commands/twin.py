"""`flitwatch twin`: a simulated machine that emits the producers' formats."""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from flitwatch.console import (
    FiniteRange,
    Group,
    json_option,
    log_to_stderr,
    make_progress,
    print_result,
    stop_on_signal,
)
from flitwatch.metrics import metrics_option
from flitwatch_domain.errors import BadRequest
from flitwatch_domain.units import EARLIEST_S, LATEST_S
from flitwatch_ops.watched import own_heartbeat

#: Seconds of a history with runs: about 34 runs of AMG and 20 of MILC on the demo machine.
FINE_S = 14_400
#: Blame counts runs of one day with the same exposed users once. So this many earlier days also have runs, for 40 minutes at a different hour each
#: day.
EARLIER_DAYS, SESSION_S, HOURS_APART, DAY_S = 60, 2400, 7, 86_400


@click.group(cls=Group)
def twin() -> None:
    """Run the cluster twin: a simulated machine that writes the formats of real sources."""


@twin.command("run")
@click.argument("spec")
@click.option("--seconds", type=click.IntRange(0), default=60, help="Simulated seconds; 0 runs until stopped.")
@click.option(
    "--speed",
    type=FiniteRange(0),
    default=1.0,
    help="Speed: 1 is real time, 0 is as fast as possible.",
)
@click.option(
    "--seed",
    type=click.IntRange(0, 2**63 - 1),
    default=1,
    help="Random seed. The same seed gives the same records.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder for truth.json and, without --log, for store_csv, sacct and AriesNCL files.",
)
@click.option("--files", is_flag=True, help="With --log, also write the sources' files to --out.")
@click.option("--log", "log_url", envvar="FLITWATCH_LOG", help="Log to publish to: kafka://... or postgresql://...")
@click.option("--db", "db_url", envvar="FLITWATCH_DB", help="Register the simulated fabric in this database.")
@click.option(
    "--format",
    "encoding",
    type=click.Choice(["json", "avro"]),
    default="json",
    help="Format of LDMS records on the log.",
)
@click.option(
    "--registry",
    help="Schema registry for --format avro: a URL or a JSON file (default: OUT/registry.json).",
)
@click.option(
    "--sets",
    type=click.Choice(["quarter", "full"]),
    help="Whether four nodes share a router's tiles, or one node sends them all (default: from the spec).",
)
@click.option("--start", default="now", help="Time of second 0: now, epoch seconds, or RFC 3339.")
@click.option(
    "--day",
    type=click.IntRange(0),
    default=0,
    help="Number of the day. Each day has the same users and different jobs.",
)
@click.option(
    "--history",
    type=click.IntRange(0, 172_800),
    default=0,
    help="Seconds of jobs and runs to simulate before second 0, if --db has no run of this machine yet.",
)
@metrics_option
@json_option
def run(
    spec: str, seconds: int, speed: float, seed: int, day: int, history: int, out: Path | None, log_url: str | None, db_url: str | None, encoding: str, registry: str | None, files: bool,
    sets: str | None, start: str, as_json: bool,
) -> None:  # fmt: skip
    """Simulate SPEC, a scenario or a YAML file, and write the data of its sources."""
    from flitwatch_twin.cluster import Cluster
    from flitwatch_twin.run import TwinRun
    from flitwatch_twin.sinks import FileSink, Sink
    from flitwatch_twin.spec import load_spec

    if out is None and log_url is None:
        raise BadRequest("nowhere to write to", advice="Give --out DIR, --log URL, or both.")
    log_to_stderr(logging.WARNING)
    epoch_s = _parse_epoch(start)
    if not speed < float("inf"):
        raise BadRequest(f"--speed is {speed}", advice="Give 1 for real time, or 0 for as fast as possible.")
    loaded = load_spec(spec)
    cluster = Cluster(loaded, seed, first_job=_first_job(epoch_s), day=day)
    fabric_id = _register_fabric(cluster.fabric, db_url) if db_url else None
    sinks: list[Sink] = []
    with contextlib.ExitStack() as stack:
        if history and log_url and db_url and not _has_runs(db_url, loaded.name):
            stack.enter_context(
                _run_alongside(
                    [
                        *("history", spec, "--seconds", str(history), "--until", str(epoch_s), "--seed", str(seed)),
                        *("--fine", str(min(history, FINE_S)), "--tree", "--days", str(EARLIER_DAYS), "--json"),
                    ],
                    {"FLITWATCH_LOG": log_url, "FLITWATCH_DB": db_url},
                )
            )
        if log_url:
            sinks.append(_log_sink(log_url, _open_registry(encoding, registry, out), stack))
        if out is not None:
            out.mkdir(parents=True, exist_ok=True)
            if files or not log_url:
                sinks.append(FileSink(out, loaded.name))
        stop = stop_on_signal()
        bar = stack.enter_context(make_progress(f"twin {loaded.name}"))
        task = bar.add_task("seconds", total=seconds or None)
        running = TwinRun(cluster, sinks, epoch_s, out / "truth.json" if out else None, sets)
        heartbeat = own_heartbeat()

        def note(done: int) -> None:
            heartbeat.beat()
            bar.update(task, completed=done)

        totals = running.run(seconds, speed, stop, note)
    result: dict[str, Any] = {
        "scenario": loaded.name,
        "seed": seed,
        "start": epoch_s,
        "simulated": True,
        "routers": len(cluster.fabric.routers),
        "groups": len(cluster.fabric.groups),
        "nodes": cluster.machine.nodes,
        **totals,
        "format": encoding if log_url else "csv",
        "fabric_id": fabric_id,
        "out": str(out) if out else None,
        "truth": str(out / "truth.json") if out else None,
    }
    print_result(result, as_json)


@twin.command("history")
@click.argument("spec")
@click.option("--seconds", type=click.IntRange(1, 172_800), default=FINE_S, help="Simulated seconds.")
@click.option(
    "--fine",
    type=click.IntRange(1, 172_800),
    default=FINE_S,
    help="Simulate runs only in this many last seconds. The time before has only jobs and counters.",
)
@click.option(
    "--days",
    type=click.IntRange(0, 120),
    default=0,
    help="Number of earlier days that have 40 minutes of jobs and runs each, without counters.",
)
@click.option("--until", default="now", help="End of the history: now, epoch seconds, or RFC 3339.")
@click.option("--seed", type=click.IntRange(0, 2**63 - 1), default=1, help="Random seed of the users.")
@click.option("--log", "log_url", envvar="FLITWATCH_LOG", required=True, help="Log to publish to.")
@click.option(
    "--db", "db_url", envvar="FLITWATCH_DB", help="Add the counters of each minute to the machine in this database."
)
@click.option("--tree", is_flag=True, help="With --db, also create a fat tree with counters and a finished loop.")
@json_option
def history_(
    spec: str, seconds: int, fine: int, days: int, until: str, seed: int, log_url: str, db_url: str | None, tree: bool,
    as_json: bool,
) -> None:  # fmt: skip
    """Simulate the last hours of SPEC as fast as possible, and publish its jobs and instrumented runs. With --db, also write sums of its counters."""
    from flitwatch_twin.minutes import MINUTE_S
    from flitwatch_twin.spec import load_spec

    until_s, loaded = _parse_epoch(until), load_spec(spec)
    # The newest part first, because its runs determine usual times; steps of both parts end at full minutes.
    fine_s = (until_s - min(fine, seconds)) // MINUTE_S * MINUTE_S
    stop = stop_on_signal()
    totals, sums = _simulate_past(loaded, seed, fine_s, until_s, False, log_url, db_url, stop)
    recommendation_id = None
    if db_url and not stop.is_set():
        from flitwatch import simulated_past

        simulated_past.be_nice()
        recommendation_id = simulated_past.store_tree(db_url, until_s) if tree else None
        simulated_past.store_sums(db_url, loaded.name, sums, loaded.ldms, stop.is_set)
    begin_s = (until_s - seconds) // MINUTE_S * MINUTE_S
    for day in range(1, days + 1):
        if not stop.is_set():
            session_s = (begin_s // DAY_S - day) * DAY_S + HOURS_APART * 3600 * day % (DAY_S - SESSION_S)
            _simulate_past(loaded, seed, session_s, session_s + SESSION_S, False, log_url, None, stop)
    if begin_s < fine_s and not stop.is_set():
        _, before = _simulate_past(loaded, seed, begin_s, fine_s, True, log_url, db_url, stop)
        if db_url and not stop.is_set():
            simulated_past.store_sums(db_url, loaded.name, before, loaded.ldms, stop.is_set)
    print_result(
        {"scenario": loaded.name, "seed": seed, "start": fine_s, "simulated": True, **totals}
        | {"since": min(begin_s, fine_s), "tree_recommendation": recommendation_id},
        as_json,
    )


def _simulate_past(
    spec: Any, seed: int, from_s: int, until_s: int, coarse: bool, log_url: str, db_url: str | None, stop: threading.Event
) -> tuple[Any, Any]:  # fmt: skip
    """Simulate a past. Return the published counts, and the sums by minute (None without a database)."""
    from flitwatch_twin.cluster import Cluster
    from flitwatch_twin.minutes import MinuteSums
    from flitwatch_twin.run import Past, TwinRun

    # Not the running machine's day number, so that the past has other jobs.
    cluster = Cluster(spec, seed, first_job=_first_job(from_s), day=1 + from_s // 60)
    sums = MinuteSums(cluster.fabric, cluster.counters, from_s) if db_url else None
    past = Past(coarse, sums, until_s - from_s - spec.warm_start_s) if coarse else Past(sums=sums)
    with contextlib.ExitStack() as stack:
        sink = _log_sink(log_url, None, stack)
        bar = stack.enter_context(make_progress(f"history of {spec.name}"))
        task = bar.add_task("seconds", total=until_s - from_s)
        running = TwinRun(cluster, [sink], from_s, past=past)
        totals = running.run(until_s - from_s, 0, stop, lambda done: bar.update(task, completed=done))
    if sums is not None:
        sums.take(cluster.counters, from_s + cluster.time_s, last=True)
    return totals, sums


@twin.command("scenarios")
@json_option
def scenarios(as_json: bool) -> None:
    """List the named scenarios."""
    from flitwatch_twin.spec import SCENARIOS, load_spec

    print_result(
        {
            name: load_spec(name).model_dump(include={"fabric", "users", "instrumented", "interference"})
            for name in SCENARIOS
        },
        as_json,
    )


def _parse_epoch(start: str) -> int:
    import time
    from datetime import UTC, datetime

    if start == "now":
        return int(time.time())
    try:
        seconds = float(start)
    except ValueError:
        try:
            when = datetime.fromisoformat(start)
            seconds = (when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp()
        except (ValueError, OverflowError):
            seconds = float("nan")
    if not EARLIEST_S <= seconds <= LATEST_S:
        raise BadRequest(
            f"{start[:40]!r} is not a time from 2000 to 2100",
            advice="Give now, epoch seconds, or a time like 2026-03-02T10:00:00Z.",
        )
    return int(seconds)


def _first_job(epoch_s: int) -> int:
    """Return the first job number. It grows with the time of second 0: slower than Slurm's limit (2^26) and faster than jobs arrive."""
    return max(epoch_s - 1_600_000_000, 0) // 4


def _has_runs(db_url: str, cluster: str) -> bool:
    import flitwatch_db
    from flitwatch_db.estimates import inputs as estimates

    with flitwatch_db.connect(db_url, role="reader") as connection:
        return estimates.has_runs(connection, cluster)


@contextlib.contextmanager
def _run_alongside(argv: list[str], settings: dict[str, str]) -> Iterator[None]:
    """Run a twin command in a child process that ends with this one. URLs can contain passwords, so they are passed in its environment."""
    import os
    import subprocess
    import sys

    child = subprocess.Popen(
        [sys.executable, "-m", "flitwatch.main", "twin", *argv],
        stdin=subprocess.DEVNULL,
        env={**os.environ, **settings},
    )
    try:
        yield
    finally:
        child.terminate()
        child.wait(30)


def _register_fabric(fabric: Any, db_url: str) -> int:
    """Register the fabric; a measured fabric of the same name is never changed."""
    import flitwatch_db
    from flitwatch_db.fabrics import store as fabrics
    from flitwatch_domain.errors import Conflict

    with flitwatch_db.connect(db_url) as connection:
        if any(
            stored_fabric.name == fabric.name and not stored_fabric.simulated
            for stored_fabric in fabrics.list_all(connection)
        ):
            raise Conflict(
                f"a measured fabric already has the name {fabric.name!r}", advice="Give the twin's spec another name."
            )
        return fabrics.save_fabric(connection, fabric, replace=True)


def _open_registry(encoding: str, registry: str | None, out: Path | None) -> Any:
    from flitwatch_twin.registry import FileRegistry, HttpRegistry

    if encoding == "json":
        return None
    if registry is None and out is None:
        raise BadRequest(
            "--format avro needs a schema registry", advice="Give --registry URL, --registry FILE, or --out DIR."
        )
    if registry is not None and registry.startswith(("http://", "https://")):
        return HttpRegistry(registry)
    path = Path(registry) if registry is not None else (out or Path()) / "registry.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    return FileRegistry(path)


def _log_sink(log_url: str, schema_id: Any, stack: contextlib.ExitStack) -> Any:
    from flitwatch_stream.backends import open_log
    from flitwatch_twin.sinks import LogSink

    log = stack.enter_context(open_log(log_url))
    return LogSink(log.producer("twin"), schema_id)
