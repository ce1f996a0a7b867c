"""Realistic jobs: drawn from the published quantiles of one log, or read from a log in the Standard Workload Format."""

from __future__ import annotations

import gzip
import hashlib
import io
import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import IO, Any

import numpy as np
import orjson
from numpy.typing import NDArray

from flitwatch_domain.errors import BadInput, BadRequest
from flitwatch_ingest.sources import swf
from flitwatch_ingest.sources.rejection import Rejection
from flitwatch_twin.calendar import DAY_S

Float = NDArray[np.float64]

#: Quantiles of Theta's log, with their source.
THETA_FILE = Path(__file__).parent / "theta_2022.json"


@dataclass(frozen=True)
class LoggedJob:
    """A submission: seconds since the start of the span; `user` is the owner in the log, empty if unknown."""

    submit_s: float
    nodes: int
    run_s: float
    limit_s: float
    user: str = ""


@dataclass(frozen=True)
class JobLog:
    """A log: number of nodes, jobs in order of submission, rejected lines, and a digest of the file."""

    name: str
    nodes: int
    jobs: tuple[LoggedJob, ...]
    rejected: int
    digest: str

    def window(self, rng: np.random.Generator, days: int, machine_nodes: int) -> list[LoggedJob]:
        """Return the jobs of `days` days from a random day of the log on, scaled to `machine_nodes`; all jobs of a shorter log."""
        whole_days = int(self.jobs[-1].submit_s // DAY_S) - days
        first_s = float(rng.integers(0, whole_days + 1)) * DAY_S if whole_days > 0 else 0.0
        last_s, scale = first_s + days * float(DAY_S), machine_nodes / self.nodes
        return [
            LoggedJob(
                job.submit_s - first_s,
                min(max(1, int(np.ceil(job.nodes * scale - 1e-9))), machine_nodes),
                job.run_s,
                job.limit_s,
                job.user,
            )
            for job in self.jobs
            if first_s <= job.submit_s < last_s
        ]


@dataclass(frozen=True, slots=True)
class Submission:
    """Request and result of a job.

    Attributes
    ----------
    submit_s : float           epoch seconds
    run_s, limit_s : float or None   None: unknown, or it never ran
    processors : int or None   allocated processors, else requested ones
    user : int or None
    """

    submit_s: float
    run_s: float | None
    limit_s: float | None
    processors: int | None
    user: int | None


def read_workload(lines: IO[bytes], where: str) -> tuple[swf.Header, Iterator[Submission | Rejection]]:
    """Return the jobs of a log as submitted, for a simulation.

    Raises
    ------
    BadInput
        The header has no start time; raised at once.
    """
    header, rows = swf.read_header(lines, where)
    return header, _read_submissions(rows, where, header)


def _read_submissions(
    rows: Iterator[tuple[int, bytes]], where: str, header: swf.Header
) -> Iterator[Submission | Rejection]:
    for number, raw in rows:
        if not raw.strip() or raw.lstrip().startswith(b";"):
            continue
        try:
            values = swf.parse_values(raw)
        except BadInput as bad:
            yield Rejection(f"{where}:{number}", bad.reason, raw)
            continue
        if math.floor(values[10]) in swf.PARTS:
            continue
        _, submit, _, run, got = values[:5]
        requested, limit, user = values[7], values[8], math.floor(values[11])
        processors = got if got > 0 else requested
        yield Submission(
            header.begin_s + submit,
            run if run >= 0 else None,
            limit if limit > 0 else None,
            math.floor(processors) if processors > 0 else None,
            user if user >= 0 else None,
        )


@cache
def read_log(path: Path) -> JobLog:
    """Return a log in the Standard Workload Format, gzip-compressed or not.

    Sizes are processors over those of the machine. A missing requested time is replaced by the run time. Jobs that never ran, or of unknown
    size, are omitted.

    Raises
    ------
    BadRequest
        The log cannot be read, or contains no job that ran.
    """
    try:
        whole = path.read_bytes()
        whole = gzip.decompress(whole) if path.suffix == ".gz" else whole
    except (OSError, EOFError) as problem:
        raise BadRequest(f"the log {path} cannot be read: {problem}") from None
    header, records = read_workload(io.BytesIO(whole), str(path))
    jobs: list[Submission] = []
    rejected = 0
    for job in records:
        if isinstance(job, Rejection):
            rejected += 1
        elif job.run_s and job.processors:
            jobs.append(job)
    if not jobs:
        raise BadRequest(f"no job of {path} ran", advice="Expected a log in the Standard Workload Format.")
    jobs.sort(key=lambda job: job.submit_s)
    begin_s = jobs[0].submit_s
    logged = tuple(
        LoggedJob(
            job.submit_s - begin_s,
            job.processors or 0,
            job.run_s or 0.0,
            max(job.limit_s or 0.0, job.run_s or 0.0),
            "" if job.user is None else str(job.user),
        )
        for job in jobs
    )
    largest = max(job.nodes for job in logged)
    nodes = max(header.processors or header.nodes or largest, largest)
    return JobLog(path.name, nodes, logged, rejected, hashlib.sha256(whole).hexdigest()[:20])


@cache
def load_theta_figures() -> dict[str, Any]:
    """Return the published figures of Theta's log."""
    return dict(orjson.loads(THETA_FILE.read_bytes()))


def limit_ratios(rng: np.random.Generator, count: int) -> Float:
    """Return ratios of requested to used time as on Theta, for `count` jobs; at least 1."""
    sizes = _draw_sizes(rng, count)
    return np.maximum(_by_size(rng, sizes, "limit_over_run"), 1.0)


def drawn_as_theta(rng: np.random.Generator, machine_nodes: int, load: float, span_s: float) -> list[LoggedJob]:
    """Return jobs that request the share `load` of all node-seconds, with sizes, run times, limits and hours of submission as on Theta.

    Run time and limit are drawn independently within a size class. Days do not differ, and there are no bursts of submissions.
    """
    count = int(2 * load * machine_nodes * span_s / _mean_work(machine_nodes)) + 50
    sizes = _draw_sizes(rng, count)
    nodes = np.minimum(np.ceil(_by_size(rng, sizes, "share_of_machine") * machine_nodes), machine_nodes)
    run_s = _by_size(rng, sizes, "run_s")
    limit_s = run_s * np.maximum(_by_size(rng, sizes, "limit_over_run"), 1.0)
    enough = int(np.searchsorted(np.cumsum(nodes * run_s), load * machine_nodes * span_s)) + 1 if load > 0 else 0
    hours = np.array(load_theta_figures()["submitted_by_hour_utc"])
    days = rng.integers(0, max(1, int(span_s // DAY_S)), enough)
    at = days * float(DAY_S) + (rng.choice(24, enough, p=hours / hours.sum()) + rng.random(enough)) * 3600.0
    jobs = [
        LoggedJob(*job)
        for job in zip(at.tolist(), nodes.astype(int).tolist(), run_s.tolist(), limit_s.tolist(), strict=False)
        if job[0] < span_s
    ]
    return sorted(jobs, key=lambda job: job.submit_s)


def _draw_sizes(rng: np.random.Generator, count: int) -> NDArray[np.int64]:
    """Return the size class of each job."""
    shares = np.array([size["share_of_jobs"] for size in load_theta_figures()["sizes"]])
    return rng.choice(len(shares), count, p=shares / shares.sum())


def _by_size(rng: np.random.Generator, sizes: NDArray[np.int64], what: str) -> Float:
    """Return a figure of each job from its class's quantiles, interpolated in logarithms."""
    levels, figures, at = load_theta_figures()["levels"], np.empty(len(sizes)), rng.random(len(sizes))
    for place, size in enumerate(load_theta_figures()["sizes"]):
        own = sizes == place
        figures[own] = np.exp(np.interp(at[own], levels, np.log(size[what])))
    return figures


@cache
def _mean_work(machine_nodes: int) -> float:
    """Return the mean node-seconds of a job."""
    rng = np.random.default_rng(0)
    sizes = _draw_sizes(rng, 4000)
    nodes = np.ceil(_by_size(rng, sizes, "share_of_machine") * machine_nodes)
    return float((nodes * _by_size(rng, sizes, "run_s")).mean())
