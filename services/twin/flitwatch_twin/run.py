"""Run a cluster at a chosen speed and pass every second to the sinks."""

from __future__ import annotations

import math
import resource
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict

import numpy as np

from flitwatch_domain.runs import RunRecord
from flitwatch_twin.accounting import Accounting
from flitwatch_twin.cluster import Cluster, RunningJob, Tick
from flitwatch_twin.minutes import MinuteSums
from flitwatch_twin.ncl_files import run_header
from flitwatch_twin.runs import InstrumentedRun
from flitwatch_twin.samplers import Samplers
from flitwatch_twin.sinks import Sink
from flitwatch_twin.truth import Truth


class TwinCounts(TypedDict):
    """Counts of simulated and sent items so far."""

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
    """Final counts and the elapsed time. `speed` is simulated seconds per wall-clock second."""

    wall_s: float
    cpu_s: float
    speed: float | None
    rss_mb: float
    topics: list[str]


#: Step lengths of a simulated past in seconds, with and without recorded runs. Each divides a minute.
FINE_STEP_S, COARSE_STEP_S = 5, 60


@dataclass(frozen=True)
class Past:
    """Options of a simulated past: ended jobs, runs with their steps (without, if `coarse`), and `sums`, which receives the counters.

    If another past follows, jobs that end after `jobs_until_s` (machine seconds) are left out, because that machine has jobs on the same nodes.
    """

    coarse: bool = False
    sums: MinuteSums | None = None
    jobs_until_s: float = math.inf


class TwinRun:
    """One run of the twin.

    Parameters
    ----------
    cluster : the machine.
    sinks : destinations of records.
    epoch_s : the epoch second of second 0.
    truth_file : path of the truth, rewritten whenever an instrumented run ends; None reports it only in the summary.
    past : report only runs and ended jobs, without samples, and simulate faster. None samples a running machine.
    """

    def __init__(
        self,
        cluster: Cluster,
        sinks: Sequence[Sink],
        epoch_s: int,
        truth_file: Path | None = None,
        sets: str | None = None,
        past: Past | None = None,
    ) -> None:
        ldms = cluster.spec.ldms
        self.cluster, self._sinks, self._epoch_s, self._truth_file = cluster, sinks, epoch_s, truth_file
        rng = np.random.default_rng([cluster.seed, 77])
        self.samplers = Samplers(cluster.fabric, sets or ldms.sets, ldms.every_s, ldms.nic_every_s, rng)
        self._past = past
        self.truth = Truth(cluster, cluster.spec.truth_every_s if past is None else 0)
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
        """Simulate `seconds` (0: until `stop` is set) at `speed` times real time (0: as fast as possible). Return the totals."""
        stop = stop or threading.Event()
        began, began_cpu = time.monotonic(), time.process_time()
        self._announce_jobs(self.cluster.warm)
        while not stop.is_set() and (not seconds or self.totals["seconds"] < seconds):
            left_s = seconds - self.totals["seconds"] if seconds else COARSE_STEP_S
            self._emit_second(self.cluster.advance(min(self._step_s(), left_s)))
            if tick is not None:
                tick(self.totals["seconds"])
            if speed > 0:
                stop.wait(max(0.0, began + self.totals["seconds"] / speed - time.monotonic()))
        self._close_sinks()
        wall = time.monotonic() - began
        return {
            **self.totals,
            "wall_s": round(wall, 3),
            "cpu_s": round(time.process_time() - began_cpu, 3),
            "speed": round(self.totals["seconds"] / wall, 2) if wall else None,
            "rss_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 1),
            "topics": [layout.topic for layout in self.samplers.layouts],
        }

    def _step_s(self) -> int:
        if self._past is None:
            return 1
        return COARSE_STEP_S if self._past.coarse else FINE_STEP_S

    def _emit_second(self, second: Tick) -> None:
        now = self._epoch_s + second.time_s
        for job in second.ended:
            if self._past is not None and second.time_s > self._past.jobs_until_s:
                continue
            self.totals["jobs_ended"] += 1
            self._send_sinks("job", self._accounting.record(job, second.time_s - 1), now)
        self._announce_jobs(second.started)
        # A coarse past does not record runs.
        for run, step in second.steps:
            if run in self._headers:
                self.totals["steps"] += 1
                self._send_sinks("step", run, step)
        self.truth.observe(second)
        for run in second.finished:
            if run not in self._headers:
                continue
            self.totals["runs_finished"] += 1
            self._send_sinks("run_end", run, self._headers.pop(run))
            if self._truth_file is not None:
                self.truth.write(self._truth_file)
        if self._past is None:
            self._sample_counters(now)
        elif self._past.sums is not None:
            self._past.sums.take(self.cluster.counters, now)
        self._send_sinks("second_end")
        self.totals["seconds"] = second.time_s

    def _sample_counters(self, now: int) -> None:
        for layout, values, micros in self.samplers.sample(self.cluster.counters, now):
            self.totals["records"] += len(layout)
            self.totals["values"] += values.size
            self.totals["bytes"] += sum(sink.sets(layout, values, now, micros) for sink in self._sinks)

    def _announce_jobs(self, jobs: list[RunningJob]) -> None:
        now = self._epoch_s + self.cluster.time_s
        for job in jobs:
            self.totals["jobs_started"] += 1
            record = self._accounting.record(job, None)
            if self._past is None:
                self._send_sinks("job", record, now)
            if job.run is not None and not (self._past is not None and self._past.coarse):
                self.totals["runs"] += 1
                self._headers[job.run] = run_header(job.run, record["job_id"], self._epoch_s + int(job.run.start_s))
                self._send_sinks("run", job.run, self._headers[job.run])

    def _send_sinks(self, what: str, *values: object) -> None:
        for sink in self._sinks:
            getattr(sink, what)(*values)

    def _close_sinks(self) -> None:
        lists_running = self._past is None or math.isinf(self._past.jobs_until_s)
        running = [self._accounting.record(job, None) for job in self.cluster.running.values()] if lists_running else []
        for sink in self._sinks:
            sink.close(running, self._epoch_s + self.cluster.time_s)
        if self._truth_file is not None:
            self.truth.write(self._truth_file)
