"""Notes of what was done to pending jobs, kept next to the advice file: another tool may overwrite the mark in a job's admin comment."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import orjson

from flitwatch_slurm import advice_file
from flitwatch_slurm.cluster import Pending

log = logging.getLogger(__name__)


@dataclass
class Notes:
    """The last mark of each job that waits.

    Attributes
    ----------
    path : Path      of their file
    marks : dict     (delay, prefer or released; since when in epoch seconds) by job
    """

    path: Path
    marks: dict[str, tuple[str, int]] = field(default_factory=dict)
    _kept: bytes = b""

    @classmethod
    def beside(cls, advice: Path) -> Notes:
        """The notes alongside a file of advice; none if there are none that can be read."""
        path = advice.with_name(f"{advice.name}.jobs")
        try:
            content = path.read_bytes()
            marks = {str(job): (str(what), int(since)) for job, (what, since) in orjson.loads(content).items()}
        except FileNotFoundError:
            return cls(path)
        except (OSError, ValueError, TypeError, AttributeError) as problem:
            log.warning("%s cannot be read: jobs without a mark are left alone: %s", path, problem)
            return cls(path)
        return cls(path, marks, content)

    def restored(self, jobs: Sequence[Pending]) -> list[Pending]:
        """The jobs, with the mark that was noted where their comment has none; jobs that wait no longer are forgotten."""
        marked_jobs = []
        for job in jobs:
            noted = self.marks.get(job.job_id) if job.mark is None else None
            marked_jobs.append(job if noted is None else replace(job, mark=noted[0], since_s=noted[1]))
        self.marks = {job.job_id: (job.mark, job.since_s) for job in marked_jobs if job.mark is not None}
        return marked_jobs

    def keep(self) -> None:
        """Write them to their file. What cannot be written is held in memory alone."""
        data = orjson.dumps(self.marks, option=orjson.OPT_SORT_KEYS)
        if data == self._kept:
            return
        try:
            advice_file.write_file(self.path, data)
            self._kept = data
        except OSError as problem:
            log.warning("%s cannot be written: %s", self.path, problem.strerror)
