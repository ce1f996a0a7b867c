"""Messages in rounds, the form of all generated patterns, and their operations.

A rank runs through rounds. A round ends when the rank's sends and receives of that round are complete and its computation is done. A
message can be sent in one round of its source and received in another round of its destination, which suffices for wavefronts and trees.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from flitwatch_core.packet import NO_LINK, OpKind, Ops
from flitwatch_domain.errors import BadRequest
from flitwatch_routing.traces.dag import Dag

Ints = NDArray[np.int64]
#: The engine numbers jobs in 8 bits; one number is reserved for background traffic.
_MOST_JOBS = 254


@dataclass(frozen=True)
class Messages:
    """Point-to-point messages of one job; arrays of length M.

    Attributes
    ----------
    src, dst : int[M]
        Ranks.
    size_bytes : int[M]
    send_round, recv_round : int[M]
    compute_ns : int, int[rounds] or int[ranks, rounds]
        Computation at the end of a round: common, by round, or by rank and round.
    """

    ranks: int
    src: Ints
    dst: Ints
    size_bytes: Ints
    send_round: Ints
    recv_round: Ints
    rounds: int
    compute_ns: int | Ints = 0

    @property
    def total_bytes(self) -> int:
        return int(self.size_bytes.sum())

    def scaled(self, factor: float) -> Messages:
        """Return the messages with sizes times `factor`, at least one byte each."""
        return replace(self, size_bytes=np.maximum(1, np.rint(self.size_bytes * factor)).astype(np.int64))

    def per_rank(self, wanted_bytes: float) -> Messages:
        """Return the messages scaled so that a rank sends `wanted_bytes` on average."""
        return self.scaled(wanted_bytes * self.ranks / max(self.total_bytes, 1))

    def chosen(self, which: NDArray[np.bool_]) -> Messages:
        """Return the messages with `which` (M,) true, in the same rounds."""
        columns = {
            name: getattr(self, name)[which] for name in ("src", "dst", "size_bytes", "send_round", "recv_round")
        }
        return replace(self, **columns)

    def then(self, other: Messages) -> Messages:
        """Return these messages followed by those of `other`, with the same ranks: its first round follows the last of these."""
        columns = {
            name: np.concatenate([getattr(self, name), getattr(other, name) + (self.rounds if "round" in name else 0)])
            for name in ("src", "dst", "size_bytes", "send_round", "recv_round")
        }
        compute = np.concatenate(
            [np.broadcast_to(np.asarray(m.compute_ns, np.int64), (self.ranks, m.rounds)) for m in (self, other)], axis=1
        )
        return Messages(self.ranks, rounds=self.rounds + other.rounds, compute_ns=compute, **columns)

    def matrix(self) -> tuple[Ints, Ints, Ints]:
        """Return (src, dst, bytes) with one entry per pair."""
        key, inverse = np.unique(self.src * self.ranks + self.dst, return_inverse=True)
        return key // self.ranks, key % self.ranks, np.bincount(inverse, weights=self.size_bytes).astype(np.int64)


def repeat_messages(messages: Messages, times: int) -> Messages:
    """Return the messages several times, one after the other."""
    result = messages
    for _ in range(times - 1):
        result = result.then(messages)
    return result


def in_rounds(
    ranks: int, rounds: Sequence[tuple[ArrayLike, ArrayLike, ArrayLike]], compute_ns: int | Ints = 0
) -> Messages:
    """Return messages from rounds (src, dst, bytes), each sent and received in its round; bytes can be a scalar."""
    if not rounds:
        raise BadRequest("a pattern has no rounds", advice="Use more ranks or bytes.")
    src = [np.asarray(s, np.int64).ravel() for s, _, _ in rounds]
    dst = [np.asarray(d, np.int64).ravel() for _, d, _ in rounds]
    size = [np.broadcast_to(np.asarray(b, np.int64), s.shape) for s, (_, _, b) in zip(src, rounds, strict=True)]
    number = np.repeat(np.arange(len(rounds)), [s.size for s in src])
    return Messages(
        ranks, np.concatenate(src), np.concatenate(dst), np.concatenate(size), number, number, len(rounds), compute_ns
    )


def to_ops(
    jobs: Sequence[tuple[Messages, NDArray[np.integer]]], modes: Sequence[NDArray[np.uint8] | None] | None = None
) -> Ops:
    """Return the operations of several jobs, each given with the endpoint of every rank.

    Parameters
    ----------
    jobs : list of (Messages, int[ranks])
    modes : list of uint8[M] or None, optional
        Routing mode of each message, by job.
    """
    if len(jobs) > _MOST_JOBS:
        raise BadRequest(f"there are {len(jobs)} jobs; at most {_MOST_JOBS} run together")
    parts = [_ops_of(messages) for messages, _ in jobs]
    for messages, endpoints in jobs:
        if len(endpoints) != messages.ranks:
            raise BadRequest(f"{messages.ranks} ranks were placed on {len(endpoints)} endpoints")
    ranks = np.cumsum([0, *(m.ranks for m, _ in jobs)])
    counts = np.cumsum([0, *(p.kind.size for p in parts)])
    edges = np.cumsum([0, *(p.required.size for p in parts)])
    mode = np.empty(0, np.uint8)
    if modes is not None and any(m is not None for m in modes):
        if any(m is None for m in modes):
            raise BadRequest("routing modes were given only for some jobs")
        # Sends come first in a job's operations.
        mode = np.concatenate(
            [
                np.concatenate([np.asarray(m, np.uint8), np.zeros(p.kind.size - np.size(m), np.uint8)])
                for m, p in zip(modes, parts, strict=True)
                if m is not None
            ]
        )
    return Ops(
        kind=np.concatenate([p.kind for p in parts]),
        rank=np.concatenate([p.rank + np.uint32(r) for p, r in zip(parts, ranks, strict=False)]),
        match=np.concatenate(
            [np.where(p.match == NO_LINK, NO_LINK, p.match + np.uint32(c)) for p, c in zip(parts, counts, strict=False)]
        ).astype(np.uint32),
        amount=np.concatenate([p.amount for p in parts]),
        requires_begin=np.concatenate(
            [np.zeros(1, np.uint32), *(p.requires_begin[1:] + np.uint32(e) for p, e in zip(parts, edges, strict=False))]
        ),
        required=np.concatenate([p.required + np.uint32(c) for p, c in zip(parts, counts, strict=False)]),
        endpoint_of_rank=np.concatenate([np.asarray(e, np.uint32) for _, e in jobs]),
        job_of_rank=np.repeat(np.arange(len(jobs), dtype=np.uint8), [m.ranks for m, _ in jobs]),
        mode=mode,
    )


def _ops_of(messages: Messages) -> Ops:
    """Return sends, then receives, then one computation (possibly 0 ns) per rank and round, which ends the round."""
    m, ranks, rounds = messages.src.size, messages.ranks, messages.rounds
    ends = ranks * rounds
    compute = np.broadcast_to(np.asarray(messages.compute_ns, np.uint64), (ranks, rounds)).reshape(-1)
    end_of_send = 2 * m + messages.src * rounds + messages.send_round
    end_of_recv = 2 * m + messages.dst * rounds + messages.recv_round
    end_rank, end_round = np.divmod(np.arange(ends), rounds)
    later = np.flatnonzero(end_round > 0)
    # An operation waits for the previous round's end; an end waits for its operations and the previous end.
    before = np.concatenate([messages.send_round > 0, messages.recv_round > 0])
    own_end = np.concatenate([end_of_send, end_of_recv])
    waiting = np.concatenate([np.flatnonzero(before), own_end, 2 * m + later])
    awaited = np.concatenate([own_end[before] - 1, np.arange(2 * m), 2 * m + later - 1])
    order = np.argsort(waiting, kind="stable")
    begin = np.concatenate([[0], np.cumsum(np.bincount(waiting, minlength=2 * m + ends))])
    return Ops(
        kind=np.repeat(np.array([OpKind.SEND, OpKind.RECEIVE, OpKind.COMPUTE], np.uint8), [m, m, ends]),
        rank=np.concatenate([messages.src, messages.dst, end_rank]).astype(np.uint32),
        match=np.concatenate([m + np.arange(m), np.full(m + ends, NO_LINK)]).astype(np.uint32),
        amount=np.concatenate([messages.size_bytes, messages.size_bytes, compute]).astype(np.uint64),
        requires_begin=begin.astype(np.uint32),
        required=awaited[order].astype(np.uint32),
        endpoint_of_rank=np.empty(0, np.uint32),
        job_of_rank=np.empty(0, np.uint8),
    )


#: Ranks per node if they divide all ranks: the number of accelerators in a current server.
NODE_RANKS = 8

_Round = tuple[Ints, Ints, int]


def ring_allreduce(ranks: int, size: int) -> Messages:
    """Return 2 (n - 1) rounds in which every rank sends a piece to the next: first reduce-scatter, then all-gather."""
    here = np.arange(ranks)
    rounds = 2 * (ranks - 1)
    return in_rounds(ranks, [(here, (here + 1) % ranks, _piece_bytes(size, rounds))] * rounds)


def tree_allreduce(ranks: int, size: int) -> Messages:
    """Return a binomial tree to rank 0 and back with whole vectors: 2 ceil(log2 n) rounds, with 2 (n - 1) vectors in total."""
    whole = max(1, round(size * ranks / (2 * (ranks - 1))))
    up: list[_Round] = []
    for k in range((ranks - 1).bit_length()):
        sender = np.arange(1 << k, ranks, 2 << k)
        up.append((sender, sender - (1 << k), whole))
    down = [(dst, src, whole) for src, dst, _ in reversed(up)]
    return in_rounds(ranks, up + down)


def hierarchical_allreduce(ranks: int, size: int) -> Messages:
    """Return a ring within each node of g ranks, then between nodes among corresponding ranks, then within nodes again.

    g is the largest number up to `NODE_RANKS` that divides `ranks`. Every rank sends as much as in one ring over all ranks. Only
    the middle part leaves the node: with m nodes, the share (m - 1) / (n - 1).
    """
    node = next(g for g in range(min(NODE_RANKS, ranks), 0, -1) if ranks % g == 0)
    nodes = ranks // node
    here = np.arange(ranks)
    within = here // node * node + (here % node + 1) % node
    between = (here + node) % ranks
    # For a vector of V bytes, a rank sends V / g per round within a node and V / n per round between nodes: 2 V (n - 1) / n in total.
    small = _piece_bytes(size, 2 * (ranks - 1))
    inner: list[_Round] = [(here, within, small * nodes)] * (node - 1)
    outer: list[_Round] = [(here, between, small)] * (2 * (nodes - 1))
    return in_rounds(ranks, inner + outer + inner)


def expert_alltoall(ranks: int, size: int) -> Messages:
    """Return two pairwise exchanges: every rank sends equal parts to the experts of all others, which send the same amount back."""
    here = np.arange(ranks)
    part = _piece_bytes(size, 2 * (ranks - 1))
    out: list[_Round] = [(here, (here + k) % ranks, part) for k in range(1, ranks)]
    back: list[_Round] = [(dst, src, part) for src, dst, _ in out]
    return in_rounds(ranks, out + back)


def _piece_bytes(size: int, rounds: int) -> int:
    return max(1, round(size / rounds))


def messages_of(dag: Dag) -> Messages:
    """Return each message in the earliest rounds of its source and destination after everything it waits for.

    Computation ends its round. Rounds delay operations that can overlap in the trace, so a replay by rounds is not faster. Raise BadInput; see
    `Dag.to_ops`.
    """
    ops = dag.to_ops(np.arange(dag.ranks))
    begin, required, match = ops.requires_begin.tolist(), ops.required.tolist(), ops.match.tolist()
    count = len(match)
    later: dict[int, list[int]] = defaultdict(list)
    waits = [begin[op + 1] - begin[op] for op in range(count)]
    for op in range(count):
        for earlier in required[begin[op] : begin[op + 1]]:
            later[earlier].append(op)
        if match[op] != NO_LINK:
            later[op].append(match[op])
            waits[match[op]] += 1
    starts, over = [0] * count, [0] * count
    ready = deque(op for op in range(count) if not waits[op])
    sends_round: dict[int, int] = {}
    while ready:
        op = ready.popleft()
        starts[op] = max((over[earlier] for earlier in required[begin[op] : begin[op + 1]]), default=0)
        if dag.kind[op] == OpKind.RECEIVE:
            starts[op] = max(starts[op], sends_round.get(op, 0))
        joins = dag.kind[op] == OpKind.COMPUTE and not dag.amount[op]
        over[op] = starts[op] + (not joins)
        if match[op] != NO_LINK:
            sends_round[match[op]] = starts[op]
        for following in later[op]:
            waits[following] -= 1
            if not waits[following]:
                ready.append(following)
    return _in_rounds(dag, np.array(match), np.array(starts))


def _in_rounds(dag: Dag, match: np.ndarray, starts: np.ndarray) -> Messages:
    kind, rank, amount = np.array(dag.kind), np.array(dag.rank), np.array(dag.amount, np.int64)
    send, compute = np.flatnonzero(kind == OpKind.SEND), np.flatnonzero(kind == OpKind.COMPUTE)
    rounds = int(starts.max(initial=0)) + 1
    compute_ns = np.zeros((dag.ranks, rounds), np.int64)
    np.add.at(compute_ns, (rank[compute], starts[compute]), amount[compute])
    columns = rank[send], np.array(dag.peer)[send], np.maximum(amount[send], 1), starts[send], starts[match[send]]
    return Messages(dag.ranks, *columns, rounds=rounds, compute_ns=compute_ns)
