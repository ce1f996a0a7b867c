"""Traffic of a simulated machine's jobs: the traffic matrix and the ordered messages."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flitwatch_domain.errors import BadInput
from flitwatch_domain.fabric import Fabric
from flitwatch_domain.secret_file import local_path
from flitwatch_routing.bounds import weighted_bytes
from flitwatch_routing.patterns import PATTERNS as MATRICES
from flitwatch_routing.patterns import load_traffic
from flitwatch_routing.traces.read import is_trace, read_trace, summarise_trace
from flitwatch_simulation.workloads import patterns
from flitwatch_simulation.workloads.messages import Messages, in_rounds, messages_of

Ints = NDArray[np.int64]
Matrix = tuple[Ints, Ints, NDArray[np.float64]]
#: A barrier with a concurrent bully: on random nodes, or with fewer bully nodes than up links on each leaf switch (Taffet 2021, section 5.4).
BARRIER_BULLY, BARRIER_BULLY_EVEN = "barrier-with-bully", "barrier-with-bully-even"
#: All named patterns; other names are files.
KNOWN = frozenset({BARRIER_BULLY, BARRIER_BULLY_EVEN, *MATRICES, *patterns.PATTERNS})
#: Shares of the nodes: 2,048 and 1,000 of 3,072; the rest is idle.
BARRIER_SHARE, BULLY_SHARE = 2 / 3, 125 / 384
#: The bully's rounds, with the messages needed for the megabytes, and its message size; the number of barriers per megabyte is as published.
BULLY_ROUNDS, BULLY_MESSAGE_BYTES, BARRIERS_PER_MB = 16, 200_000, 100 / 320
#: Host time before a sending round, fitted to the published time of the barrier alone: 41.9 us per iteration, with 12.1 us in the network.
BARRIER_HOST_NS = 680


@dataclass(frozen=True)
class Job:
    """Messages of one job on its endpoints, in rank order; `timed` marks jobs whose end is measured."""

    messages: Messages
    endpoints: Ints
    timed: bool = True


@dataclass(frozen=True)
class Demand:
    """jobs: in order;  time_structure: description of the known order of messages"""

    jobs: tuple[Job, ...]
    time_structure: str

    def matrix(self, mtu: float | None = None) -> Matrix:
        """Return (src, dst, bytes) between endpoints, one entry per pair; with `mtu`, packets and bytes mixed (`weighting.weighted_bytes`)."""
        return self.matrices(1, mtu)[0]

    def matrices(self, slots: int, mtu: float | None = None) -> list[Matrix]:
        """Return the `matrix` of each time slot: for each rank, its messages, in order, whose middle is in the slot's 1/slots of the bytes.

        A slot can be empty if there are fewer messages than slots.
        """
        parts: list[list[Matrix]] = [[] for _ in range(slots)]
        for job in self.jobs:
            slot = _assign_slots(job.messages, slots)
            for number, into in enumerate(parts):
                src, dst, size = _weigh_messages(job.messages.chosen(slot == number), mtu)
                into.append((job.endpoints[src], job.endpoints[dst], size))
        return [_drop_self_traffic(slot_parts) for slot_parts in parts]


def _weigh_messages(messages: Messages, mtu: float | None) -> Matrix:
    src, dst, size = messages.matrix()
    if mtu is None:
        return src, dst, size.astype(float)
    packets = replace(messages, size_bytes=-(-messages.size_bytes // int(mtu))).matrix()[2]
    return src, dst, weighted_bytes(size.astype(float), packets.astype(float), mtu)


def _assign_slots(messages: Messages, slots: int) -> Ints:
    """Return the slot of each message, from the share of its source's bytes that are sent when half of the message is."""
    order = np.lexsort((messages.send_round, messages.src))
    src, size = messages.src[order], messages.size_bytes[order].astype(float)
    sent_bytes = np.bincount(messages.src, messages.size_bytes, messages.ranks)
    before = np.cumsum(size) - size / 2 - (np.cumsum(sent_bytes) - sent_bytes)[src]
    slot = np.empty(len(order), np.int64)
    slot[order] = np.clip(before / np.maximum(sent_bytes[src], 1) * slots, 0, slots - 1).astype(np.int64)
    return slot


def _drop_self_traffic(parts: list[Matrix]) -> Matrix:
    src, dst, size = (np.concatenate(column) for column in zip(*parts, strict=True))
    keep = src != dst
    return src[keep], dst[keep], size[keep]


def demand_of(name: str, fabric: Fabric, megabytes: float, iterations: int, seed: int) -> Demand:
    """Return the demand from a pattern's name, a CSV file `src,dst,bytes`, a measured matrix (`a , b = bytes`) or a trace, scaled to the busiest
    node's megabytes. Raise BadRequest or BadInput if the name is none of these, the file does not fit, or there is no traffic."""
    if name in (BARRIER_BULLY, BARRIER_BULLY_EVEN):
        return _barrier_with_bully(fabric, megabytes, seed, even=name == BARRIER_BULLY_EVEN)
    endpoints = len(fabric.endpoints)
    if name in patterns.PATTERNS:
        messages = patterns.make_pattern(name, endpoints, max(round(megabytes * 1e6), 1), seed)
        return Demand((Job(_scale_messages(messages, megabytes), np.arange(endpoints)),), "the pattern's own rounds")
    path = local_path(name)
    if path is not None and path.exists() and is_trace(path):
        return _of_trace(path, endpoints, megabytes)
    ranks, (src, dst, size) = _load_totals(name, endpoints, seed)
    part = np.maximum(size / iterations, 1e-9)
    whole = part * (megabytes * 1e6 / iterations / max(float(np.bincount(src, part).max(initial=0)), 1e-300))
    rounds = [(src, dst, np.maximum(1, np.rint(whole)).astype(np.int64))] * iterations
    job = Job(in_rounds(ranks, rounds), np.arange(ranks))
    return Demand((job,), f"{iterations} iterations, each rank waits for its partners; only totals are known")


def _load_totals(name: str, endpoints: int, seed: int) -> tuple[int, tuple[NDArray[Any], NDArray[Any], NDArray[Any]]]:
    src, dst, size = load_traffic(name, endpoints, seed)
    keep = (size > 0) & (src != dst)
    if not keep.any():
        raise BadInput("the traffic is empty", where=name)
    src, dst, size = src[keep].astype(np.int64), dst[keep].astype(np.int64), size[keep]
    return int(max(src.max(), dst.max())) + 1, (src, dst, size)


def _of_trace(path: Path, endpoints: int, megabytes: float) -> Demand:
    dag = read_trace(path)
    if dag.ranks > endpoints:
        raise BadInput(f"{dag.ranks} ranks; the topology has {endpoints} endpoints", where=str(path))
    messages = messages_of(dag)
    messages = messages.chosen(messages.src != messages.dst)
    if not messages.total_bytes:
        raise BadInput("no rank of the trace sends to another", where=str(path))
    summary = summarise_trace(dag)
    remark = (
        f"; left out: {summary['left_out_bytes']} bytes of {', '.join(summary['left_out'])}"
        if summary["left_out"]
        else ""
    )
    return Demand((Job(_scale_messages(messages, megabytes), np.arange(dag.ranks)),), f"the trace's own phases{remark}")


def _scale_messages(messages: Messages, megabytes: float) -> Messages:
    busiest = float(np.bincount(messages.src, messages.size_bytes).max(initial=0))
    return messages.scaled(megabytes * 1e6 / busiest)


def _barrier_with_bully(fabric: Fabric, megabytes: float, seed: int, even: bool) -> Demand:
    """Return timed barriers on a grid of nodes, and pairs that exchange messages of 200 KB (tables 5.3 and 5.4).

    The bully sends `megabytes` per node (published: 320). The ratio of barriers to megabytes is as published.
    """
    endpoints = len(fabric.endpoints)
    width = patterns.grid_width(int(BARRIER_SHARE * endpoints))
    grid, pairs = int(BARRIER_SHARE * endpoints) // width * width, int(BULLY_SHARE * endpoints / 2)
    if grid < 4 or pairs < 1:
        raise BadInput(f"{BARRIER_BULLY} needs at least 8 endpoints, the topology has {endpoints}")
    job = np.zeros(endpoints, np.int64)
    rng = np.random.default_rng([seed, 5])
    order = rng.permutation(endpoints)
    job[order[:grid]], job[order[grid : grid + 2 * pairs]] = 1, 2
    if even:
        _spread_bullies(job, fabric, rng)
    messages = max(round(megabytes * 1e6 / BULLY_ROUNDS / BULLY_MESSAGE_BYTES), 1)
    repeats = max(round(BARRIERS_PER_MB * messages * BULLY_ROUNDS * BULLY_MESSAGE_BYTES / 1e6), 1)
    bully = patterns.bully_messages(
        2 * pairs, BULLY_ROUNDS * messages * BULLY_MESSAGE_BYTES, rng, BULLY_MESSAGE_BYTES, messages
    )
    return Demand(
        (
            Job(patterns.barriers_on_grid(grid, repeats, BARRIER_HOST_NS), np.flatnonzero(job == 1)),
            Job(bully, np.flatnonzero(job == 2), timed=False),
        ),
        "the jobs' own rounds",
    )


def _spread_bullies(job: Ints, fabric: Fabric, rng: np.random.Generator) -> None:
    """Swap bully nodes (2) of crowded leaves with idle nodes (0), or barrier nodes (1) if none are idle, on leaves with room."""
    links, leaf = fabric.links, np.asarray(fabric.endpoints.router)
    up = np.bincount(np.asarray(links.src)[fabric.router_links()], minlength=len(fabric.routers))
    spare = up[leaf] - 1
    while (crowded := np.flatnonzero((job == 2) & (np.bincount(leaf, job == 2)[leaf] > spare))).size:
        free = np.bincount(leaf, job == 2)[leaf] < spare
        others = [nodes for nodes in (np.flatnonzero((job == other) & free) for other in (0, 1)) if nodes.size]
        if not others:
            raise BadInput(
                f"{BARRIER_BULLY_EVEN} needs leaf switches with more up links",
                advice=f"Use {BARRIER_BULLY} or another topology.",
            )
        a, b = rng.choice(crowded), rng.choice(others[0])
        job[a], job[b] = job[b], job[a]
