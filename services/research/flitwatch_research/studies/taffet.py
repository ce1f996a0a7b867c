"""Studies of Taffet 2021 at packet level: table 2.1 (sampling error), table 5.1 (routing), the pF3D and miniGhost diagnoses."""

from __future__ import annotations

from typing import Any, TypedDict

import numpy as np
from numpy.typing import NDArray

from flitwatch_core import packet, sampling
from flitwatch_domain.diagnosis import CongestionMap, Diagnosis, diagnose
from flitwatch_domain.errors import BadRequest
from flitwatch_domain.topology_spec import fabric_of
from flitwatch_research.studies import published
from flitwatch_research.studies.packet_common import known, number, sweep, text, whole
from flitwatch_research.studies.registry import Cancelled, Parameters, Report
from flitwatch_simulation.packet.machine import Machine, build
from flitwatch_simulation.packet.run import execute
from flitwatch_simulation.workloads import patterns
from flitwatch_simulation.workloads.messages import Messages, in_rounds, to_ops
from flitwatch_simulation.workloads.minighost import STRATEGIES, faces_of, minighost, tiled

#: Rows and columns of table 5.1 (another instance of the shuffle, another simulator), by ours.
TABLE_51 = (
    {"ftree": "Ftree", "hw-adaptive": "Hardware adaptive routes"},
    {"bisection": "Bisection Shift", "bisection-shuffle": "Bisection Random Shuffle"},
)


class TableFigures(TypedDict):
    """A case of table 5.1: simulated and published milliseconds, latencies, and the largest load of a link over the least."""

    time_ms: float
    published_ms: float
    conserved: bool
    mean_latency_us: float
    max_latency_us: float
    load_ratio: float


class SamplingFigures(TypedDict):
    """Errors of both sampling variants in percent, those that the formulas foresee, and those published."""

    standard_traffic_percent: float
    standard_congested_percent: float
    one_bit_traffic_percent: float
    one_bit_congested_percent: float
    formula_standard_percent: float
    formula_one_bit_percent: float
    packets: int
    links: int
    published_percent: list[float]


class DiagnosisFigures(TypedDict):
    """A mapping's time, and what its packets say of where congestion begins."""

    time_ms: float
    conserved: bool
    causes: list[str]
    first_root: str | None


class GhostFigures(TypedDict):
    """A stencil's time, and how many roots lie at endpoints and inside the network; `published_s` is None where the source has none."""

    time_ms: float
    conserved: bool
    endpoint_roots: int
    interior_roots: int
    endpoint_roots_by_direction: dict[str, int]
    rows_of_south_roots: Any
    published_s: float | None


def run_table51(parameters: Parameters, report: Report, cancelled: Cancelled) -> Parameters:
    """Table 5.1: bisection shift and random shuffle on quartz1, ftree and hardware-adaptive routes.

    Parameters: seed, topology (quartz1), mbytes (10 a node), packet_bytes (4096).
    """
    known(parameters, ("seed", "threads", "topology", "mbytes", "packet_bytes"))
    seed = whole(parameters, "seed", 1, 0, 2**63 - 1)
    size = int(number(parameters, "mbytes", 10, 0.1, 100) * 1e6)
    packet_bytes = whole(parameters, "packet_bytes", 4096, 64, 8192)
    fabric = fabric_of(text(parameters, "topology", "quartz1"))

    def compute(case: Parameters, stop: Cancelled) -> list[TableFigures]:
        machine = build(fabric, case["routing"], packet_bytes=packet_bytes)
        made = patterns.make(case["pattern"], machine.endpoints, size, seed)
        workload = packet.Workload(ops=to_ops([(made, np.arange(machine.endpoints))]), default_mode=machine.mode)
        result = execute(machine, workload, cancelled=stop, packet_bytes=packet_bytes, seed=seed)
        return [
            {
                "time_ms": result.time_s * 1e3,
                "published_ms": published.value(
                    "taffet2021", "table 5.1", TABLE_51[0][case["routing"]], TABLE_51[1][case["pattern"]]
                ),
                "conserved": result.conserved,
                "mean_latency_us": result.latency_ns["mean"] / 1e3,
                "max_latency_us": result.latency_ns["max"] / 1e3,
                "load_ratio": load_ratio(machine, made),
            }
        ]

    cases = [{"pattern": p, "routing": r} for p in ("bisection", "bisection-shuffle") for r in ("ftree", "hw-adaptive")]
    answer = sweep("taffet-table5.1", cases, compute, report, cancelled, parameters, seed=seed)
    by_case = {(p["pattern"], p["routing"]): p for p in answer["points"]}
    for pattern in ("bisection", "bisection-shuffle"):
        answer[f"ratio_{pattern}"] = by_case[pattern, "ftree"]["time_ms"] / by_case[pattern, "hw-adaptive"]["time_ms"]
        answer[f"load_ratio_{pattern}"] = by_case[pattern, "ftree"]["load_ratio"]
    return answer


def load_ratio(machine: Machine, messages: Messages) -> float:
    """Bytes on the static routes' worst link over the least any routing could reach (each switch's cut towards its parents)."""
    table = machine.core.static_table()
    links, routers = machine.fabric.links, len(machine.fabric.routers)
    src, dst, size = messages.matrix()
    load = np.zeros(len(links))
    at = np.asarray(machine.fabric.endpoints.router)[src].astype(np.int64)
    goal = np.asarray(links.dst)
    travelling = np.arange(src.size)
    while travelling.size:
        link = table[dst[travelling], at[travelling]].astype(np.int64)
        np.add.at(load, link, size[travelling])
        there = goal[link]
        at[travelling] = there
        travelling = travelling[there < routers]
    best = max(float(load[np.asarray(links.dst) >= routers].max()), float(np.bincount(src, weights=size).max()))
    leaf = np.asarray(machine.fabric.endpoints.router)
    leaving = leaf[src] != leaf[dst]
    up_links = np.bincount(
        np.asarray(links.src)[(np.asarray(links.src) < routers) & (goal < routers)], minlength=routers
    )
    for ends in (src, dst):
        cut = np.bincount(leaf[ends[leaving]], weights=size[leaving], minlength=routers)
        used = cut > 0
        best = max(best, float((cut[used] / up_links[used]).max(initial=0.0)))
    return float(load.max()) / best


def run_table21(parameters: Parameters, report: Report, cancelled: Cancelled) -> Parameters:
    """Table 2.1: relative RMS error of both variants by downsampling, beside what the variance formulas predict.

    A 27-point stencil under adaptive routing on a two-level tree (leaves, 16 spines). Parameters: seed, mpackets (4), leaves (16), nodes a
    leaf (32), spines (16), congested (0.42, the mean share of hops that meet congestion).
    """
    known(parameters, ("seed", "threads", "mpackets", "leaves", "nodes", "spines", "congested"))
    seed = whole(parameters, "seed", 1, 0, 2**63 - 1)
    packets = int(number(parameters, "mpackets", 4, 0.05, 1000) * 1e6)
    leaves, nodes, spines = (
        whole(parameters, n, d, 2, 256) for n, d in (("leaves", 16), ("nodes", 32), ("spines", 16))
    )
    share = number(parameters, "congested", 0.42, 0.0, 1.0)

    def compute(case: Parameters, stop: Cancelled) -> list[SamplingFigures]:
        run, flows = stencil_experiment(packets, leaves, nodes, spines, share, seed)
        run.downsampling = case["downsampling"]
        result = run.run()
        exact = result["exact"]
        carries = exact["traffic"] > 0

        def percent(variant: str, what: str) -> float:
            error = result[variant][what][carries] - exact[what][carries]
            return 100 * float(np.linalg.norm(error) / np.linalg.norm(exact[what][carries]))

        expected = expected_errors(flows, run.links, case["downsampling"])
        printed = published.row("taffet2021", "table 2.1", str(case["downsampling"]))
        return [
            {
                "standard_traffic_percent": percent("standard", "traffic"),
                "standard_congested_percent": percent("standard", "congested"),
                "one_bit_traffic_percent": percent("one_bit", "traffic"),
                "one_bit_congested_percent": percent("one_bit", "congested"),
                "formula_standard_percent": 100 * expected[0],
                "formula_one_bit_percent": 100 * expected[1],
                "packets": result["packets"],
                "links": int(carries.sum()),
                "published_percent": list(printed.values()),
            }
        ]

    cases = [{"downsampling": d} for d in (1, 10, 100, 1000)]
    return sweep("taffet-table2.1", cases, compute, report, cancelled, parameters, seed=seed, note=_floor_note())


def _floor_note() -> str:
    at = {d: published.value("taffet2021", "table 2.1", d, "standard congested") for d in ("10", "1")}
    return (
        f"The published congested column of the standard variant hardly falls from downsampling 10 to 1 ({at['10']} to {at['1']} %). An independent uniform "
        "sample cannot do that: its error shrinks with the square root of the packets, and ours does. A bias between two definitions of "
        "`congested` (when the truth is recorded and when the reservoir is) would explain the floor; the paper does not say."
    )


def expected_errors(flows: list[Flow], links: int, downsampling: int) -> tuple[float, float]:
    """Relative RMS errors of traffic from the variance formulas of the standard and the one-bit variant, with downsampling d.

    Thinning to one of d packets adds N (d - 1); the reservoir then has d^2 times the variance at N / d and Q / d packets. Sums over path
    lengths as in section 2.5.1: sum of N_l (l - 1), and sum of Q_l l^2 - N_l.
    """
    d = downsampling
    traffic, standard, tested = np.zeros(links), np.zeros(links), np.zeros(links)
    for packets, candidates, paths in flows:
        for path in paths:
            np.add.at(traffic, path, packets / len(paths))
            np.add.at(standard, path, packets / len(paths) * (len(path) - 1))
        tested[candidates] += packets * len(paths[0]) ** 2
    carries = traffic > 0
    thinned = traffic * (d - 1)
    one_bit = tested - traffic
    norm = np.linalg.norm(traffic)
    return (
        float(np.sqrt((thinned + d * standard)[carries].sum()) / norm),
        float(np.sqrt((thinned + d * one_bit)[carries].sum()) / norm),
    )


#: Packets, links that the receiver tests, paths.
Flow = tuple[int, list[int], list[list[int]]]


def stencil_experiment(
    packets: int, leaves: int, nodes: int, spines: int, share: float, seed: int
) -> tuple[sampling.Experiment, list[Flow]]:
    """Six-face stencil flows on a two-level tree; links: injection, ejection, up [leaf][spine], down [spine][leaf]."""
    ranks = leaves * nodes
    made = patterns.stencil27(ranks, 1_000_000, np.random.default_rng(seed), "svafp", 1)
    src, dst, size = made.matrix()
    up, down = 2 * ranks, 2 * ranks + leaves * spines
    run = sampling.Experiment()
    run.links = down + leaves * spines
    run.seed, run.id_bits = seed, 16
    rng = np.random.default_rng(seed)
    run.congested_share = np.clip(rng.normal(share, 0.2, run.links), 0, 1).tolist()
    counts = np.maximum(1, np.rint(size / size.sum() * packets)).astype(np.int64)
    flows: list[Flow] = []
    for s, d, n in zip(src.tolist(), dst.tolist(), counts.tolist(), strict=True):
        a, b = s // nodes, d // nodes
        middle: list[list[int]] = (
            [[]] if a == b else [[up + a * spines + k, down + k * leaves + b] for k in range(spines)]
        )
        # A host tests all links between the sender and itself, both terminal links included.
        candidates = [s, ranks + d, *(link for links in middle for link in links)]
        flows.append((n, candidates, [[s, *links, ranks + d] for links in middle]))
    run.sets = [candidates for _, candidates, _ in flows]
    run.paths = [path for _, _, paths in flows for path in paths]
    first = 0
    for number_of_set, (n, _, paths) in enumerate(flows):
        run.add_flow(n, number_of_set, list(range(first, first + len(paths))))
        first += len(paths)
    return run, flows


def congestion_of(
    machine: Machine, result: packet.Result, job: int, only: NDArray[np.bool_] | None = None
) -> CongestionMap:
    """The map that a job sees: congested fraction from its own packets' samples, use of each link by its own packets (in mean packets).

    only : bool[samples], of a phase that the packets carry, such as a tag
    """
    raw, links = result.raw, machine.fabric.links
    own = raw["sample_job"] == job
    own = own if only is None else own & only
    weight = raw["sample_hops"][own].astype(float)
    traffic = np.bincount(raw["sample_link"][own], weights=weight, minlength=len(links))
    marked = np.bincount(raw["sample_link"][own], weights=weight * raw["sample_marked"][own], minlength=len(links))
    mean_bytes = result.jobs[job]["bytes"] / max(result.jobs[job]["packets"], 1)
    capacity = np.asarray(links.bandwidth_bps, float) / 8 * result.time_s
    with np.errstate(invalid="ignore", divide="ignore"):
        fraction = np.where(traffic >= 50, marked / traffic, np.nan)
    return CongestionMap(machine.fabric, fraction, traffic * mean_bytes / capacity)


#: 72 leaves of 32 nodes, 16 up links each (2:1 taper), one level of 16 spines (section 2.4).
CASE_STUDY_TREE = "xgft:2;32,72;1,16"


def _case_study_machine(parameters: Parameters, least_leaves: int) -> tuple[Machine, int]:
    """The tree that `topology` names under adaptive routing, and its number of leaves.

    Raises
    ------
    BadRequest
        For a fabric whose nodes do not stand 32 to a leaf switch, or with fewer leaves than the study's nodes take.
    """
    spec = text(parameters, "topology", CASE_STUDY_TREE)
    fabric = fabric_of(spec)
    leaf = np.asarray(fabric.endpoints.router)
    leaves = leaf.size // 32
    if (
        leaves < least_leaves
        or not np.array_equal(leaf, np.repeat(leaf[::32], 32)[: leaf.size])
        or np.unique(leaf).size != leaves
    ):
        raise BadRequest(
            f"{spec} has not at least {least_leaves} leaf switches of 32 nodes each",
            advice=f"Use {CASE_STUDY_TREE} or another xgft:2;32,LEAVES;1,SPINES.",
        )
    return build(fabric, "hw-adaptive", packet_bytes=4096), leaves


def run_pf3d(parameters: Parameters, report: Report, cancelled: Cancelled) -> Parameters:
    """pF3D in kind: all-to-all in groups of four nodes on 52 nodes; alone, beside six 4:1 incasts, and remapped inside leaf switches.

    Parameters: seed, mbytes a node (4), topology (32 nodes a leaf, at least 12 leaves).
    """
    known(parameters, ("seed", "threads", "mbytes", "topology"))
    seed = whole(parameters, "seed", 1, 0, 2**63 - 1)
    size = int(number(parameters, "mbytes", 4, 0.1, 100) * 1e6)
    machine, leaves = _case_study_machine(parameters, 12)
    rng = np.random.default_rng(seed)
    # 52 nodes on six leaves: 6, 12, 8, 12, 8 and 6 of them; leaves 1 to 3 also hold the receivers of the incasts.
    per_leaf = (6, 12, 8, 12, 8, 6)
    nodes = np.concatenate([32 * leaf + np.arange(count) for leaf, count in enumerate(per_leaf)])
    crowded = np.isin(nodes // 32, (1, 2, 3))
    mappings = {"linear": nodes, "inside-leaves": np.concatenate([nodes[crowded], nodes[~crowded]])}
    receivers = np.array([32 * leaf + 20 + k for leaf in (1, 2, 3) for k in (0, 1)])
    senders = rng.choice(np.arange(32 * 10, 32 * min(leaves, 60)), (6, 4), replace=False)
    group = np.arange(52) // 4
    everyone = np.arange(52)
    rounds = []
    for step in (1, 2, 3):
        to = group * 4 + (everyone + step) % 4
        rounds += [(everyone, to, size // 3)]
    job = in_rounds(52, rounds)
    incast_src, incast_dst = np.arange(24), 24 + np.repeat(np.arange(6), 4)
    incast = in_rounds(30, [(incast_src, incast_dst, 12 * size)])

    def compute(case: Parameters, stop: Cancelled) -> list[DiagnosisFigures]:
        jobs = [(job, mappings[case["mapping"]])]
        if case["background"]:
            jobs.append((incast, np.concatenate([senders.ravel(), receivers])))
        workload = packet.Workload(ops=to_ops(jobs), default_mode=machine.mode)
        result = execute(machine, workload, cancelled=stop, packet_bytes=4096, seed=seed, mark_after_ns=1000.0)
        time_s = float(result.raw["rank_end_ps"][:52].max()) * 1e-12
        roots = diagnose(congestion_of(machine, result, 0))
        return [
            {
                "time_ms": time_s * 1e3,
                "conserved": result.conserved,
                "causes": sorted({one.cause for one in roots}),
                "first_root": roots[0].vertex if roots else None,
            }
        ]

    cases = [
        {"mapping": "linear", "background": False},
        {"mapping": "linear", "background": True},
        {"mapping": "inside-leaves", "background": True},
    ]
    return sweep("taffet-pf3d", cases, compute, report, cancelled, parameters, seed=seed)


def _rows(roots: list[Diagnosis], node_of_rank: NDArray[np.int64]) -> list[int]:
    """Rows (along y, in tiles of ranks) of the nodes that are endpoint roots."""
    row = np.zeros(int(node_of_rank.max()) + 1, np.int64)
    row[node_of_rank] = np.unravel_index(np.arange(node_of_rank.size), GHOST_GRID, order="F")[1] // GHOST_TILE[1]
    found = [root.endpoint for root in roots if root.endpoint is not None]
    return sorted({int(row[one]) for one in found})


#: miniGhost's ranks on their grid, those of a node, and the tiles of ranks a node and of nodes a leaf switch.
GHOST_GRID, GHOST_RANKS_A_NODE, GHOST_TILE, GHOST_LEAF = (24, 48, 24), 36, (3, 3, 4), (4, 4, 2)
#: Directions by axis and sign, as the paper calls them.
DIRECTIONS = {(1, 1): "north", (1, -1): "south", (0, 1): "east", (0, -1): "west", (2, 1): "front", (2, -1): "back"}


def run_minighost(parameters: Parameters, report: Report, cancelled: Cancelled) -> Parameters:
    """miniGhost: 27,648 ranks on 768 nodes, mappings cyclic, linear and tiled, strategies BSPMA, SVAF and SVAFP, diagnosed by direction.

    Parameters: seed, kbytes that a node sends under the tiled mapping (2000), topology (32 nodes a leaf, at least 24 leaves), variables (5),
    compute (7: computation over the time that a node's link takes for those bytes; the paper's communication is 10 to 15 % of the run), imbalance
    (0.05: of the computation, from node to node; a trace has some, how much is not in the text).
    """
    known(parameters, ("seed", "threads", "kbytes", "topology", "variables", "compute", "imbalance"))
    seed = whole(parameters, "seed", 1, 0, 2**63 - 1)
    size = number(parameters, "kbytes", 2000, 10, 1e5) * 1e3
    variables = whole(parameters, "variables", 5, 1, 40)
    compute, imbalance = (
        number(parameters, "compute", 7.0, 0.0, 1000.0),
        number(parameters, "imbalance", 0.05, 0.0, 1.0),
    )
    machine, _ = _case_study_machine(parameters, 24)
    ranks = np.arange(int(np.prod(GHOST_GRID)))
    nodes, a_leaf = ranks.size // GHOST_RANKS_A_NODE, 32 * GHOST_RANKS_A_NODE
    mappings = {
        "cyclic": ranks // a_leaf * 32 + ranks % 32,
        "linear": ranks // GHOST_RANKS_A_NODE,
        "tiled": tiled(GHOST_GRID, GHOST_TILE, GHOST_LEAF),
    }
    faces = {name: faces_of(GHOST_GRID, mapping) for name, mapping in mappings.items()}
    face_bytes = size * nodes / (variables * sum(int(one.count.sum()) for one in faces["tiled"]))
    line_bps = float(np.asarray(machine.fabric.links.bandwidth_bps).max())
    compute_ns = compute * size * 8 / line_bps * 1e9 / variables

    def solve(case: Parameters, stop: Cancelled) -> list[GhostFigures]:
        # The same computation for every strategy and mapping.
        made = minighost(
            faces[case["mapping"]],
            nodes,
            case["strategy"],
            variables,
            face_bytes,
            compute_ns,
            imbalance,
            np.random.default_rng(seed),
        )
        workload = packet.Workload(ops=to_ops([(made, np.arange(nodes))]), default_mode=machine.mode)
        result = execute(machine, workload, cancelled=stop, packet_bytes=4096, seed=seed, mark_after_ns=1000.0)
        pair = result.raw["sample_src"].astype(np.int64) * nodes + result.raw["sample_dst"]
        roots = {"all": diagnose(congestion_of(machine, result, 0))}
        for one in faces[case["mapping"]]:
            phase = np.isin(pair, one.src * nodes + one.dst)
            roots[DIRECTIONS[one.axis, one.sign]] = diagnose(congestion_of(machine, result, 0, phase))
        ends = {name: sum(root.cause == "communication-pattern" for root in found) for name, found in roots.items()}
        return [
            {
                "time_ms": result.time_s * 1e3,
                "conserved": result.conserved,
                "endpoint_roots": len(
                    {root.vertex for found in roots.values() for root in found if root.cause == "communication-pattern"}
                ),
                "interior_roots": len(
                    {root.vertex for found in roots.values() for root in found if root.cause != "communication-pattern"}
                ),
                "endpoint_roots_by_direction": ends,
                "rows_of_south_roots": _rows(roots["south"], mappings[case["mapping"]]),
                "published_s": published.rows("taffet2021", "section 2.4.2")
                .get(f"{case['mapping']}, {case['strategy'].upper()}", {})
                .get("time"),
            }
        ]

    cases = [{"mapping": m, "strategy": s} for m in mappings for s in STRATEGIES]
    return sweep("taffet-minighost", cases, solve, report, cancelled, parameters, seed=seed)
