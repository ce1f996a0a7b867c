"""Slurm accounting to the log: a file once, or a real `sacct` polled periodically.

Each round asks two questions: which jobs existed since the last round (including all running and pending jobs), and all records of those jobs,
requeues included, so that an incarnation keeps its number. A job is published when its record has changed. A job is a runaway if, in two rounds,
accounting reports it as running and `squeue` does not list it.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from flitwatch_domain import units
from flitwatch_domain.errors import BadInput, MissingDependency, Unavailable
from flitwatch_domain.jobs import RUNAWAY, Job, count_other_nodes
from flitwatch_ingest.collectors.checkpoint import Checkpoint
from flitwatch_ingest.collectors.publisher import Publisher
from flitwatch_ingest.sources import sacct
from flitwatch_ingest.sources.rejection import Rejection
from flitwatch_stream import topics

_FIELDS = (
    "JobID", "JobIDRaw", "Cluster", "User", "Account", "JobName", "Partition", "State", "ExitCode", "Submit", "Start", "End", "ElapsedRaw", "Suspended", "NNodes", "NodeList", "TimelimitRaw",
)  # fmt: skip
_DELIMITER = "\x1f"
#: Jobs per query, to keep the command line short.
_JOBS_A_QUERY = 400
#: Accounting records arrive late (slurmctld to slurmdbd): look back this far before the last round.
_OVERLAP_S = 600
#: Shorter than the silence after which a loop counts as hanging (flitwatch_domain.heartbeat).
_TIMEOUT_S = 240.0


def publish_jobs(jobs: Sequence[Job], publisher: Publisher, source: str = "sacct") -> int:
    """Publish jobs as read from `source`. A later record of a job replaces an earlier one, so repeats are harmless and have no sequence."""
    for job in jobs:
        publisher.publish(topics.JOBS, sacct.encode_job(job), f"{source}:{job.cluster}")
    return len(jobs)


class SacctCollector:
    """Collector that follows Slurm's accounting by polling `sacct`.

    Parameters
    ----------
    command : str
        The program to run.
    since_s : float
        How far the first round looks back.
    """

    def __init__(
        self,
        publisher: Publisher,
        checkpoint: Checkpoint,
        *,
        command: str = "sacct",
        since_s: float = 86400.0,
        overlap_s: float = _OVERLAP_S,
    ) -> None:
        program = shutil.which(command)
        if program is None:
            raise MissingDependency(
                f"there is no program {command}",
                advice="Install Slurm's client (Debian: slurm-client), or name it with --sacct.",
            )
        self._command = program
        self._squeue = shutil.which("squeue", path=os.path.dirname(program)) or shutil.which("squeue")
        self._hides_jobs: bool | None = None
        self._publisher = publisher
        self._checkpoint = checkpoint
        self._since_s = since_s
        self._overlap_s = overlap_s
        self.jobs = 0
        #: Published jobs whose number of nodes is not that of their list.
        self.differing = 0

    def run(self, stop: threading.Event, interval_s: float = 30.0, say: Callable[[str], None] | None = None) -> None:
        """Poll every `interval_s` seconds until `stop` is set; a failed sacct is retried."""
        while True:
            try:
                changed = self.once()
                if say and changed:
                    differing = f", {self.differing} with another number of nodes than hosts" if self.differing else ""
                    say(f"{changed} jobs changed, {self.jobs} published since the start{differing}")
            except Unavailable as away:
                if say:
                    say(str(away))
            if self._publisher.heartbeat.wait(stop, interval_s):
                return

    def once(self) -> int:
        """Run one round and return the number of published jobs. Raise Unavailable if sacct fails."""
        asked_at = time.time()
        last = self._checkpoint.value.get("asked_at")
        back_s = self._since_s if last is None else max(asked_at - float(last), 0.0) + self._overlap_s
        digests: dict[str, str] = self._checkpoint.value.get("digests", {})
        current: dict[str, str] = {}
        changed = 0
        queued: set[str] | None = None
        missed: list[str] = self._checkpoint.value.get("missed", [])
        missing: list[str] = []
        for batch in _split_batches(self._list_ids(back_s), _JOBS_A_QUERY):
            jobs, rejected = self._load_details(batch)
            for rejection in rejected:
                digest = hashlib.blake2b(rejection.raw, digest_size=8).hexdigest()
                current[f"rejected {digest}"] = digest
                if digests.get(f"rejected {digest}") != digest:
                    self._publisher.reject(rejection, "sacct")
            if any(job.state == "RUNNING" for job in jobs):
                # Asked after sacct: jobs that began since are in neither answer.
                queued = self._ask_squeue()
            for job in jobs:
                if job.state == "RUNNING" and queued is not None and job.job_id not in queued:
                    missing.append(_identity_of(job)[0])
                    if missing[-1] in missed:
                        job = replace(job, state=RUNAWAY)
                key, digest = _identity_of(job)
                current[key] = digest
                if digests.get(key) != digest:
                    self.differing += count_other_nodes(job) is not None
                    changed += publish_jobs([job], self._publisher)
        self._publisher.flush()
        self._checkpoint.value.update(asked_at=asked_at, digests=current, missed=missing)
        self._checkpoint.save()
        self.jobs += changed
        return changed

    def _ask_squeue(self) -> set[str] | None:
        """Return the scheduler's current jobs, array tasks one by one; None if it does not answer."""
        if self._squeue is None:
            return None
        if self._hides_jobs is None:
            self._hides_jobs = _hides_jobs(os.path.join(os.path.dirname(self._squeue), "scontrol"))
        if self._hides_jobs is not False:
            # What squeue does not list may be other users' jobs.
            return None
        command = [self._squeue, "--all", "--array", "--noheader", "--states=all", "--format=%i"]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=_TIMEOUT_S, check=False)
        except (OSError, subprocess.TimeoutExpired):
            return None
        return set(done.stdout.split()) if done.returncode == 0 else None

    def _list_ids(self, back_s: float) -> list[str]:
        window = ["--starttime", f"now-{int(back_s) + 1}seconds"]
        out = self._run_sacct(
            ["--allusers", "--allocations", "--noheader", "--parsable2", "--format", "JobIDRaw", *window]
        )
        ids = {line.strip() for line in out.decode("utf-8", errors="replace").splitlines()}
        return sorted((text for text in ids if units.parse_whole(text) is not None), key=int)

    def _load_details(self, ids: Sequence[str]) -> tuple[list[Job], list[Rejection]]:
        fields = ["--format", ",".join(_FIELDS), "--parsable2", f"--delimiter={_DELIMITER}"]
        out = self._run_sacct(["--allusers", "--duplicates", *fields, "--jobs", ",".join(ids)])
        try:
            jobs, rejected = sacct.decode_jobs(out, "sacct")
        except BadInput as bad:
            return [], [Rejection("sacct", bad.reason, out)]
        # The answer repeats the job of a component or array task for each of its siblings.
        return list({(job.cluster, job.job_id, job.restart): job for job in jobs}.values()), rejected

    def _run_sacct(self, arguments: list[str]) -> bytes:
        self._publisher.heartbeat.beat()
        environment = {**os.environ, "SLURM_TIME_FORMAT": "%s", "LC_ALL": "C.UTF-8"}
        try:
            done = subprocess.run(
                [self._command, *arguments], capture_output=True, timeout=_TIMEOUT_S, env=environment, check=False
            )
        except (OSError, subprocess.TimeoutExpired) as problem:
            raise Unavailable(f"sacct did not answer: {problem}") from problem
        if done.returncode != 0:
            text = " ".join(done.stderr.decode("utf-8", errors="replace").split())[:200]
            raise Unavailable(f"sacct failed with status {done.returncode}: {text}", advice="Is slurmdbd reachable?")
        return done.stdout


def _hides_jobs(scontrol: str) -> bool | None:
    """Return whether Slurm shows users only their own jobs (PrivateData), according to `scontrol show config`; None if it does not answer.

    A host without scontrol is taken for one that shows all jobs.
    """
    try:
        done = subprocess.run([scontrol, "show", "config"], capture_output=True, timeout=_TIMEOUT_S, check=False)
    except FileNotFoundError:
        return False
    except (OSError, subprocess.TimeoutExpired):
        return None
    if done.returncode != 0:
        return None
    setting = re.search(rb"^PrivateData\s*=\s*(.*)$", done.stdout, re.MULTILINE)
    return setting is not None and bool({b"jobs", b"all"} & set(setting[1].strip().split(b",")))


def _identity_of(job: Job) -> tuple[str, str]:
    """Return a key of the incarnation, and a digest of its record."""
    return f"{job.cluster}/{job.job_id}/{job.restart}", hashlib.blake2b(
        sacct.encode_job(job), digest_size=8
    ).hexdigest()


def _split_batches(items: Sequence[str], size: int) -> Iterator[Sequence[str]]:
    for start in range(0, len(items), size):
        yield items[start : start + size]
