"""DUMPI text (SST's MPI traces through dumpi2ascii) as message DAGs."""

from __future__ import annotations

import re
from pathlib import Path

from flitwatch_core.packet import OpKind
from flitwatch_domain.errors import BadInput
from flitwatch_domain.importers.text import read_text
from flitwatch_routing.traces.collective_rounds import COLLECTIVES, Call, rounds_of
from flitwatch_routing.traces.dag import Dag

_ENTERED = re.compile(r"(MPI_\w+) entering at walltime ([0-9]{1,12}(?:\.[0-9]{1,12})?)")
_LEFT = re.compile(r"(MPI_\w+) returning at walltime ([0-9]{1,12}(?:\.[0-9]{1,12})?)")
_FIELD = re.compile(r"\s*\w+ (\w+)(?:\[[0-9]+\])?=\[?(-?[0-9]{1,9})(?![0-9])")
_TYPE = re.compile(r"\s*MPI_Datatype (\w+)=[0-9]+ \((\w+)\)")
_COUNTS = re.compile(r"\s*int (sendcounts|recvcounts)\[[0-9]+\]=\[([0-9]{1,9}(?:,\s*[0-9]{1,9})*)\]")
_LONGEST_GAP_S = 13 * 86_400.0
_TYPE_BYTES = {
    **dict.fromkeys(("MPI_CHAR", "MPI_SIGNED_CHAR", "MPI_UNSIGNED_CHAR", "MPI_BYTE", "MPI_PACKED"), 1),
    **dict.fromkeys(("MPI_SHORT", "MPI_UNSIGNED_SHORT"), 2),
    **dict.fromkeys(("MPI_INT", "MPI_UNSIGNED", "MPI_FLOAT"), 4),
    **dict.fromkeys(("MPI_LONG", "MPI_UNSIGNED_LONG", "MPI_LONG_LONG_INT", "MPI_UNSIGNED_LONG_LONG", "MPI_DOUBLE"), 8),
}
_NOBODY = -(2**31)  # stands for MPI_PROC_NULL, whose number differs between versions
_SENDS = {"MPI_Send", "MPI_Ssend", "MPI_Bsend", "MPI_Rsend", "MPI_Isend", "MPI_Issend", "MPI_Ibsend", "MPI_Irsend"}
_RECEIVES = {"MPI_Recv", "MPI_Irecv"}
_WAITS = {"MPI_Wait", "MPI_Waitall"}
#: Point-to-point calls whose messages the text does not tell one by one.
_REFUSED = {
    "MPI_Waitsome",
    "MPI_Testany",
    "MPI_Testsome",
    "MPI_Start",
    "MPI_Startall",
    "MPI_Sendrecv_replace",
    "MPI_Cancel",
}


def read_dumpi(paths: list[Path], *, compute: bool = True) -> Dag:
    """Calls of DUMPI text (`dumpi2ascii`, one file a rank, in rank order) as a DAG.

    Blocking calls follow one another; a non-blocking call only starts in order and its wait holds up what follows. Time between calls becomes
    computation. A send-receive starts both and waits for both; a test that failed is nothing. Collectives of the world become messages
    (`collective_rounds`); the DAG counts those that do not: forms that we lack, non-blocking ones, and other communicators, whose ranks are unknown.

    Raises
    ------
    BadInput
        Naming the file and the line, also for wildcard receives, persistent requests and communicators other than the world, whose
        messages a replay cannot match.
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
        number = re.search(r"([0-9]+)$", path.stem)
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
        raise BadInput("there are no messages in DUMPI text", where=str(folder))
    return dag


class _Rank:
    """One rank's calls, as they become operations."""

    def __init__(self, dag: Dag, rank: int, path: Path, compute: bool) -> None:
        self._dag, self._rank, self._path, self._compute = dag, rank, path, compute
        self._last: int | None = None  # what the next operation has to wait for
        self._requests: dict[int, int] = {}
        self._collectives = 0  # so far: the same number on every rank
        self._left_at: float | None = None
        self._enter("", 0)

    def _enter(self, call: str, line: int) -> None:
        self.call, self._line = call, line
        self._fields: dict[str, int] = {}
        self._types: dict[str, int] = {}
        self._counts: dict[str, tuple[int, ...]] = {}
        self._waited: list[int] = []

    def entered(self, call: str, at_s: float, line: int) -> None:
        self._enter(call, line)
        if call in _REFUSED:
            raise BadInput(
                f"{call} cannot be replayed",
                where=self._where(),
                advice="Its text does not tell which messages it meant.",
            )
        if self._compute and self._left_at is not None and at_s > self._left_at:
            gap_s = at_s - self._left_at
            if gap_s > _LONGEST_GAP_S:
                raise BadInput(f"{gap_s:g} s lie between two calls", where=self._where())
            self._last = self._then(self._dag.add(OpKind.COMPUTE, self._rank, round(gap_s * 1e9), line=line))

    def field(self, line: str, number: int) -> None:
        """One line between a call's entry and its return."""
        if found := _TYPE.match(line):
            if found[2] not in _TYPE_BYTES:
                raise BadInput(f"the size of {found[2]} is unknown", where=f"{self._path}:{number}")
            self._types[found[1]] = _TYPE_BYTES[found[2]]
        elif re.match(r"\s*MPI_Request", line):
            self._waited += [int(v) for v in re.findall(r"-?[0-9]{1,18}", line.partition("=")[2])]
        elif re.match(r"\s*MPI_Comm ", line):
            self._fields["other_comm"] = int("MPI_COMM_WORLD" not in line)
        elif found := _COUNTS.match(line):
            self._counts[found[1]] = tuple(int(one) for one in found[2].split(","))
        elif found := _FIELD.match(line):
            self._fields[found[1]] = int(found[2])
            if "MPI_PROC_NULL" in line:
                self._fields[found[1]] = _NOBODY

    def left(self, at_s: float) -> None:
        self._left_at = at_s
        call = self.call
        if call in _SENDS:
            self._started(self._message(OpKind.SEND, "dest", "tag", "count", "datatype"), call.startswith("MPI_I"))
        elif call in _RECEIVES:
            self._started(self._message(OpKind.RECEIVE, "source", "tag", "count", "datatype"), call.startswith("MPI_I"))
        elif call == "MPI_Sendrecv":
            both = (
                self._message(OpKind.RECEIVE, "source", "recvtag", "recvcount", "recvtype"),
                self._message(OpKind.SEND, "dest", "sendtag", "sendcount", "sendtype"),
            )
            self._wait_for([op for op in both if op is not None])
        elif call in _WAITS or (call in ("MPI_Test", "MPI_Testall") and self._fields.get("flag", 0)):
            self._complete(self._waited)
        elif call == "MPI_Waitany":
            index = self._fields.get("index", -1)
            self._complete(self._waited[index : index + 1] if index >= 0 else [])
        elif call in COLLECTIVES:
            self._collective(call)
        self._enter("", 0)

    def _collective(self, name: str) -> None:
        """A collective as messages of its rounds, or counted as left out."""
        sent = self._bytes("send") if "sendcount" in self._fields else self._bytes("")
        to = tuple(
            count * self._types.get("sendtypes", self._types.get("sendtype", 1))
            for count in self._counts.get("sendcounts", ())
        )
        came = tuple(
            count * self._types.get("recvtypes", self._types.get("recvtype", 1))
            for count in self._counts.get("recvcounts", ())
        )
        ranks = self._dag.ranks
        call = Call(self._rank, ranks, self._fields.get("root", 0), sent, self._bytes("recv"), to, came)
        told = name != "MPI_Alltoallv" or len(to) == len(came) == ranks
        rounds = None if self._fields.get("other_comm") or not told else rounds_of(name, call)
        (self._dag.left_out if rounds is None else self._dag.expanded)[name].add(sum(to) or sent)
        if rounds is None:
            return
        if not 0 <= call.root < ranks or min(sent, call.received_bytes) < 0:
            raise BadInput(f"{name} names root {call.root} or a size below 0", where=self._where())
        self._collectives += 1
        tag = -self._collectives  # no program's own; rounds between the same two ranks follow one another
        for one in rounds:
            ops = [
                self._then(self._dag.add(OpKind.RECEIVE, self._rank, size, peer, tag, self._line))
                for peer, size in one.receives
            ]
            ops += [
                self._then(self._dag.add(OpKind.SEND, self._rank, size, peer, tag, self._line))
                for peer, size in one.sends
            ]
            self._wait_for(ops)

    def _bytes(self, prefix: str) -> int:
        type_ = self._types.get(f"{prefix}type" if prefix else "datatype", 1)
        return self._fields.get(f"{prefix}count", 0) * type_

    def _message(self, kind: OpKind, peer_field: str, tag: str, count: str, type_: str) -> int | None:
        """The operation of one message; None where it goes to nobody."""
        peer = self._fields.get(peer_field, -1)
        if peer == _NOBODY:
            return None
        if self._fields.get("other_comm"):
            raise BadInput(
                f"{self.call} uses another communicator than MPI_COMM_WORLD",
                where=self._where(),
                advice="Its ranks are unknown here.",
            )
        if not 0 <= peer < self._dag.ranks:
            raise BadInput(
                f"{self.call} names rank {peer}", where=self._where(), advice="Wildcard receives cannot be replayed."
            )
        size = self._fields.get(count, 0) * self._types.get(type_, 1)
        if size < 0:
            raise BadInput(f"{self.call} moves {size} bytes", where=self._where())
        return self._then(self._dag.add(kind, self._rank, size, peer, max(self._fields.get(tag, 0), 0), self._line))

    def _started(self, op: int | None, returns_at_once: bool) -> None:
        if op is None:
            return
        if returns_at_once:
            self._requests[self._waited[0] if self._waited else -1] = op
        else:
            self._last = op

    def _complete(self, requests: list[int]) -> None:
        self._wait_for([self._requests.pop(r) for r in requests if r in self._requests])

    def _wait_for(self, ops: list[int]) -> None:
        if ops:
            end = self._then(self._dag.add(OpKind.COMPUTE, self._rank, 0, line=self._line))
            self._dag.requires += [(end, op) for op in ops]
            self._last = end

    def _then(self, op: int) -> int:
        if self._last is not None:
            self._dag.requires.append((op, self._last))
        return op

    def _where(self) -> str:
        return f"{self._path}:{self._line}"


def _read_dumpi_rank(dag: Dag, rank: int, path: Path, compute: bool) -> None:
    reader = _Rank(dag, rank, path, compute)
    for number, line in enumerate(read_text(path).splitlines(), 1):
        if found := _ENTERED.match(line):
            reader.entered(found[1], float(found[2]), number)
        elif found := _LEFT.match(line):
            reader.left(float(found[2]))
        elif reader.call:
            reader.field(line, number)
