"""Checks of the platform from docker-compose.yml: the twin's data arrive at the API, and a killed writer restarts."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import httpx

URL = f"http://127.0.0.1:{os.environ['PORT']}"
LIMIT_S = 180.0


#: What code that runs in a service's container may try on the database; one line an attempt.
AS_ATTACKER = """
import os, psycopg
from flitwatch_db import connect
own = os.environ["FLITWATCH_DB"]
for url, statement in (
    (own, "SET ROLE flitwatch_owner"), (own, "DELETE FROM flitwatch.audit"), (own, "SELECT rolpassword FROM pg_authid"),
    ("postgresql://flitwatch:flitwatch@db:5432/flitwatch", "SELECT 1"),
):
    try:
        with connect(url) as conn:
            conn.execute(statement)
        print("done", statement)
    except Exception as problem:
        print("refused", statement, str(problem).splitlines()[0])
"""


def until(what: str, holds) -> object:
    """Wait until `holds()` gives something true; fail with `what` after the limit."""
    deadline = time.monotonic() + LIMIT_S
    while time.monotonic() < deadline:
        try:
            found = holds()
        except httpx.HTTPError:
            found = None
        if found:
            print(f"check: {what}", file=sys.stderr)
            return found
        time.sleep(0.5)
    sys.exit(f"check: not within {LIMIT_S:.0f} s: {what}")


def get(path: str) -> dict:
    """The JSON that the API answers for `path`."""
    answer = httpx.get(f"{URL}{path}", timeout=10)
    answer.raise_for_status()
    return answer.json()


def measured() -> float:
    """Sum of flits in the newest complete window of the first fabric."""
    fabrics = get("/api/v1/fabrics")["items"]
    if not fabrics:
        return 0.0
    congestion = get(f"/api/v1/fabrics/{fabrics[0]['id']}/stalls")
    return sum(value or 0.0 for value in congestion["routers"]["flits"])


def newest() -> str:
    """The time of the newest row of the first fabric."""
    return get("/api/v1/fabrics")["items"][0]["last_ts"] or ""


def compose(*arguments: str) -> str:
    """Run docker compose on the project under test."""
    files = ["-f", "docker-compose.yml", "-f", "tests/compose/stand-in.yml"]
    return subprocess.run(["docker", "compose", *files, *arguments], check=True, capture_output=True, text=True).stdout


#: Distributions of the container's environment whose names were given.
HAS = "import importlib.metadata as m, sys; print(*sorted({d.name.lower() for d in m.distributions()} & set(sys.argv[1:])))"
#: What only the worker's tasks need, and what the server has alongside the agent.
EXTRAS = ("torch", "matplotlib")
SERVER = ("fastapi", "flitwatch")
LDMS = "#Time,Time_usec,ProducerName,component_id,job_id,app_id,name,count,load\n1795216807.001584,1584,nid00001,1,0,0,eth0,4611914764,0.25\n"
#: A task whose solver comes from the worker's libraries.
SMALL = {"pattern": "alltoall", "topology": "xgft:2;2,2;1,2", "epochs": 4, "megabytes": 1}


def each_image_has_its_own() -> None:
    """The worker has the libraries of its tasks, the other services lack them, and the agent lacks the server."""
    for service in ("api", "writer", "worker", "alerting", "twin"):
        found = compose("exec", "-T", service, "python3", "-c", HAS, *EXTRAS, *SERVER).split()
        assert found == sorted([*(EXTRAS if service == "worker" else ()), *SERVER]), f"{service} has {found}"
    found = compose(
        "run", "--rm", "-T", "--entrypoint", "python3", "agent", "-c", HAS, *EXTRAS, *SERVER, "flitwatch-agent"
    ).split()
    assert found == ["flitwatch-agent"], f"the agent has {found}"


def the_agent_collects() -> None:
    """A file of a source goes through the agent's image into the log."""
    with tempfile.TemporaryDirectory() as store:
        os.chmod(store, 0o755)
        Path(store, "procnetdev.1795216800").write_text(LDMS)
        said = compose(
            "run", "--rm", "-T", "-v", f"{store}:/data:ro", "agent", "collect", "ldms-csv", "/data", "--once", "--json"
        )
    assert json.loads(said) == {"published": 1, "rejected": 0}, said


def main() -> None:
    until("the API is ready", lambda: httpx.get(f"{URL}/readyz", timeout=5).status_code == 200)
    page = httpx.get(URL, timeout=10)
    assert page.status_code == 200 and "<div id=" in page.text, "the page is not served"
    assert "Flitwatch</title>" in httpx.get(f"{URL}/docs/", timeout=10).text, "the documentation is not served"
    until("counters of the twin arrive", lambda: measured() > 0)
    assert get("/api/v1/fabrics")["items"][0]["simulated"] is True, "simulated data is not labelled"
    compose("kill", "-s", "KILL", "writer")
    compose("up", "-d", "--no-build", "writer")
    before = newest()
    until("rows go on after the writer was killed", lambda: newest() > before)
    for service in ("api", "writer", "worker", "alerting", "twin"):
        said = compose("exec", "-T", service, "python3", "-c", AS_ATTACKER)
        assert said.count("refused") == 4, f"{service} is more than it needs: {said}"
    each_image_has_its_own()
    the_agent_collects()
    said = compose(
        "exec",
        "-T",
        "worker",
        "flitwatch",
        "task",
        "start",
        "routing.reconstruct",
        json.dumps(SMALL),
        "--watch",
        "--json",
    )
    assert json.loads(said)["state"] == "succeeded", f"the worker's image cannot do its tasks: {said}"
    identity = compose("exec", "-T", "api", "python3", "-c", "import os; print(os.getuid())").strip()
    assert identity == "10001", f"the API runs as user {identity}"


if __name__ == "__main__":
    main()
