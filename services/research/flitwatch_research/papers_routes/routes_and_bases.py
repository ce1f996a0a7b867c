"""Chapters 3 and 4: patterns, routes, bases, reconstructions."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
import torch

from flitwatch_domain.topology_spec import fabric_of
from flitwatch_research.papers_routes.rows import Row, Size
from flitwatch_research.studies import published
from flitwatch_routing.baselines import ftree_tables
from flitwatch_routing.compared import busiest
from flitwatch_routing.optimise import optimise
from flitwatch_routing.patterns import traffic
from flitwatch_routing.reconstruction.bases import Basis
from flitwatch_routing.reconstruction.recover import Options, reconstruct
from flitwatch_routing.reconstruction.sparsity import counted
from flitwatch_routing.reconstruction.study import BY_LEVEL, relative_error, study

SEED = 1
#: The three counts of table 4.1, as the published rows call them.
COUNTS = ("all", "at most 10 % error", "at least 90 % power")
#: What the dissertation calls our baselines, where it has another name.
_COLUMNS = {"greedy": "AFAR"}


def _identity(pattern: str):  # type: ignore[no-untyped-def]
    def measure(size: Size) -> dict[str, float]:
        fabric = fabric_of(size.topology)
        src, dst, _ = traffic(pattern, len(fabric.endpoints), SEED)
        leaf, pod = np.asarray(fabric.endpoints.router), np.asarray(fabric.routers.group)
        hops = np.where(leaf[src] == leaf[dst], 2, np.where(pod[leaf[src]] == pod[leaf[dst]], 4, 6))
        return {"pairs": float(len(src)), "hops": float(hops.mean())}

    return measure


def _gaps(pattern: str):  # type: ignore[no-untyped-def]
    def measure(size: Size) -> dict[str, float]:
        fabric = fabric_of(size.topology)
        demand = traffic(pattern, len(fabric.endpoints), SEED)
        found = optimise(fabric, demand, size.optimise_s, SEED)
        loads = {_COLUMNS.get(name, name): load for name, load in busiest(fabric, [demand], SEED).items()}
        return {
            "ours": 100 * (found.z / found.z_ar - 1),
            "bound": 100 * (found.fixed_bound / found.z_ar - 1),
            **{name: 100 * (load / found.z_ar - 1) for name, load in loads.items() if load is not None},
            "seconds": found.wall_s,
        }

    return measure


def _column(basis: str, kind: str) -> str:
    return basis if kind == COUNTS[0] else f"{basis}, {kind}"


def _sparsity(pattern: str, ranks: int):  # type: ignore[no-untyped-def]
    def measure(size: Size) -> dict[str, float]:
        src, dst, amount = traffic(pattern, ranks, SEED)
        key = np.flatnonzero(~np.eye(ranks, dtype=bool).reshape(-1))
        matrix = torch.zeros(ranks, ranks, dtype=torch.float64)
        matrix.index_put_(
            (torch.from_numpy(src.astype(np.int64)), torch.from_numpy(dst.astype(np.int64))),
            torch.from_numpy(amount),
            True,
        )
        x = matrix.reshape(-1)[torch.from_numpy(key)]
        found = {}
        for name in ("i", "s", "cd", "scd", "cs", "scs"):
            if name in ("cs", "scs") and ranks & (ranks - 1):
                continue  # these bases need a power of two
            for kind, count in zip(COUNTS, counted(Basis(name, np.array([ranks]), key).double(), x), strict=True):
                found[_column(name, kind)] = count / ranks
        return found

    return measure


@dataclass(frozen=True)
class Scheme:
    """A column of tables 4.2 and 4.3: ours and the published name, and how pairs get lanes."""

    ours: str
    published: str
    sls: int
    vls: int
    lanes: str = BY_LEVEL


LANE_SCHEMES = (
    Scheme("1 VL", "1 VL 1 SL", 1, 1),
    Scheme("2 VL", "2 VL 2 SL", 2, 2),
    Scheme("4 SL 2 VL", "2 VL 4 SL", 4, 2),
    Scheme("2 VL random", "2 VL Rand", 1, 2, "random"),
    Scheme("2 SL 4 VL", "4 VL 2 SL", 2, 4),
    Scheme("5 VL", "5 VL 5 SL", 5, 5),
    Scheme("5 VL random", "5 VL Rand", 1, 5, "random"),
    Scheme("5 VL Galois", "5 VL Galois", 1, 5, "galois"),
)


def _of_two_cores() -> float:
    """Seconds of two cores that compute alone: limits mean the same on a machine that does other things too."""
    return time.process_time() / 2


def _errors(pattern: str, bases: tuple[str, ...], share: float):  # type: ignore[no-untyped-def]
    """Best of `bases` for each way to give lanes; `share` multiplies the limit of time."""

    def measure(size: Size) -> dict[str, float]:
        fabric = fabric_of(size.topology)
        ports = ftree_tables(fabric)
        name = "shift" if size.quick else pattern
        found: dict[str, float] = {}
        for way in LANE_SCHEMES:
            known = study(fabric, ports, name, way.sls, way.vls, 1, SEED, scheme=way.lanes)
            m = known.measured
            errors, seconds = [], 0.0
            for basis in bases:
                options = Options(basis, time_limit_s=size.reconstruct_s * share, estimate=False)
                made = reconstruct(fabric, ports, m.lanes, m.pairs, m.counters, options, clock=_of_two_cores)
                errors.append(relative_error(known, made))
                seconds += made.wall_s
            found[way.ours] = 100 * min(errors)
            found["seconds"] = found.get("seconds", 0.0) + seconds
        return found

    return measure


_BEST = "the published basis, or the better of it and its half, chosen by the answer (*); ours stopped after two minutes a basis"

#: Our pattern, the dissertation's name, ranks, bases that fit, and what there is to say.
APPLICATIONS = (
    ("lulesh-512", "LULESH", 512, ("scd", "cd"), ""),
    ("partisn-168", "PARTISN", 168, ("scd", "cd"), "the amounts of rank 0 are ours"),
    ("amg-1728", "AMG", 1728, ("scd",), "coarse levels in kind"),
    ("boxlib-mg-1024", "BoxLib MG C", 1024, ("cs",), ""),
    ("multigrid-1000", "MultiGrid C", 1000, ("s",), "coarse levels in kind: more regular than the trace"),
    ("nekbone-1024", "Nekbone", 1024, ("scd",), "in kind: more regular than the trace"),
    ("boxlib-cns-1024", "BoxLib CNS", 1024, ("s",), "in kind: less dense than the trace"),
)


def _published(place: str, name: str, **columns: str) -> dict[str, float]:
    return published.row("taffet2021", place, name, **columns)


def _of_routes(name: str) -> dict[str, float]:
    return _published("table 3.3", name, ours="Combined", AFAR="AFAR", ftree="Ftree", random="Random")


def _of_lanes(place: str, name: str) -> dict[str, float]:
    found = _published(place, name)
    return {way.ours: found[way.published] for way in LANE_SCHEMES}


ROWS = [
    *(Row("3.1", ours, _published("table 3.1", theirs, pairs="pairs", hops="mean hops"), _identity(pattern)) for ours, theirs, pattern in
      (("stencil 16x16x12", "Stencil", "stencil3d"), ("bisection", "Bisection", "bisection"), ("random shuffle", "BS Rand Shuf", "bisection-shuffle"), ("all-to-all", "All-to-all", "alltoall"))),
    *(Row("3.3", ours, _of_routes(theirs), _gaps(pattern), note) for ours, theirs, pattern, note in
      (("stencil", "Stencil", "stencil3d", "AFAR of ours: greedy moves from ftree as the dissertation describes them, not its code"), ("bisection", "Bisection", "bisection", ""),
       ("random shuffle", "BS Rand Shuf", "bisection-shuffle", ""), ("random shuffle, noise of 5 %", "BS RS+noise", "noisy-shuffle", ""), ("all-to-all", "All-to-all", "alltoall", ""))),
    *(Row("4.1", f"{name} {ranks}", {_column(basis, kind): value for kind in COUNTS for basis, value in _published("table 4.1", f"{name}, {kind}").items() if basis != "od"}, _sparsity(pattern, ranks), note)
      for pattern, name, ranks, _, note in APPLICATIONS),
    *(Row("4.2", f"{name} {ranks}", _of_lanes("table 4.2", name), _errors(pattern, bases, 2.0), "; ".join(filter(None, (_BEST, note)))) for pattern, name, ranks, bases, note in APPLICATIONS),
    *(Row("4.3", f"{name} {ranks}", _of_lanes("table 4.3", name), _errors(pattern, ("od",), 1.0), note) for pattern, name, ranks, _, note in APPLICATIONS),
]  # fmt: skip
