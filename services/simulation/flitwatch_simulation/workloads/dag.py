"""Message DAGs: our text format, and importers for GOAL text and DUMPI text.

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
from flitwatch_domain.importers.text import read_bytes, read_text

_SEND = re.compile(
    r"(\w+):\s*send\s+([0-9]{1,18})b?\s+to\s+([0-9]{1,18})(?:\s+tag\s+([0-9]{1,18}))?(?:\s+(?:cpu|nic)\s+\d+)*"
)
_RECV = re.compile(
    r"(\w+):\s*recv\s+([0-9]{1,18})b?\s+from\s+([0-9]{1,18})(?:\s+tag\s+([0-9]{1,18}))?(?:\s+(?:cpu|nic)\s+\d+)*"
)
_COMPUTE = re.compile(r"(\w+):\s*(?:compute|calc)\s+([0-9]{1,18})(?:\s+(?:cpu|nic)\s+\d+)*")
_REQUIRES = re.compile(r"(\w+)\s+i?requires\s+(\w+(?:\s+\w+)*)")


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
    """

    ranks: int
    kind: list[int] = field(default_factory=list)
    rank: list[int] = field(default_factory=list)
    peer: list[int] = field(default_factory=list)
    amount: list[int] = field(default_factory=list)
    tag: list[int] = field(default_factory=list)
    requires: list[tuple[int, int]] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)

    def add(self, kind: OpKind, rank: int, amount: int, peer: int = 0, tag: int = 0, line: int = 0) -> int:
        """Append an operation; returns its number."""
        for column, value in (
            (self.kind, int(kind)), (self.rank, rank), (self.peer, peer), (self.amount, amount), (self.tag, tag), (self.lines, line),
        ):  # fmt: skip
            column.append(value)
        return len(self.kind) - 1

    def to_ops(self, endpoints: NDArray[np.integer], where: str = "the message DAG") -> Ops:
        """Operations for the engine, sends matched with receives.

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
        needs = np.array(self.requires, np.int64).reshape(-1, 2)
        needs = needs[np.argsort(needs[:, 0], kind="stable")]
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


def read_dag(path: Path) -> Dag:
    """Read our text format or GOAL text (`num_ranks N`, `rank R { ... }`, `calc`).

    Raises
    ------
    BadInput
        Naming the file and the line.
    """
    try:
        text = read_bytes(path).decode("utf-8")
    except UnicodeDecodeError as bad:
        raise BadInput(f"cannot read the message DAG: {bad}", where=str(path)) from bad
    dag: Dag | None = None
    rank = -1
    labels: dict[str, int] = {}
    for number, raw in enumerate(text.splitlines(), 1):
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
                f"{line!r} is no operation", where=where,
                advice="Expected `L: send BYTES to R [tag T]`, `L: recv BYTES from R [tag T]`, `L: compute NS` or `L requires L1 L2`.",
            )  # fmt: skip
        if found[1] in labels:
            raise BadInput(f"rank {rank} has two operations {found[1]!r}", where=where)
        labels[found[1]] = op
    if dag is None or not dag.kind:
        raise BadInput("there are no operations", where=str(path))
    return dag


def _in_range(rank: int, dag: Dag, where: str) -> None:
    if rank >= dag.ranks:
        raise BadInput(f"rank {rank} is outside 0 to {dag.ranks - 1}", where=where)


_DUMPI_CALL = re.compile(r"(MPI_\w+) entering at walltime ([0-9]{1,12}(?:\.[0-9]{1,12})?)")
_DUMPI_LEFT = re.compile(r"(MPI_\w+) returning at walltime ([0-9]{1,12}(?:\.[0-9]{1,12})?)")
_DUMPI_FIELD = re.compile(r"\s*\w+ (\w+)(?:\[\d+\])?=\[?(-?[0-9]{1,9})(?![0-9])")
_LONGEST_GAP_S = 366 * 86_400.0
_TYPE_BYTES = {
    "MPI_CHAR": 1,
    "MPI_BYTE": 1,
    "MPI_SHORT": 2,
    "MPI_INT": 4,
    "MPI_FLOAT": 4,
    "MPI_LONG": 8,
    "MPI_DOUBLE": 8,
}


def read_dumpi(paths: list[Path], *, compute: bool = True) -> Dag:
    """Point-to-point calls of DUMPI text (`dumpi2ascii`, one file a rank, in rank order) as a DAG.

    Blocking calls follow one another; a non-blocking call only starts in order and its wait holds up what follows. Time between calls becomes
    computation. Collectives are not point-to-point and are left out.

    Raises
    ------
    BadInput
        Naming the file and the line, also for wildcard receives, which a replay cannot match.
    """
    dag = Dag(len(paths))
    for rank, path in enumerate(paths):
        _read_dumpi_rank(dag, rank, path, compute)
    return dag


def read_dumpi_folder(folder: Path) -> Dag:
    """The DUMPI text of one run: the folder's `*.txt` files, whose names end in their rank (`dumpi-...-0003.txt`).

    Raises
    ------
    BadInput
        Where files are missing, unreadable, or no DUMPI text.
    """
    ranks: dict[int, Path] = {}
    for path in sorted(folder.glob("*.txt")):
        number = re.search(r"(\d+)$", path.stem)
        if number is None or int(number[1]) in ranks:
            raise BadInput("the file name does not end in a rank of its own", where=str(path))
        ranks[int(number[1])] = path
    if not ranks or sorted(ranks) != list(range(len(ranks))):
        missing = next((r for r in range(len(ranks)) if r not in ranks), 0)
        raise BadInput(
            f"the DUMPI text of rank {missing} is missing",
            where=str(folder),
            advice="Make one file a rank with dumpi2ascii: NAME-0000.txt, NAME-0001.txt, ...",
        )
    try:
        dag = read_dumpi([ranks[r] for r in range(len(ranks))])
    except OSError as bad:
        raise BadInput(f"cannot read the DUMPI text: {bad}", where=str(folder)) from bad
    if not dag.kind:
        raise BadInput("there are no point-to-point calls in DUMPI text", where=str(folder))
    return dag


def _read_dumpi_rank(dag: Dag, rank: int, path: Path, compute: bool) -> None:
    last: int | None = None  # what the next operation has to wait for
    requests: dict[int, int] = {}
    left_at: float | None = None
    call, started = "", 0
    fields: dict[str, int] = {}
    waited: list[int] = []

    def then(op: int) -> int:
        if last is not None:
            dag.requires.append((op, last))
        return op

    for number, line in enumerate(read_text(path).splitlines(), 1):
        if found := _DUMPI_CALL.match(line):
            call, fields, waited, started = found[1], {}, [], number
            if compute and left_at is not None and float(found[2]) > left_at:
                gap_s = float(found[2]) - left_at
                if gap_s > _LONGEST_GAP_S:
                    raise BadInput(f"{gap_s:g} s lie between two calls", where=f"{path}:{number}")
                last = then(dag.add(OpKind.COMPUTE, rank, round(gap_s * 1e9), line=number))
        elif found := _DUMPI_LEFT.match(line):
            left_at = float(found[2])
            where = f"{path}:{started}"
            if call in ("MPI_Send", "MPI_Isend", "MPI_Recv", "MPI_Irecv"):
                sends = call in ("MPI_Send", "MPI_Isend")
                peer = fields.get("dest" if sends else "source", -1)
                if not 0 <= peer < dag.ranks:
                    raise BadInput(
                        f"{call} names rank {peer}", where=where, advice="Wildcard receives cannot be replayed."
                    )
                size = fields.get("count", 0) * fields.get("type_bytes", 1)
                if size < 0:
                    raise BadInput(f"{call} moves {size} bytes", where=where)
                op = then(
                    dag.add(
                        OpKind.SEND if sends else OpKind.RECEIVE,
                        rank,
                        size,
                        peer,
                        max(fields.get("tag", 0), 0),
                        started,
                    )
                )
                if call.startswith("MPI_I"):
                    requests[fields.get("request", -1)] = op
                else:
                    last = op
            elif call in ("MPI_Wait", "MPI_Waitall"):
                done = [requests.pop(r) for r in waited if r in requests]
                if done:
                    end = then(dag.add(OpKind.COMPUTE, rank, 0, line=started))
                    dag.requires += [(end, op) for op in done]
                    last = end
            call = ""
        elif call:
            if found := re.match(r"\s*MPI_Datatype \w+=\d+ \((\w+)\)", line):
                if found[1] not in _TYPE_BYTES:
                    raise BadInput(f"the size of {found[1]} is unknown", where=f"{path}:{number}")
                fields["type_bytes"] = _TYPE_BYTES[found[1]]
            elif re.match(r"\s*MPI_Request", line):
                values = [int(v) for v in re.findall(r"-?[0-9]{1,18}", line.partition("=")[2])]
                waited += values
                if values:
                    fields["request"] = values[0]
            elif found := _DUMPI_FIELD.match(line):
                fields[found[1]] = int(found[2])
