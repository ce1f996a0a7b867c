"""Slurm's order of starts: priority by age and size, a reservation for the first job that does not fit, and backfill with requested time limits.

EASY backfill (Lifka 1995; Mu'alem and Feitelson 2001, section 2.2): a later job can start now if its limit ends before the reserved start, or if it uses
only nodes that the reserved job does not need. Priority is Slurm's multifactor sum of two factors, age and size.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

#: Weights of age (1 after `OLDEST_S`) and of size (1 for the whole machine), in the ratio of the example in Slurm's documentation.
AGE_WEIGHT, SIZE_WEIGHT, OLDEST_S = 1000.0, 1000.0, 7 * 86400.0
#: Waiting jobs examined in one pass (Slurm's `bf_max_job_test`).
DEPTH = 100

Nodes = NDArray[np.int32]


@dataclass(eq=False)
class Waiting:
    """A job in the queue; `begin_s` is its earliest start."""

    job: int
    nodes: int
    limit_s: float
    submit_s: float
    begin_s: float = 0.0


@dataclass(frozen=True, eq=False)
class Running:
    """A job on its nodes, and the end of its time limit."""

    job: int
    nodes: Nodes
    limit_end_s: float


@dataclass(frozen=True)
class Reservation:
    """Earliest time at which a job's nodes are free according to running jobs' limits, and the number of spare nodes then."""

    start_s: float
    over: int


#: Returns a job's nodes among the free ones, or None if it does not start now.
Place = Callable[[Waiting, NDArray[np.int64]], NDArray[np.int64] | None]


class Backfill:
    """The queue and the nodes of one machine.

    Parameters
    ----------
    nodes : number of nodes of the machine.
    """

    def __init__(self, nodes: int) -> None:
        self._nodes = nodes
        self._free = np.ones(nodes, bool)
        self._free_count = nodes
        self.queue: list[Waiting] = []
        self.running: dict[int, Running] = {}

    @property
    def free_nodes(self) -> int:
        """Number of idle nodes."""
        return self._free_count

    def submit(self, job: Waiting) -> None:
        """Queue a job; it must fit on the machine."""
        if not 1 <= job.nodes <= self._nodes:
            raise ValueError(f"job {job.job} asks for {job.nodes} nodes of {self._nodes}")
        self.queue.append(job)

    def end(self, job: int) -> None:
        """Release a job's nodes."""
        nodes = self.running.pop(job).nodes
        self._free[nodes] = True
        self._free_count += len(nodes)

    def priority(self, job: Waiting, now_s: float) -> float:
        """Return Slurm's multifactor priority from age and size."""
        age = min((now_s - job.submit_s) / OLDEST_S, 1.0)
        return AGE_WEIGHT * age + SIZE_WEIGHT * job.nodes / self._nodes

    def ordered(self, now_s: float) -> list[Waiting]:
        """Return jobs that can start, in descending order of priority."""
        eligible = [job for job in self.queue if job.begin_s <= now_s]
        return sorted(eligible, key=lambda job: (-self.priority(job, now_s), job.submit_s, job.job))

    def reservation(self, nodes: int, now_s: float) -> Reservation:
        """Return the earliest start of a job of this many nodes, if every running job ends at its limit and nothing else starts."""
        ends = sorted((max(running.limit_end_s, now_s), len(running.nodes)) for running in self.running.values())
        free, start_s = self._free_count, now_s
        for end_s, count in ends:
            if free >= nodes and end_s > start_s:
                break
            free, start_s = free + count, end_s if free < nodes else start_s
        return Reservation(start_s, free - nodes)

    def start_ready(self, now_s: float, place: Place) -> list[Running]:
        """Run one pass over the queue and return the started jobs.

        `place` chooses the nodes of a job that can start. If it returns None (after raising the job's `begin_s`), the job is skipped.
        """
        started: list[Running] = []
        reserved: Reservation | None = None
        for job in self.ordered(now_s)[:DEPTH]:
            if not self._free_count:
                break
            if job.nodes > self._free_count:
                reserved = reserved or self.reservation(job.nodes, now_s)
                continue
            ends_before = reserved is None or now_s + job.limit_s <= reserved.start_s
            if reserved is not None and not ends_before and job.nodes > reserved.over:
                continue
            chosen = place(job, np.flatnonzero(self._free))
            if chosen is None:
                continue
            if reserved is not None and not ends_before:
                reserved = Reservation(reserved.start_s, reserved.over - job.nodes)
            started.append(self._start_job(job, chosen, now_s))
        return started

    def _start_job(self, job: Waiting, chosen: NDArray[np.int64], now_s: float) -> Running:
        if len(chosen) != job.nodes or not self._free[chosen].all() or len(np.unique(chosen)) != len(chosen):
            raise ValueError(f"job {job.job} cannot have these nodes")
        self._free[chosen] = False
        self._free_count -= len(chosen)
        self.queue.remove(job)
        running = Running(job.job, np.sort(chosen).astype(np.int32), now_s + job.limit_s)
        self.running[job.job] = running
        return running
