"""What an installed Flitwatch is asked: who slows runs, and how long the next steps take; with a culprit that is planted."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
from support.run_tables import EXPOSURE_COLUMNS, RUN_COLUMNS, tables

RUNS, STEPS, STEP_S = 30, 20, 5.0


def write_questions(folder: Path) -> None:
    """Tables of runs, of the users alongside them, and of steps whose time rises with a counter."""
    folder.mkdir(parents=True, exist_ok=True)
    runs, exposure = tables()
    rng = np.random.default_rng(1)
    load = rng.uniform(0, 1, (RUNS, STEPS))
    time_s = STEP_S * (1 + load)
    steps = [
        [f"r{at}", step, time_s[at, step], load[at, step] * time_s[at, step]] for at, step in np.ndindex(RUNS, STEPS)
    ]
    for name, columns, rows in (
        ("runs", RUN_COLUMNS, runs),
        ("exposure", EXPOSURE_COLUMNS, exposure),
        ("steps", ["run", "step", "time", "A"], steps),
    ):
        with (folder / f"{name}.csv").open("w", newline="") as file:
            csv.writer(file).writerows([columns, *rows])


def ask_questions(flitwatch: Callable[..., str], folder: Path) -> None:
    """Ask both; `flitwatch` runs the installed command, to which the tables are in `folder`, and returns what it prints."""
    blame = json.loads(
        flitwatch("blame", "--runs", str(folder / "runs.csv"), "--exposure", str(folder / "exposure.csv"), "--json")
    )
    assert [user["user"] for user in blame["users"] if user["verdict"] == "named"] == ["u0"]
    forecast = json.loads(flitwatch("forecast", "--steps", str(folder / "steps.csv"), "--m", "3", "--k", "4", "--json"))
    assert forecast["simulated"] is False
