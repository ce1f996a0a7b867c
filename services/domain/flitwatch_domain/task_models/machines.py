"""Generated machines, routes and traffic in requests. None of these texts can name a file."""

from __future__ import annotations

from typing import Literal, TypeAlias

from flitwatch_domain.task_models.base import make_text_type
from flitwatch_domain.topology_spec import (
    DRAGONFLY_PATTERN,
    HYPERX_PATTERN,
    PLANES_PATTERN,
    RAILS_PATTERN,
    TORUS_PATTERN,
    XGFT_PATTERN,
)

#: Topology for the flow-level simulator.
FlowTopology: TypeAlias = make_text_type(  # type: ignore[valid-type]
    rf"theta|edison|cori|slingshot|quartz1|{XGFT_PATTERN}|{TORUS_PATTERN}|{DRAGONFLY_PATTERN}|{HYPERX_PATTERN}|{RAILS_PATTERN}|{PLANES_PATTERN}",
    "topology; use theta, edison, cori, slingshot, quartz1, torus:20,20,20, xgft:h;m1,..;w1,..[;p1,..], dragonfly:GROUPS,ROWS,COLS[,BLUE_ROUTERS], "
    "hyperx:SIZES, rails:SIZES or planes:SIZES: a task reads no file",
)
#: Topology for the packet-level simulator.
PacketTopology: TypeAlias = FlowTopology
#: Topology for the route optimiser and the packet-level studies.
RoutesTopology: TypeAlias = make_text_type(  # type: ignore[valid-type]
    rf"theta|edison|cori|slingshot|quartz1|{XGFT_PATTERN}|{DRAGONFLY_PATTERN}|{HYPERX_PATTERN}|{RAILS_PATTERN}|{PLANES_PATTERN}",
    "topology; use theta, edison, cori, slingshot, quartz1, xgft:h;m1,..;w1,..[;p1,..], dragonfly:GROUPS,ROWS,COLS[,BLUE_ROUTERS], "
    "hyperx:SIZES, rails:SIZES or planes:SIZES: a task reads no file",
)
FlowRouting = Literal["dmodk", "dor", "minhop", "updn", "ftree", "minimal", "valiant"]
PacketRouting = Literal[
    "minimal",
    "valiant",
    "adaptive0",
    "adaptive1",
    "adaptive2",
    "adaptive3",
    "min-hash",
    "nmin-hash",
    "in-order",
    "ftree",
    "hw-adaptive",
    "spray",
    "dor",
]
#: Congestion control of the NICs: none, Slingshot's back-pressure by pair of endpoints, or RoCE's DCQCN.
CongestionControl = Literal["none", "pairs", "dcqcn"]

FlowPattern: TypeAlias = make_text_type(  # type: ignore[valid-type]
    r"binomial-bcast|binomial-reduce|recursive-doubling-allreduce|dissemination-barrier|ring|pairwise-alltoall|halo-2d|halo-3d|halo-27|sweep-3d|transpose"
    r"|bit-reversal|(shift|permutation)(:[0-9]{1,9})?",
    "pattern; use binomial-bcast, binomial-reduce, recursive-doubling-allreduce, dissemination-barrier, ring, pairwise-alltoall, halo-2d, halo-3d, halo-27,"
    " sweep-3d, shift[:K], transpose, bit-reversal or permutation[:SEED]",
)
#: Message patterns with rounds.
MessagePattern = Literal[
    "allreduce", "alltoall", "amg", "barrier", "bisection", "bisection-shuffle", "broadcast", "bully", "crystal-router", "cyclic-stencil",
    "fill-boundary", "halo3d", "incast", "permutation", "pingpong", "stencil27-bspma", "stencil27-svaf", "stencil27-svafp", "stencil3d", "sweep3d",
    "ring-allreduce", "tree-allreduce", "hierarchical-allreduce", "expert-alltoall",
]  # fmt: skip
#: Traffic of a simulated machine in the loop: message patterns, and patterns that are only matrices.
LoopPattern = Literal[
    "allreduce", "alltoall", "amg", "amg-1728", "barrier", "barrier-with-bully", "barrier-with-bully-even", "bisection", "bisection-shuffle",
    "boxlib-cns-1024", "boxlib-mg-1024", "broadcast", "bully", "crystal-router", "cyclic-stencil", "expert-alltoall", "fill-boundary", "halo3d",
    "hierarchical-allreduce", "incast", "irregular-70", "lulesh-512", "multigrid-1000", "nekbone-1024", "noisy-shuffle", "partisn-168", "permutation", "pingpong",
    "ring-allreduce", "shift", "stencil27-bspma", "stencil27-svaf", "stencil27-svafp", "stencil3d", "sweep3d", "tree-allreduce",
]  # fmt: skip
_LOAD = r"(:[0-9]{1,5}(\.[0-9]{1,9})?)?"
PacketTraffic: TypeAlias = make_text_type(  # type: ignore[valid-type]
    "|".join((*MessagePattern.__args__, f"uniform{_LOAD}")),  # type: ignore[attr-defined]
    f"traffic; use uniform[:GIB_PER_S], {', '.join(MessagePattern.__args__)}: a task reads no file",  # type: ignore[attr-defined]
)
Background: TypeAlias = make_text_type(  # type: ignore[valid-type]
    f"none|(uniform|bursty){_LOAD}", "background; use none, uniform[:GIB_PER_S] or bursty[:GIB_PER_S]"
)
Placement = Literal[
    "contiguous",
    "random-node",
    "random-router",
    "random-chassis",
    "random-cabinet",
    "random-group",
    "cyclic",
    "random-rank",
]
AS_IT_WAS = "as-it-was"
WhatIfPlacement = Literal["as-it-was", Placement]
WhatIfRouting = PacketRouting
Semantics = Literal["longest-path", "orcs"]
#: Routing modes of Aries NICs.
NicMode = Literal["ADAPTIVE_0", "ADAPTIVE_1", "ADAPTIVE_2", "ADAPTIVE_3", "IN_ORDER", "MIN_HASH", "NMIN_HASH"]
