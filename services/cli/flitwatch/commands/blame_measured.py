"""`flitwatch blame --runs --exposure`: verdicts on measured runs, and how often shuffled ones would give a name."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

from flitwatch.console import progress

CAVEAT = "Dependence between presence and slow runs; not proof of cause."


if TYPE_CHECKING:
    from flitwatch_ml.blame.calibration import Calibration, Driver


class MeasuredVerdict(TypedDict):
    """What measured runs say of a user: the verdict with reasons, its statistics, and the effect in an exposed run with its interval; None is unknown."""

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
    runs_needed: float | None


class MeasuredBlame(TypedDict):
    """Verdicts with how often the method names nobody's fault, what else goes with run times, and the changes of regime (epoch seconds)."""

    users: list[MeasuredVerdict]
    calibration: Calibration
    drivers: list[Driver]
    runs: int
    mean_time_s: float
    named: int
    regimes_s: list[float]
    notes: list[str]
    caveat: str
    simulated: bool


def judged(runs: Path, exposure: Path, shuffles: int, seed: int) -> MeasuredBlame:
    """What `flitwatch blame --runs --exposure` prints."""
    from flitwatch_ml.blame import CalendarBlame
    from flitwatch_ml.blame.calibration import calibrate, drivers
    from flitwatch_ml.measured import read_measured

    data = read_measured(runs, exposure)
    blame = CalendarBlame().fit(data.exposure, data.time_s, data.start_s, data.circumstances)
    users = _users(blame, data)
    with progress("shuffled run times") as bar:
        task = bar.add_task("shuffled run times", total=shuffles)
        calibration = calibrate(
            data.exposure,
            data.time_s,
            data.start_s,
            data.circumstances,
            shuffles,
            seed,
            lambda done: bar.update(task, completed=done),
        )
    return {
        "users": users,
        "calibration": calibration,
        "drivers": drivers(data.covariates, data.circumstances, data.time_s, data.start_s),
        "runs": len(data.runs),
        "mean_time_s": float(data.time_s.mean()),
        "named": sum(user["verdict"] == "named" for user in users),
        "regimes_s": blame.calendar_.regimes_s.tolist(),
        "notes": data.notes,
        "caveat": CAVEAT,
        "simulated": False,
    }


def _users(blame: Any, data: Any) -> list[MeasuredVerdict]:
    import numpy as np

    from flitwatch_ml.work.blame import in_words
    from flitwatch_ml.work.sets import known

    exposed = data.exposure > 0
    node_runs = None if data.nodes is None else data.nodes @ exposed
    rows: list[MeasuredVerdict] = []
    for at in blame.ranking_.tolist():
        low, high = blame.effect_interval_s_[at]
        rows.append(
            {
                "user": data.users[at],
                "verdict": blame.verdict_[at],
                "reasons": [in_words(reason, lambda other: data.users[other]) for reason in blame.reasons_[at]],
                "q": known(blame.q_value_[at]),
                "p": known(blame.p_value_[at]),
                "score": float(blame.score_[at]),
                "effect_s": known(blame.effect_s_[at]),
                "effect_interval_s": None if np.isnan(low) else [float(low), float(high)],
                "lost_node_hours": None
                if node_runs is None
                else known(blame.effect_s_[at] * float(node_runs[at]) / 3600),
                "exposed_runs": int(blame.exposed_runs_[at]),
                "runs_needed": known(blame.runs_needed_[at]),
            }
        )
    order = {"named": 0, "cannot tell": 1, "no evidence": 2}
    return sorted(rows, key=lambda row: (order[row["verdict"]], row["q"] is None, row["q"] or 0.0))


def show(result: MeasuredBlame) -> None:
    """The same for people: who is named, then the strongest of the rest."""
    from rich.console import Console
    from rich.table import Table

    from flitwatch.console import stderr

    table = Table(title=f"{result['runs']} runs, {result['mean_time_s']:.1f} s on average", caption=CAVEAT)
    for heading in ("user", "verdict", "q", "extra s in an exposed run (95 %)", "exposed runs", "why"):
        table.add_column(heading, justify="left" if heading in ("user", "verdict", "why") else "right")
    for user in result["users"][:15]:
        q, effect = "–", "–"
        interval = user["effect_interval_s"]
        if user["q"] is not None and user["effect_s"] is not None and interval is not None:
            low, high = interval
            q, effect = f"{user['q']:.2g}", f"{user['effect_s']:.1f} ({low:.1f} to {high:.1f})"
        table.add_row(user["user"], user["verdict"], q, effect, str(user["exposed_runs"]), "; ".join(user["reasons"]))
    Console().print(table)
    calibration = result["calibration"]
    if calibration["shuffles"]:
        stderr.print(
            f"Shuffled run times: {calibration['sets_with_a_name']} of {calibration['shuffles']} sets have a name at q ≤ {calibration['q']}.",
            highlight=False,
        )
    for note in result["notes"]:
        stderr.print(note, highlight=False)
