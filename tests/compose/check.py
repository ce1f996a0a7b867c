"""What must be true of the platform that docker-compose.yml started: data of the twin arrives at the API, and a killed writer comes back."""

from __future__ import annotations

import os
import subprocess
import sys
import time

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


def main() -> None:
    until("the API is ready", lambda: httpx.get(f"{URL}/readyz", timeout=5).status_code == 200)
    page = httpx.get(URL, timeout=10)
    assert page.status_code == 200 and "<div id=" in page.text, "the page is not served"
    until("counters of the twin arrive", lambda: measured() > 0)
    assert get("/api/v1/fabrics")["items"][0]["simulated"] is True, "simulated data is not labelled"
    compose("kill", "-s", "KILL", "writer")
    compose("up", "-d", "--no-build", "writer")
    before = newest()
    until("rows go on after the writer was killed", lambda: newest() > before)
    for service in ("api", "writer", "worker", "alerting", "twin"):
        said = compose("exec", "-T", service, "python3", "-c", AS_ATTACKER)
        assert said.count("refused") == 4, f"{service} is more than it needs: {said}"
    identity = compose("exec", "-T", "api", "python3", "-c", "import os; print(os.getuid())").strip()
    assert identity == "10001", f"the API runs as user {identity}"


if __name__ == "__main__":
    main()
