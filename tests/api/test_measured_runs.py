"""The same runs by report and accounting as by file: what the API answers, and the page shows, is what `flitwatch blame --runs` says."""

from __future__ import annotations

import csv
import json
import re
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from ml.conftest import Context
from support.run_tables import EXPOSURE_COLUMNS, tables

from api.conftest import bearer, serving
from flitwatch.main import main
from flitwatch_api.settings import Settings
from flitwatch_db import connect
from flitwatch_db.jobs import store as jobs
from flitwatch_db.people import accounts as people
from flitwatch_domain.jobs import Job
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
        beside = [
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
        jobs.upsert_jobs(conn, beside)
    with serving(Settings(db=url, web=None, api_anonymous="operator")) as served:
        for name, start, time_s, *_ in runs:
            told = {
                "key": f"measured-{name}",
                "application": "milc",
                "start": start,
                "nodes": NODES,
                "steps": [{"step": 0, "time_s": float(time_s)}],
            }
            assert served.http.post("/api/v1/runs", json=told, headers=bearer(secret)).status_code == 201
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
        told = {"q": user["q"], "p": user["p"], "score": user["score"], "effect_s": user["effect_s"], "effect_low_s": low, "effect_high_s": high,
                "lost_node_hours": user["lost_node_hours"]}  # fmt: skip
        assert {key: entry[key] for key in told} == {
            key: None if value is None else pytest.approx(value, rel=1e-3, abs=1e-6) for key, value in told.items()
        }
    verdicts = {entry["name"]: entry for entry in page["entries"]}
    for one, other in (("u0", "u0-too"), ("u0-too", "u0")):
        assert verdicts[one]["verdict"] == "cannot tell" and f"user {other}:" in " ".join(there[one]["reasons"])
    assert verdicts["seldom"]["reason"] == "exposed in 4 of 90 runs, needs 5"
