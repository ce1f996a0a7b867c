"""DUMPI text (SST's MPI traces through dumpi2ascii) as message DAGs."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Mapping
from math import prod
from pathlib import Path

from flitwatch_core.packet import OpKind
from flitwatch_domain.errors import BadInput
from flitwatch_domain.importers.text import read_text
from flitwatch_routing.traces.collective_rounds import COLLECTIVES, Call, rounds_of
from flitwatch_routing.traces.dag import Dag
from flitwatch_routing.traces.dumpi_communicators import MAKERS, SELF, WORLD, Communicator, read_communicators

#: Files of ranks, which may be compressed.
_TEXT = re.compile(r"(.+)\.txt(?:\.(?:gz|bz2|xz|zst))?")
_ENTERED = re.compile(r"(MPI_\w+) entering at walltime ([0-9]{1,12}(?:\.[0-9]{1,12})?)")
_LEFT = re.compile(r"(MPI_\w+) returning at walltime ([0-9]{1,12}(?:\.[0-9]{1,12})?)")
_FIELD = re.compile(r"\s*\w+ (\w+)(?:\[[0-9]+\])?=\[?(-?[0-9]{1,9})(?![0-9])")
_TYPE = re.compile(r"\s*MPI_Datatype (\w+)=([0-9]{1,9}) \(([\w-]+)\)")
_COMMUNICATOR = re.compile(r"\s*MPI_Comm (\w+)=([0-9]{1,9})(?![0-9])")
_ARRAY = re.compile(r"\s*(?:int|MPI_Datatype) (\w+)\[[0-9]+\]=\[([0-9]{1,9}(?:,\s*[0-9]{1,9})*)\]")
_LONGEST_GAP_S = 13 * 86_400.0
_NOBODY = -(2**31)  # stands for MPI_PROC_NULL, whose number differs between versions
_SENDS = {"MPI_Send", "MPI_Ssend", "MPI_Bsend", "MPI_Rsend", "MPI_Isend", "MPI_Issend", "MPI_Ibsend", "MPI_Irsend"}
_RECEIVES = {"MPI_Recv", "MPI_Irecv"}
_WAITS = {"MPI_Wait", "MPI_Waitall"}
#: Range of tags per communicator, larger than program tags, so that equal tags in two communicators differ.
_TAGS = 1 << 32
#: Point-to-point calls for which the text does not contain the individual messages.
_REFUSED = {
    "MPI_Waitsome",
    "MPI_Testany",
    "MPI_Testsome",
    "MPI_Start",
    "MPI_Startall",
    "MPI_Sendrecv_replace",
    "MPI_Cancel",
}

Arrays = Mapping[str, tuple[int, ...]]

#: Name without `MPI_` -> bytes of one element, in order of DUMPI's numbers from 2 on (sst-dumpi, common/constants.h).
_BUILT_IN = {
    "CHAR": 1, "SIGNED_CHAR": 1, "UNSIGNED_CHAR": 1, "BYTE": 1, "WCHAR": 4, "SHORT": 2, "UNSIGNED_SHORT": 2,
    "INT": 4, "UNSIGNED": 4, "LONG": 8, "UNSIGNED_LONG": 8, "FLOAT": 4, "DOUBLE": 8, "LONG_DOUBLE": 16,
    "LONG_LONG_INT": 8, "UNSIGNED_LONG_LONG": 8, "LONG_LONG": 8, "PACKED": 1, "LB": 0, "UB": 0, "FLOAT_INT": 8,
    "DOUBLE_INT": 12, "LONG_INT": 12, "SHORT_INT": 6, "2INT": 8, "LONG_DOUBLE_INT": 20,
}  # fmt: skip
_BY_NAME = {f"MPI_{name}": size for name, size in _BUILT_IN.items()}
_BY_NUMBER = dict(enumerate(_BUILT_IN.values(), 2))


class Datatypes:
    """Bytes of an element, by type, for the types that one rank has used so far."""

    def __init__(self) -> None:
        self._made: dict[int, int | None] = {}

    def bytes_of(self, number: int, name: str = "") -> int | None:
        """Return the bytes of an element; None if unknown. Built-in types are identified by name, others only by number."""
        if name in _BY_NAME:
            return _BY_NAME[name]
        return self._made.get(number, None if name else _BY_NUMBER.get(number))

    def tell(self, number: int, size: int) -> None:
        """Record the size that MPI_Type_size returned."""
        self._made[number] = size

    def make(self, number: int, old: int | None, counts: Mapping[str, int], arrays: Arrays) -> None:
        """Add a derived type, with elements of `old` bytes, or of the call's array of types if it has one.

        counts: `count` and `blocklength`, 1 if the call has none. arrays: `lengths` or `blocklengths`, `subsizes`, `oldtypes`.
        """
        lengths = arrays.get("lengths", arrays.get("blocklengths"))
        if "oldtypes" in arrays:
            parts = [self.bytes_of(old_type) for old_type in arrays["oldtypes"]]
            has_sizes = lengths is not None and len(lengths) == len(parts) and None not in parts
            self._made[number] = (
                sum(n * (size or 0) for n, size in zip(lengths or (), parts, strict=True)) if has_sizes else None
            )
            return
        if "subsizes" in arrays:
            elements = prod(arrays["subsizes"])
        elif lengths is not None:
            elements = sum(lengths)
        else:
            elements = counts.get("count", 1) * counts.get("blocklength", 1)
        self._made[number] = None if old is None else elements * old


def read_dumpi(paths: list[Path], *, compute: bool = True) -> Dag:
    """Return the calls in DUMPI text (`dumpi2ascii`, one file per rank, in rank order) as a DAG.

    Blocking calls run in sequence; a non-blocking call only starts in order, and its wait blocks later operations. Time between calls becomes
    computation. A send-receive starts both and waits for both; a failed test is ignored. Collectives of MPI_COMM_WORLD, and of the communicators
    known to `dumpi_communicators`, become messages (`collective_rounds`). The DAG counts the others: unsupported and non-blocking collectives, and
    those of unknown communicators. Raise BadInput if a file has no calls or ends within one, or contains wildcard receives, persistent requests,
    messages in communicators with unknown ranks, or data types of unknown size. The message contains file and line.
    """
    dag = Dag(len(paths))
    new_communicators = read_communicators([_maker_text(read_text(path)) for path in paths])
    for rank, path in enumerate(paths):
        _read_dumpi_rank(dag, rank, path, compute, new_communicators[rank])
    return dag


def _maker_text(text: str) -> str:
    """Return the text, or an empty text if it creates no communicator, so that most files need no second pass."""
    return text if any(f"{name} entering" in text for name in MAKERS) else ""


def read_dumpi_folder(folder: Path) -> Dag:
    """The DUMPI text of one run: the folder's `*.txt` files, whose names end in their rank (`dumpi-...-0003.txt`); they can be compressed. Raise
    BadInput if files are missing, unreadable, or not DUMPI text."""
    ranks: dict[int, Path] = {}
    for path in sorted(folder.iterdir()):
        text = _TEXT.fullmatch(path.name)
        if text is None:
            continue
        number = re.search(r"([0-9]+)$", text[1])
        if number is None or int(number[1]) in ranks:
            raise BadInput("the file name does not end in a unique rank", where=str(path))
        ranks[int(number[1])] = path
    if not ranks or sorted(ranks) != list(range(len(ranks))):
        missing = next((r for r in range(len(ranks)) if r not in ranks), 0)
        raise BadInput(
            f"the DUMPI text of rank {missing} is missing",
            where=str(folder),
            advice="Make one file per rank with dumpi2ascii: NAME-0000.txt, NAME-0001.txt, ...",
        )
    try:
        dag = read_dumpi([ranks[r] for r in range(len(ranks))])
    except OSError as bad:
        raise BadInput(f"cannot read the DUMPI text: {bad}", where=str(folder)) from bad
    if not dag.kind:
        raise BadInput("there are no messages in DUMPI text", where=str(folder))
    return dag


class _Rank:
    """Converter of one rank's calls into operations."""

    def __init__(self, dag: Dag, rank: int, path: Path, compute: bool, made: deque[Communicator | None]) -> None:
        self._dag, self._rank, self._path, self._compute = dag, rank, path, compute
        self._made = made  # results of the calls that create communicators, in order
        world = Communicator(0, tuple(range(dag.ranks)))
        self._communicators = {WORLD: world, SELF: Communicator(-1, (rank,))}
        self._datatypes = Datatypes()
        self._last: int | None = None  # the operation that the next one waits for
        self._requests: dict[int, int] = {}
        self._collectives: dict[int, int] = {}  # count so far by communicator: the same number on every rank
        self._left_at: float | None = None
        self._enter_call("", 0)

    def _enter_call(self, call: str, line: int) -> None:
        self.call, self._line = call, line
        self._fields: dict[str, int] = {}
        self._types: dict[str, tuple[int, str]] = {}
        self._comms: dict[str, int] = {}
        self._arrays: dict[str, tuple[int, ...]] = {}
        self._waited: list[int] = []

    def entered(self, call: str, at_s: float, line: int) -> None:
        self._enter_call(call, line)
        if call in _REFUSED:
            raise BadInput(
                f"{call} cannot be replayed",
                where=self._line_reference(),
                advice="Its text does not identify the messages.",
            )
        if self._compute and self._left_at is not None and at_s > self._left_at:
            gap_s = at_s - self._left_at
            if gap_s > _LONGEST_GAP_S:
                raise BadInput(f"{gap_s:g} s between two calls", where=self._line_reference())
            self._last = self._chain_operation(self._dag.add(OpKind.COMPUTE, self._rank, round(gap_s * 1e9), line=line))

    def field(self, line: str, number: int) -> None:
        """Read one line between a call's entry and its return."""
        if parts := _TYPE.match(line):
            self._types[parts[1]] = int(parts[2]), parts[3]
        elif re.match(r"\s*MPI_Request", line):
            self._waited += [int(v) for v in re.findall(r"-?[0-9]{1,18}", line.partition("=")[2])]
        elif parts := _COMMUNICATOR.match(line):
            self._comms[parts[1]] = int(parts[2])
        elif parts := _ARRAY.match(line):
            self._arrays[parts[1]] = tuple(int(text) for text in parts[2].split(","))
        elif parts := _FIELD.match(line):
            self._fields[parts[1]] = int(parts[2])
            if "MPI_PROC_NULL" in line:
                self._fields[parts[1]] = _NOBODY

    def left(self, at_s: float) -> None:
        self._left_at = at_s
        call = self.call
        if call == "MPI_Comm_size" and self._comms.get("comm") == WORLD:
            self._check_size(self._fields.get("size", 0))
        if call in MAKERS:
            self._new_communicator()
        elif call == "MPI_Type_size" and "datatype" in self._types and "size" in self._fields:
            self._datatypes.tell(self._types["datatype"][0], self._fields["size"])
        elif "newtype" in self._types:
            old = self._datatypes.bytes_of(*self._types["oldtype"]) if "oldtype" in self._types else None
            self._datatypes.make(self._types["newtype"][0], old, self._fields, self._arrays)
        elif call in _SENDS:
            self._start_operation(
                self._add_message(OpKind.SEND, "dest", "tag", "count", "datatype"), call.startswith("MPI_I")
            )
        elif call in _RECEIVES:
            self._start_operation(
                self._add_message(OpKind.RECEIVE, "source", "tag", "count", "datatype"), call.startswith("MPI_I")
            )
        elif call == "MPI_Sendrecv":
            both = (
                self._add_message(OpKind.RECEIVE, "source", "recvtag", "recvcount", "recvtype"),
                self._add_message(OpKind.SEND, "dest", "sendtag", "sendcount", "sendtype"),
            )
            self._wait_for([op for op in both if op is not None])
        elif call in _WAITS or (call in ("MPI_Test", "MPI_Testall") and self._fields.get("flag", 0)):
            self._complete_requests(self._waited)
        elif call == "MPI_Waitany":
            index = self._fields.get("index", -1)
            self._complete_requests(self._waited[index : index + 1] if index >= 0 else [])
        elif call in COLLECTIVES:
            self._add_collective(call)
        self._enter_call("", 0)

    def _check_size(self, size: int) -> None:
        """Refuse a trace that lacks files of the last ranks, or has files of another run."""
        ranks = self._dag.ranks
        if size > ranks:
            missing = (
                f"the files of ranks {ranks} to {size - 1} are" if size - ranks > 1 else f"the file of rank {ranks} is"
            )
            raise BadInput(f"{missing} missing (MPI_Comm_size says {size})", where=self._line_reference())
        if 0 < size < ranks:
            raise BadInput(
                f"MPI_Comm_size says {size}, and there are files of {ranks} ranks",
                where=self._line_reference(),
                advice="Remove the files of other runs.",
            )

    def _new_communicator(self) -> None:
        new = self._comms.get("newcomm")
        communicator = self._made.popleft() if self._made else None
        if new is not None and new not in (WORLD, SELF):
            self._communicators.pop(new, None)
            if communicator is not None:
                self._communicators[new] = communicator

    def _call_communicator(self) -> Communicator | None:
        """Return this call's communicator; None if its ranks are unknown."""
        return self._communicators.get(self._comms.get("comm", WORLD))

    def _add_collective(self, name: str) -> None:
        """Add a collective as messages of its rounds, or count it as omitted."""
        to, came = self._by_peer("send"), self._by_peer("recv")
        sent_bytes = (
            self._message_bytes("sendcount", "sendtype")
            if "sendcount" in self._fields
            else self._message_bytes("count", "datatype")
        )
        received = self._message_bytes("recvcount", "recvtype")
        communicator = self._call_communicator()
        rounds = None
        if communicator is not None and self._rank in communicator.members:
            ranks, root = len(communicator.members), self._fields.get("root", 0)
            call = Call(communicator.members.index(self._rank), ranks, root, sent_bytes, received, to, came)
            if not 0 <= root < ranks or min(sent_bytes, received) < 0:
                raise BadInput(f"{name} names root {root} or a size below 0", where=self._line_reference())
            has_all_sizes = name != "MPI_Alltoallv" or len(to) == len(came) == ranks
            rounds = rounds_of(name, call) if has_all_sizes else None
        (self._dag.left_out if rounds is None else self._dag.expanded)[name].add(sum(to) or sent_bytes)
        if rounds is None or communicator is None:
            return
        turn = self._collectives[communicator.number] = self._collectives.get(communicator.number, 0) + 1
        tag = -(
            turn + _TAGS * communicator.number
        )  # not a program's tag; rounds between the same two ranks are sequential
        for step in rounds:
            ops = [
                self._chain_operation(
                    self._dag.add(kind, self._rank, size, communicator.members[peer], tag, self._line)
                )
                for kind, messages in ((OpKind.RECEIVE, step.receives), (OpKind.SEND, step.sends))
                for peer, size in messages
            ]
            self._wait_for(ops)

    def _by_peer(self, prefix: str) -> tuple[int, ...]:
        """Return bytes to or from each rank, if the call has a count for each."""
        counts = self._arrays.get(f"{prefix}counts", ())
        return (
            tuple(count * self._element_bytes(f"{prefix}type") for count in counts)
            if any(counts)
            else (0,) * len(counts)
        )

    def _message_bytes(self, count: str, type_: str) -> int:
        elements = self._fields.get(count, 0)
        return elements * self._element_bytes(type_) if elements else 0

    def _element_bytes(self, type_: str) -> int:
        """Return the bytes of an element; a call without a data type counts in bytes."""
        if type_ not in self._types:
            return 1
        number, name = self._types[type_]
        if (size := self._datatypes.bytes_of(number, name)) is None:
            raise BadInput(
                f"{self.call}: the size of data type {number} ({name}) is unknown",
                where=self._line_reference(),
                advice="The text must contain the call that creates the type.",
            )
        return size

    def _add_message(self, kind: OpKind, peer_field: str, tag: str, count: str, type_: str) -> int | None:
        """Return the operation of one message; None if it has no peer."""
        peer = self._fields.get(peer_field, -1)
        if peer == _NOBODY:
            return None
        if (communicator := self._call_communicator()) is None:
            raise BadInput(
                f"{self.call} uses a communicator whose ranks are unknown",
                where=self._line_reference(),
                advice="Only MPI_COMM_WORLD, its duplicates, splits, and grids without reordering are known.",
            )
        if peer < 0:
            raise BadInput(
                f"{self.call} receives from any rank",
                where=self._line_reference(),
                advice="Wildcard receives cannot be replayed.",
            )
        if peer >= len(communicator.members):
            raise BadInput(
                f"{self.call} names rank {peer} of {len(communicator.members)}",
                where=self._line_reference(),
                advice="Check that the files of all ranks exist.",
            )
        if (size := self._message_bytes(count, type_)) < 0:
            raise BadInput(f"{self.call} moves {size} bytes", where=self._line_reference())
        mark = max(self._fields.get(tag, 0), 0) + _TAGS * communicator.number
        return self._chain_operation(
            self._dag.add(kind, self._rank, size, communicator.members[peer], mark, self._line)
        )

    def end(self) -> None:
        """Handle the file's end: raise BadInput if it is within a call, because the rest is missing."""
        if self.call:
            raise BadInput(
                f"the file ends within {self.call}",
                where=self._line_reference(),
                advice="Make it again: dumpi2ascii -S FILE.bin > FILE.txt",
            )

    def _start_operation(self, op: int | None, returns_at_once: bool) -> None:
        if op is None:
            return
        if returns_at_once:
            self._requests[self._waited[0] if self._waited else -1] = op
        else:
            self._last = op

    def _complete_requests(self, requests: list[int]) -> None:
        self._wait_for([self._requests.pop(r) for r in requests if r in self._requests])

    def _wait_for(self, ops: list[int]) -> None:
        if ops:
            end = self._chain_operation(self._dag.add(OpKind.COMPUTE, self._rank, 0, line=self._line))
            self._dag.requires += [(end, op) for op in ops]
            self._last = end

    def _chain_operation(self, op: int) -> int:
        if self._last is not None:
            self._dag.requires.append((op, self._last))
        return op

    def _line_reference(self) -> str:
        return f"{self._path}:{self._line}"


def _read_dumpi_rank(dag: Dag, rank: int, path: Path, compute: bool, made: deque[Communicator | None]) -> None:
    reader = _Rank(dag, rank, path, compute, made)
    calls = 0
    for number, line in enumerate(read_text(path).splitlines(), 1):
        if parts := _ENTERED.match(line):
            reader.entered(parts[1], float(parts[2]), number)
            calls += 1
        elif parts := _LEFT.match(line):
            reader.left(float(parts[2]))
        elif reader.call:
            reader.field(line, number)
    reader.end()
    if not calls:
        raise BadInput(
            "contains no MPI call", where=str(path), advice="Create the file again: dumpi2ascii -S FILE.bin > FILE.txt"
        )
