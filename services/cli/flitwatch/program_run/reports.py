"""Report of a run to the API. Unsent parts are stored in the user's files."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, cast

from flitwatch.program_run.step_lines import Step
from flitwatch.rest import Place, make_refusal

if TYPE_CHECKING:
    from flitwatch_client import Client, models

#: Steps per request; the API's limit.
MOST_STEPS = 10_000
#: Permanent refusals: the API will not accept the request later.
NEVER = frozenset({400, 413, 422})


@dataclass(frozen=True)
class Head:
    """Description of a run at its start, in the API's terms."""

    key: str
    application: str
    job_id: str | None
    start: str
    nodes: list[str] = field(default_factory=list)


def of_job(environment: Mapping[str, str]) -> tuple[str | None, list[str]]:
    """Return this process's job, with the id under which jobs are stored, and its nodes if known."""
    from flitwatch_domain.errors import BadInput
    from flitwatch_domain.hostlist import expand_hosts
    from flitwatch_domain.jobs import kept_job_id

    job, nodes = None, list[str]()
    if "SLURM_JOB_ID" in environment:
        array = [environment.get(f"SLURM_ARRAY_{part}_ID") for part in ("JOB", "TASK")]
        job = "_".join(map(str, array)) if all(array) else environment["SLURM_JOB_ID"]
        with contextlib.suppress(BadInput):
            nodes = expand_hosts(environment.get("SLURM_JOB_NODELIST", ""))
    elif "PBS_JOBID" in environment:
        job = kept_job_id(environment["PBS_JOBID"]).job_id
        with contextlib.suppress(KeyError, OSError, ValueError):
            nodes = list(dict.fromkeys(Path(environment["PBS_NODEFILE"]).read_text().split()))
    elif "FLUX_JOB_ID" in environment:
        job = environment["FLUX_JOB_ID"]
    return job, nodes


class ReportOutcome(TypedDict):
    """Outcome of reporting a run.

    Attributes
    ----------
    run_id : int or None     None if the API did not accept the run
    steps : int              number of steps read
    problem : str or None    reason why parts were not sent
    kept : str or None       file with the unsent parts
    """

    application: str
    job_id: str | None
    run_id: int | None
    steps: int
    problem: str | None
    kept: str | None


class Report:
    """Run that is being sent to the API.

    Parameters
    ----------
    file : Path
        File that stores the run while a part of it is unsent.

    Attributes
    ----------
    problem : str or None
        Reason for the last failure.
    refused : bool
        Whether the API permanently refuses it.
    """

    def __init__(self, head: Head, place: Place, file: Path) -> None:
        self._head, self._place, self.file = head, place, file
        self._run_id: int | None = None
        self._unsent: dict[int, float] = {}
        self._numbers: set[int] = set()
        self.problem: str | None = None
        self.refused = False

    def add(self, steps: Iterable[Step]) -> None:
        """Add steps. A repeated step replaces the earlier one."""
        for step in steps:
            self._unsent[step.number] = step.seconds
            self._numbers.add(step.number)

    @property
    def is_sent(self) -> bool:
        return self._run_id is not None and not self._unsent

    def summarize_outcome(self) -> ReportOutcome:
        """Return the outcome of the report so far."""
        kept_file = str(self.file) if self.file.exists() else None
        return {
            "application": self._head.application,
            "job_id": self._head.job_id,
            "run_id": self._run_id,
            "steps": len(self._numbers),
            "problem": self.problem,
            "kept": kept_file,
        }

    def send(self, timeout_s: float) -> bool:
        """Send the unsent parts. Return False if some remain; `problem` then has the reason, and the file stores them."""
        from flitwatch_client import ClientError, Refused, connect
        from flitwatch_domain.errors import FlitwatchError

        if self.refused or self.is_sent:
            return not self.refused
        try:
            with connect(self._place.url, self._place.token(), timeout_s=timeout_s) as fw:
                self._send_unsent(fw)
        except (ClientError, FlitwatchError, OSError) as problem:
            failure = make_refusal(self._place, problem) if isinstance(problem, Refused) else problem
            self.problem = " ".join(str(failure).split()).removesuffix(".")
            # An error of the token's file has a status too, but it is not the API's answer.
            self.refused = isinstance(problem, Refused) and problem.status in NEVER
            self.keep()
            return False
        self.problem = None
        self.file.unlink(missing_ok=True)
        return True

    def _send_unsent(self, fw: Client) -> None:
        if self._run_id is None:
            self._run_id = fw.api.report_run(cast("models.ReportedRun", {**asdict(self._head), "steps": []}))["run_id"]
        while self._unsent:
            part = dict(list(self._unsent.items())[:MOST_STEPS])
            steps: list[models.ReportedStep] = [{"step": number, "time_s": seconds} for number, seconds in part.items()]
            fw.api.report_steps(self._run_id, {"key": self._head.key, "steps": steps})
            for number, seconds in part.items():
                if self._unsent.get(number) == seconds:
                    del self._unsent[number]

    def keep(self) -> None:
        """Write the unsent parts to the file, readable only by its owner."""
        token = self._place.token_file
        content = {
            "url": self._place.url,
            "token_file": str(token.absolute()) if token else None,
            "run": asdict(self._head),
            "steps": list(self._unsent.items()),
        }
        try:
            self.file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            part = self.file.with_suffix(".part")
            with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
                json.dump(content, file)
            part.replace(self.file)
        except OSError as full:
            self.problem = f"{self.problem}; it cannot be kept either: {full}"


def list_kept(folder: Path) -> list[Path]:
    """Return the files of unsent runs, oldest first."""
    return sorted(folder.glob("*.json"), key=lambda file: file.stat().st_mtime)


def send_kept(file: Path, place: Place | None = None) -> str | None:
    """Send a stored run. Return None, or the reason why it stays. A permanently refused run is renamed to `.refused`.

    The token of `place` is used for runs stored for its address; other runs use their original token.
    """
    try:
        record: dict[str, Any] = json.loads(file.read_text())
        head = Head(**record["run"])
        token = record["token_file"]
        at = Place(record["url"], Path(token) if token else None)
        if place is not None and place.token_file is not None and place.url == at.url:
            at = place
        report = Report(head, at, file)
        report.add(Step(int(number), float(seconds)) for number, seconds in record["steps"])
    except (OSError, ValueError, KeyError, TypeError) as problem:
        return f"it is not a kept run: {problem}"
    if report.send(30):
        return None
    if report.refused:
        file.replace(file.with_suffix(".refused"))
    return report.problem
