"""Traces reach a collector configured in the environment; without one, nothing is loaded."""

from __future__ import annotations

import concurrent.futures
import gc
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import httpx
import numpy as np
import pytest
from support.databases import PLACE
from support.waiting import eventually

from api.conftest import Served, serving
from api.database import T0, THROUGH, SampleDatabase
from flitwatch_api import serve
from flitwatch_api.app import create_app
from flitwatch_api.events.hub import Hub
from flitwatch_api.ingest.lag import LogEnds
from flitwatch_api.serve import open_listener
from flitwatch_api.settings import Settings
from flitwatch_ops.embedded import Embedded
from flitwatch_ops.platform import EPHEMERAL_PLACES, EPHEMERAL_PREFIX
from flitwatch_ops.stack.daemon import free_port

SERVE = """
import sys, threading, urllib.request
from flitwatch_api.serve import make_server, open_listener
from flitwatch_api.settings import Settings
with open_listener("127.0.0.1", 0) as held:
    one = make_server(Settings(db="postgresql://nobody@127.0.0.1:1/none", web=None), "127.0.0.1", 0, grace_s=1)
    thread = threading.Thread(target=one.run, kwargs={"sockets": [held]}); thread.start()
    while not one.started: pass
    print(urllib.request.urlopen(f"http://127.0.0.1:{held.getsockname()[1]}/healthz").status, "opentelemetry.sdk.trace" in sys.modules)
    one.should_exit = True; thread.join()
"""


@pytest.mark.system("processes")
@pytest.mark.parametrize("named", [True, False])
def test_a_request_becomes_a_span_where_a_collector_is_named(named: bool) -> None:
    got: list[tuple[str, bytes]] = []

    class Collector(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            got.append((self.path, self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(200)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            return

    with HTTPServer(("127.0.0.1", 0), Collector) as collector:
        threading.Thread(target=collector.serve_forever, daemon=True).start()
        environment = {"OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{collector.server_port}"} if named else {}
        done = subprocess.run(
            [sys.executable, "-c", SERVE], env={**os.environ, **environment}, capture_output=True, text=True, timeout=60
        )
        collector.shutdown()
    assert done.stdout.split() == ["200", str(named)], done.stderr[-2000:]
    assert any(path == "/v1/traces" and b"flitwatch-api" in body and b"/healthz" in body for path, body in got) is named


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.2"])
def test_a_process_without_http_of_its_own_has_metrics(host: str) -> None:
    port = free_port()
    argv = [
        sys.executable,
        "-m",
        "flitwatch.main",
        "agent",
        "slurm",
        "--metrics-port",
        str(port),
        *(["--metrics-host", host] if host != "127.0.0.1" else []),
        "--api",
        "http://127.0.0.1:9",
        "--file",
        f"/tmp/flitwatch-test-{os.getpid()}/advice",
    ]
    process = subprocess.Popen(argv, stderr=subprocess.DEVNULL)
    try:
        text = eventually(
            lambda: urllib.request.urlopen(f"http://{host}:{port}/metrics", timeout=2).read().decode(),
            every_s=0.2,
            what="the agent's metrics",
            retry=(OSError,),
        )
        assert "process_resident_memory_bytes" in text and 'command="flitwatch agent slurm"' in text
    finally:
        process.terminate()
        process.wait(20)


@pytest.mark.parametrize(
    ("words", "found"), [("flitwatch ben", "bench"), ("flitwatch agent sl", "slurm"), ("flitwatch bench adv", "advice")]
)
def test_the_shell_completes_commands(words: str, found: str) -> None:
    environment = {
        **os.environ,
        "_FLITWATCH_COMPLETE": "bash_complete",
        "COMP_WORDS": words,
        "COMP_CWORD": str(len(words.split()) - 1),
    }
    done = subprocess.run(
        [sys.executable, "-m", "flitwatch.main"], env=environment, capture_output=True, text=True, timeout=30
    )
    assert f"plain,{found}" in done.stdout, done.stderr


# The command: start, stop with open streams, bad use; many requests at once; the published snapshot.


COMMAND = [sys.executable, "-m", "flitwatch.main", "api"]


def ready(base: str) -> bool:
    try:
        return httpx.get(f"{base}/readyz", timeout=1).status_code == 200
    except httpx.HTTPError:
        return False


@contextmanager
def running(url: str, *options: str) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    with open_listener("127.0.0.1", 0) as free:
        port = free.getsockname()[1]
    base = f"http://127.0.0.1:{port}"
    process = subprocess.Popen([*COMMAND, "--db", url, "--port", str(port), *options], stderr=subprocess.PIPE)
    try:
        eventually(lambda: ready(base), 120, what="the API to be ready", process=process)
        yield process, base
    finally:
        process.kill()
        process.wait()


@pytest.mark.system("processes")
@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_although_streams_are_open(database: SampleDatabase, how: signal.Signals) -> None:
    with running(database.url) as (process, base), httpx.stream("GET", f"{base}/api/v1/events", timeout=180) as stream:
        lines = stream.iter_lines()
        next(lines)
        process.send_signal(how)
        assert process.wait(30) in (0, -how, 130)
        list(lines)


@pytest.mark.system("processes")
@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_a_throw_away_database_ends_with_the_command(tmp_path: Path, how: signal.Signals) -> None:
    with open_listener("127.0.0.1", 0) as free:
        port = free.getsockname()[1]
    environment = {**os.environ, "FLITWATCH_HOME": str(tmp_path)}
    process = subprocess.Popen([*COMMAND, "--ephemeral", "--port", str(port)], stderr=subprocess.PIPE, env=environment)
    before = set()
    try:
        eventually(lambda: ready(f"http://127.0.0.1:{port}"), 600, what="the API to be ready", process=process)
        before = {
            folder
            for place in EPHEMERAL_PLACES
            for folder in Path(place).glob(f"{EPHEMERAL_PREFIX}*")
            if _is_held_by(folder, process.pid)
        }
        assert before, "no database of its own was found"
        process.send_signal(how)
        process.wait(60)
        assert not any(folder.exists() for folder in before)
    finally:
        process.kill()
        process.wait()
        for folder in before:
            Embedded(folder).destroy()


def _is_held_by(folder: Path, pid: int) -> bool:
    held = (folder / "users.lock").resolve()
    return any(Path(os.readlink(one)) == held for one in Path(f"/proc/{pid}/fd").iterdir() if one.exists())


@pytest.mark.system("processes")
def test_on_this_machine_only_it_answers_to_this_machines_names_only(database: SampleDatabase) -> None:
    with running(database.url) as (_, base):
        assert httpx.get(f"{base}/healthz", headers={"Host": "localhost"}).status_code == 200
        assert httpx.get(f"{base}/healthz", headers={"Host": "rebound.example"}).status_code == 400


@pytest.mark.system("processes")
def test_scrapers_ask_by_address_at_a_port_that_answers_nothing_else(database: SampleDatabase) -> None:
    with open_listener("127.0.0.1", 0) as free:
        metrics = free.getsockname()[1]
    with running(database.url, "--metrics-port", str(metrics)) as (_, base):
        aside, pod = f"http://127.0.0.1:{metrics}", {"Host": "10.42.0.7:9464"}
        for path in ("/metrics", "/healthz", "/readyz"):
            assert httpx.get(aside + path, headers=pod).status_code == 200, path
            assert httpx.get(base + path, headers=pod).status_code == 400, path
        assert "flitwatch_database_up 1.0" in httpx.get(f"{aside}/metrics", headers=pod).text
        assert httpx.get(f"{base}/api/v1/session").status_code == 200
        for path in (
            "/api/v1/session",
            "/api/v1/jobs",
            "/openapi.json",
            "/",
            "/metrics/../api/v1/jobs",
            "//metrics",
            "/api/v1/alerts?x=/metrics",
        ):
            assert httpx.get(aside + path).status_code == 404, path
        for method in ("POST", "PUT", "DELETE"):
            assert httpx.request(method, f"{aside}/metrics").status_code == 404


@pytest.mark.system("processes")
def test_routes_are_built_before_requests_and_left_out_of_collections(monkeypatch: pytest.MonkeyPatch) -> None:
    """A collection that went through them while requests waited took a second on a busy machine."""
    served = []

    class Recorder:
        app = create_app(Settings(web=None))

        def run(self, sockets: object) -> None:
            before = len(gc.get_objects())
            for route in self.app.routes:
                route.matches({"type": "http", "method": "GET", "path": "/api/v1", "headers": [], "app": self.app})
            served.append((before, len(gc.get_objects()) - before, gc.get_freeze_count()))

    monkeypatch.setattr(serve, "make_server", lambda *_, **__: Recorder())
    try:
        serve.serve_api(Settings(web=None), "127.0.0.1", 0)
    finally:
        gc.unfreeze()
    [(left, built, exempt)] = served
    assert left < exempt / 10 and built < exempt / 100


@pytest.mark.system("processes")
def test_a_database_that_comes_back_late_is_waited_for() -> None:
    """Started while the database is away, as after a crash of both: it says so, and serves as soon as the database is there."""
    with tempfile.TemporaryDirectory(prefix="flitwatch-late-", dir=PLACE) as place:
        server = Embedded(Path(place), durable=False)
        try:
            url = server.start()
            server.stop()
            said = Path(place) / "said"
            with said.open("wb") as file, open_listener("127.0.0.1", 0) as free:
                port = free.getsockname()[1]
                process = subprocess.Popen([*COMMAND, "--db", url, "--port", str(port)], stderr=file)
            eventually(
                lambda: b"waiting for the database" in said.read_bytes(),
                what="the API to report that it waits for the database",
                process=process,
            )
            assert process.poll() is None
            server.start()
            eventually(lambda: ready(f"http://127.0.0.1:{port}"), what="the API to be ready", process=process)
        finally:
            process.kill()
            process.wait()
            server.destroy()


@pytest.mark.system("processes")
def test_a_taken_port_is_said_in_one_line(database: SampleDatabase) -> None:
    with open_listener("127.0.0.1", 0) as taken:
        port = str(taken.getsockname()[1])
        done = subprocess.run(
            [*COMMAND, "--db", database.url, "--port", port], capture_output=True, text=True, timeout=180
        )
    assert done.returncode == 1 and f"port {port}" in done.stderr.splitlines()[-1] and "Traceback" not in done.stderr


@pytest.mark.system("processes")
def test_many_requests_at_once_share_few_connections(database: SampleDatabase) -> None:
    paths = [
        "/stalls",
        "/overview",
        "/matrix",
        "/frames",
        "/routers/3",
        "/timeseries?routers=all",
        "/stalls?window=3m",
    ]
    with serving(Settings(db=database.url, web=None, api_pool_max=2, api_connect_timeout_s=60)) as served:

        def get(number: int) -> int:
            path = paths[number % len(paths)]
            return httpx.get(f"{served.url}/api/v1/fabrics/small{path}", timeout=90).status_code

        with concurrent.futures.ThreadPoolExecutor(24) as workers:
            assert set(workers.map(get, range(120))) == {200}


def test_a_small_memory_gives_the_same_answers(api: Served, database: SampleDatabase) -> None:
    with serving(Settings(db=database.url, web=None, api_cache_mb=8)) as served:
        for window in (60, 130, 180):
            assert served.get("/fabrics/small/stalls", at=T0 + 190, window=window) == api.get(
                "/fabrics/small/stalls", at=T0 + 190, window=window
            )


def test_before_it_listens_it_knows_how_far_rows_are_complete(
    database: SampleDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The newest rows are not complete, which only events say: a question right after the start must not take the end of the rows for it."""
    monkeypatch.setattr(Hub, "start", lambda self: None)
    with serving(Settings(db=database.url, web=None)) as served:
        answer = served.get("/fabrics/small/stalls")
        assert datetime.fromisoformat(answer["complete_through"]).timestamp() == THROUGH
        assert datetime.fromisoformat(answer["at"]).timestamp() == THROUGH


@pytest.mark.system("faults")
async def test_a_broker_that_is_away_leaves_the_lag_unknown() -> None:
    began = time.monotonic()
    assert await LogEnds("kafka://127.0.0.1:9").get({"ldms.x": {}}) == {}
    assert time.monotonic() - began < 5
    assert await LogEnds("postgresql:///x").get({"ldms.x": {}}) == {}


@pytest.mark.system("processes")
@pytest.mark.shared
def test_the_published_edison_snapshot(shared: Path, embedded_db: str) -> None:
    """Edison as measured at NERSC: the figures that its users published, through the API."""
    data = shared / "data"
    command = [sys.executable, "-m", "flitwatch.main", "import", "dragonview", "--db", embedded_db, "--links", data / "cray-wiring/links-edison.txt",
               "--counters", data / "edison-dragonview/dnd_net_counters.21.csv", "--jobs", data / "edison-dragonview/dnd_jobs.21.csv"]  # fmt: skip
    subprocess.run([os.fspath(part) for part in command], check=True, timeout=120)
    with serving(Settings(db=embedded_db, web=None)) as served:
        fabric = served.get("/fabrics")["items"][0]
        assert (
            fabric["routers"] == 1440
            and fabric["snapshot"]
            and 12 not in fabric["groups"]
            and len(fabric["groups"]) == 15
        )
        at = f"/fabrics/{fabric['id']}"
        got = served.get(f"{at}/stalls")
        assert {name: round(figures["ratio"], 2) for name, figures in got["classes"].items()} == {
            "green": 2.35,
            "black": 7.84,
            "blue": 6.45,
        }
        assert {name: round(figures["p50"], 1) for name, figures in got["classes"].items()} == {
            "green": 1.9,
            "black": 4.9,
            "blue": 3.3,
        }
        routers = got["routers"]
        assert len(routers["router"]) == 140
        assert round(np.nansum(routers["stall_cycles"]) / np.nansum(routers["flits"]), 2) == 5.15
        assert sum(served.get(f"{at}/routers")["sampled"]) == 140
        jobs = {job["job_id"]: job["routers"] for job in served.get(f"{at}/occupancy")["jobs"]}
        assert sorted(jobs["3609441"]) == routers["router"]
        assert served.get("/jobs/3609441")["groups"] == [5, 6, 7]
