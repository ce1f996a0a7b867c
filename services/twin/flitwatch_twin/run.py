"""Run a cluster at a chosen speed and hand every second to the sinks."""

from __future__ import annotations

import resource
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypedDict

import numpy as np

from flitwatch_domain.runs import RunRecord
from flitwatch_twin.accounting import Accounting
from flitwatch_twin.cluster import Cluster, RunningJob, Tick
from flitwatch_twin.ncl_files import run_header
from flitwatch_twin.runs import InstrumentedRun
from flitwatch_twin.samplers import Samplers
from flitwatch_twin.sinks import Sink
from flitwatch_twin.truth import Truth


class TwinCounts(TypedDict):
    """What a run of the twin has simulated and sent so far."""

    seconds: int
    records: int
    values: int
    bytes: int
    jobs_started: int
    jobs_ended: int
    runs: int
    runs_finished: int
    steps: int


class TwinTotals(TwinCounts):
    """The same at its end, with what it took; `speed` is simulated seconds a second of the clock."""

    wall_s: float
    cpu_s: float
    speed: float | None
    rss_mb: float
    topics: list[str]


class TwinRun:
    """One run of the twin.

    Parameters
    ----------
    cluster : the machine.
    sinks : where records go.
    epoch_s : the wall-clock second that second 0 is given.
    truth_file : where the truth is written, rewritten whenever an instrumented run ends; None keeps it to the summary.
    sampled : whether LDMS samples; without, what is past is told: runs, and jobs that have ended, and seconds pass a good deal faster.
    """

    def __init__(
        self,
        cluster: Cluster,
        sinks: Sequence[Sink],
        epoch_s: int,
        truth_file: Path | None = None,
        sets: str | None = None,
        sampled: bool = True,
    ) -> None:
        ldms = cluster.spec.ldms
        self.cluster, self._sinks, self._epoch_s, self._truth_file = cluster, sinks, epoch_s, truth_file
        rng = np.random.default_rng([cluster.seed, 77])
        self.samplers = Samplers(cluster.fabric, sets or ldms.sets, ldms.every_s, ldms.nic_every_s, rng)
        self._sampled = sampled
        self.truth = Truth(cluster, cluster.spec.truth_every_s if sampled else 0)
        self._accounting = Accounting(cluster, epoch_s)
        self._headers: dict[InstrumentedRun, RunRecord] = {}
        self.totals: TwinCounts = {
            "seconds": 0,
            "records": 0,
            "values": 0,
            "bytes": 0,
            "jobs_started": 0,
            "jobs_ended": 0,
            "runs": 0,
            "runs_finished": 0,
            "steps": 0,
        }

    def run(
        self,
        seconds: int,
        speed: float,
        stop: threading.Event | None = None,
        tick: Callable[[int], None] | None = None,
    ) -> TwinTotals:
        """Simulate `seconds` (0: until `stop` is set) at `speed` times real time (0: as fast as possible); returns the totals."""
        stop = stop or threading.Event()
        began, began_cpu = time.monotonic(), time.process_time()
        self._announce(self.cluster.warm)
        while not stop.is_set() and (not seconds or self.totals["seconds"] < seconds):
            self._second(self.cluster.advance())
            if tick is not None:
                tick(self.totals["seconds"])
            if speed > 0:
                stop.wait(max(0.0, began + self.totals["seconds"] / speed - time.monotonic()))
        self._close()
        wall = time.monotonic() - began
        return {
            **self.totals,
            "wall_s": round(wall, 3),
            "cpu_s": round(time.process_time() - began_cpu, 3),
            "speed": round(self.totals["seconds"] / wall, 2) if wall else None,
            "rss_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 1),
            "topics": [layout.topic for layout in self.samplers.layouts],
        }

    def _second(self, second: Tick) -> None:
        now = self._epoch_s + second.time_s
        for job in second.ended:
            self.totals["jobs_ended"] += 1
            self._give("job", self._accounting.record(job, second.time_s - 1), now)
        self._announce(second.started)
        for run, step in second.steps:
            self.totals["steps"] += 1
            self._give("step", run, step)
        self.truth.observe(second)
        for run in second.finished:
            self.totals["runs_finished"] += 1
            self._give("run_end", run, self._headers.pop(run))
            if self._truth_file is not None:
                self.truth.write(self._truth_file)
        if self._sampled:
            self._sample(now)
        self._give("second_end")
        self.totals["seconds"] += 1

    def _sample(self, now: int) -> None:
        for layout, taken, micros in self.samplers.sample(self.cluster.counters, now):
            self.totals["records"] += len(layout)
            self.totals["values"] += taken.size
            self.totals["bytes"] += sum(sink.sets(layout, taken, now, micros) for sink in self._sinks)

    def _announce(self, jobs: list[RunningJob]) -> None:
        now = self._epoch_s + self.cluster.time_s
        for job in jobs:
            self.totals["jobs_started"] += 1
            record = self._accounting.record(job, None)
            if self._sampled:
                self._give("job", record, now)
            if job.run is not None:
                self.totals["runs"] += 1
                self._headers[job.run] = run_header(job.run, record["job_id"], self._epoch_s + int(job.run.start_s))
                self._give("run", job.run, self._headers[job.run])

    def _give(self, what: str, *values: object) -> None:
        for sink in self._sinks:
            getattr(sink, what)(*values)

    def _close(self) -> None:
        running = [self._accounting.record(job, None) for job in self.cluster.running.values()]
        for sink in self._sinks:
            sink.close(running, self._epoch_s + self.cluster.time_s)
        if self._truth_file is not None:
            self.truth.write(self._truth_file)
