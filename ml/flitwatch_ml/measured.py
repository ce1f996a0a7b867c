"""Measured runs from two CSV files: start, duration and circumstances of each run; concurrent users and their amounts. Errors name file and
line."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.stats import spearmanr

from flitwatch_domain import units
from flitwatch_domain.errors import BadInput, TooCostly
from flitwatch_domain.importers.packed import open_text

Floats = NDArray[np.float64]
#: Required columns of the file of runs.
NEEDED = ("run", "start", "time_s")
#: Column with the application, for files with several applications.
APPLICATION = "application"
#: Valid starts are from 1970 to 9999; milliseconds since 1970 are outside of this range.
LATEST_S = datetime(9999, 12, 31, tzinfo=UTC).timestamp()
#: Limit of times and counts; its inverse is the limit for small nonzero ones. Sums and squares of such numbers are sufficiently exact.
LARGEST = 1e30
#: Limit of runs times users: larger inputs would take hours and gigabytes.
MOST_PAIRS = 20_000_000
#: A column with this rank correlation to the run times is the run time itself, not a circumstance.
THE_TIME_ITSELF = 0.99


@dataclass(frozen=True, eq=False)
class MeasuredRuns:
    """Runs in order of start; users in order of name.

    Attributes
    ----------
    runs, users, covariates : names
    start_s, time_s : float64 (runs,)
    nodes : float64 (runs,) or None      number of nodes of each run
    circumstances : float64 (runs, covariates)
    exposure : float64 (runs, users)     0 for pairs missing in the file
    application : (runs,) or None        names, from the column `application`
    notes : remarks for the user
    """

    runs: list[str]
    users: list[str]
    covariates: list[str]
    start_s: Floats
    time_s: Floats
    nodes: Floats | None
    circumstances: Floats
    exposure: Floats
    notes: list[str]
    application: NDArray[np.str_] | None = None

    @property
    def relative_time(self) -> Floats:
        """Run times divided by the mean of their application (runs,)."""
        if self.application is None:
            return self.time_s / self.time_s.mean()
        label = np.unique(self.application, return_inverse=True)[1]
        return self.time_s / (np.bincount(label, self.time_s) / np.bincount(label))[label]


def read_measured(runs: Path, exposure: Path, called: tuple[str, str] | None = None) -> MeasuredRuns:
    """Read `run,start,time_s[,nodes][,circumstance...]` and `run,user,amount`.

    A start is ISO 8601 (UTC if no zone is named) or epoch seconds. The column `application` contains application names. Further numeric columns are
    circumstances of a run; text columns are ignored. `called`: names of the two files in errors (default: their paths).

    Raises
    ------
    BadInput
        A value is missing, not a number, negative or repeated; the message contains file and line.
    """
    of_runs, of_exposure = called or (str(runs), str(exposure))
    rows: dict[str, tuple[str, dict[str, str]]] = {}
    for line, row in _read_table(runs, of_runs, NEEDED):
        where = f"{of_runs}:{line}"
        if _check_name(row["run"], where, "run") in rows:
            raise BadInput(f"run {row['run'][:40]!r} is listed twice", where=where)
        rows[row["run"]] = where, row
    if not rows:
        raise BadInput("contains no runs", where=of_runs)
    start_of = {run: _parse_start_s(row["start"], where) for run, (where, row) in rows.items()}
    names = sorted(rows, key=lambda run: (start_of[run], run))
    ordered = [rows[run] for run in names]
    columns = {
        name: _parse_column(ordered, name) for name in ordered[0][1] if name not in (*NEEDED, "end", APPLICATION)
    }
    numbers = {name: values for name, values in columns.items() if values is not None}
    nodes = numbers.get("nodes")
    if nodes is not None and (nodes <= 0).any():
        raise BadInput("a run has no nodes", where=ordered[int(np.argmax(nodes <= 0))][0])
    time_s = np.array([_parse_time_s(row["time_s"], where, "run") for where, row in ordered])
    varied = [name for name, values in numbers.items() if np.ptp(values) > 0]
    the_time = [name for name in varied if _is_the_time(numbers[name], time_s)]
    circumstance_names = [name for name in varied if name not in the_time]
    users, amounts, runs_with_rows = _read_exposure(
        exposure, of_exposure, {run: at for at, run in enumerate(names)}, of_runs
    )
    start_s = np.array([start_of[run] for run in names])
    circumstances = (
        np.column_stack([numbers[name] for name in circumstance_names])
        if circumstance_names
        else np.zeros((len(names), 0))
    )
    sizes = np.zeros(len(names)) if nodes is None else nodes
    # A run recorded twice would count twice as evidence.
    has_application = APPLICATION in ordered[0][1]
    application = (
        np.array([_check_name(row[APPLICATION], where, APPLICATION) for where, row in ordered])
        if has_application
        else None
    )
    label = np.zeros(len(names)) if application is None else np.unique(application, return_inverse=True)[1]
    first = np.sort(
        np.unique(np.column_stack([start_s, time_s, sizes, label, circumstances, amounts]), axis=0, return_index=True)[
            1
        ]
    )
    copies = sorted(set(range(len(names))) - set(first.tolist()))
    alone = len(first) - len(runs_with_rows - set(copies))
    notes = list(_list_notes(columns, numbers, varied, the_time, alone))
    if copies:
        notes.append(
            f"{len(copies)} runs are copies of another, with the same start, time and users (such as {names[copies[0]]!r}), and are left out"
        )
    return MeasuredRuns(
        [names[at] for at in first.tolist()],
        users,
        circumstance_names,
        start_s[first],
        time_s[first],
        None if nodes is None else nodes[first],
        circumstances[first],
        amounts[first],
        notes,
        None if application is None else application[first],
    )


def _is_the_time(values: Floats, time_s: Floats) -> bool:
    return bool(np.ptp(time_s) > 0 and abs(spearmanr(values, time_s).statistic) >= THE_TIME_ITSELF)


def _list_notes(
    columns: dict[str, Floats | None], numbers: dict[str, Floats], varied: list[str], the_time: list[str], alone: int
) -> Iterator[str]:
    text = [name for name in columns if name not in numbers]
    if text:
        yield f"columns of text are left out: {', '.join(text[:10])}"
    if the_time:
        yield f"columns that only repeat the run time are left out: {', '.join(the_time[:10])}"
    constant = [name for name in numbers if name not in varied]
    if constant:
        yield f"columns that are the same in every run explain nothing: {', '.join(constant[:10])}"
    if alone:
        yield f"{alone} runs have no row of exposure; these runs are treated as having no other users alongside"


def _read_exposure(path: Path, called: str, run_at: dict[str, int], runs: str) -> tuple[list[str], Floats, set[int]]:
    amount_of: dict[tuple[int, str], float] = {}
    for line, row in _read_table(path, called, ("run", "user", "amount")):
        where = f"{called}:{line}"
        run = run_at.get(_check_name(row["run"], where, "run"))
        if run is None:
            raise BadInput(f"run {row['run'][:40]!r} is not in {runs}", where=where)
        key = run, _check_name(row["user"], where, "user")
        if key in amount_of:
            raise BadInput(f"run {row['run'][:40]!r} and this user are listed twice", where=where)
        amount_of[key] = _parse_amount(row["amount"], where, "amount")
    if not amount_of:
        raise BadInput("contains no users", where=called)
    users = sorted({user for _, user in amount_of})
    if len(run_at) * len(users) > MOST_PAIRS:
        raise TooCostly(
            f"{len(run_at):,} runs and {len(users):,} users are more than {MOST_PAIRS:,} pairs",
            advice="Leave out users with the least exposure, or take fewer runs.",
        )
    column = {user: at for at, user in enumerate(users)}
    amounts = np.zeros((len(run_at), len(users)))
    for (run, user), amount in amount_of.items():
        amounts[run, column[user]] = amount
    return users, amounts, {run for run, _ in amount_of}


def _parse_column(rows: list[tuple[str, dict[str, str]]], name: str) -> Floats | None:
    """Return a column's numbers; None if no value is a number."""
    try:
        float(rows[0][1][name])
    except ValueError:
        if not any(_is_number(row[name]) for _, row in rows):
            return None
    return np.array([_parse_number(row[name], where, name) for where, row in rows])


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _parse_start_s(text: str, where: str) -> float:
    if not text:
        raise BadInput("a run has no start", where=where)
    advice = "Write 2025-01-31T12:00:00Z or epoch seconds"
    if _is_number(text):
        second = _parse_number(text, where, "start")
    else:
        try:
            moment = datetime.fromisoformat(text)
        except ValueError:
            raise BadInput(f"start is not a time: {text[:40]!r}", where=where, advice=advice) from None
        second = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    if not 0 <= second <= LATEST_S:
        raise BadInput(f"start is not within 1970 to 9999: {text[:40]!r}", where=where, advice=advice)
    return second


def _read_table(path: Path, called: str, needed: tuple[str, ...]) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield (line, {column: value}) of a CSV file with these columns in any order."""
    try:
        with open_text(path) as file:
            reader = csv.reader(file)
            header = [name.strip() for name in next(reader, [])]
            lacking = [name for name in needed if name not in header]
            if lacking:
                other = next((sign for sign in ";\t|" if sign in "".join(header)), None)
                raise BadInput(
                    f"the header lacks {', '.join(lacking)}",
                    where=f"{called}:1",
                    advice=f"Separate columns by commas, not by {other!r}"
                    if other
                    else f"Begin with {','.join(needed)}",
                )
            if len(set(header)) != len(header) or "" in header:
                raise BadInput("a column has no name, or two have the same", where=f"{called}:1")
            for row in reader:
                if not row:
                    continue
                where = f"{called}:{reader.line_num}"
                if len(row) != len(header):
                    raise BadInput(f"{len(row)} fields where the header has {len(header)}", where=where)
                yield reader.line_num, dict(zip(header, (value.strip() for value in row), strict=True))
    except csv.Error as failure:
        raise BadInput(f"is not CSV: {failure}", where=called) from failure
    except BadInput as bad:
        # Errors of the content name the path as given.
        if bad.where != str(path):
            raise
        raise BadInput(bad.reason, where=called, advice=bad.advice) from bad


def _parse_number(text: str, where: str, name: str) -> float:
    value = units.parse_real(text.strip())
    if value is None:
        what = "a finite number" if units.is_infinite_or_nan(text) else "a number"
        raise BadInput(f"{name} is not {what}: {text[:40]!r}", where=where)
    if value and not 1 / LARGEST <= abs(value) <= LARGEST:
        raise BadInput(f"{name} cannot be as large or as small as {text[:40]!r}", where=where)
    return value


def _parse_time_s(text: str, where: str, whose: str) -> float:
    value = _parse_number(text, where, "time")
    if value <= 0:
        raise BadInput(f"the time of a {whose} must be above zero, not {text[:40]!r}", where=where)
    return value


def _parse_amount(text: str, where: str, name: str) -> float:
    value = _parse_number(text, where, name)
    if value < 0:
        raise BadInput(f"{name} cannot be negative: {text[:40]!r}", where=where)
    return value


def _check_name(text: str, where: str, what: str) -> str:
    if not text:
        raise BadInput(f"{what} is empty", where=where)
    if not text.isprintable():
        raise BadInput(f"{what} has control characters: {text[:40]!r}", where=where)
    return text
