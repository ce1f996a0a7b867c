"""Record of actions on pending jobs, next to the advice file: another tool can overwrite the mark in a job's admin comment."""

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
    """Last mark of each pending job.

    Attributes
    ----------
    path : Path of the notes file
    marks : dict     (delay, prefer or released; start in epoch seconds) by job
    """

    path: Path
    marks: dict[str, tuple[str, int]] = field(default_factory=dict)
    _kept: bytes = b""

    @classmethod
    def load_next_to(cls, advice: Path) -> Notes:
        """Load the notes next to an advice file. They are empty if the file is missing or unreadable."""
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
        """Return the jobs, with noted marks added to jobs whose comment has none. Notes of jobs that are no longer pending are dropped."""
        marked_jobs = []
        for job in jobs:
            noted = self.marks.get(job.job_id) if job.mark is None else None
            marked_jobs.append(job if noted is None else replace(job, mark=noted[0], since_s=noted[1]))
        self.marks = {job.job_id: (job.mark, job.since_s) for job in marked_jobs if job.mark is not None}
        return marked_jobs

    def keep(self) -> None:
        """Write the notes to their file. If that fails, they remain only in memory."""
        data = orjson.dumps(self.marks, option=orjson.OPT_SORT_KEYS)
        if data == self._kept:
            return
        try:
            advice_file.write_file(self.path, data)
            self._kept = data
        except OSError as problem:
            log.warning("%s cannot be written: %s", self.path, problem.strerror)
