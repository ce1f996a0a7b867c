"""Chapters 3 and 4 of Taffet 2021 as studies: comparison of formulations (figure 3.4), and reconstructions by lane scheme (table 4.3)."""

from __future__ import annotations

from typing import TypedDict

from flitwatch_domain.errors import BadRequest
from flitwatch_research.formulations.milp import FORMULATIONS
from flitwatch_research.papers_routes import formulations
from flitwatch_research.papers_routes.formulations import RoutesCurve
from flitwatch_research.papers_routes.reconstructions import LANE_SCHEMES, SEED, reconstruct_cell
from flitwatch_research.papers_routes.routes_and_bases import APPLICATIONS
from flitwatch_research.studies import published
from flitwatch_research.studies.packet_common import sweep_cases
from flitwatch_research.studies.parameters import check_names, read_number, read_string, read_strings
from flitwatch_research.studies.registry import Cancelled, Parameters, Report

_NAMES = {pattern: name for pattern, name, *_ in APPLICATIONS}
_SCHEMES = {way.ours: way for way in LANE_SCHEMES}


class LaneFigures(TypedDict):
    """A cell of table 4.3: our and the published error of the reconstruction, and the outcome of the search."""

    error_percent: float
    published_percent: float
    seconds: float
    converged: bool


def run_formulations(parameters: Parameters, report: Report, cancelled: Cancelled) -> Parameters:
    """Run figure 3.4: improvement of the formulations' routes over time, on a tree that HiGHS can solve.

    Parameters: topology (a three-level tree), limit_s (90, per formulation), formulations (all three).
    """
    check_names(parameters, ("threads", "topology", "limit_s", "formulations"))
    topology = read_string(parameters, "topology", formulations.TOPOLOGY)
    limit_s = read_number(parameters, "limit_s", 90.0, 1.0, 3600.0)
    wanted = _chosen(parameters, "formulations", FORMULATIONS)

    def compute(case: Parameters, stop: Cancelled) -> list[RoutesCurve]:
        return [] if stop() else [formulations.measure_gap_curve(topology, case["formulation"], limit_s)]

    cases = [{"formulation": one} for one in wanted]
    return sweep_cases("taffet-fig3.4", cases, compute, report, cancelled, parameters, seed=formulations.SEED)


def run_lanes(parameters: Parameters, report: Report, cancelled: Cancelled) -> Parameters:
    """Run table 4.3: reconstruct an application's matrix from counters with each lane scheme (service levels, random, Galois fields).

    Parameters: application (partisn-168), lanes (all eight columns), limit_s (60, per reconstruction), topology (quartz1).
    """
    check_names(parameters, ("threads", "application", "lanes", "limit_s", "topology"))
    application = read_string(parameters, "application", "partisn-168")
    if application not in _NAMES:
        raise BadRequest(f"application is {application!r}", advice=f"Choose one of {', '.join(_NAMES)}.")
    topology = read_string(parameters, "topology", "quartz1")
    limit_s = read_number(parameters, "limit_s", 60.0, 1.0, 3600.0)
    wanted = _chosen(parameters, "lanes", tuple(_SCHEMES))
    printed = published.published_rows("taffet2021", "table 4.3")[_NAMES[application]]

    def compute(case: Parameters, stop: Cancelled) -> list[LaneFigures]:
        way = _SCHEMES[case["lanes"]]
        if stop():
            return []
        made = reconstruct_cell(topology, application, way, "od", limit_s, stop=stop)
        return [
            {
                "error_percent": 100 * made.error,
                "published_percent": printed[way.published],
                "seconds": made.seconds,
                "converged": made.converged,
            }
        ]

    cases = [{"application": application, "lanes": one} for one in wanted]
    return sweep_cases("taffet-table4.3", cases, compute, report, cancelled, parameters, seed=SEED)


def _chosen(parameters: Parameters, name: str, every: tuple[str, ...]) -> list[str]:
    wanted = read_strings(parameters, name, list(every))
    if not set(wanted) <= set(every):
        raise BadRequest(f"{name} is {wanted!r}", advice=f"Choose from {', '.join(every)}.")
    return wanted
