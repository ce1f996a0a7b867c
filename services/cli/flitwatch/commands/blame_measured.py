"""`flitwatch blame --runs --exposure`: verdicts on measured runs, and how often shuffled run times would name a user."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

from flitwatch.console import make_progress
from flitwatch_domain.blame import FOUND_Q

#: Planted users per effect size; each takes as long as a shuffle.
PLANTED = 25


if TYPE_CHECKING:
    from flitwatch_db.estimates.store import Entry
    from flitwatch_domain.estimates import BlameCalibration, RunTimeDriver
    from flitwatch_ml.blame.calibration import Power, Rotations


class MeasuredVerdict(TypedDict):
    """Verdict on a user from measured runs, with reasons, statistics, and the effect in an exposed run with its interval. None is unknown."""

    user: str
    verdict: str
    reasons: list[str]
    q: float | None
    p: float | None
    score: float
    effect_s: float | None
    effect_interval_s: list[float] | None
    lost_node_hours: float | None
    exposed_runs: int


class MeasuredBlame(TypedDict):
    """Verdicts on measured runs, with the method's false-positive and detection rates, other influences on run times, and regime changes (epoch
    seconds)."""

    users: list[MeasuredVerdict]
    calibration: BlameCalibration
    rotations: Rotations
    power: list[Power]
    drivers: list[RunTimeDriver]
    runs: int
    mean_time_s: float
    named: int
    regimes_s: list[float]
    notes: list[str]
    caveat: str
    simulated: bool


def judge_measured(runs: Path, exposure: Path, shuffles: int, seed: int) -> MeasuredBlame:
    """Return the verdicts for `flitwatch blame --runs --exposure`."""
    from flitwatch_ml.blame.calibration import power, rotate
    from flitwatch_ml.measured import read_measured
    from flitwatch_ml.work.measured import CAVEAT, judge_runs

    data = read_measured(runs, exposure)
    with make_progress("shuffled run times") as bar:
        task = bar.add_task("shuffled run times", total=shuffles)
        judgement = judge_runs(data, shuffles, seed, lambda done: bar.update(task, completed=done))
    runs_of = (data.exposure, data.time_s, data.start_s, data.circumstances)
    rotations = rotate(*runs_of, most=shuffles, application=data.application)
    planted = power(*runs_of, min(shuffles, PLANTED), seed, data.application)
    users = [_make_verdict(*pair) for pair in zip(judgement.users, judgement.reasons, strict=True)]
    order = {"named": 0, "cannot tell": 1, "no evidence": 2}
    return {
        "users": sorted(users, key=lambda row: (order[row["verdict"]], row["q"] is None, row["q"] or 0.0)),
        "calibration": judgement.calibration,
        "rotations": rotations,
        "power": planted,
        "drivers": judgement.drivers,
        "runs": len(data.runs),
        "mean_time_s": float(data.time_s.mean()),
        "named": sum(user["verdict"] == "named" for user in users),
        "regimes_s": judgement.blame.calendar_.regimes_s.tolist(),
        "notes": data.notes,
        "caveat": CAVEAT,
        "simulated": False,
    }


def _make_verdict(one: Entry, reasons: list[str]) -> MeasuredVerdict:
    entry = one.entry
    low, high = entry["effect_low_s"], entry["effect_high_s"]
    return {
        "user": one.name,
        "verdict": entry["verdict"],
        "reasons": reasons,
        "q": entry["q"],
        "p": entry["p"],
        "score": entry["score"],
        "effect_s": entry["effect_s"],
        "effect_interval_s": None if low is None else [low, high],
        "lost_node_hours": entry["lost_node_hours"],
        "exposed_runs": entry["exposed_runs"],
    }


def _by_strength(user: MeasuredVerdict) -> tuple[bool, bool, float]:
    """Return the sort key: named users first, then the rest by q; users without q come last."""
    return user["verdict"] != "named", user["q"] is None, user["q"] or 0.0


def show_measured(result: MeasuredBlame) -> None:
    """Print the result for people: named users, then the strongest of the rest."""
    from rich.console import Console
    from rich.table import Table

    from flitwatch.console import stderr_console

    table = Table(title=f"{result['runs']} runs, {result['mean_time_s']:.1f} s on average", caption=result["caveat"])
    for heading in ("user", "verdict", "q", "extra s in an exposed run (95 %)", "exposed runs", "why"):
        table.add_column(heading, justify="left" if heading in ("user", "verdict", "why") else "right")
    for user in sorted(result["users"], key=_by_strength)[:15]:
        q, effect = "–", "–"
        interval = user["effect_interval_s"]
        if user["q"] is not None and user["effect_s"] is not None and interval is not None:
            low, high = interval
            q, effect = f"{user['q']:.2g}", f"{user['effect_s']:.1f} ({low:.1f} to {high:.1f})"
        table.add_row(user["user"], user["verdict"], q, effect, str(user["exposed_runs"]), "; ".join(user["reasons"]))
    Console().print(table)
    calibration = result["calibration"]
    if calibration["shuffles"]:
        stderr_console().print(
            f"Shuffled run times: {calibration['sets_with_a_name']} of {calibration['shuffles']} sets have a name at q ≤ {calibration['q']}.",
            highlight=False,
        )
        rotations = result["rotations"]
        stderr_console().print(
            f"Run times rotated in time: {rotations['sets_with_a_name']} of {rotations['rotations']} sets have a name at q ≤ {rotations['q']}.",
            highlight=False,
        )
        found = ", ".join(f"+{one['effect']:.0%}: {one['found']} of {one['draws']}" for one in result["power"])
        stderr_console().print(
            f"A user planted in shuffled run times is found at q ≤ {FOUND_Q}: {found or 'no user can be tested'}.",
            highlight=False,
        )
    for note in result["notes"]:
        stderr_console().print(note, highlight=False)
