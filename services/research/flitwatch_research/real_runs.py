"""The page docs/real-runs.md: blame on measured runs, with the paper's method and ours.

`python -m flitwatch_research.real_runs RUNS.csv EXPOSURE.csv CORRELATION.csv [shuffles]`
"""

from __future__ import annotations

import csv
import sys
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binomtest, pearsonr

from flitwatch.commands.blame_measured import MeasuredBlame, MeasuredVerdict, judge_measured
from flitwatch_db.estimates.store import Entry
from flitwatch_domain.blame import FOUND_Q
from flitwatch_domain.estimates import RunTimeDriver
from flitwatch_domain.neighbourhood import LARGE_JOB_NODES
from flitwatch_ml.blame import ExposureBlame, PresenceBlame
from flitwatch_ml.blame.calibration import CALIBRATION_Q, Power
from flitwatch_ml.blame.strata import hour_and_weekend
from flitwatch_ml.blame.verdict import NAMING_RUNS
from flitwatch_ml.measured import MeasuredRuns, read_measured
from flitwatch_ml.work.measured import judge_runs

SHUFFLES = 1000
WEEK_S = 7 * 86_400
FIRST = 12


def render_report(runs: Path, exposure: Path, correlation: Path, shuffles: int = SHUFFLES) -> str:
    """Return the page as Markdown."""
    data, ours = read_measured(runs, exposure), judge_measured(runs, exposure, shuffles, 1)
    published = _read_published(correlation)
    first, last = (datetime.fromtimestamp(float(second), UTC).date() for second in data.start_s[[0, -1]])
    calibration, rotations, (middle, high) = ours["calibration"], ours["rotations"], _by_chance(data)
    counts = {
        name: sum(user["verdict"] == name for user in ours["users"]) for name in ("named", "cannot tell", "no evidence")
    }
    return f"""# Blame on real runs

Measured, not simulated: {len(data.runs)} runs of MILC on Perlmutter (Slingshot, a dragonfly) from {first} to {last}, alongside {len(data.users)} users, whose names were replaced.

The data belongs to Wei, Pradeep and Bhatele, "The Case of the Elusive Application Performance on Production GPU Supercomputers", IPDPS 2026; it is not part of this repository.

Generated with `make real-runs SHUFFLES={shuffles}`.

The mean time is {data.time_s.mean():.1f} s, and the coefficient of variation is {data.time_s.std() / data.time_s.mean():.1%}. A user's amount is the number of nodes of their jobs alongside the run.

The true causes are unknown. The questions are which users a method names, how often it names users after shuffling, and what remains without the calendar.

## Our verdicts

{counts["named"]} named, {counts["cannot tell"]} "cannot tell", {counts["no evidence"]} "no evidence". With run times shuffled {calibration["shuffles"]} times, {calibration["sets_with_a_name"]} sets ({calibration["share"]:.1%}; goal: at most 10 %) have a name at q ≤ {calibration["q"]}.

Shuffling removes the dependence of consecutive runs. Rotating run times in time keeps it: {rotations["sets_with_a_name"]} of {rotations["rotations"]} sets have a name.

{_format_weeks(data)}

| user | verdict | q | extra seconds in an exposed run (95 %) | exposed runs | why |
|---|---|---|---|---|---|
{_format_users(ours["users"])}

Each interval is for one user, not for the best of all users: among all these users, some intervals exclude zero by chance.

## Who would be found

For each effect, the effect of a random testable user is planted in the same shuffled run times. The 95 % intervals are Wilson's.

| exposed runs take longer by | planted | found at q ≤ {FOUND_Q} |
|---|---|---|
{_power(ours["power"])}

## The same runs by other methods

| method | names | of them, by ours |
|---|---|---|
{_compare_methods(data, ours)}

The data contain no jobs, so presence throughout a run is unknown. The paper's rule is used with presence in any part of a run, and with more than 128 nodes in total.

## Circumstances of the runs

Correlation of each column with run time, after removing hours, dates and regimes; q is over the columns.

| column | correlation | q | published (Pearson, nothing removed) |
|---|---|---|---|
{_format_drivers(ours["drivers"], published)}

## The strongest published correlations without the calendar

| name | published | ours, the whole list of neighbours | verdict | q |
|---|---|---|---|---|
{_format_strongest(data, ours["users"], published)}

A column such as `job_number` grows with time, so its correlation is that of the calendar. With run times shuffled 1,000 times, the largest correlation over all users has a median of {middle:.3f} and a 95 % point of
{high:.3f}: only a larger correlation would be evidence on its own.
"""


def judge_weeks(data: MeasuredRuns) -> list[list[Entry]]:
    """Return the verdicts from each seven days alone that begin with a run and have enough runs for a name."""
    weeks = [(data.start_s >= first) & (data.start_s < first + WEEK_S) for first in data.start_s]
    return [judge_runs(_select_runs(data, week), 0, 1).users for week in weeks if week.sum() >= NAMING_RUNS]


def _select_runs(data: MeasuredRuns, some: NDArray[np.bool_]) -> MeasuredRuns:
    """Return some runs with their users, without circumstances: a week has too few runs for six."""
    there = data.exposure[some].any(0)
    return replace(
        data,
        runs=np.array(data.runs)[some].tolist(),
        users=np.array(data.users)[there].tolist(),
        covariates=[],
        start_s=data.start_s[some],
        time_s=data.time_s[some],
        nodes=None if data.nodes is None else data.nodes[some],
        circumstances=np.empty((int(some.sum()), 0)),
        exposure=data.exposure[some][:, there],
        application=None if data.application is None else data.application[some],
    )


def _format_weeks(data: MeasuredRuns) -> str:
    weeks = judge_weeks(data)
    named = sum(any(user.entry["verdict"] == "named" for user in week) for week in weeks)
    likely = sum(any(user.entry["q"] is not None and user.entry["q"] <= FOUND_Q for user in week) for week in weeks)
    return (
        "The runs of a single week name no user, because there is no other week to compare with. "
        f"Of the seven days that begin with each run, {len(weeks)} have {NAMING_RUNS} runs or more. Judged alone, without circumstances, "
        f"{named} of these name a user, and {likely} have a user at q ≤ {FOUND_Q}."
    )


def _read_published(path: Path) -> dict[str, float]:
    with open(path, newline="", encoding="utf-8-sig") as file:
        return {row["name"]: float(row["pearson"]) for row in csv.DictReader(file)}


def _format_number(value: float | None, form: str) -> str:
    return "–" if value is None else format(value, form)


def _format_users(users: list[MeasuredVerdict]) -> str:
    tested = [user for user in users if user["q"] is not None]
    lines = []
    for user in sorted(tested, key=lambda one: (one["verdict"] != "named", one["p"]))[:FIRST]:
        low, high = user["effect_interval_s"] or (np.nan, np.nan)
        lines.append(
            f"| {user['user']} | {user['verdict']} | {user['q']:.2g} | {user['effect_s']:.1f} ({low:.1f} to {high:.1f}) | {user['exposed_runs']} |"
            f" {'; '.join(user['reasons'])} |"
        )
    return "\n".join(lines)


def _power(rows: list[Power]) -> str:
    lines = []
    for row in rows:
        low, high = binomtest(row["found"], row["draws"]).proportion_ci(method="wilson")
        lines.append(
            f"| {row['effect']:.0%} | {row['draws']} | {row['found'] / row['draws']:.2f} ({low:.2f} to {high:.2f}) |"
        )
    return "\n".join(lines)


def _compare_methods(data: MeasuredRuns, ours: MeasuredBlame) -> str:
    verdict = {user["user"]: user["verdict"] for user in ours["users"]}
    plain = ExposureBlame().fit(data.exposure, data.time_s)
    hours = ExposureBlame().fit(data.exposure, data.time_s, hour_and_weekend(data.start_s))
    any_part = PresenceBlame(rule="any").fit(data.exposure, data.time_s)
    large = PresenceBlame(rule="any").fit(np.where(data.exposure >= LARGE_JOB_NODES, 1.0, 0.0), data.time_s)
    above = np.quantile(any_part.mi_bits_, 0.975)
    masks = {
        f"exposure, no calendar, q ≤ {FOUND_Q}": plain.q_value_ <= FOUND_Q,
        f"exposure, hours and weekends, q ≤ {FOUND_Q}": hours.q_value_ <= FOUND_Q,
        f"the paper's mutual information, any part, q ≤ {CALIBRATION_Q}": (any_part.q_value_ <= CALIBRATION_Q)
        & (any_part.sign_ > 0),
        f"the same, more than 128 nodes, q ≤ {CALIBRATION_Q}": (large.q_value_ <= CALIBRATION_Q) & (large.sign_ > 0),
        "mutual information without a test: the highest 2.5 %, slower with": (any_part.mi_bits_ > above)
        & (any_part.sign_ > 0),
    }
    lines = []
    for method, chosen in masks.items():
        names = [data.users[at] for at in np.flatnonzero(chosen)]
        counts = [
            f"{sum(verdict[name] == label for name in names)} {label}"
            for label in ("named", "cannot tell", "no evidence")
        ]
        lines.append(f"| {method} | {len(names)} | {', '.join(counts) if names else '–'} |")
    return "\n".join(lines)


def _format_drivers(rows: list[RunTimeDriver], published: dict[str, float]) -> str:
    return "\n".join(
        f"| {row['name']} | {row['correlation']:+.2f} | {row['q']:.2g} | {_format_number(published.get(row['name']), '+.3f')} |"
        for row in rows
    )


def _format_strongest(data: MeasuredRuns, users: list[MeasuredVerdict], published: dict[str, float]) -> str:
    by_name = {user["user"]: user for user in users}
    lines = []
    for name, value in sorted(published.items(), key=lambda one: -abs(one[1]))[:FIRST]:
        if name in by_name:
            user = by_name[name]
            mine = float(pearsonr(data.exposure[:, data.users.index(name)], data.time_s).statistic)
            lines.append(
                f"| {name} | {value:+.3f} | {mine:+.3f} | {user['verdict']} | {_format_number(user['q'], '.2g')} |"
            )
        else:
            lines.append(f"| {name} | {value:+.3f} | – | a column of the runs, no user | – |")
    return "\n".join(lines)


def _by_chance(data: MeasuredRuns) -> tuple[float, float]:
    """Return the median and 95 % point of the largest correlation over all users with shuffled run times."""
    rng = np.random.default_rng(1)
    columns = data.exposure - data.exposure.mean(0)
    columns /= np.linalg.norm(columns, axis=0)
    times = data.time_s - data.time_s.mean()
    times /= np.linalg.norm(times)
    largest = [np.abs(rng.permutation(times) @ columns).max() for _ in range(1000)]
    return float(np.median(largest)), float(np.quantile(largest, 0.95))


def main() -> None:
    """Print the page."""
    runs, exposure, correlation, *more = sys.argv[1:]
    sys.stdout.write(render_report(Path(runs), Path(exposure), Path(correlation), *(int(count) for count in more)))


if __name__ == "__main__":
    main()
