"""Estimators as tasks: read runs from the database, estimate, keep the result with its data, parameters, version and score.

`ml.blame {exe, ranks, ...}`, `ml.deviation {exe, ranks, ...}`, `ml.forecast {exe, ranks, m, k}`.
"""

from __future__ import annotations

from collections import Counter
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flitwatch_db import connect, estimates
from flitwatch_db.tasks import Handler, TaskContext
from flitwatch_domain.counters import TABLE_II
from flitwatch_domain.errors import BadRequest, NotEnoughData

Floats = NDArray[np.float64]

#: Jobs smaller than this are not counted as presence (Bhatele 2020, section IV-A: larger than 128 nodes).
LARGE_JOB_NODES = 128
CAVEAT = "Dependence between presence and slow runs; not proof of cause."


def _application(args: dict[str, Any]) -> tuple[str, int]:
    exe, ranks = args.get("exe"), args.get("ranks")
    if not isinstance(exe, str) or not isinstance(ranks, int):
        raise BadRequest("name an application: {exe: text, ranks: whole number}")
    return exe, ranks


def _complete(runs: estimates.Runs) -> estimates.Runs:
    """Runs with the usual number of steps, none missing: partial runs have partial times."""
    if len(runs.run_id) == 0:
        raise NotEnoughData("there are no runs of this application with a start and steps")
    counts = np.isfinite(runs.step_time_s).sum(1)
    usual = Counter(counts.tolist()).most_common(1)[0][0]
    whole = (counts == usual) & np.isfinite(runs.step_time_s[:, :usual]).all(1)
    return estimates.Runs(runs.run_id[whole], runs.start_s[whole], runs.step_time_s[whole, :usual], runs.simulated)


def _data(runs: estimates.Runs) -> dict[str, Any]:
    return {
        "runs": len(runs.run_id),
        "steps": runs.step_time_s.shape[1],
        "first_s": float(runs.start_s.min()),
        "last_s": float(runs.start_s.max()),
    }


def blame(args: dict[str, Any], context: TaskContext) -> dict[str, Any]:
    """Who: users whose exposure goes with slow runs of one application."""
    from flitwatch_ml.blame import ExposureBlame, PresenceBlame
    from flitwatch_ml.blame.strata import hour_and_weekend

    exe, ranks = _application(args)
    least = int(args.get("least_nodes", LARGE_JOB_NODES))
    with connect(context.dsn, role="writer") as conn:
        runs = _complete(estimates.runs_of(conn, exe, ranks))
        context.report(1, 3, f"{len(runs.run_id)} runs; who ran beside them")
        beside = estimates.presence(conn, runs.run_id, least)
        context.report(2, 3, f"{len(beside.users)} users")
        times = runs.step_time_s.sum(1)
        if not beside.users:
            raise NotEnoughData(f"nobody had a job of {least} nodes or more beside these runs")
        paper = PresenceBlame(rule="any").fit(beside.overlap, times)
        ours = ExposureBlame().fit(beside.exposure, times, hour_and_weekend(runs.start_s))
        users = [
            {
                "user": beside.users[at], "score": float(ours.score_[at]), "mi_bits": float(paper.mi_bits_[at]), "sign": int(ours.sign_[at]),
                "p": _known(ours.p_value_[at]), "q": _known(ours.q_value_[at]), "testable": bool(ours.testable_[at]),
                "exposed_runs": int(ours.exposed_runs_[at]), "own": beside.users[at] in beside.own,
                "runs": runs.run_id[beside.exposure[:, at] > 0].tolist()[:200],
            }
            for at in ours.ranking_.tolist()
        ]  # fmt: skip
        parameters = {"least_nodes": least, **ours.get_params()}
        found = sum(user["q"] is not None and user["q"] <= 0.1 for user in users)
        return _keep(
            conn,
            "blame",
            exe,
            ranks,
            parameters,
            _data(runs),
            {"found": found},
            {"users": users, "caveat": CAVEAT},
            runs.simulated,
        )


def _step_data(conn: Any, exe: str, ranks: int) -> tuple[estimates.Runs, Floats, list[str]]:
    runs = _complete(estimates.runs_of(conn, exe, ranks))
    counts = estimates.step_counters(conn, runs)
    there = np.isfinite(counts)
    known = np.logical_or.reduce(there.reshape(-1, counts.shape[2]))
    if not known.any():
        raise NotEnoughData("no counters were stored for the routers of these runs while they ran")
    whole = np.logical_or.reduce(np.logical_and.reduce(there[:, :, known], axis=2), axis=1)
    chosen = estimates.Runs(runs.run_id[whole], runs.start_s[whole], runs.step_time_s[whole], runs.simulated)
    return (
        chosen,
        counts[whole][:, :, known],
        [c.abbreviation for c, seen in zip(TABLE_II, known.tolist(), strict=True) if seen],
    )


def deviation(args: dict[str, Any], context: TaskContext) -> dict[str, Any]:
    """What: relevance of counters for the deviation of one application's step times."""
    from flitwatch_ml.deviation import DeviationModel

    exe, ranks = _application(args)
    with connect(context.dsn, role="writer") as conn:
        runs, counts, names = _step_data(conn, exe, ranks)
        context.report(1, 2, f"{len(runs.run_id)} runs, {len(names)} counters")
        model = DeviationModel(inputs=args.get("inputs", "rates")).fit(counts, runs.step_time_s)
        result = {
            "relevance": dict(zip(names, map(float, model.relevance_), strict=True)),
            "rank": dict(zip(names, map(float, model.rank_), strict=True)),
            "rank_spread": dict(zip(names, map(float, model.rank_spread_), strict=True)),
        }
        score = {"mape": model.mape_, "baseline_mape": model.baseline_mape_}
        return _keep(conn, "deviation", exe, ranks, model.get_params(), _data(runs), score, result, runs.simulated)


def forecast(args: dict[str, Any], context: TaskContext) -> dict[str, Any]:
    """What next: the backtest of one application; the forecaster with the least error serves."""
    from flitwatch_ml.forecast import StepSeries, backtest

    exe, ranks = _application(args)
    with connect(context.dsn, role="writer") as conn:
        runs, counts, names = _step_data(conn, exe, ranks)
        steps = runs.step_time_s.shape[1]
        m, k = int(args.get("m", max(1, steps * 2 // 5))), int(args.get("k", max(1, steps // 2)))
        context.report(1, 2, f"{len(runs.run_id)} runs, {m} past steps, {k} to come")
        found = backtest(StepSeries(runs.step_time_s, counts / runs.step_time_s[:, :, None]), m, k)
        mean, low, high = found.gain
        score = {"mape": found.mape, "gain": {"mean": mean, "low": low, "high": high}, "coverage90": found.coverage90}
        result = {
            "serves": found.serves,
            "half_width90": found.half_width90,
            "train_s": found.train_s,
            "counters": names,
        }
        return _keep(conn, "forecast", exe, ranks, {"m": m, "k": k}, _data(runs), score, result, runs.simulated)


def _keep(
    conn: Any, kind: str, exe: str, ranks: int, parameters: dict[str, Any], data: dict[str, Any], score: dict[str, Any], result: dict[str, Any],
    simulated: bool,
) -> dict[str, Any]:  # fmt: skip
    number = estimates.save(
        conn,
        kind,
        exe,
        ranks,
        code_version=version("flitwatch"),
        parameters=parameters,
        data=data,
        score=score,
        result=result,
        simulated=simulated,
    )
    return {"estimate_id": number, "score": score, "simulated": simulated}


def _known(value: float) -> float | None:
    return None if np.isnan(value) else float(value)


#: What a worker of this package can do.
HANDLERS: dict[str, Handler] = {"ml.blame": blame, "ml.deviation": deviation, "ml.forecast": forecast}
