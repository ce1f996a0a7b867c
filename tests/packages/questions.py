"""Questions to an installed Flitwatch: which user slows runs, with a planted culprit, and how long a running job will take."""

from __future__ import annotations

import csv
import json
import time
from collections.abc import Callable
from pathlib import Path

from support.run_tables import EXPOSURE_COLUMNS, RUN_COLUMNS, tables

#: Completed jobs of the running one's user, name and size, and their run times, evenly spread.
JOBS, LEAST_S, MOST_S = 40, 1000, 1390
RUNNING = "900"


def write_questions(folder: Path) -> None:
    """Write tables of runs and of the users alongside them, and accounting with one running job."""
    folder.mkdir(parents=True, exist_ok=True)
    runs, exposure = tables()
    for name, columns, rows in (("runs", RUN_COLUMNS, runs), ("exposure", EXPOSURE_COLUMNS, exposure)):
        with (folder / f"{name}.csv").open("w", newline="") as file:
            csv.writer(file).writerows([columns, *rows])
    now_s = int(time.time())
    lines = ["JobID|JobName|User|State|Submit|Start|End|NNodes|NodeList|Cluster"]
    for number in range(JOBS):
        begun_s, took_s = now_s - 90_000 + 2000 * number, LEAST_S + (MOST_S - LEAST_S) * number // (JOBS - 1)
        lines.append(f"{100 + number}|vasp|bob|COMPLETED|{begun_s}|{begun_s}|{begun_s + took_s}|2|n[1-2]|site")
    lines.append(f"{RUNNING}|vasp|bob|RUNNING|{now_s - 300}|{now_s - 300}|Unknown|2|n[1-2]|site")
    (folder / "jobs.txt").write_text("\n".join(lines) + "\n")


def ask_questions(flitwatch: Callable[..., str], folder: Path) -> None:
    """Ask both of a running platform; `flitwatch` runs the installed command, which finds the files in `folder`, and returns its output."""
    runs = ("--runs", str(folder / "runs.csv"), "--exposure", str(folder / "exposure.csv"))
    blame = json.loads(flitwatch("blame", *runs, "--json"))
    assert [user["user"] for user in blame["users"] if user["verdict"] == "named"] == ["u0"]
    flitwatch("import", "sacct", str(folder / "jobs.txt"))
    run_time = json.loads(flitwatch("forecast", "--job", RUNNING, "--json"))["run_time"]
    assert (
        run_time["jobs"] == JOBS
        and LEAST_S <= run_time["low_s"] < run_time["expected_s"] < run_time["high_s"] <= MOST_S
    )
