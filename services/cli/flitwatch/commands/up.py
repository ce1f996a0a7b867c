"""`flitwatch up`: the whole platform on this machine, by default in the background."""

from __future__ import annotations

import contextlib
import logging
import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from pathlib import Path

import click
import orjson
from click.core import ParameterSource

from flitwatch.console import exit_with_error, json_option, log_to_stderr, print_result, stderr_console
from flitwatch.exposure import Exposure, Role, exposure_options
from flitwatch_ops.home import home_folder, open_log
from flitwatch_ops.orphans import end_orphans
from flitwatch_ops.supervisor import Process, Server, Supervisor, read_running_state

log = logging.getLogger(__name__)

READY_TIMEOUT_S = 180.0
#: Simulated history of the demo machine before its first start: one day.
HISTORY_S = 86_400
#: Default retention of the demo machine's data in the embedded database: simulated data can be simulated again. In total at most 2 GB.
DEMO_LOG_BYTES, DEMO_TABLES_BYTES, DEMO_JOBS_DAYS = 192 << 20, 850_000_000, 1
#: Retention and chunk size in hours, by the suffix of a table's name.
DEMO_HOURS = {"_1s": (1.5, 1), "_10s": (1.5, 1), "_1m": (26, 1), "_1h": (7 * 24, 24)}
#: Memory and write-ahead log of the embedded server for the demo machine: a laptop also does other work.
DEMO_SERVER = {"shared_buffers": "128MB", "max_wal_size": "192MB"}
#: Processes with metrics, in the order of their ports.
METRICS = ("writer", "worker", "estimates", "alerting", "api", "twin")
LAST_PORT = 65535


@click.command()
@click.option(
    "--stack",
    type=click.Choice(["embedded", "full"]),
    default="embedded",
    help="The embedded database and log (embedded), or Kafka and TimescaleDB (full).",
)
@exposure_options
@click.option(
    "--twin",
    default="demo",
    envvar="FLITWATCH_TWIN",
    help="Scenario or spec of the cluster twin; 'none' to use only real sources.",
)
@click.option(
    "--metrics-port",
    type=click.IntRange(1, 65535),
    envvar="FLITWATCH_METRICS_PORT",
    help="Serve the metrics of each process on its own port: the writer's on this one, then worker, estimates, alerting, api and twin.",
)
@click.option("--foreground", is_flag=True, help="Run in the foreground until stopped.")
@json_option
def up(
    stack: str,
    host: str,
    port: int,
    expose: Callable[[Role], Exposure],
    metrics_host: str,
    twin: str,
    metrics_port: int | None,
    foreground: bool,
    as_json: bool,
) -> None:
    """Start the platform: database, log, writer, worker, API and page. The cluster twin is the data source by default."""
    state = read_running_state(home_folder())
    if state is not None:
        if state["state"] == "starting":
            exit_with_error(f"it is already starting (process {state['pid']}); wait for it, or stop it: flitwatch down")
        options = {"stack": stack, "port": port} | _select_given(
            {"host": host, "twin": twin, "metrics_port": metrics_port}
        )
        other = [name for name, value in options.items() if state.get(name, value) != value]
        if other:
            had = ", ".join(f"{name} {state[name]}" for name in other)
            exit_with_error(f"already running with {had}; stop it first: flitwatch down")
        print_result({"url": state["url"], "stack": stack, "pid": state["pid"]}, as_json) if as_json else _say_url(
            state["url"]
        )
        return
    _check_twin(twin)
    # The twin's users are simulated, and a first start should demonstrate its what-ifs. Other sources have real users.
    reached = expose("viewer" if twin == "none" else "user")
    orphan_ids = end_orphans(home_folder())
    if orphan_ids:
        stderr_console().print(f"ended {len(orphan_ids)} processes whose supervisor was killed")
    _need_free(host, port, "make up PORT=")
    metrics = None if metrics_port is None else (metrics_host, metrics_port)
    _check_metrics(metrics, port)
    home_folder().mkdir(parents=True, exist_ok=True)
    if foreground:
        log_to_stderr()
        serve_platform(
            list_servers(stack, twin),
            stack,
            host,
            port,
            twin,
            metrics,
            reached,
            log.info,
        )
        return
    url = _start_detached(stack, host, port, twin, metrics, reached)
    print_result(
        {"url": url, "stack": stack, "pid": (read_running_state(home_folder()) or {}).get("pid")}, as_json
    ) if as_json else _say_url(url)


def _select_given(options: dict[str, str | int | None]) -> dict[str, str | int | None]:
    """Return the options that the user gave, without defaults."""
    source = click.get_current_context().get_parameter_source
    return {name: value for name, value in options.items() if source(name) is not ParameterSource.DEFAULT}


def _say_url(url: str) -> None:
    print(f"Flitwatch is up: {url}")


def _check_twin(twin: str) -> None:
    """Reject an invalid spec before anything starts: its process would be restarted indefinitely."""
    if twin != "none":
        from flitwatch_twin.spec import load_spec

        load_spec(twin)


def _need_free(host: str, port: int, choose: str) -> None:
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as taken:
            exit_with_error(
                f"port {port} on {host} cannot be used ({taken.strerror}); choose another: {choose}{port + 1}"
            )


def _check_metrics(metrics: tuple[str, int] | None, api_port: int) -> None:
    """Reject unusable ports at once, before a process fails because of them."""
    if metrics is None:
        return
    host, first = metrics
    last = first + len(METRICS) - 1
    if last > LAST_PORT or first <= api_port <= last:
        exit_with_error(
            f"metrics need ports {first} to {last}; the last valid port is {LAST_PORT}, and the API uses {api_port}"
        )
    for port in range(first, last + 1):
        _need_free(host, port, f"metrics take {first} to {last}, FLITWATCH_METRICS_PORT=")


def _start_detached(
    stack: str, host: str, port: int, twin: str, metrics: tuple[str, int] | None, reached: Exposure
) -> str:
    """Run the supervisor in the background and print its progress until it serves requests. Return the URL."""
    folder = home_folder() / "log"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "supervisor.log"
    argv = [sys.executable, "-m", "flitwatch.main", "up", "--foreground", "--stack", stack, "--host", host]
    argv += ["--port", str(port), "--twin", twin, *_format_exposure(reached)]
    if metrics is not None:
        argv += ["--metrics-host", metrics[0], "--metrics-port", str(metrics[1])]
    with open_log(path) as file:
        offset = path.stat().st_size
        child = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=file, stderr=file, start_new_session=True)
    deadline = time.monotonic() + READY_TIMEOUT_S
    while time.monotonic() < deadline:
        offset = _pass_on(path, offset)
        state = read_running_state(home_folder())
        if state is not None and state["pid"] == child.pid and state["state"] == "running":
            _pass_on(path, offset)
            return state["url"]
        if child.poll() is not None:
            _pass_on(path, offset)
            exit_with_error(f"the platform did not start; see {path}")
        time.sleep(0.1)
    child.terminate()
    with contextlib.suppress(subprocess.TimeoutExpired):
        child.wait(READY_TIMEOUT_S)
    exit_with_error(f"the platform was not ready in {READY_TIMEOUT_S:.0f} s; see the logs in {folder}")


def _pass_on(path: Path, offset: int) -> int:
    """Print the supervisor's new log lines from `offset` on. Return the new offset."""
    with open(path, "rb") as file:
        file.seek(offset)
        text = file.read()
    whole = text[: text.rfind(b"\n") + 1]
    for line in whole.splitlines():
        try:
            entry = orjson.loads(line)
            at = datetime.fromisoformat(entry["at"]).astimezone()
            # Show people the stages and errors, not each migration.
            if entry["logger"] == __name__ or entry["level"] != "info":
                print(f"{at:%H:%M:%S} {entry['message']}", file=sys.stderr, flush=True)
        except (ValueError, LookupError, TypeError):
            print(line.decode(errors="replace"), file=sys.stderr, flush=True)
    return offset + len(whole)


def _format_exposure(reached: Exposure) -> list[str]:
    """Return a process's arguments for the exposure that was checked already."""
    hosts = reached.hosts or ("*",)
    named = [word for name in hosts for word in ("--allow-host", name)]
    return [*named, "--anonymous", reached.anonymous, "--insecure-network"]


def serve_platform(
    begun: Sequence[Server],
    stack: str,
    host: str,
    port: int,
    twin: str,
    metrics: tuple[str, int] | None,
    reached: Exposure,
    report: Callable[[str], None],
) -> None:
    """Start servers, the database first and the log last, then processes, and supervise them until stopped."""
    from flitwatch_db import migrations

    url = _format_url(host, port)
    supervisor = Supervisor(home_folder(), begun, [])
    state_entries = {"url": url, "stack": stack, "host": host, "port": port, "twin": twin}
    supervisor.begin(state_entries | {"metrics_port": None if metrics is None else metrics[1]})
    stage = _make_stage_report(len(supervisor.servers) + 2, report)
    try:
        urls = []
        for server in supervisor.servers:
            stage(f"starting {server.title}")
            with supervisor.interruptible():
                server.fetch()
            # Not interruptible: no other code could stop a half-started server.
            urls.append(server.ensure())
        # The last server is the log. In the embedded stack, the database is also the log.
        database_url, log_url = urls[0], urls[-1]
        stage("bringing the database's tables up to date")
        with supervisor.interruptible():
            migrations.migrate_database(database_url)
            if twin == "demo":
                _keep_little(database_url)
        processes = _list_processes(database_url, log_url, host, port, twin, reached)
        supervisor.add(_with_metrics(processes, metrics), {"database": database_url, "log": log_url})
        stage("starting the services")
        supervisor.start(report, READY_TIMEOUT_S)
    except BaseException:
        supervisor.stop()
        raise
    for child in supervisor.children:
        if metrics is not None and child.process.metrics_port is not None:
            report(f"metrics of {child.process.name} at port {child.process.metrics_port} of {metrics[0]}")
    report(f"serving {url}")
    supervisor.run({})


def _keep_little(database_url: str) -> None:
    """Reduce the embedded database's retention below a site's, unless the log's retention was already set."""
    from flitwatch_db import connect
    from flitwatch_db.core import log_keep, maintenance

    with connect(database_url) as conn:
        if log_keep.is_set(conn):
            return
        log_keep.set_kept(conn, size_bytes=DEMO_LOG_BYTES)
        maintenance.set_tables_kept(conn, DEMO_TABLES_BYTES)
        # Earlier days, whose runs blame needs, are simulated once and kept.
        maintenance.set_jobs_kept(conn, DEMO_JOBS_DAYS, since_s=time.time() - HISTORY_S)
        for table in maintenance.table_names(conn):
            for suffix, (keep_hours, chunk_hours) in DEMO_HOURS.items():
                if table.endswith(suffix):
                    maintenance.set_keep(conn, table, keep_hours / 24)
                    maintenance.shorten_chunks(conn, table, chunk_hours)


def _make_stage_report(total: int, report: Callable[[str], None]) -> Callable[[str], None]:
    """Return a report function for stages: each line shows the stage's number of `total` and the seconds since the first."""
    began, number = time.monotonic(), 0

    def stage(what: str) -> None:
        nonlocal number
        number += 1
        report(f"stage {number} of {total}, {time.monotonic() - began:.0f} s: {what}")

    return stage


def list_servers(stack: str, twin: str) -> list[Server]:
    """Return the servers, the database first and the log last."""
    from flitwatch_ops.embedded import Embedded

    if stack == "full":
        from flitwatch_ops.stack.kafka import Kafka, fetch_jars
        from flitwatch_ops.stack.timescale import Timescale, fetch_programs

        database, broker = Timescale(home_folder() / "timescale"), Kafka(home_folder() / "kafka")
        return [
            Server(
                "timescale",
                database.start,
                database.stop,
                "TimescaleDB (the first time it is fetched and unpacked)",
                fetch_programs,
            ),
            Server("kafka", broker.start, broker.stop, "Apache Kafka (the first time it is fetched)", fetch_jars),
        ]
    embedded = Embedded(home_folder() / "pg", settings=DEMO_SERVER if twin == "demo" else None)
    return [Server("postgresql", embedded.start, embedded.stop, "the embedded PostgreSQL")]


def _with_metrics(processes: list[Process], metrics: tuple[str, int] | None) -> list[Process]:
    """Return the processes, each with its own metrics port: a shared port would work only for the first process."""
    if metrics is None:
        return processes
    host, first = metrics
    ports = {name: first + place for place, name in enumerate(METRICS)}
    return [
        replace(
            process,
            metrics_port=ports[process.name],
            environment={
                **process.environment,
                "FLITWATCH_METRICS_HOST": host,
                "FLITWATCH_METRICS_PORT": str(ports[process.name]),
            },
        )
        if process.name in ports
        else process
        for process in processes
    ]


def _build_environment(database_url: str, log_url: str, service: str) -> dict[str, str]:
    """Return the environment of a service: its own logins' passwords, never the owner's."""
    from flitwatch_db.core.logins import url_for

    own = url_for(database_url, service)
    log = own if log_url == database_url else log_url
    return {"FLITWATCH_DB": own, "FLITWATCH_LOG": log, "PYTHONUNBUFFERED": "1", "OMP_NUM_THREADS": "1"}


def _list_processes(
    database_url: str, log_url: str, host: str, port: int, twin: str, reached: Exposure
) -> list[Process]:
    environment_of = partial(_build_environment, database_url, log_url)
    this = [sys.executable, "-m", "flitwatch.main"]
    processes = [
        Process("writer", [*this, "writer", "--json"], environment_of("writer")),
        # Estimates take minutes of a core, so simulation tasks and running jobs' forecasts do not wait for them.
        Process("worker", [*this, "worker", *_list_queues()], environment_of("worker")),
        Process("estimates", ["nice", "-n", "10", *this, "worker", "--queue", "ml"], environment_of("worker")),
        Process(
            "alerting", [*this, "alerting", "--json"], environment_of("alerting") | _build_external_url(host, port)
        ),
        Process(
            "api",
            [*this, "api", "--host", host, "--port", str(port), *_format_exposure(reached)],
            environment_of("api"),
            lambda: _is_ready(host, port, reached.hosts),
        ),
    ]
    if twin != "none":
        argv = [
            *this,
            "twin",
            "run",
            twin,
            "--seconds",
            "0",
            "--speed",
            "1",
            "--out",
            os.fspath(home_folder() / "twin"),
        ]
        # On the first start, simulate the last day of the same users too, so that pages have data and estimates have runs.
        argv += ["--history", str(HISTORY_S), "--day", str(int(time.time()) // 60), "--json"]
        environment = environment_of("twin")
        processes.append(Process("twin", [*argv, "--log", environment["FLITWATCH_LOG"]], environment))
    return processes


def _list_queues() -> list[str]:
    """Return all queues except that of estimates."""
    from flitwatch.commands.worker import load_handlers

    return [
        part
        for queue in sorted({name.partition(".")[0] for name in load_handlers()} - {"ml"})
        for part in ("--queue", queue)
    ]


def _format_url(host: str, port: int) -> str:
    return f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"


def _build_external_url(host: str, port: int) -> dict[str, str]:
    """Return the setting for the address in links of notices, unless the environment sets it; a wildcard address becomes the host name."""
    if os.environ.get("FLITWATCH_EXTERNAL_URL"):
        return {}
    reached = socket.gethostname() if host in ("0.0.0.0", "::") else host
    return {"FLITWATCH_EXTERNAL_URL": _format_url(reached, port)}


def _is_ready(host: str, port: int, hosts: Sequence[str]) -> bool:
    # With a Host name that the API accepts; otherwise a healthy server would count as dead.
    named = {"Host": hosts[0]} if hosts else {}
    try:
        with urllib.request.urlopen(
            urllib.request.Request(f"{_format_url(host, port)}readyz", headers=named), timeout=1
        ) as answer:
            return answer.status == 200
    except OSError:
        return False
