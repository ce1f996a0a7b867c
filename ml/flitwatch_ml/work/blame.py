"""Blame: users and job names whose exposure is associated with slow runs of one application."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flitwatch_db.estimates import inputs as estimates
from flitwatch_db.estimates.store import Entry, Estimate
from flitwatch_domain.blame import CANNOT_TELL, FOUND_Q, NAMED
from flitwatch_domain.errors import NotEnoughData
from flitwatch_domain.estimates import BlameMethod
from flitwatch_domain.neighbourhood import Definition, Neighbourhood, compute_neighbourhood, measure_circumstances
from flitwatch_ml.blame import CalendarBlame, PresenceBlame
from flitwatch_ml.work.sets import none_if_nan, result_of

#: Texts for a definition's rule.
PARTS = {"throughout": "the entire run", "any": "any part of the run"}
INTERVALS = (
    "Effects with q of at most 0.05 tend to be too large, because chance helps to find them; their 95 % intervals allow for this. Each other interval is for "
    "one name alone: among many, some exclude zero by chance."
)
CAVEAT = (
    "Dependence between exposure and slow runs; not proof of cause. Users who always run together cannot be separated, and "
    f"causes other than jobs (file systems, faults) are not visible. {INTERVALS}"
)


@dataclass(frozen=True, eq=False)
class CoRunning:
    """Names concurrent with the runs, their exposure, the names of the runs' own jobs, and the runs' placement (runs, circumstances)."""

    names: list[str]
    met: Neighbourhood
    own: set[str]
    circumstances: NDArray[np.float64]


def co_running(found: estimates.CoRunningJobs, least_nodes: int) -> dict[str, CoRunning]:
    """Return users and job names, with the scorecard's definitions."""
    parts, lay = {}, measure_circumstances(found.windows, found.jobs)
    for by in estimates.BY:
        names, jobs = found.by(by)
        parts[by] = CoRunning(
            names, compute_neighbourhood(found.windows, jobs, len(names), least_nodes), found.own[by], lay
        )
    return parts


def fit_blame(
    exposure: NDArray[np.float64],
    time_s: NDArray[np.float64],
    start_s: NDArray[np.float64],
    lay: NDArray[np.float64],
    marks_s: Any = (),
    application: Any = None,
) -> CalendarBlame:
    """Return the fitted production estimator; it uses only circumstances that are known for every run."""
    covariates = lay[:, np.isfinite(lay).all(0)]
    return CalendarBlame().fit(exposure, time_s, start_s, covariates, marks_s, application)


def estimate_blame(
    runs: estimates.Runs,
    exe: str,
    nodes: int,
    co_running: dict[str, CoRunning],
    least_nodes: int,
    definition: Definition,
    marks_s: Any = (),
) -> tuple[Estimate, dict[str, list[Entry]]]:
    """Return the result and its ranked entries, by user and by application."""
    times = runs.step_time_s.sum(1)
    if not co_running["user"].names:
        raise NotEnoughData("no user had a job alongside these runs")
    blames = {
        by: fit_blame(part.met.exposure, times, runs.start_s, part.circumstances, marks_s)
        for by, part in co_running.items()
        if part.names
    }
    of_runs = np.full(len(times), float(nodes))
    ranked = {
        by: rank_entries(blames[by], part, times, definition, of_runs) if by in blames else []
        for by, part in co_running.items()
    }
    blame = blames["user"]
    parameters = {"least_nodes": least_nodes, "definition": definition.name, **blame.get_params()}
    presence = f"presence with jobs of {least_nodes} nodes or more during {PARTS[definition.rule]}"
    method = method_of(blame, least_nodes, definition.tau, presence)
    result = {"method": method, "caveat": CAVEAT, "runs": {"run_id": runs.run_id.tolist(), **columns_of(runs)}}
    return result_of("blame", exe, nodes, runs, parameters, score_of(ranked["user"]), result), ranked


def method_of(blame: CalendarBlame, least_nodes: int, tau: float, presence: str) -> BlameMethod:
    """Describe the blame method; `presence` is the paper's definition of presence."""
    calendar = blame.calendar_
    return {
        "name": "exposure, rank times, conditional on the calendar and the users selected",
        "strata": "part of the day (6 h) and weekend" if calendar.strata else "none: too few runs",
        "response": "rank",
        "alpha": FOUND_Q,
        "least_nodes": least_nodes,
        "min_exposed": blame.min_exposed,
        "beside": f"mutual information of optimality (tau = {tau:g}) and {presence}, exact p",
        "calendar": "smooth date trend, regimes, circumstances of the runs; blocks of days and weeks permuted",
        "regimes_s": calendar.regimes_s.tolist(),
    }


def columns_of(runs: estimates.Runs) -> dict[str, list[Any]]:
    """Return start and duration of the compared runs, and which of them were slow."""
    times = runs.step_time_s.sum(1)
    return {
        "start_s": runs.start_s.tolist(),
        "time_s": times.tolist(),
        "slow": (times >= times.mean()).tolist(),
    }


def score_of(users: list[Entry]) -> dict[str, int]:
    """Return the number of users by verdict."""
    return {
        "found": sum(user.entry["verdict"] == NAMED for user in users),
        "cannot_tell": sum(user.entry["verdict"] == CANNOT_TELL for user in users),
        "testable": sum(user.entry["testable"] for user in users),
        "users": len(users),
    }


def rank_entries(
    ours: CalendarBlame, co_running: CoRunning, times: Any, definition: Definition, nodes: NDArray[np.float64] | None
) -> list[Entry]:
    """Return blamed names in order of rank; `nodes` (runs,) is each run's node count, None if the files have none."""
    overlap, exposure = co_running.met.overlap, co_running.met.exposure
    paper = PresenceBlame(tau=definition.tau, rule=definition.rule).fit(overlap, times)
    hours_of = np.full(len(co_running.names), np.nan) if nodes is None else nodes @ (exposure > 0) / 3600
    order = {int(user): place for place, user in enumerate(ours.selected_, 1)}
    place = {user: at for at, user in enumerate(ours.ranking_.tolist(), 1)}
    rows = []
    for at in ours.ranking_.tolist():
        name = co_running.names[at]
        # Other users are given by index: a name in the text would remain after its erasure.
        reasons = [in_words(reason, lambda other: f"in place {place[other]}") for reason in ours.reasons_[at]]
        low, high = ours.effect_interval_s_[at]
        hours = float(hours_of[at])
        body = {
            "own": name in co_running.own, "verdict": ours.verdict_[at], "reasons": reasons, "score": float(ours.score_[at]), "sign": int(ours.sign_[at]),
            "p": none_if_nan(ours.p_value_[at]), "q": none_if_nan(ours.q_value_[at]), "testable": bool(ours.testable_[at]),
            "reason": None if ours.testable_[at] else reasons[0], "effect_s": none_if_nan(ours.effect_s_[at]), "effect_low_s": none_if_nan(low),
            "effect_high_s": none_if_nan(high), "lost_node_hours": none_if_nan(ours.effect_s_[at] * hours), "lost_low_node_hours": none_if_nan(low * hours),
            "lost_high_node_hours": none_if_nan(high * hours),
            "exposed_runs": int(ours.exposed_runs_[at]), "selected": order.get(at), "mi_bits": float(paper.mi_bits_[at]),
            "mi_sign": int(paper.sign_[at]), "mi_p": none_if_nan(paper.p_value_[at]), "mi_q": none_if_nan(paper.q_value_[at]),
        }  # fmt: skip
        rows.append(Entry(name, body, overlap[:, at].tolist(), exposure[:, at].tolist()))
    return rows


def in_words(reason: str, naming: Any) -> str:
    """Return a reason after replacing references to other users, {17}, by the names from `naming`."""
    return re.sub(r"\{([0-9]+)\}", lambda found: str(naming(int(found[1]))), reason)
