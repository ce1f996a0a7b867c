"""Message DAGs: our text format and GOAL text.

Grammar of ours (`#` starts a comment, labels are local to a rank):

    ranks N
    rank R
      L: send BYTES to R [tag T]
      L: recv BYTES from R [tag T]
      L: compute NS
      L requires L1 L2 ...

An operation starts when all that it requires are complete. A send meets the first receive in file order that names its rank, the other
rank and the tag.
"""

from __future__ import annotations

import re
from collections import defaultdict, deque
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from flitwatch_core.packet import NO_LINK, OpKind, Ops
from flitwatch_domain.errors import BadInput
from flitwatch_domain.importers.text import read_utf8

_SEND = re.compile(
    r"(\w+):\s*send\s+([0-9]{1,18})b?\s+to\s+([0-9]{1,18})(?:\s+tag\s+([0-9]{1,18}))?(?:\s+(?:cpu|nic)\s+[0-9]+)*"
)
_RECV = re.compile(
    r"(\w+):\s*recv\s+([0-9]{1,18})b?\s+from\s+([0-9]{1,18})(?:\s+tag\s+([0-9]{1,18}))?(?:\s+(?:cpu|nic)\s+[0-9]+)*"
)
_COMPUTE = re.compile(r"(\w+):\s*(?:compute|calc)\s+([0-9]{1,18})(?:\s+(?:cpu|nic)\s+[0-9]+)*")
_REQUIRES = re.compile(r"(\w+)\s+i?requires\s+(\w+(?:\s+\w+)*)")


@dataclass
class CallCount:
    """Calls of one name over all ranks, and the bytes that they give as sent."""

    calls: int = 0
    bytes: int = 0

    def add(self, size: int) -> None:
        """One call more."""
        self.calls += 1
        self.bytes += size


@dataclass
class Dag:
    """Operations of one job, in file order.

    Attributes
    ----------
    kind, rank, peer, amount, tag : lists of int
        `peer` and `tag` are 0 for computations.
    requires : list of (operation, operation it requires)
    lines : list of int
        Where each operation was read.
    expanded, left_out : calls by name
        Collectives that became messages, and those that did not.
    """

    ranks: int
    kind: list[int] = field(default_factory=list)
    rank: list[int] = field(default_factory=list)
    peer: list[int] = field(default_factory=list)
    amount: list[int] = field(default_factory=list)
    tag: list[int] = field(default_factory=list)
    requires: list[tuple[int, int]] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)
    expanded: dict[str, CallCount] = field(default_factory=lambda: defaultdict(CallCount))
    left_out: dict[str, CallCount] = field(default_factory=lambda: defaultdict(CallCount))

    def add(self, kind: OpKind, rank: int, amount: int, peer: int = 0, tag: int = 0, line: int = 0) -> int:
        """Append an operation; returns its number."""
        for column, value in (
            (self.kind, int(kind)),
            (self.rank, rank),
            (self.peer, peer),
            (self.amount, amount),
            (self.tag, tag),
            (self.lines, line),
        ):
            column.append(value)
        return len(self.kind) - 1

    def matched(self, where: str = "the message DAG") -> NDArray[np.int64]:
        """The receive of each send; `NO_LINK` of other operations.

        Raises
        ------
        BadInput
            For a send without a receive, a receive without a send, or sizes that differ.
        """
        match = np.full(len(self.kind), NO_LINK, np.int64)
        waiting: dict[tuple[int, int, int], deque[int]] = defaultdict(deque)
        for op, kind in enumerate(self.kind):
            if kind == OpKind.RECEIVE:
                waiting[self.peer[op], self.rank[op], self.tag[op]].append(op)
        for op, kind in enumerate(self.kind):
            if kind != OpKind.SEND:
                continue
            queue = waiting[self.rank[op], self.peer[op], self.tag[op]]
            if not queue:
                raise BadInput(
                    f"rank {self.rank[op]} sends to rank {self.peer[op]} with tag {self.tag[op]}, which never receives it",
                    where=f"{where}:{self.lines[op]}",
                )
            match[op] = queue.popleft()
            if self.amount[match[op]] < self.amount[op]:
                raise BadInput(
                    f"{self.amount[op]} bytes are sent, but only {self.amount[match[op]]} received (line {self.lines[match[op]]})",
                    where=f"{where}:{self.lines[op]}",
                )
        for (src, dst, tag), queue in waiting.items():
            if queue:
                raise BadInput(
                    f"rank {dst} waits for rank {src} with tag {tag}, which never sends it",
                    where=f"{where}:{self.lines[queue[0]]}",
                )
        return match

    def to_ops(self, endpoints: NDArray[np.integer], where: str = "the message DAG") -> Ops:
        """Operations for the engine, sends matched with receives.

        Raises
        ------
        BadInput
            As `matched` does, and for operations that wait for one another.
        """
        match = self.matched(where)
        needs = np.array(self.requires, np.int64).reshape(-1, 2)
        needs = needs[np.argsort(needs[:, 0], kind="stable")]
        self._refuse_circles(match, needs, where)
        begin = np.concatenate([[0], np.cumsum(np.bincount(needs[:, 0], minlength=len(self.kind)))])
        return Ops(
            kind=np.array(self.kind, np.uint8),
            rank=np.array(self.rank, np.uint32),
            match=match.astype(np.uint32),
            amount=np.array(self.amount, np.uint64),
            requires_begin=begin.astype(np.uint32),
            required=needs[:, 1].astype(np.uint32),
            endpoint_of_rank=np.asarray(endpoints, np.uint32),
            job_of_rank=np.zeros(self.ranks, np.uint8),
        )

    def _refuse_circles(self, match: NDArray[np.int64], needs: NDArray[np.int64], where: str) -> None:
        """A receive also waits for its send, so that ranks can wait for one another in a circle."""
        from scipy.sparse import coo_array  # 25 MB that other traffic does not need
        from scipy.sparse.csgraph import connected_components

        sends = np.flatnonzero(match != NO_LINK)
        later, earlier = np.append(needs[:, 0], match[sends]), np.append(needs[:, 1], sends)
        n = len(self.kind)
        edges = coo_array((np.ones(later.size, bool), (later, earlier)), shape=(n, n))
        _, circle_of = connected_components(edges, directed=True, connection="strong")
        size = np.bincount(circle_of)
        stuck = np.flatnonzero(size[circle_of] > 1)
        stuck = np.append(stuck, later[later == earlier])
        if stuck.size:
            op = int(stuck.min())
            others = sorted({self.lines[o] for o in np.flatnonzero(circle_of == circle_of[op])} - {self.lines[op]})
            beside = f" with lines {', '.join(map(str, others[:5]))}" if others else ""
            raise BadInput(
                f"rank {self.rank[op]} waits for itself: this operation stands in a circle{beside}",
                where=f"{where}:{self.lines[op]}",
            )


def read_dag(path: Path) -> Dag:
    """Read our text format or GOAL text (`num_ranks N`, `rank R { ... }`, `calc`).

    Raises
    ------
    BadInput
        Naming the file and the line.
    """
    dag: Dag | None = None
    rank = -1
    labels: dict[str, int] = {}
    for number, raw in enumerate(read_utf8(path).splitlines(), 1):
        line = raw.split("#")[0].split("//")[0].strip().rstrip(";").strip()
        where = f"{path}:{number}"
        if not line or line == "}":
            continue
        if found := re.fullmatch(r"(?:num_)?ranks\s+([0-9]{1,18})", line):
            if dag is not None:
                raise BadInput("the number of ranks is given twice", where=where)
            if not 1 <= int(found[1]) <= 10_000_000:
                raise BadInput(f"{found[1]} ranks; expected 1 to 10,000,000", where=where)
            dag = Dag(int(found[1]))
            continue
        if dag is None:
            raise BadInput("the first line must be `ranks N`", where=where)
        if found := re.fullmatch(r"rank\s+([0-9]{1,18})\s*\{?", line):
            rank, labels = int(found[1]), {}
            _in_range(rank, dag, where)
            continue
        if rank < 0:
            raise BadInput("an operation stands before the first `rank R`", where=where)
        if found := _REQUIRES.fullmatch(line):
            for name in (found[1], *found[2].split()):
                if name not in labels:
                    raise BadInput(f"rank {rank} has no operation {name!r} above this line", where=where)
            dag.requires += [(labels[found[1]], labels[name]) for name in found[2].split()]
            continue
        if found := _COMPUTE.fullmatch(line):
            op = dag.add(OpKind.COMPUTE, rank, int(found[2]), line=number)
        elif found := _SEND.fullmatch(line) or _RECV.fullmatch(line):
            kind = OpKind.SEND if _SEND.fullmatch(line) else OpKind.RECEIVE
            _in_range(int(found[3]), dag, where)
            op = dag.add(kind, rank, int(found[2]), int(found[3]), int(found[4] or 0), number)
        else:
            raise BadInput(
                f"{line!r} is no operation",
                where=where,
                advice="Expected `L: send BYTES to R [tag T]`, `L: recv BYTES from R [tag T]`, `L: compute NS` or `L requires L1 L2`.",
            )
        if found[1] in labels:
            raise BadInput(f"rank {rank} has two operations {found[1]!r}", where=where)
        labels[found[1]] = op
    if dag is None or not dag.kind:
        raise BadInput("there are no operations", where=str(path))
    return dag


def _in_range(rank: int, dag: Dag, where: str) -> None:
    if rank >= dag.ranks:
        raise BadInput(f"rank {rank} is outside 0 to {dag.ranks - 1}", where=where)
