"""What a simulated machine's jobs send: the traffic matrix, and messages in their order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flitwatch_domain.errors import BadInput
from flitwatch_routing.patterns import PATTERNS as MATRICES
from flitwatch_routing.patterns import traffic
from flitwatch_simulation.workloads import patterns
from flitwatch_simulation.workloads.messages import Messages, in_rounds

Ints = NDArray[np.int64]
Matrix = tuple[Ints, Ints, NDArray[np.float64]]
BARRIER_BULLY = "barrier-with-bully"
#: Every pattern with a name; anything else is a file's.
KNOWN = frozenset({BARRIER_BULLY, *MATRICES, *patterns.PATTERNS})
#: Of every 48 nodes 32 synchronise and 16 bully (Taffet 2021, section 5.4.2); the bully sends messages of 200 KB.
BARRIER_NODES, BULLY_NODES = 32, 16


@dataclass(frozen=True)
class Job:
    """Messages of one job on its endpoints, in rank order; `timed` jobs are those whose end counts."""

    messages: Messages
    endpoints: Ints
    timed: bool = True


@dataclass(frozen=True)
class Demand:
    """jobs in their order; time_structure: what is known of the order of messages, in words."""

    jobs: tuple[Job, ...]
    time_structure: str

    def matrix(self) -> Matrix:
        """(src, dst, bytes) between endpoints, one entry a pair."""
        return self.matrices(1)[0]

    def matrices(self, slots: int) -> list[Matrix]:
        """`matrix` of each time slot: of every rank's messages, in their order, those whose middle lies in its 1/slots of the bytes.

        A slot has no traffic where messages are fewer than slots.
        """
        parts: list[list[Matrix]] = [[] for _ in range(slots)]
        for job in self.jobs:
            slot = _progress(job.messages, slots)
            for number, into in enumerate(parts):
                src, dst, size = job.messages.chosen(slot == number).matrix()
                into.append((job.endpoints[src], job.endpoints[dst], size.astype(float)))
        return [_between(one) for one in parts]


def _progress(messages: Messages, slots: int) -> Ints:
    """The slot of each message: how much of what its source sends is sent when half of it is."""
    order = np.lexsort((messages.send_round, messages.src))
    src, size = messages.src[order], messages.size_bytes[order].astype(float)
    sent = np.bincount(messages.src, messages.size_bytes, messages.ranks)
    before = np.cumsum(size) - size / 2 - (np.cumsum(sent) - sent)[src]
    found = np.empty(len(order), np.int64)
    found[order] = np.clip(before / np.maximum(sent[src], 1) * slots, 0, slots - 1).astype(np.int64)
    return found


def _between(parts: list[Matrix]) -> Matrix:
    src, dst, size = (np.concatenate(column) for column in zip(*parts, strict=True))
    keep = src != dst
    return src[keep], dst[keep], size[keep]


def demand_of(name: str, endpoints: int, megabytes: float, iterations: int, seed: int) -> Demand:
    """The demand of a pattern's name, a CSV file `src,dst,bytes`, or a measured matrix (`a , b = bytes`), scaled to the busiest node's megabytes.

    Raises
    ------
    BadRequest, BadInput
        For a name that is neither, a file that does not fit, or traffic that is empty.
    """
    if name == BARRIER_BULLY:
        return _barrier_with_bully(endpoints, megabytes, seed)
    if name in patterns.PATTERNS:
        made = patterns.make(name, endpoints, max(round(megabytes * 1e6), 1), seed)
        return Demand((Job(_scaled(made, megabytes), np.arange(endpoints)),), "the pattern's own rounds")
    ranks, (src, dst, size) = _totals(name, endpoints, seed)
    part = np.maximum(size / iterations, 1e-9)
    whole = part * (megabytes * 1e6 / iterations / max(float(np.bincount(src, part).max(initial=0)), 1e-300))
    rounds = [(src, dst, np.maximum(1, np.rint(whole)).astype(np.int64))] * iterations
    job = Job(in_rounds(ranks, rounds), np.arange(ranks))
    return Demand((job,), f"{iterations} iterations, each rank waits for its partners; only totals are known")


def _totals(name: str, endpoints: int, seed: int) -> tuple[int, tuple[NDArray[Any], NDArray[Any], NDArray[Any]]]:
    src, dst, size = traffic(name, endpoints, seed)
    keep = (size > 0) & (src != dst)
    if not keep.any():
        raise BadInput("the traffic is empty", where=name)
    src, dst, size = src[keep].astype(np.int64), dst[keep].astype(np.int64), size[keep]
    return int(max(src.max(), dst.max())) + 1, (src, dst, size)


def _scaled(messages: Messages, megabytes: float) -> Messages:
    busiest = float(np.bincount(messages.src, messages.size_bytes).max(initial=0))
    return messages.scaled(megabytes * 1e6 / busiest)


def _barrier_with_bully(endpoints: int, megabytes: float, seed: int) -> Demand:
    """Two jobs woven over the leaves: barriers, timed, and pairs that exchange 200 KB messages (tables 5.3 and 5.4)."""
    at = np.arange(endpoints) % (BARRIER_NODES + BULLY_NODES)
    quiet, loud = np.flatnonzero(at < BARRIER_NODES), np.flatnonzero(at >= BARRIER_NODES)
    if len(quiet) < 2 or len(loud) < 2:
        raise BadInput(f"{BARRIER_BULLY} needs at least {BARRIER_NODES + 2} endpoints, the topology has {endpoints}")
    steps = 8 * (len(quiet) - 1).bit_length()
    barriers = max(round(megabytes * 2), 1)  # enough that they last about as long as the bully
    return Demand(
        (
            Job(patterns.make("barrier", len(quiet), steps * barriers, seed), quiet),
            Job(patterns.make("bully", len(loud), max(round(megabytes * 1e6), 200_000), seed), loud, timed=False),
        ),
        "the jobs' own rounds",
    )
