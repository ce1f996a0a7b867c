"""Assignment of nodes to jobs: first come, first served with backfill over one list of nodes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum

import numpy as np
from numpy.typing import NDArray


class Placement(Enum):
    """Free nodes that a job gets: the lowest, a run from a random one on, any, or those that the scheduler prefers."""

    LOWEST = "lowest"
    OFFSET = "offset"
    SCATTERED = "scattered"
    PREFERRED = "preferred"


@dataclass(frozen=True)
class Request:
    """A job that waits. `user` indexes users; without `placement` a coin decides; `urgent` goes to the queue's head; `demand` multiplies what it sends."""

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
    """A job that has nodes. `nodes` are sorted positions in the machine's node list."""

    job: int
    request: Request
    start_s: float
    nodes: NDArray[np.int32] = field(repr=False)

    @property
    def end_s(self) -> float:
        """Time when the job is due to end."""
        return self.start_s + self.request.duration_s


class Scheduler:
    """First fit, half of the jobs from the lowest free node and half from a random one, with bounded backfill.

    Parameters
    ----------
    free : bool[nodes]; which positions of the node list may be given to jobs.
    rng : decides where a job's nodes are looked for.
    depth : how many jobs that do not fit are passed over before the rest of the queue waits.
    headroom : nodes that only urgent jobs may take, as an advance reservation keeps them.
    preference : gives the place of each node, the lowest taken first (int16[nodes]); for jobs to be placed by preference.
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
        """Number of queued jobs."""
        return len(self._queue)

    @property
    def free_nodes(self) -> int:
        """Number of idle nodes."""
        return self._free_count

    def submit(self, request: Request) -> None:
        """Queue a job; `start_ready` gives it nodes."""
        if request.urgent:
            self._queue.insert(0, request)
        else:
            self._queue.append(request)
        self._least_waiting = min(self._least_waiting, request.nodes)

    def release(self, allocation: Allocation) -> None:
        """Take a job's nodes back."""
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
