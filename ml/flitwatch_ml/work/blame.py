"""Who: users, and jobs of one name, whose exposure goes with slow runs of one application."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from flitwatch_db import estimates
from flitwatch_db.estimate_store import Entry, Estimate
from flitwatch_domain.blame import FOUND_Q
from flitwatch_domain.errors import NotEnoughData
from flitwatch_domain.neighbourhood import Definition, Neighbourhood, neighbourhood
from flitwatch_ml.blame import ExposureBlame, PresenceBlame
from flitwatch_ml.blame.strata import hour_and_weekend
from flitwatch_ml.work.sets import known, result_of

#: Below this many runs a stratum, an hour of the day more or less cannot be told from chance; all runs are then one stratum.
RUNS_FOR_STRATA = 32
#: How a definition's rule reads.
PARTS = {"throughout": "the entire run", "any": "any part of the run"}
CAVEAT = (
    "Dependence between exposure and slow runs; not proof of cause. Users who always run together cannot be told apart, and what nobody's job "
    "explains (file systems, faults) is not seen."
)


@dataclass(frozen=True, eq=False)
class Beside:
    """Names beside the runs, what they did there, and which of them the runs' own jobs bear."""

    names: list[str]
    met: Neighbourhood
    own: set[str]


def beside(found: estimates.Beside, least_nodes: int) -> dict[str, Beside]:
    """Users, and names of jobs, by the definitions that the scorecard uses too."""
    parts = {}
    for by in estimates.BY:
        names, jobs = found.by(by)
        parts[by] = Beside(names, neighbourhood(found.windows, jobs, len(names), least_nodes), found.own[by])
    return parts


def estimate(
    runs: estimates.Runs, exe: str, nodes: int, beside: dict[str, Beside], least_nodes: int, definition: Definition
) -> tuple[Estimate, dict[str, list[Entry]]]:
    """The result and its ranked entries, by user and by application."""
    times = runs.step_time_s.sum(1)
    stratified = len(times) >= RUNS_FOR_STRATA
    strata = hour_and_weekend(runs.start_s) if stratified else np.zeros(len(times), np.int64)
    ranked: dict[str, list[Entry]] = {}
    blame = ExposureBlame()
    for by, present in beside.items():
        ranked[by] = _ranked(blame, present, times, strata, definition) if present.names else []
    users = ranked["user"]
    if not users:
        raise NotEnoughData("nobody had a job beside these runs")
    parameters = {"least_nodes": least_nodes, "definition": definition.name, **blame.get_params()}
    method = {
        "name": "exposure, rank times, conditional on the users selected",
        "strata": "part of the day (6 h) and weekend" if stratified else f"none: fewer than {RUNS_FOR_STRATA} runs",
        "response": blame.response, "alpha": blame.alpha, "least_nodes": least_nodes, "min_exposed": blame.min_exposed,
        "beside": f"mutual information of optimality (tau = {definition.tau:g}) and presence with jobs of {least_nodes} nodes or more during {PARTS[definition.rule]}, exact p",
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


def _ranked(blame: ExposureBlame, beside: Beside, times: Any, strata: Any, definition: Definition) -> list[Entry]:
    overlap, exposure = beside.met.overlap, beside.met.exposure
    ours = blame.fit(exposure, times, strata)
    paper = PresenceBlame(tau=definition.tau, rule=definition.rule).fit(overlap, times)
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
        entries.append(Entry(name, body, overlap[:, at].tolist(), exposure[:, at].tolist()))
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
