"""Blame for measured runs from uploaded files: concurrent users are judged and stored in the same way as for recorded runs."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from flitwatch_db.estimates.inputs import Runs
from flitwatch_db.estimates.store import Entry, Estimate
from flitwatch_domain.errors import NotEnoughData
from flitwatch_domain.estimates import BlameCalibration, RunTimeDriver
from flitwatch_domain.neighbourhood import OURS, Neighbourhood
from flitwatch_domain.system_calls import open_memory_file
from flitwatch_ml.blame import CalendarBlame
from flitwatch_ml.blame.calibration import calibrate_blame, rank_drivers
from flitwatch_ml.measured import MeasuredRuns, read_measured
from flitwatch_ml.work.blame import (
    INTERVALS,
    CoRunning,
    columns_of,
    fit_blame,
    in_words,
    method_of,
    rank_entries,
    score_of,
)
from flitwatch_ml.work.sets import result_of

#: Names in errors of a task's two files, which have no names of their own.
RUNS_FILE, EXPOSURE_FILE = "runs.csv", "exposure.csv"
CAVEAT = (
    "Dependence between exposure and slow runs; not proof of cause. Runs and exposure are used as in the files. Users who "
    "always run together cannot be separated, and causes other than jobs (file systems, faults) are not visible. "
    f"{INTERVALS}"
)


@dataclass(frozen=True, eq=False)
class MeasuredVerdicts:
    """Verdicts on measured runs.

    Attributes
    ----------
    blame : the fitted estimator
    users : entries in order of rank
    reasons : reasons for each entry, with names of other users
    calibration : how often shuffled run times lead to a name
    drivers : correlation of run times with the runs' circumstances
    """

    data: MeasuredRuns
    blame: CalendarBlame
    users: list[Entry]
    reasons: list[list[str]]
    calibration: BlameCalibration
    drivers: list[RunTimeDriver]


def judge_runs(
    data: MeasuredRuns, shuffles: int, seed: int, report: Callable[[int], object] = lambda done: None
) -> MeasuredVerdicts:
    """Return verdicts of the production estimator.

    Raises
    ------
    NotEnoughData
        There are too few runs for any verdict.
    """
    # The files do not contain the overlap of job and run: users with an amount count as present.
    presence = (data.exposure > 0).astype(float)
    co_running = CoRunning(data.users, Neighbourhood(presence, data.exposure), set(), data.circumstances)
    try:
        blame = fit_blame(data.exposure, data.time_s, data.start_s, data.circumstances, application=data.application)
    except NotEnoughData as lacking:
        raise NotEnoughData(f"cannot tell: {lacking.message}") from lacking
    users = rank_entries(blame, co_running, data.relative_time, OURS, data.nodes)
    reasons = [
        [in_words(reason, lambda other: data.users[other]) for reason in blame.reasons_[at]]
        for at in blame.ranking_.tolist()
    ]
    calibration = calibrate_blame(
        data.exposure,
        data.time_s,
        data.start_s,
        data.circumstances,
        shuffles,
        seed,
        report,
        data.application,
    )
    driver_rows = rank_drivers(data.covariates, data.circumstances, data.relative_time, data.start_s)
    return MeasuredVerdicts(data, blame, users, reasons, calibration, driver_rows)


def estimate_measured(
    judged: MeasuredVerdicts, name: str, seed: int, created_by: str | None = None
) -> tuple[Estimate, dict[str, list[Entry]]]:
    """Return the verdicts in their stored form: an estimate of application `name`, and its entries."""
    data, blame = judged.data, judged.blame
    runs = Runs(np.zeros(len(data.runs), np.int64), data.start_s, data.time_s[:, None], simulated=False)
    parameters = {
        "definition": OURS.name,
        "seed": seed,
        "shuffles": judged.calibration["shuffles"],
        **blame.get_params(),
    }
    result = {
        "method": method_of(blame, 0, OURS.tau, "presence with an amount above 0"),
        "caveat": CAVEAT,
        # Runs from files have names; a number would refer to a recorded run.
        "runs": {"run_id": [None] * len(data.runs), "name": data.runs, **columns_of(runs)},
        "calibration": judged.calibration,
        "drivers": judged.drivers,
        "notes": data.notes,
    }
    stored = result_of("blame", name, nodes_of(data), runs, parameters, score_of(judged.users), result)
    users = [Entry(user.name, user.entry, [None] * len(data.runs), user.exposure) for user in judged.users]
    return Estimate(**{**vars(stored), "source": "files", "created_by": created_by}), {"user": users}


def nodes_of(data: MeasuredRuns) -> int:
    """Return the common number of nodes of all runs; 0 if the files have none, or several."""
    if data.nodes is None or np.ptp(data.nodes) > 0 or data.nodes[0] != int(data.nodes[0]):
        return 0
    return int(data.nodes[0])


def read_pieces(runs: Iterable[bytes], exposure: Iterable[bytes]) -> MeasuredRuns:
    """Return measured runs from two files that arrive in pieces. They are kept only in memory, so that nothing remains if the process ends.

    Raises
    ------
    BadInput
        A file is invalid; the message contains file and line.
    """
    with _in_memory(RUNS_FILE, runs) as first, _in_memory(EXPOSURE_FILE, exposure) as second:
        return read_measured(first, second, called=(RUNS_FILE, EXPOSURE_FILE))


@contextmanager
def _in_memory(name: str, pieces: Iterable[bytes]) -> Iterator[Path]:
    with os.fdopen(open_memory_file(name), "wb") as file:
        for piece in pieces:
            file.write(piece)
        file.flush()
        yield Path(f"/proc/self/fd/{file.fileno()}")
