"""`flitwatch bench ingest`: a machine's counters through log, writer and database, with a final count of all rows."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

import click

from flitwatch.console import exit_with_error, json_option, make_progress, print_result

if TYPE_CHECKING:
    from flitwatch_ingest.writer.measures import WriterReport
    from flitwatch_research.ingest_bench.load import Baseline, LoadReport, Order
    from flitwatch_research.ingest_bench.servers import Servers

ROUTERS_PER_GROUP, CORI_BLUE_ROUTERS = 96, 12
PARTITIONS = 4
READY_S = 120.0
#: Longest delay of the log after the load's end before records count as lost.
DRAIN_S = 300.0


@click.command("ingest")
@click.option(
    "--routers",
    type=click.IntRange(96, 19_968),
    default=3264,
    help="Number of routers, a multiple of 96.",
)
@click.option("--seconds", type=click.IntRange(5, 2_000), default=60, help="Duration in seconds.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["avro", "json"]),
    default="avro",
    help="Format of the records.",
)
@click.option(
    "--sets",
    type=click.Choice(["full", "quarter"]),
    default="full",
    help="One set per router and second, or one from each of its four nodes.",
)
@click.option(
    "--stack",
    type=click.Choice(["full", "embedded"]),
    default="full",
    help="Kafka and TimescaleDB, or the embedded database with its log.",
)
@json_option
def ingest(routers: int, seconds: int, form: Any, sets: str, stack: Any, as_json: bool) -> None:
    """Send a machine's counters in real time, and check every row at the end. Each router sends 492 counters per second, from records that were
    encoded before. The lag is the time from when a record is due until its transaction commits. The exit status is 1 if a row is missing, duplicated
    or wrong.
    """
    from flitwatch_db import connect
    from flitwatch_db.fabrics import store as fabrics
    from flitwatch_domain.generators import build_dragonfly, most_blue_routers
    from flitwatch_research.ingest_bench.checks import check_rows
    from flitwatch_research.ingest_bench.load import measure_baseline
    from flitwatch_research.ingest_bench.servers import start_servers

    groups = round(routers / ROUTERS_PER_GROUP)
    # As on Cori if there are enough tiles; larger machines have fewer cables between groups.
    fabric = build_dragonfly(
        groups, blue_routers=min(CORI_BLUE_ROUTERS, most_blue_routers(groups)), name="bench-ingest"
    )
    with start_servers(stack) as running, make_progress("") as shown, tempfile.TemporaryDirectory() as folder:
        order, registry = _prepare_order(running.log_url, fabric, sets == "quarter", form, seconds, Path(folder))
        with connect(running.url) as conn:
            fabrics.save_fabric(conn, fabric)
        compared = measure_baseline(order)
        figures = _run_load(running, order, registry, shown)
        counted = check_rows(running.url, order, figures["first_s"])
    result = {
        **_summarise_run(order, figures),
        **counted,
        "baseline": _compare_decoding(compared, figures),
        "routers": len(fabric.routers),
        "seconds": seconds,
        "format": form,
        "sets": sets,
        "stack": stack,
        "cores": os.cpu_count(),
        "load_1m": round(os.getloadavg()[0], 2),
    }
    print_result(result, as_json)
    problems = [name for name in ("lost", "duplicated", "wrong", "gaps", "dead_letters") if result[name]]
    if problems:
        exit_with_error(
            "the tables differ from the data sent: " + ", ".join(f"{result[name]} {name}" for name in problems)
        )


def _prepare_order(
    log_url: str, fabric: Any, quarters: bool, form: Any, seconds: int, folder: Path
) -> tuple[Order, Path]:
    """Prepare the load: create its topics and write its schemas to a registry file."""
    from flitwatch_research.ingest_bench.load import Order
    from flitwatch_research.ingest_bench.sets import metric_sets, write_registry
    from flitwatch_stream.backends import open_log

    sets = metric_sets(fabric, quarters)
    registry = folder / "registry.json"
    ids = write_registry(registry, sets)
    with open_log(log_url) as log:
        for metric_set in sets:
            log.create_topic(metric_set.topic, PARTITIONS)
    return Order(log_url, sets, form, seconds, ids), registry


class _Figures(TypedDict):
    """Reports of load, watch and writer, seconds until all rows were written, and the epoch second of the first record."""

    sent: LoadReport
    watched: dict[str, dict[str, float | None]]
    writer: WriterReport
    drain_s: float
    first_s: int


class _Summary(TypedDict):
    """Rates, delays, memory and processor cores of a run."""

    values_per_s: int
    records_per_s: int
    bytes_per_s: int
    lag_s: float | None
    lag_max_s: float | None
    drain_s: float
    rss_mb: float | None
    rss_slope_mb_per_min: float | None
    stages: dict[str, float]
    waits: dict[str, float]
    cpu_cores: dict[str, float]
    load_cpu_s: float
    load_late_max_s: float
    processes: dict[str, dict[str, float | None]]
    commits: int


class _Compared(TypedDict):
    """The baseline, the writer's values per second and core, and their ratio."""

    name: str
    values_per_s_per_core: int
    decode_and_deltas_per_s_per_core: int
    ratio: float


def _run_load(running: Servers, order: Order, registry: Path, shown: Any) -> _Figures:
    """Run load and writer; return their reports and the watch's."""
    from flitwatch_research.ingest_bench.checks import carried_at
    from flitwatch_research.ingest_bench.load import receive_report, receive_start, start_load
    from flitwatch_research.ingest_bench.watch import Watch

    with start_load(order) as pipe, _run_writer(running, registry) as (process, port):
        receive_start(pipe, READY_S)
        _await_topics(port, len(order.sets))
        watch = Watch({**running.processes, "writer": process.pid})
        first_s = int(time.time()) + 2
        pipe.send(first_s)
        task = shown.add_task("sending", total=order.seconds)
        while not pipe.poll(1.0):
            shown.update(task, completed=min(order.seconds, time.time() - first_s))
            if process.poll() is not None:
                exit_with_error("the writer ended before the load did")
        done = receive_report(pipe, READY_S)
        drained_s = carried_at(running.url, order, DRAIN_S) - done["ended_at"]
        watched = watch.stop()
        process.send_signal(signal.SIGTERM)
        out, _ = process.communicate(timeout=DRAIN_S)
        pipe.send("done")
    return {"sent": done, "watched": watched, "writer": json.loads(out), "drain_s": drained_s, "first_s": first_s}


@contextmanager
def _run_writer(running: Servers, registry: Path) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """Run `flitwatch writer` in a separate process; yield it and the port of its metrics."""
    from flitwatch_ops.stack.daemon import free_port

    port = free_port()
    command = [sys.executable, "-m", "flitwatch.main", "writer", "--db", running.url, "--log", running.log_url]
    command += ["--registry", str(registry), "--metrics-port", str(port), "--json"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE)
    try:
        yield process, port
    finally:
        process.kill()
        process.wait()


def _await_topics(port: int, count: int) -> None:
    import httpx

    deadline = time.monotonic() + READY_S
    while time.monotonic() < deadline:
        try:
            text = httpx.get(f"http://127.0.0.1:{port}/metrics", timeout=5).text
            match = re.search(r"^flitwatch_writer_topics (\S+)", text, re.MULTILINE)
            if match and float(match[1]) >= count:
                return
        except httpx.HTTPError:
            pass
        time.sleep(0.2)
    exit_with_error("the writer did not start to read")


def _summarise_run(order: Order, figures: _Figures) -> _Summary:
    load_report, writer, watched = figures["sent"], figures["writer"], figures["watched"]
    elapsed_s = order.seconds + max(0.0, figures["drain_s"])
    values = load_report["records"] * len(order.sets[0].metrics)
    return {
        "values_per_s": round(values / elapsed_s),
        "records_per_s": round(load_report["records"] / elapsed_s),
        "bytes_per_s": round(load_report["bytes"] / elapsed_s),
        "lag_s": _round_or_none(writer["lag_s"]),
        "lag_max_s": _round_or_none(writer["lag_max_s"]),
        "drain_s": round(figures["drain_s"], 2),
        "rss_mb": watched["writer"]["rss_mb"],
        "rss_slope_mb_per_min": watched["writer"]["rss_slope_mb_per_min"],
        "stages": writer["stages"],
        "waits": writer["waits"],
        "cpu_cores": {
            **{name: round((usage["cpu_s"] or 0.0) / elapsed_s, 3) for name, usage in watched.items()},
            "load": round(load_report["cpu_s"] / elapsed_s, 3),
        },
        "load_cpu_s": load_report["cpu_s"],
        "load_late_max_s": load_report["late_max_s"],
        "processes": watched,
        "commits": writer["commits"],
    }


def _round_or_none(value: float | None) -> float | None:
    return None if value is None else round(value, 3)


def _compare_decoding(compared: Baseline, figures: _Figures) -> _Compared:
    """Return the comparison of the writer's decoding, including deltas, with the library's decoding only."""
    writer = figures["writer"]
    ours = writer["values"] / max(writer["stages"]["decode"], 1e-9)
    return {
        **compared,
        "decode_and_deltas_per_s_per_core": round(ours),
        "ratio": round(ours / compared["values_per_s_per_core"], 2),
    }
