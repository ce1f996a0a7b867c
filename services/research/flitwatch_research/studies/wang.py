"""Studies of Wang 2018: placement and routing, message load, background traffic on Theta."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flitwatch_core import packet
from flitwatch_domain.errors import BadRequest
from flitwatch_domain.fabric import Fabric
from flitwatch_domain.secret_file import local_path
from flitwatch_domain.topology_spec import fabric_of
from flitwatch_research.collectives import MeanFigure, mean_with_ci95
from flitwatch_research.packet.background import TABLE_2_BURST_MESSAGE_BYTES, background_generators, peak_load_bytes
from flitwatch_research.studies import published
from flitwatch_research.studies.packet_common import (
    check_names,
    read_number,
    read_string,
    read_whole_number,
    sweep_cases,
)
from flitwatch_research.studies.registry import Cancelled, Parameters, Report
from flitwatch_research.studies.wang_distributions import Draw, by_case, combine_draws, draw_of, percent_of
from flitwatch_routing.traces.read import read_trace
from flitwatch_simulation.packet.engine import execute_workload
from flitwatch_simulation.packet.machine import Machine, build_machine
from flitwatch_simulation.workloads import patterns
from flitwatch_simulation.workloads.messages import Messages, messages_of, repeat_messages, to_ops
from flitwatch_simulation.workloads.placement import place_ranks

#: Section II-A: ranks, and KB sent by a rank at a time, which is a round here. The load of crystal router is constant, fill boundary's is from 100 to
#: 2,560 KB with a mean of 760, and AMG's has peaks of 75 KB.
APPLICATIONS = {"crystal-router": (1000, 190), "fill-boundary": (1000, 760), "amg": (1728, 75)}
#: Names in the paper's tables and figures.
SHORT = {"crystal-router": "CR", "fill-boundary": "FB", "amg": "AMG"}
PLACEMENTS = ("contiguous", "random-cabinet", "random-chassis", "random-router", "random-node")
ROUTINGS = ("minimal", "adaptive")
BACKGROUNDS = ("none", "uniform", "bursty")
#: Source of an application's messages: its trace, or approximated messages for a number of ranks (None: the paper's number).
Job = Messages | int | None
#: Figure 2: largest number of blocks of ranks in the matrix; number of time intervals.
_BLOCKS, _INTERVALS = 64, 60
#: Number of draws of table II's placements.
_DRAWS = 5


def _build_machine(fabric: Fabric, routing: str, packet_bytes: int) -> Machine:
    # The paper's adaptive packets use a random intermediate router.
    mode = "minimal" if routing == "minimal" else "adaptive0"
    return build_machine(fabric, mode, packet_bytes=packet_bytes, through_router=True)


def _make_messages(application: str, job: Job, scale: float, seed: int, exchanges: int = 1) -> Messages:
    """Return messages of the application's trace unchanged, or approximated messages scaled so that a rank's round has the published load."""
    if isinstance(job, Messages):
        return repeat_messages(job.scaled(scale), exchanges)
    papers_ranks, kbytes = APPLICATIONS[application]
    made = patterns.make_pattern(application, job or papers_ranks, 10**6, seed)
    by_round = np.bincount(made.src * made.rounds + made.send_round, made.size_bytes, made.ranks * made.rounds)
    load = by_round.max() if application == "amg" else by_round.mean()
    return repeat_messages(made.scaled(kbytes * 1000 * scale / load), exchanges)


def _job_of(parameters: Parameters) -> Job:
    """Return the job from `ranks`, or from the messages of `trace`, a folder of DUMPI text or another trace, without its computation, as in the paper."""
    ranks = read_whole_number(parameters, "ranks", 0, 0, 10**6) or None
    if "trace" not in parameters:
        return ranks
    path = local_path(read_string(parameters, "trace", ""))
    if path is None:
        raise BadRequest("only the command line can name a trace", advice="Use flitwatch study --trace PATH.")
    if len(_read_applications(parameters)) != 1 or ranks is not None:
        raise BadRequest("a trace is one application's, with its own ranks", advice='Add --set applications=["amg"].')
    return _messages_of_trace(path)


@lru_cache(maxsize=1)
def _messages_of_trace(path: Path) -> Messages:
    return replace(messages_of(read_trace(path)), compute_ns=0)


def _run_draw(
    case: Parameters, machine: Machine, number: int, seed: int, stop: Cancelled, packet_bytes: int, job: Job
) -> Draw:
    """Run one draw of a case. Equal draw numbers have the same places and messages regardless of the routing and the background."""
    messages = _make_messages(case["application"], job, case.get("scale", 1.0), seed + number, case.get("exchanges", 1))
    endpoints = place_ranks(machine.fabric, messages.ranks, case["placement"], np.random.default_rng([seed, number]))
    background = case.get("background", "none")
    generators = (
        _make_background(machine, case["application"], background, case, endpoints) if background != "none" else []
    )
    workload = packet.Workload(ops=to_ops([(messages, endpoints)]), generators=generators, default_mode=machine.mode)
    sampled = not generators  # all packets of a job that runs alone, for the hops of each rank
    result = execute_workload(
        machine,
        workload,
        cancelled=stop,
        packet_bytes=packet_bytes,
        seed=seed + number,
        sampling=sampled,
    )
    return draw_of(machine, result, endpoints, sampled)


def _make_background(
    machine: Machine, application: str, kind: str, case: Parameters, endpoints: NDArray[np.int64]
) -> list[packet.Generator]:
    free = np.setdiff1d(np.arange(machine.endpoints), endpoints)
    size = case.get("burst_message_bytes", TABLE_2_BURST_MESSAGE_BYTES[application])
    return background_generators(machine, kind, case["load_gib_per_s"], free, 1, size)


def _read_applications(parameters: Parameters) -> list[str]:
    names = parameters.get("applications", list(APPLICATIONS))
    if not isinstance(names, list) or not names or not set(names) <= set(APPLICATIONS):
        raise BadRequest(f"applications is {names!r}", advice=f"Choose from {', '.join(APPLICATIONS)}.")
    return [name for name in APPLICATIONS if name in names]


def _run_cases(
    name: str, cases: list[Parameters], parameters: Parameters, report: Report, cancelled: Cancelled
) -> Parameters:
    background = ("load_gib_per_s", "exchanges") if "background" in cases[0] else ()
    names = ("runs", "seed", "threads", "packet_bytes", "load", "topology", "applications", "ranks", "trace")
    check_names(parameters, (*names, *background))
    seed, draws = read_whole_number(parameters, "seed", 1, 0, 2**62), read_whole_number(parameters, "runs", 5, 1, 1000)
    packet_bytes = read_whole_number(parameters, "packet_bytes", 2048, 256, 8192)
    factor = read_number(parameters, "load", 1.0, 0.001, 100)
    topology = read_string(parameters, "topology", "theta")
    fabric = fabric_of(topology)
    job = _job_of(parameters)
    application_names = _read_applications(parameters)
    cases = [
        {**case, "scale": case.get("scale", 1.0) * factor} for case in cases if case["application"] in application_names
    ]

    def compute(case: Parameters, stop: Cancelled) -> list[Any]:
        machine = _build_machine(fabric, case["routing"], packet_bytes)
        return [combine_draws([_run_draw(case, machine, k, seed, stop, packet_bytes, job) for k in range(draws)])]

    return sweep_cases(name, cases, compute, report, cancelled, parameters, seed=seed, topology=topology)


def run_fig2(parameters: Parameters, report: Report, cancelled: Cancelled) -> Parameters:
    """Run figure 2: traffic by pair of ranks, and the load of a rank over time, on random nodes under adaptive routing.

    The time is that of the exchange: the applications have no computation, as in the paper's simulations.
    Parameters: seed, packet_bytes, load (factor on all sizes), topology, applications, ranks (the paper's), trace (of the one application).
    """
    check_names(parameters, ("seed", "threads", "packet_bytes", "load", "topology", "applications", "ranks", "trace"))
    seed = read_whole_number(parameters, "seed", 1, 0, 2**62)
    packet_bytes = read_whole_number(parameters, "packet_bytes", 2048, 256, 8192)
    factor = read_number(parameters, "load", 1.0, 0.001, 100)
    job = _job_of(parameters)
    topology = read_string(parameters, "topology", "theta")
    fabric, matrices = fabric_of(topology), {}

    def compute(case: Parameters, stop: Cancelled) -> list[Any]:
        messages = _make_messages(case["application"], job, factor, seed)
        matrices[case["application"]] = _summarize_matrix(messages)
        machine = _build_machine(fabric, "adaptive", packet_bytes)
        endpoints = place_ranks(machine.fabric, messages.ranks, "random-node", np.random.default_rng([seed, 0]))
        workload = packet.Workload(ops=to_ops([(messages, endpoints)]), default_mode=machine.mode)
        result = execute_workload(machine, workload, cancelled=stop, packet_bytes=packet_bytes, seed=seed)
        return _load_over_time(messages, result)

    cases = [{"application": name} for name in _read_applications(parameters)]
    answer = sweep_cases("wang-fig2", cases, compute, report, cancelled, parameters, seed=seed, topology=topology)
    return {**answer, "matrices": [{**case, **matrices[case["application"]]} for case in cases]}


def _summarize_matrix(made: Messages) -> Parameters:
    block = -(-made.ranks // _BLOCKS)
    size = -(-made.ranks // block)
    sent_bytes = np.bincount(made.src // block * size + made.dst // block, made.size_bytes, size * size)
    return {"ranks": made.ranks, "ranks_a_block": block, "sent_mb": (sent_bytes.reshape(size, size) * 1e-6).tolist()}


def _load_over_time(made: Messages, result: packet.Result) -> list[Parameters]:
    """Return the KB that a rank begins to send in each interval: mean and maximum over the ranks."""
    start_ps = result.raw["send_start_ps"][: made.src.size].astype(float)
    width_ps = result.raw["rank_end_ps"].max() / _INTERVALS
    at = np.minimum((start_ps / width_ps).astype(np.int64), _INTERVALS - 1)
    kb = np.bincount(at * made.ranks + made.src, made.size_bytes, _INTERVALS * made.ranks) / 1e3
    by_time = kb.reshape(_INTERVALS, made.ranks)
    return [
        {"time_ms": k * width_ps * 1e-9, "mean_kb": float(row.mean()), "largest_kb": float(row.max())}
        for k, row in enumerate(by_time)
    ]


def run_fig3(parameters: Parameters, report: Report, cancelled: Cancelled) -> Parameters:
    """Run figures 3 to 6: times of ranks, hops, traffic and saturation of channels; three applications, five placements, two routings.

    Parameters: runs (5 draws per placement), seed, packet_bytes, load (factor on all sizes), topology, applications, ranks (the paper's),
    trace (of the one application).
    """
    cases = [
        {"application": a, "placement": p, "routing": r} for a in APPLICATIONS for p in PLACEMENTS for r in ROUTINGS
    ]
    answer = _run_cases("wang-fig3", cases, parameters, report, cancelled)
    return {
        **answer,
        "gains": [_compute_gain(answer["points"], application) for application in _read_applications(parameters)],
    }


def _compute_gain(points: list[Parameters], application: str) -> Parameters:
    """Compute the larger saving ("up to") of one extreme placement over the other under the same routing: medians, mean over draws."""
    at = by_case(points, "application", "placement", "routing")
    ((column, printed),) = published.published_rows("wang2018", "figure 3")[SHORT[application]].items()
    extremes = ("contiguous", "random-node")
    winner, loser = extremes if column.startswith("contiguous") else extremes[::-1]
    shares = {
        routing: percent_of(
            at[application, winner, routing]["median_ms_of_draws"],
            at[application, loser, routing]["median_ms_of_draws"],
        )
        for routing in ROUTINGS
    }
    routing = min(shares, key=lambda one: shares[one]["mean"])
    ci = shares[routing]["ci95"]
    return {
        "application": application,
        "compared": f"{winner} over {loser}",
        "routing": routing,
        "saved_percent": {
            "mean": 100 - shares[routing]["mean"],
            "ci95": None if ci is None else [100 - ci[1], 100 - ci[0]],
        },
        "published_percent": printed,
    }


def run_fig7(parameters: Parameters, report: Report, cancelled: Cancelled) -> Parameters:
    """Run figure 7: the slowest rank relative to random-node adaptive, over loads from 1 % to 200 % (AMG 50 % to 2000 %).

    Cases: contiguous and random-node, minimal and adaptive. Parameters: as in figure 3.
    """
    scales = {
        "crystal-router": (0.01, 0.1, 0.5, 1, 2),
        "fill-boundary": (0.01, 0.1, 0.5, 1, 2),
        "amg": (0.5, 1, 5, 10, 20),
    }
    cases = [
        {"application": a, "placement": p, "routing": r, "scale": s}
        for a in APPLICATIONS
        for p in ("contiguous", "random-node")
        for r in ROUTINGS
        for s in scales[a]
    ]
    answer = _run_cases("wang-fig7", cases, parameters, report, cancelled)
    at = by_case(answer["points"], "application", "scale", "placement", "routing")
    for (application, scale, *_), point in at.items():
        base = at[application, scale, "random-node", "adaptive"]
        point["slowest_percent_of_random_adaptive"] = percent_of(
            point["slowest_ms_of_draws"], base["slowest_ms_of_draws"]
        )
    return answer


def run_fig8(parameters: Parameters, report: Report, cancelled: Cancelled) -> Parameters:
    """Run figures 8 to 10: the three applications with uniform and bursty background traffic, messages as in table II.

    Cases: all five placements and both routings. Parameters: as in figure 3, load_gib_per_s (1), with intervals between messages in the
    paper's ranges (0.015 ms, and 2 to 37 ms), and exchanges (1), the number of repetitions of the application's messages. With bursts, `intervals` is the
    number of burst intervals that the job takes alone. A job that ends within the first burst measures the length of the burst, not the cost of bursts for
    an application that sends continuously (ADR 0039).
    """
    load = read_number(parameters, "load_gib_per_s", 1.0, 0.001, 16)
    exchanges = read_whole_number(parameters, "exchanges", 1, 1, 10_000)
    cases = [
        {
            "application": a,
            "placement": p,
            "routing": r,
            "background": b,
            "load_gib_per_s": load,
            "exchanges": exchanges,
        }
        for a in APPLICATIONS
        for p in PLACEMENTS
        for r in ROUTINGS
        for b in BACKGROUNDS
    ]
    answer = _run_cases("wang-fig8-10", cases, parameters, report, cancelled)
    at = by_case(answer["points"], "application", "placement", "routing", "background")
    for (*case, _), point in at.items():
        alone = at[*case, "none"]
        point["slowest_percent_of_alone"] = percent_of(point["slowest_ms_of_draws"], alone["slowest_ms_of_draws"])
        if point["background"] == "bursty":
            job = _job_of(parameters)
            ranks = job.ranks if isinstance(job, Messages) else job or APPLICATIONS[point["application"]][0]
            peers = len(fabric_of(answer["topology"]).endpoints) - ranks - 1
            interval_ms = TABLE_2_BURST_MESSAGE_BYTES[point["application"]] * peers / (load * 2**30) * 1e3
            point["intervals"] = alone["slowest_ms"]["mean"] / interval_ms
    return answer


def loaded_over_alone(
    application: str,
    placement: str,
    routing: str,
    kind: str,
    load_gib_per_s: float,
    topology: str = "theta",
    ranks: int | None = None,
    seed: int = 1,
    exchanges: int = 1,
    scale: float = 1.0,
    burst_message_bytes: int | None = None,
    draws: int = 1,
) -> MeanFigure:
    """Return a cell of figures 8 to 10: the slowest rank's time with background traffic in percent of its time alone, mean over draws and its 95 % interval.

    burst_message_bytes: from table II. A draw has the same places and messages with and without the background.
    """
    machine = _build_machine(fabric_of(topology), routing, 2048)
    case = {
        "application": application,
        "placement": placement,
        "load_gib_per_s": load_gib_per_s,
        "exchanges": exchanges,
        "scale": scale,
        "burst_message_bytes": burst_message_bytes or TABLE_2_BURST_MESSAGE_BYTES[application],
    }
    loaded, alone = (
        [
            float(
                _run_draw({**case, "background": background}, machine, k, seed, lambda: False, 2048, ranks)[
                    "time_ms"
                ].max()
            )
            for k in range(draws)
        ]
        for background in (kind, "none")
    )
    return percent_of(loaded, alone)


def run_table2(parameters: Parameters, report: Report, cancelled: Cancelled) -> Parameters:
    """Run table II: bytes sent by the background if all nodes begin a message, or a burst, simultaneously.

    Parameters: topology, applications. The nodes are those left free by the application, in five draws of random nodes; only their number matters.
    """
    check_names(parameters, ("threads", "topology", "applications"))
    topology = read_string(parameters, "topology", "theta")
    machine = _build_machine(fabric_of(topology), "minimal", 2048)

    def compute(case: Parameters, stop: Cancelled) -> list[Any]:
        peaks = [_peak_bytes(machine, case["application"], k) for k in range(_DRAWS)]
        uniform, bursty = (mean_with_ci95(np.array(peak_bytes)) for peak_bytes in zip(*peaks, strict=True))
        return [
            {
                "draws": _DRAWS,
                "uniform_mib": uniform.mean / 2**20,
                "uniform_mib_ci95": [uniform.low / 2**20, uniform.high / 2**20],
                "bursty_gib": bursty.mean / 2**30,
                "bursty_gib_ci95": [bursty.low / 2**30, bursty.high / 2**30],
            }
        ]

    cases = [{"application": application} for application in _read_applications(parameters)]
    return sweep_cases("wang-table2", cases, compute, report, cancelled, parameters, topology=topology)


def _peak_bytes(machine: Machine, application: str, number: int) -> tuple[int, int]:
    """Return the peak bytes of uniform and of bursty traffic for one draw of the application's nodes."""
    rng = np.random.default_rng([1, number])
    endpoints = place_ranks(machine.fabric, APPLICATIONS[application][0], "random-node", rng)
    uniform, bursty = (
        peak_load_bytes(_make_background(machine, application, kind, {"load_gib_per_s": 1.0}, endpoints))
        for kind in BACKGROUNDS[1:]
    )
    return uniform, bursty
