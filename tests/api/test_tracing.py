"""Traces reach a collector that the environment names; without one nothing is loaded."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from support.waiting import eventually

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
