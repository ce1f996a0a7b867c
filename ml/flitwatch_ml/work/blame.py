"""Who: users, and jobs of one name, whose exposure goes with slow runs of one application."""

from __future__ import annotations

from typing import Any

import numpy as np

from flitwatch_db import estimates
from flitwatch_db.estimate_store import Entry, Estimate
from flitwatch_domain.blame import FOUND_Q
from flitwatch_domain.errors import NotEnoughData
from flitwatch_ml.blame import ExposureBlame, PresenceBlame
from flitwatch_ml.blame.strata import hour_and_weekend
from flitwatch_ml.work.sets import known, result_of

#: Jobs smaller than this are not counted as presence (Bhatele 2020, section IV-A: larger than 128 nodes, on a machine of 9,688 and more).
LARGE_JOB_NODES = 128
#: On smaller machines a job of this share of the nodes is a large one.
LARGE_SHARE = 1 / 32
#: Below this many runs a stratum, an hour of the day more or less cannot be told from chance; all runs are then one stratum.
RUNS_FOR_STRATA = 32
CAVEAT = (
    "Dependence between exposure and slow runs; not proof of cause. Users who always run together cannot be told apart, and what nobody's job "
    "explains (file systems, faults) is not seen."
)


def large_job_nodes(machine_nodes: int | None) -> int:
    """From how many nodes a job counts on a machine of so many."""
    if machine_nodes is None:
        return LARGE_JOB_NODES
    return max(2, min(LARGE_JOB_NODES, round(machine_nodes * LARGE_SHARE)))


def estimate(
    runs: estimates.Runs, exe: str, nodes: int, beside: dict[str, estimates.Presence], least_nodes: int
) -> tuple[Estimate, dict[str, list[Entry]]]:
    """The result and its ranked entries, by user and by application."""
    times = runs.step_time_s.sum(1)
    stratified = len(times) >= RUNS_FOR_STRATA
    strata = hour_and_weekend(runs.start_s) if stratified else np.zeros(len(times), np.int64)
    ranked: dict[str, list[Entry]] = {}
    blame = ExposureBlame()
    for by, present in beside.items():
        ranked[by] = _ranked(blame, present, times, strata) if present.names else []
    users = ranked["user"]
    if not users:
        raise NotEnoughData(f"nobody had a job of {least_nodes} nodes or more beside these runs")
    parameters = {"least_nodes": least_nodes, **blame.get_params()}
    method = {
        "name": "exposure, rank times, conditional on the users selected",
        "strata": "part of the day (6 h) and weekend" if stratified else f"none: fewer than {RUNS_FOR_STRATA} runs",
        "response": blame.response, "alpha": blame.alpha, "least_nodes": least_nodes, "min_exposed": blame.min_exposed,
        "beside": "mutual information of presence during any part of the run and optimality, tau = 1, exact p",
    }  # fmt: skip
    columns = {
        "run_id": runs.run_id.tolist(), "start_s": runs.start_s.tolist(), "time_s": times.tolist(), "slow": (times >= times.mean()).tolist(),
    }  # fmt: skip
    score = {
        "found": sum(one.entry["q"] is not None and one.entry["q"] <= FOUND_Q for one in users),
        "testable": sum(one.entry["testable"] for one in users),
        "users": len(users),
    }
    result = {"method": method, "caveat": CAVEAT, "runs": columns}
    return result_of("blame", exe, nodes, runs, parameters, score, result), ranked


def _ranked(blame: ExposureBlame, beside: estimates.Presence, times: Any, strata: Any) -> list[Entry]:
    ours = blame.fit(beside.exposure, times, strata)
    paper = PresenceBlame(rule="any").fit(beside.overlap, times)
    order = {int(user): place for place, user in enumerate(ours.selected_, 1)}
    entries = []
    for at in ours.ranking_.tolist():
        name = beside.names[at]
        body = {
            "own": name in beside.own, "score": float(ours.score_[at]), "sign": int(ours.sign_[at]), "p": known(ours.p_value_[at]),
            "q": known(ours.q_value_[at]), "testable": bool(ours.testable_[at]), "reason": _reason(ours, at, len(times)),
            "exposed_runs": int(ours.exposed_runs_[at]), "selected": order.get(at), "mi_bits": float(paper.mi_bits_[at]),
            "mi_sign": int(paper.sign_[at]), "mi_p": known(paper.p_value_[at]), "mi_q": known(paper.q_value_[at]),
        }  # fmt: skip
        entries.append(Entry(name, body, beside.overlap[:, at].tolist(), beside.exposure[:, at].tolist()))
    return entries


def _reason(blame: ExposureBlame, at: int, runs: int) -> str | None:
    if blame.testable_[at]:
        return None
    exposed = int(blame.exposed_runs_[at])
    if exposed < blame.min_exposed:
        return f"exposed in {exposed} runs, needs {blame.min_exposed}"
    if runs - exposed < blame.min_exposed:
        return f"without exposure in {runs - exposed} runs, needs {blame.min_exposed}"
    return "exposure does not differ between runs of the same time of day"
