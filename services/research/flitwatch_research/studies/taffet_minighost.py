"""miniGhost on a tree (Taffet 2021, section 2.4.2): mappings, strategies, and roots of congestion."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypedDict

import numpy as np
from numpy.typing import NDArray

from flitwatch_core import packet
from flitwatch_domain.diagnosis import CongestionMap, Diagnosis, diagnose_congestion
from flitwatch_research.studies import published
from flitwatch_research.studies.packet_common import check_names, read_number, read_whole_number, sweep_cases
from flitwatch_research.studies.registry import Cancelled, Parameters, Report
from flitwatch_research.studies.taffet import case_study_machine, congestion_of
from flitwatch_simulation.packet.engine import execute_workload
from flitwatch_simulation.packet.machine import Machine
from flitwatch_simulation.workloads.messages import to_ops
from flitwatch_simulation.workloads.minighost import STRATEGIES, Faces, faces_of, minighost_messages


class GhostFigures(TypedDict):
    """A stencil's time, and numbers of roots at endpoints and inside the network; `published_s` is None if the source has no value.

    south_grid : congested fraction of the links to nodes with z = 0 in the south phase, rows along y, columns along x (figure 2.7); only for the tiled mapping
    """

    time_ms: float
    conserved: bool
    endpoint_roots: int
    interior_roots: int
    endpoint_roots_by_direction: dict[str, int]
    rows_of_south_roots: Any
    south_grid: list[list[float | None]] | None
    published_s: float | None


def _find_root_rows(roots: list[Diagnosis], node_of_rank: NDArray[np.int64]) -> list[int]:
    """Return the rows (along y, in tiles of ranks) of nodes that are endpoint roots."""
    row = np.zeros(int(node_of_rank.max()) + 1, np.int64)
    row[node_of_rank] = np.unravel_index(np.arange(node_of_rank.size), GHOST_GRID, order="F")[1] // GHOST_TILE[1]
    endpoints = [root.endpoint for root in roots if root.endpoint is not None]
    return sorted({int(row[endpoint]) for endpoint in endpoints})


def south_grid(seen: CongestionMap, node_of_rank: NDArray[np.int64]) -> list[list[float | None]]:
    """Return (y, x) congested fraction of the link from the leaf switch to each node with z = 0; None if there were too few packets."""
    at = np.unravel_index(np.arange(node_of_rank.size), GHOST_GRID, order="F")
    place = np.zeros((int(node_of_rank.max()) + 1, 3), np.int64)
    place[node_of_rank] = np.stack([axis // side for axis, side in zip(at, GHOST_TILE, strict=True)], axis=1)
    routers, dst = len(seen.fabric.routers.name), np.asarray(seen.fabric.links.dst)
    link = np.zeros(len(seen.fabric.endpoints), np.int64)
    down = np.flatnonzero(dst >= routers)
    link[dst[down] - routers] = down
    wide, high = (GHOST_GRID[axis] // GHOST_TILE[axis] for axis in (0, 1))
    grid: list[list[float | None]] = [[None] * wide for _ in range(high)]
    for node, (x, y, z) in enumerate(place.tolist()):
        fraction = float(seen.congested_fraction[link[node]])
        if z == 0 and np.isfinite(fraction):
            grid[y][x] = fraction
    return grid


#: Grid of miniGhost's ranks, ranks of a node, and tiles of ranks per node and of nodes per leaf switch.
GHOST_GRID, GHOST_RANKS_A_NODE, GHOST_TILE, GHOST_LEAF = (24, 48, 24), 36, (3, 3, 4), (4, 4, 2)
#: Directions by axis and sign, with the dissertation's names.
DIRECTIONS = {(1, 1): "north", (1, -1): "south", (0, 1): "east", (0, -1): "west", (2, 1): "front", (2, -1): "back"}


GHOST_PARAMETERS = ("kbytes", "topology", "variables", "compute", "imbalance")


@dataclass(frozen=True)
class Ghost:
    """The case study's machine, its mappings of 27,648 ranks to 768 nodes, and the sizes of one time step."""

    machine: Machine
    mappings: dict[str, NDArray[np.int64]]
    faces: dict[str, list[Faces]]
    nodes: int
    variables: int
    face_bytes: float
    compute_ns: float
    imbalance: float

    @classmethod
    def of(cls, parameters: Parameters, kbytes: float = 2000, output_queues: bool = False) -> Ghost:
        """Build the case from the parameters of `run_minighost`. The switches of the dissertation's simulator have output queues.

        Raises
        ------
        BadRequest
            A value is out of range, or the fabric does not have 24 leaf switches with 32 nodes.
        """
        size = read_number(parameters, "kbytes", kbytes, 10, 1e5) * 1e3
        variables = read_whole_number(parameters, "variables", 5, 1, 40)
        compute, imbalance = (
            read_number(parameters, "compute", 45.0, 0.0, 1000.0),
            read_number(parameters, "imbalance", 0.05, 0.0, 1.0),
        )
        machine, _ = case_study_machine(parameters, 24, output_queues)
        ranks = np.arange(int(np.prod(GHOST_GRID)))
        nodes, a_leaf = ranks.size // GHOST_RANKS_A_NODE, 32 * GHOST_RANKS_A_NODE
        mappings = {
            "cyclic": ranks // a_leaf * 32 + ranks % 32,
            "linear": ranks // GHOST_RANKS_A_NODE,
            "tiled": tile_ranks(GHOST_GRID, GHOST_TILE, GHOST_LEAF),
        }
        faces = {name: faces_of(GHOST_GRID, mapping) for name, mapping in mappings.items()}
        face_bytes = size * nodes / (variables * sum(int(face.count.sum()) for face in faces["tiled"]))
        line_bps = float(np.asarray(machine.fabric.links.bandwidth_bps).max())
        compute_ns = compute * size * 8 / line_bps * 1e9 / variables
        return cls(machine, mappings, faces, nodes, variables, face_bytes, compute_ns, imbalance)

    def workload(self, mapping: str, strategy: str, seed: int) -> packet.Workload:
        """Return one time step, with the same computation for every strategy and mapping."""
        messages = minighost_messages(
            self.faces[mapping],
            self.nodes,
            strategy,
            self.variables,
            self.face_bytes,
            self.compute_ns,
            self.imbalance,
            np.random.default_rng(seed),
        )
        return packet.Workload(ops=to_ops([(messages, np.arange(self.nodes))]), default_mode=self.machine.mode)

    def run(
        self, mapping: str, strategy: str, seed: int, stop: Cancelled | None = None, congested_after_ns: float = 0.0
    ) -> tuple[packet.Result, dict[str, CongestionMap]]:
        """Return the run's result, and the congestion seen by its packets: by all (`all`), and by direction."""
        result = execute_workload(
            self.machine,
            self.workload(mapping, strategy, seed),
            cancelled=stop,
            packet_bytes=4096,
            seed=seed,
            sampling=True,
            mark_after_ns=congested_after_ns,
        )
        pair = result.raw["sample_src"].astype(np.int64) * self.nodes + result.raw["sample_dst"]
        congestion = {"all": congestion_of(self.machine, result, 0)}
        for face in self.faces[mapping]:
            phase = np.isin(pair, face.src * self.nodes + face.dst)
            congestion[DIRECTIONS[face.axis, face.sign]] = congestion_of(self.machine, result, 0, phase)
        return result, congestion


def run_minighost(parameters: Parameters, report: Report, cancelled: Cancelled) -> Parameters:
    """Run miniGhost: 27,648 ranks on 768 nodes, mappings cyclic, linear and tiled, strategies BSPMA, SVAF and SVAFP, diagnosed by direction.

    Parameters: seed, kbytes sent by a node under the tiled mapping (2000), topology (32 nodes per leaf, at least 24 leaves), variables (5),
    compute (45: computation over the time of a node's link for those bytes; communication is then the published 7 % of the cyclic run), imbalance
    (0.05: of the computation between nodes; a trace has some, but the dissertation gives no amount), congested_after_ns (0: a link is congested if
    its queue exceeds its credits; above 0: if a packet waits longer than this).
    """
    check_names(parameters, ("seed", "threads", "congested_after_ns", *GHOST_PARAMETERS))
    seed = read_whole_number(parameters, "seed", 1, 0, 2**63 - 1)
    congested_after_ns = read_number(parameters, "congested_after_ns", 0.0, 0.0, 1e9)
    ghost = Ghost.of(parameters)

    def solve(case: Parameters, stop: Cancelled) -> list[GhostFigures]:
        result, congestion = ghost.run(case["mapping"], case["strategy"], seed, stop, congested_after_ns)
        roots = {phase: diagnose_congestion(congestion_map) for phase, congestion_map in congestion.items()}
        tiles = case["mapping"] == "tiled"
        south = south_grid(congestion["south"], ghost.mappings["tiled"]) if tiles else None
        ends = {
            name: sum(root.cause == "communication-pattern" for root in diagnoses) for name, diagnoses in roots.items()
        }
        return [
            {
                "time_ms": result.time_s * 1e3,
                "conserved": result.conserved,
                "endpoint_roots": len(
                    {
                        root.vertex
                        for diagnoses in roots.values()
                        for root in diagnoses
                        if root.cause == "communication-pattern"
                    }
                ),
                "interior_roots": len(
                    {
                        root.vertex
                        for diagnoses in roots.values()
                        for root in diagnoses
                        if root.cause != "communication-pattern"
                    }
                ),
                "endpoint_roots_by_direction": ends,
                "rows_of_south_roots": _find_root_rows(roots["south"], ghost.mappings[case["mapping"]]),
                "south_grid": south,
                "published_s": published.published_rows("taffet2021", "section 2.4.2")
                .get(f"{case['mapping']}, {case['strategy'].upper()}", {})
                .get("time"),
            }
        ]

    cases = [{"mapping": m, "strategy": s} for m in ghost.mappings for s in STRATEGIES]
    return sweep_cases("taffet-minighost", cases, solve, report, cancelled, parameters, seed=seed)


def tile_ranks(shape: tuple[int, ...], node: tuple[int, ...], leaf: tuple[int, ...]) -> NDArray[np.int64]:
    """Return the node of each rank, if each node has a tile of ranks and each leaf switch a tile of nodes (geometric tiling); leaf after leaf."""
    place = np.array(np.unravel_index(np.arange(int(np.prod(shape))), shape, order="F"))
    nodes = tuple(side // part for side, part in zip(shape, node, strict=True))
    leaves = tuple(side // part for side, part in zip(nodes, leaf, strict=True))
    at = place // np.array(node)[:, None]
    within = np.ravel_multi_index(tuple(at % np.array(leaf)[:, None]), leaf, order="F")
    return np.ravel_multi_index(tuple(at // np.array(leaf)[:, None]), leaves, order="F") * int(np.prod(leaf)) + within
