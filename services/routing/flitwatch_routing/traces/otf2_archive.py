"""OTF2 archives (Score-P's MPI traces) as message DAGs, through the `otf2` package."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any

from flitwatch_core.packet import OpKind
from flitwatch_domain.errors import BadInput
from flitwatch_routing.traces.collective_rounds import Call, rounds_of
from flitwatch_routing.traces.dag import Dag

#: Range of tags per communicator, larger than program tags, so that equal tags in two communicators differ.
_TAGS = 1 << 32
_NO_RANK = 2**32 - 3  # from here on: no root, the rank itself, a rank of the other group


def read_otf2(anchor: Path) -> Dag:
    """Return the MPI events of an archive (its `.otf2` anchor file) as operations.

    Time between MPI events becomes computation, except inside MPI regions, whose waiting time the replay reproduces. A non-blocking call only starts;
    its completion blocks later operations. Collectives of every intra-communicator become messages (`collective_rounds`). Other operations are
    counted in `left_out`, with their bytes: unsupported collectives, collectives with counts by peer, which an archive does not contain, and
    one-sided operations. Raise BadInput if the file is not an archive, or locations are not ranks. Raise ModuleNotFoundError if the `otf2` package is
    not installed.
    """
    import _otf2
    import otf2

    try:
        with otf2.reader.open(str(anchor)) as trace:
            return _Reader(otf2, trace, anchor).read()
    except (otf2.error.Error, _otf2.Error) as bad:
        raise BadInput(f"is not a readable OTF2 archive: {bad}", where=str(anchor)) from bad


class _Rank:
    """Converter of one rank's events into operations."""

    def __init__(self, rank: int) -> None:
        self.rank = rank
        self.last: int | None = None
        self.left_at: int | None = None
        self.depth = 0  # nesting of MPI regions
        self.requests: dict[int, int] = {}
        self.posted: dict[int, int] = {}


class _Reader:
    """Events of all ranks in order of time."""

    def __init__(self, otf2: Any, trace: Any, anchor: Path) -> None:
        self._otf2, self._trace, self._anchor = otf2, trace, anchor
        self._locations = _number_ranks(otf2, trace, anchor)
        self._dag = Dag(len(self._locations))
        self._ranks = {location: _Rank(number) for location, number in self._locations.items()}
        self._collectives: dict[tuple[int, int], int] = defaultdict(int)
        self._resolution = trace.timer_resolution
        self._number = 0
        # The package has no names for these values.
        kinds = [name for name in dir(otf2.CollectiveOp) if name.isupper()]
        self._operation = {getattr(otf2.CollectiveOp, name): f"MPI_{name.capitalize()}" for name in kinds}

    def read(self) -> Dag:
        """Return the operations of the whole archive."""
        events = self._otf2.events
        handle = {
            events.Enter: self._enter_region,
            events.Leave: self._leave_region,
            events.MpiSend: self._add_send,
            events.MpiIsend: self._add_isend,
            events.MpiIsendComplete: self._complete_isend,
            events.MpiRecv: self._add_receive,
            events.MpiIrecvRequest: self._post_receive,
            events.MpiIrecv: self._complete_irecv,
            events.MpiCollectiveEnd: self._add_collective,
            events.NonBlockingCollectiveComplete: self._non_blocking,
            events.RmaPut: self._one_sided,
            events.RmaGet: self._one_sided,
        }
        for location, event in self._trace.events:
            self._number += 1
            if (rank := self._ranks.get(location)) is not None and (handler := handle.get(type(event))) is not None:
                handler(rank, event)
        if not self._dag.kind:
            raise BadInput("there are no messages in the archive", where=str(self._anchor))
        return self._dag

    def _enter_region(self, rank: _Rank, event: Any) -> None:
        if not self._is_mpi(event.region):
            return
        if rank.depth == 0 and rank.left_at is not None:
            gap_ns = round((event.time - rank.left_at) / self._resolution * 1e9)
            if gap_ns > 0:
                rank.last = self._add_operation(rank, OpKind.COMPUTE, gap_ns)
        rank.depth += 1

    def _leave_region(self, rank: _Rank, event: Any) -> None:
        if self._is_mpi(event.region):
            rank.depth -= 1
            rank.left_at = event.time

    def _is_mpi(self, region: Any) -> bool:
        return bool(region.paradigm == self._otf2.Paradigm.MPI or str(region.name).startswith("MPI_"))

    def _add_send(self, rank: _Rank, event: Any) -> None:
        rank.last = self._add_message(rank, OpKind.SEND, event.receiver, event)

    def _add_isend(self, rank: _Rank, event: Any) -> None:
        rank.requests[event.request_id] = self._add_message(rank, OpKind.SEND, event.receiver, event)

    def _add_receive(self, rank: _Rank, event: Any) -> None:
        rank.last = self._add_message(rank, OpKind.RECEIVE, event.sender, event)

    def _post_receive(self, rank: _Rank, event: Any) -> None:
        """Record the position of a receive; the archive contains the sender only at its completion."""
        rank.posted[event.request_id] = self._add_operation(rank, OpKind.COMPUTE, 0)

    def _complete_irecv(self, rank: _Rank, event: Any) -> None:
        after = rank.posted.pop(event.request_id, rank.last)
        came = self._add_message(rank, OpKind.RECEIVE, event.sender, event, after)
        self._wait_for(rank, [came])

    def _complete_isend(self, rank: _Rank, event: Any) -> None:
        if (op := rank.requests.pop(event.request_id, None)) is not None:
            self._wait_for(rank, [op])

    def _one_sided(self, rank: _Rank, event: Any) -> None:
        self._dag.left_out[type(event).__name__].add(int(event.bytes))

    def _non_blocking(self, rank: _Rank, event: Any) -> None:
        name = self._operation[event.collective_op].removeprefix("MPI_").lower()
        self._dag.left_out[f"MPI_I{name}"].add(int(event.size_sent))

    def _add_collective(self, rank: _Rank, event: Any) -> None:
        """Add a collective as messages of its rounds, between the ranks of its communicator."""
        name = self._operation[event.collective_op]
        members = self._member_ranks(event.communicator)
        rounds = None
        if members is not None and rank.rank in members:
            at, size = members.index(rank.rank), len(members)
            root = at if event.root >= _NO_RANK else int(event.root)
            sent_bytes, received = _block_bytes(name, size, at == root, int(event.size_sent), int(event.size_received))
            rounds = rounds_of(name, Call(at, size, root, sent_bytes, received)) if name not in _BY_PEER else None
        (self._dag.left_out if rounds is None else self._dag.expanded)[name].add(int(event.size_sent))
        if rounds is None or members is None:
            return
        key = event.communicator._ref, rank.rank
        self._collectives[key] += 1
        tag = -(self._collectives[key] + _TAGS * event.communicator._ref)
        for step in rounds:
            ops = [self._add_operation(rank, OpKind.RECEIVE, size, members[peer], tag) for peer, size in step.receives]
            ops += [self._add_operation(rank, OpKind.SEND, size, members[peer], tag) for peer, size in step.sends]
            self._wait_for(rank, ops)

    def _member_ranks(self, communicator: Any) -> list[int] | None:
        """Return the ranks of a communicator in its order; None for an inter-communicator."""
        if not hasattr(communicator, "group"):
            return None
        return [self._locations[location] for location in communicator.group.members]

    def _add_message(self, rank: _Rank, kind: OpKind, peer: int, event: Any, after: int | None = None) -> int:
        members = self._member_ranks(event.communicator)
        if members is None or peer >= len(members):
            raise BadInput(
                f"a message goes to rank {peer} of another group",
                where=f"{self._anchor}, event {self._number}",
                advice="Messages between groups cannot be replayed.",
            )
        tag = int(event.msg_tag) + _TAGS * event.communicator._ref
        return self._add_operation(rank, kind, int(event.msg_length), members[peer], tag, after)

    def _wait_for(self, rank: _Rank, ops: list[int]) -> None:
        if ops:
            end = self._add_operation(rank, OpKind.COMPUTE, 0)
            self._dag.requires += [(end, op) for op in ops]
            rank.last = end

    def _add_operation(
        self, rank: _Rank, kind: OpKind, amount: int, peer: int = 0, tag: int = 0, after: int | None = None
    ) -> int:
        op = self._dag.add(kind, rank.rank, amount, peer, tag, self._number)
        before = rank.last if after is None else after
        if before is not None:
            self._dag.requires.append((op, before))
        return op


#: Collectives with counts by peer: an archive contains only the sums.
_BY_PEER = {"MPI_Alltoallv", "MPI_Alltoallw", "MPI_Gatherv", "MPI_Scatterv", "MPI_Allgatherv"}


def _number_ranks(otf2: Any, trace: Any, anchor: Path) -> dict[Any, int]:
    """Return the MPI ranks' locations with their numbers in communicators."""
    for group in trace.definitions.groups:
        if group.group_type == otf2.GroupType.COMM_LOCATIONS and group.paradigm == otf2.Paradigm.MPI:
            return {location: number for number, location in enumerate(group.members)}
    raise BadInput("names no MPI ranks", where=str(anchor), advice="Trace an MPI program, for example with Score-P.")


def _block_bytes(name: str, ranks: int, is_root: bool, sent: int, received: int) -> tuple[int, int]:
    """Return (sent, received) bytes of one block from Score-P's sums over peers; an in-place root counts all ranks except itself."""
    if name in ("MPI_Gather", "MPI_Reduce"):
        block = received // (ranks if sent else max(ranks - 1, 1)) if is_root else sent
    elif name in ("MPI_Bcast", "MPI_Scatter"):
        block = sent // (ranks if received else max(ranks - 1, 1)) if is_root else received
    else:
        block = sent // ranks
    return block, block
