"""Conversion of a trace to operations, to a matrix, and to a summary with the omitted calls."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TypedDict

import numpy as np
from numpy.typing import NDArray

from flitwatch_core.packet import OpKind
from flitwatch_domain.errors import BadInput
from flitwatch_domain.secret_file import local_path
from flitwatch_routing.matrices import read_beginning
from flitwatch_routing.traces.dag import CallCount, Dag, is_dag, read_dag
from flitwatch_routing.traces.dumpi import read_dumpi_folder
from flitwatch_routing.traces.otf2_archive import read_otf2

Ints = NDArray[np.int64]


class Calls(TypedDict):
    """Calls over all ranks, and their sent bytes."""

    calls: int
    bytes: int


class TraceAccount(TypedDict):
    """Result of converting a trace.

    Attributes
    ----------
    messages, bytes : totals of all ranks, including expanded collectives
    computation_s : total of all ranks
    expanded, left_out : collectives by name; omitted ones send nothing in a replay
    """

    ranks: int
    messages: int
    bytes: int
    computation_s: float
    expanded: dict[str, Calls]
    left_out: dict[str, Calls]
    left_out_bytes: int


def read_trace(path: Path) -> Dag:
    """Return the operations of a folder with DUMPI text or an OTF2 archive, of an archive's anchor file, or of a message DAG (ours, or GOAL text).

    Raises the errors of the readers.
    """
    if path.is_dir():
        anchors = sorted(path.glob("*.otf2"))
        if len(anchors) > 1:
            raise BadInput("contains several OTF2 archives", where=str(path), advice="Name the .otf2 file.")
        return read_otf2(anchors[0]) if anchors else read_dumpi_folder(path)
    return read_otf2(path) if path.suffix == ".otf2" else read_dag(path)


def is_trace(path: Path) -> bool:
    """Return whether a path is a trace: a folder, an OTF2 anchor, or a text that begins like a message DAG."""
    if path.is_dir() or path.suffix == ".otf2":
        return True
    return path.is_file() and is_dag(read_beginning(path))


def summarise_trace(dag: Dag) -> TraceAccount:
    """Summarise the converted and the omitted parts of a trace."""
    kind, amount = np.array(dag.kind), np.array(dag.amount, np.float64)
    sends = kind == OpKind.SEND
    left_out = _calls_by_name(dag.left_out)
    return {
        "ranks": dag.ranks,
        "messages": int(sends.sum()),
        "bytes": int(amount[sends].sum()),
        "computation_s": float(amount[kind == OpKind.COMPUTE].sum() * 1e-9),
        "expanded": _calls_by_name(dag.expanded),
        "left_out": left_out,
        "left_out_bytes": sum(calls["bytes"] for calls in left_out.values()),
    }


def summarise_traces(names: Iterable[str]) -> list[TraceAccount]:
    """Return the summary of each name that is the path of a trace, in order."""
    paths = [local_path(name) for name in names]
    return [
        summarise_trace(read_trace(path)) for path in paths if path is not None and path.exists() and is_trace(path)
    ]


def _calls_by_name(counted: dict[str, CallCount]) -> dict[str, Calls]:
    return {name: {"calls": count.calls, "bytes": count.bytes} for name, count in sorted(counted.items())}


def trace_matrix(dag: Dag, packet_bytes: int, where: str = "the trace") -> tuple[Ints, Ints, Ints, Ints]:
    """Return (src, dst, bytes, packets) with one entry per pair of different ranks; a message's last packet may be shorter. Raise BadInput if a
    message has no receive or no send (a replay refuses it too), or no rank sends to another."""
    dag.matched(where)
    at = np.flatnonzero(np.array(dag.kind) == OpKind.SEND)
    src, dst, size = (np.array(column, np.int64)[at] for column in (dag.rank, dag.peer, dag.amount))
    apart = src != dst
    src, dst, size = src[apart], dst[apart], size[apart]
    if not size.any():
        raise BadInput("no rank of the trace sends to another", where=where)
    key, pair = np.unique(src * dag.ranks + dst, return_inverse=True)
    pair_bytes = np.bincount(pair, size).astype(np.int64)
    packets = np.bincount(pair, np.maximum(1, -(-size // packet_bytes))).astype(np.int64)
    return key // dag.ranks, key % dag.ranks, pair_bytes, packets
