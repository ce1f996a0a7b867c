"""The same runs from reports and accounting, and from files: the API and the page agree with `flitwatch blame --runs`."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from ml.conftest import Context
from support.run_tables import EXPOSURE_COLUMNS, tables

from api.conftest import Served, bearer, serving
from flitwatch.main import main
from flitwatch_api.people.callers import REPORTS_BURST, REPORTS_PER_S
from flitwatch_api.people.login_limiter import Buckets
from flitwatch_api.settings import Settings
from flitwatch_db import connect
from flitwatch_db.jobs import store as jobs
from flitwatch_db.people import accounts as people
from flitwatch_db.runs import store as runs
from flitwatch_domain.jobs import Job
from flitwatch_domain.runs import Run
from flitwatch_ml import tasks

NODES = [f"n{number}" for number in range(64)]


def by_file(capfd, folder: Path, runs: list[list[Any]], exposure: list[list[Any]]) -> dict[str, Any]:  # type: ignore[no-untyped-def]
    met = {row[0]: sum(one[0] == row[0] for one in exposure) for row in runs}
    rows = [[*row[:4], met[row[0]]] for row in runs]
    for name, table in (
        ("runs", [["run", "start", "time_s", "nodes", "jobs"], *rows]),
        ("exposure", [EXPOSURE_COLUMNS, *exposure]),
    ):
        with (folder / f"{name}.csv").open("w", newline="") as file:
            csv.writer(file).writerows(table)
    main(
        [
            "blame",
            "--runs",
            str(folder / "runs.csv"),
            "--exposure",
            str(folder / "exposure.csv"),
            "--shuffles",
            "0",
            "--json",
        ]
    )
    return json.loads(capfd.readouterr().out)  # type: ignore[no-any-return]


def by_report(url: str, runs: list[list[Any]], exposure: list[list[Any]]) -> dict[str, Any]:
    """Runs as a program reports them, jobs as the accounting knows them, and the API's answer to the page."""
    when = {row[0]: (datetime.fromisoformat(row[1]).timestamp(), float(row[2])) for row in runs}
    with connect(url, autocommit=True) as conn:
        people.add_account(conn, "portal", "service")
        secret = people.add_token(conn, "portal", "test", ["runs"])[1]
        neighbours = [
            Job(
                "c",
                str(number),
                "COMPLETED",
                user=user,
                start_s=when[run][0] - 9,
                end_s=sum(when[run]) + 9,
                nodes=int(amount),
            )
            for number, (run, user, amount) in enumerate(exposure)
        ]
        jobs.upsert_jobs(conn, neighbours)
    with serving(Settings(db=url, web=None, api_anonymous="operator")) as served:
        for name, start, time_s, *_ in runs:
            body = {
                "key": f"measured-{name}",
                "application": "milc",
                "start": start,
                "nodes": NODES,
                "steps": [{"step": 0, "time_s": float(time_s)}],
            }
            assert served.http.post("/api/v1/runs", json=body, headers=bearer(secret)).status_code == 201
        tasks.run_blame({"exe": "milc", "nodes": len(NODES)}, Context(url))
        return served.get("/estimates/blame", exe="milc", nodes=len(NODES), limit=1000)


@pytest.mark.integration
@pytest.mark.system("numeric")
def test_reported_runs_get_the_verdicts_of_their_file(capfd, tmp_path: Path, embedded_db: str) -> None:  # type: ignore[no-untyped-def]
    runs, exposure = tables()
    # A pair, of whom nobody can tell which one it is, and one who was seen four times.
    exposure += [[run, "u0-too", amount] for run, user, amount in exposure if user == "u0"]
    exposure += [[f"r{run}", "seldom", 20.0] for run in (1, 20, 40, 60)]
    file, page = by_file(capfd, tmp_path, runs, exposure), by_report(embedded_db, runs, exposure)
    there = {user["user"]: user for user in file["users"]}
    assert {entry["name"] for entry in page["entries"]} == set(there) and page["found"] == file["named"]
    name = {entry["place"]: entry["name"] for entry in page["entries"]}
    for entry in page["entries"]:
        user = there[entry["name"]]
        low, high = user["effect_interval_s"] or (None, None)
        reasons = [re.sub(r"in place (\d+)", lambda found: name[int(found[1])], one) for one in entry["reasons"]]
        assert (entry["verdict"], reasons, entry["exposed_runs"]) == (
            user["verdict"],
            user["reasons"],
            user["exposed_runs"],
        )
        figures = {"q": user["q"], "p": user["p"], "score": user["score"], "effect_s": user["effect_s"], "effect_low_s": low, "effect_high_s": high,
                "lost_node_hours": user["lost_node_hours"]}  # fmt: skip
        assert {key: entry[key] for key in figures} == {
            key: None if value is None else pytest.approx(value, rel=1e-3, abs=1e-6) for key, value in figures.items()
        }
    verdicts = {entry["name"]: entry for entry in page["entries"]}
    for one, other in (("u0", "u0-too"), ("u0-too", "u0")):
        assert verdicts[one]["verdict"] == "cannot tell" and f"user {other}:" in " ".join(there[one]["reasons"])
    assert verdicts["seldom"]["reason"] == "exposed in 4 of 90 runs, needs 5"


# Runs that programs report: as sent in every answer, twice is once, own jobs only, and each slip is refused in one line.


TIMES = [1.25, 0.1, 2.000000001, 0.0]

KEY = "0123456789abcdef"


@pytest.fixture(scope="module")
def site(_embedded_template) -> Iterator[tuple[Served, dict[str, dict[str, str]], str]]:  # type: ignore[no-untyped-def]
    """A served API, headers by who asks, and the database."""
    url = _embedded_template.create()
    try:
        with connect(url, autocommit=True) as conn:
            for number, user in (("1", "ann"), ("2", "bob")):
                jobs.upsert_jobs(
                    conn, [Job("c", number, "RUNNING", user=user, start_s=1e9, nodes=2, node_list="n[1-2]")]
                )
            runs.upsert_run(conn, Run("imported", "milc", ranks=(0,), nodes=("n1",)))
            headers = {"anonymous": {}}
            for name, role, scopes in (
                ("ann", "user", ["runs", "read"]),
                ("bob", "operator", ["runs", "read"]),
                ("reader", "user", ["read"]),
                ("portal", "service", ["runs"]),
                ("viewer", "viewer", ["read"]),
            ):
                people.add_account(conn, name, role)
                headers[name] = bearer(people.add_token(conn, name, "test", scopes)[1])
        with serving(Settings(db=url, web=None)) as served:
            yield served, headers, url
    finally:
        _embedded_template.drop(url)


def post(site, who: str, body: object, path: str = "/runs"):  # type: ignore[no-untyped-def]
    served, headers, _ = site
    return served.http.post(f"/api/v1{path}", json=body, headers=headers[who])


def report(key: str, **more: object) -> dict:
    return {"key": key, "application": "amg", "start": "2026-11-23T10:00:00Z", **more}


def steps(*times: float, first: int = 0) -> list[dict]:
    return [{"step": first + number, "time_s": time} for number, time in enumerate(times)]


def test_planted_times_come_back_as_sent_and_twice_is_once(site) -> None:  # type: ignore[no-untyped-def]
    served = site[0]
    sent = report("planted-1", job_id="1", nodes=["n1", "n2"], steps=steps(*TIMES))
    made = post(site, "ann", sent)
    assert made.status_code == 201 and made.json()["created"] and made.json()["new_steps"] == len(TIMES)
    again = post(site, "ann", sent)
    assert again.status_code == 200
    assert again.json() == {"run_id": made.json()["run_id"], "created": False, "new_steps": 0}
    (listed,) = served.get("/runs", job="1")["items"]
    assert (listed["exe"], listed["ranks"], listed["nodes"]) == ("amg", 2, 2)
    shown = served.get(f"/runs/{listed['run_id']}/steps")
    assert shown["step"] == [0, 1, 2, 3] and shown["time_s"] == TIMES == shown["time_p50_s"]


def test_steps_are_added_to_a_run_that_goes_on(site) -> None:  # type: ignore[no-untyped-def]
    run = post(site, "ann", report("goes-on-1")).json()["run_id"]
    for _ in range(2):
        added = post(site, "ann", {"key": "goes-on-1", "steps": steps(3.0, 4.0, first=7)}, f"/runs/{run}/steps")
        assert added.status_code == 200
    assert added.json()["new_steps"] == 0
    assert post(site, "ann", report("goes-on-1", steps=steps(5.0, first=9))).json()["new_steps"] == 1
    shown = site[0].get(f"/runs/{run}/steps")
    assert (shown["step"], shown["time_s"]) == ([7, 8, 9], [3.0, 4.0, 5.0])


def test_who_may_report_what(site) -> None:  # type: ignore[no-untyped-def]
    def status(who: str, key: str, **more: object) -> int:
        return post(site, who, report(key, **more)).status_code

    assert status("anonymous", "anonymous-1") == 401
    assert status("reader", "reader-key") == status("viewer", "viewer-key") == 403
    # Bob is an operator; Ann's job is not his either. A service reports for everybody.
    assert status("bob", "bob-to-ann", job_id="1") == status("ann", "ann-to-bob", job_id="2") == 403
    assert status("portal", "portal-1", job_id="1") == 201
    # A person's report of a job that is not known yet could turn out to be of somebody else's.
    assert status("ann", "unknown-1", job_id="999") == 409
    assert status("portal", "unknown-2", job_id="999") == status("ann", "no-job-1") == 201
    with connect(site[2], role="reader") as conn:
        keys = conn.execute("SELECT count(*) FROM run WHERE job_id = '2'").fetchone()
    assert keys == (0,), "a refused report leaves nothing"


def test_nobody_reaches_the_run_of_another(site) -> None:  # type: ignore[no-untyped-def]
    run = post(site, "ann", report("of-ann-only", steps=steps(1.0))).json()["run_id"]
    assert post(site, "bob", {"key": "of-ann-only", "steps": steps(9.0)}, f"/runs/{run}/steps").status_code == 404
    assert post(site, "bob", report("of-ann-only", steps=steps(9.0))).json()["run_id"] != run
    assert post(site, "bob", report("imported")).json()["created"]
    assert site[0].get(f"/runs/{run}/steps")["time_s"] == [1.0]
    assert post(site, "ann", {**report("of-ann-only"), "application": "milc"}).status_code == 409


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"application": ""}, "application"),
        ({"application": "a\nb"}, "application"),
        ({"application": "x\u0000y"}, "application"),
        ({"application": "x" * 401}, "application"),
        ({"key": "short"}, "key"),
        ({"job_id": "1" * 61}, "job_id"),
        ({"nodes": ["n1", "\u001b[31m"]}, "nodes.1"),
        ({"nodes": ["n"] * 20_001}, "nodes"),
        ({"start": "never"}, "start"),
        ({"start": "1969-01-01T00:00:00Z"}, "start"),
        ({"steps": [{"step": -1, "time_s": 1}]}, "steps.0.step"),
        ({"steps": [{"step": 1_000_000, "time_s": 1}]}, "steps.0.step"),
        ({"steps": [{"step": 0, "time_s": -1}]}, "steps.0.time_s"),
        ({"steps": [{"step": 0, "time_s": 1e300}]}, "steps.0.time_s"),
        ({"steps": [{"step": 0, "time_s": "NaN"}]}, "steps.0.time_s"),
        ({"steps": steps(1.0) * 2}, "step 0 appears twice"),
        ({"steps": steps(*[1.0] * 10_001)}, "steps"),
        ({"run_key": "imported"}, "run_key"),
    ],
)
def test_a_slip_is_refused_in_one_line(site, change: dict, problem: str) -> None:  # type: ignore[no-untyped-def]
    refused = post(site, "ann", {**report("a-slip-key"), **change})
    assert refused.status_code in (400, 422), refused.text
    detail = refused.json()["detail"]
    assert problem in detail and "\n" not in detail and len(detail) < 500
    # Nothing of it was kept.
    assert post(site, "ann", {"key": "a-slip-key", "steps": steps(1.0)}, "/runs/1/steps").status_code == 404


def test_reports_are_counted_by_account() -> None:
    bucket = Buckets(REPORTS_PER_S, REPORTS_BURST)
    assert not any(bucket.take("ann", 0.0) for _ in range(REPORTS_BURST))
    assert bucket.take("ann", 0.0) > 0 and not bucket.take("bob", 0.0)
