"""Assignment of nodes to jobs: first come, first served with backfill over one list of nodes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum

import numpy as np
from numpy.typing import NDArray


class Placement(Enum):
    """Placement of a job: lowest free nodes, a run from a random node on, any free nodes, or preferred nodes."""

    LOWEST = "lowest"
    OFFSET = "offset"
    SCATTERED = "scattered"
    PREFERRED = "preferred"


@dataclass(frozen=True)
class Request:
    """Pending job. `user` indexes users. Without `placement`, it is chosen at random. `urgent` puts it first in the queue. `demand` multiplies its
    traffic."""

    user: int
    nodes: int
    duration_s: float
    submit_s: float
    name: str = ""
    placement: Placement | None = None
    urgent: bool = False
    demand: float = 1.0


@dataclass(frozen=True)
class Allocation:
    """Job with nodes. `nodes` are sorted positions in the machine's node list."""

    job: int
    request: Request
    start_s: float
    nodes: NDArray[np.int32] = field(repr=False)

    @property
    def end_s(self) -> float:
        """Return the job's scheduled end."""
        return self.start_s + self.request.duration_s


class Scheduler:
    """First fit with bounded backfill; half of the jobs start at the lowest free node and half at a random one.

    Parameters
    ----------
    free : bool[nodes]; positions of the node list that jobs can use.
    rng : chooses where the search for a job's nodes begins.
    depth : number of jobs that do not fit and are skipped before the rest of the queue waits.
    headroom : nodes reserved for urgent jobs, as in an advance reservation.
    preference : returns each node's rank, lowest first (int16[nodes]), for jobs placed by preference.
    """

    def __init__(
        self,
        free: NDArray[np.bool_],
        rng: np.random.Generator,
        depth: int = 20,
        headroom: int = 0,
        preference: Callable[[], NDArray[np.int16]] | None = None,
    ) -> None:
        self._free = free.copy()
        self._free_count = int(free.sum())
        self._rng = rng
        self._depth = depth
        self._headroom = headroom
        self._preference = preference
        self._urgent_nodes = 0
        self._least_waiting = 0
        self._queue: list[Request] = []
        self._next_job = 1

    @property
    def waiting(self) -> int:
        """Return the number of queued jobs."""
        return len(self._queue)

    @property
    def free_nodes(self) -> int:
        """Return the number of idle nodes."""
        return self._free_count

    def submit(self, request: Request) -> None:
        """Queue a job; `start_ready` allocates its nodes."""
        if request.urgent:
            self._queue.insert(0, request)
        else:
            self._queue.append(request)
        self._least_waiting = min(self._least_waiting, request.nodes)

    def release(self, allocation: Allocation) -> None:
        """Free a job's nodes."""
        self._free[allocation.nodes] = True
        self._free_count += len(allocation.nodes)
        self._urgent_nodes -= len(allocation.nodes) if allocation.request.urgent else 0

    def start_ready(self, now_s: float) -> list[Allocation]:
        """Start every queued job that fits, in order, within the backfill depth."""
        if self._free_count < self._least_waiting:
            return []
        started: list[Allocation] = []
        passed: list[Request] = []
        for place, request in enumerate(self._queue):
            if len(passed) >= self._depth or not self._free_count:
                passed.extend(self._queue[place:])
                break
            reserve = 0 if request.urgent else max(0, self._headroom - self._urgent_nodes)
            if request.nodes > self._free_count - reserve:
                passed.append(request)
            else:
                started.append(self._start_request(request, now_s))
        self._queue = passed
        self._least_waiting = min((request.nodes for request in passed[: self._depth]), default=0)
        return started

    def _start_request(self, request: Request, now_s: float) -> Allocation:
        idle = np.flatnonzero(self._free)
        placement = request.placement or (Placement.LOWEST if self._rng.random() < 0.5 else Placement.OFFSET)
        if placement is Placement.LOWEST:
            nodes = idle[: request.nodes]
        elif placement is Placement.SCATTERED:
            nodes = np.sort(self._rng.choice(idle, request.nodes, replace=False))
        elif placement is Placement.PREFERRED and self._preference is not None:
            nodes = np.sort(idle[np.argsort(self._preference()[idle], kind="stable")[: request.nodes]])
        else:
            offset = int(self._rng.integers(len(idle)))
            nodes = idle[offset : offset + request.nodes]
            if len(nodes) < request.nodes:
                nodes = np.concatenate([idle[: request.nodes - len(nodes)], nodes])
        self._free[nodes] = False
        self._free_count -= len(nodes)
        self._urgent_nodes += len(nodes) if request.urgent else 0
        allocation = Allocation(self._next_job, request, now_s, nodes.astype(np.int32))
        self._next_job += 1
        return allocation
