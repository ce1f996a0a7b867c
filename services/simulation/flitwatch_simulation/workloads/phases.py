"""A trace's operations as messages in rounds (phases), for replays with several jobs and counters by time slot."""

from __future__ import annotations

from collections import defaultdict, deque

import numpy as np

from flitwatch_core.packet import NO_LINK, OpKind
from flitwatch_routing.traces.dag import Dag
from flitwatch_simulation.workloads.messages import Messages


def messages_of(dag: Dag) -> Messages:
    """Return each message in the earliest rounds of its source and destination after everything it waits for.

    Computation ends its round. Rounds delay operations that can overlap in the trace, so a replay by rounds is not faster.

    Raises
    ------
    BadInput
        See `Dag.to_ops`.
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
