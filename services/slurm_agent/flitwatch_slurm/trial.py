"""Trial record: the random assignment of each job, written before the job is changed.

A JSON Lines file: the first line describes the trial, each further line a job. The file is append-only.
"""

from __future__ import annotations

import math
import os
import secrets
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import orjson

from flitwatch_domain.errors import BadInput, NotFound, Unavailable
from flitwatch_domain.trials import Participant, is_advised
from flitwatch_slurm.cluster import Pending
from flitwatch_slurm.questions import PlacedAdvice


@dataclass(frozen=True)
class Header:
    """Parameters of a trial that apply to every assignment."""

    salt: str
    share: float
    begun_s: float


@dataclass
class Trial:
    """Trial in progress.

    Attributes
    ----------
    path : Path of the record
    drawn : dict     whether each job is advised
    """

    path: Path
    header: Header
    drawn: dict[str, bool] = field(default_factory=dict)

    @classmethod
    def open(cls, path: Path, share: float) -> Trial:
        """Start a trial, or continue the one in the file. Raise BadInput if the file is not a trial record, or has a different share."""
        if path.exists() and path.stat().st_size:
            header, participants, _ = read_record(path)
            if header.share != share:
                raise BadInput(
                    f"the trial in {path} gives advice to {header.share:g} of the jobs, not to {share:g}",
                    advice="A different share is a different trial. Name another --trial-file.",
                )
            return cls(path, header, {participant.job_id: participant.advised for participant in participants})
        header = Header(secrets.token_hex(16), share, time.time())
        _append_lines(path, [{"trial": 1, **asdict(header)}], os.O_RDWR | os.O_CREAT)
        return cls(path, header)

    def split(
        self,
        jobs: Sequence[Pending],
        advised: Sequence[PlacedAdvice | None],
        would_act: Callable[[Pending, PlacedAdvice], bool],
    ) -> list[PlacedAdvice | None]:
        """Assign the jobs that advice would change for the first time. Return advice only for jobs in the advised group."""
        lines, out = [], []
        for job, advice in zip(jobs, advised, strict=True):
            # The accounting has one job per array task: a single draw for the whole array would not randomise its tasks.
            may_take_part = job.mark is None and not job.of_several and job.job_id not in self.drawn
            if may_take_part and advice is not None and would_act(job, advice):
                participant = Participant(
                    job_id=job.job_id,
                    advised=is_advised(self.header.salt, job.job_id, self.header.share),
                    application=job.application,
                    nodes=job.nodes,
                    action=advice.action,
                    slowdown=advice.slowdown or 0.0,
                    usual_s=advice.usual_s,
                    at_s=time.time(),
                )
                self.drawn[job.job_id] = participant.advised
                lines.append(asdict(participant))
            out.append(advice if self.drawn.get(job.job_id, job.mark is not None) else None)
        if lines:
            # On disk before any job is changed: a lost draw could otherwise be repeated.
            try:
                _append_lines(self.path, lines, os.O_RDWR)
            except OSError as problem:
                for line in lines:
                    del self.drawn[line["job_id"]]
                raise Unavailable(
                    f"the trial's record {self.path} cannot be written: {problem.strerror}",
                    advice="No job is changed until it can. If the record is lost, the trial has ended. Name another --trial-file.",
                ) from None
        return out


def read_record(path: Path) -> tuple[Header, list[Participant], int]:
    """Read a trial record: its header, its participants, and the number of lines torn by a crash. Raise BadInput if the file is not a trial record,
    or a job's group differs from its draw. Raise NotFound or Unavailable if the file is missing or cannot be read."""
    try:
        lines = path.read_bytes().split(b"\n")
    except FileNotFoundError:
        raise NotFound(
            f"{path} is missing", advice="flitwatch agent slurm --trial writes it. Name it with --file."
        ) from None
    except OSError as problem:
        raise Unavailable(
            f"{path} cannot be read: {problem.strerror}", advice="Run this as the agent's user."
        ) from None
    try:
        first: dict[str, Any] = orjson.loads(lines[0])
        header = Header(str(first["salt"]), float(first["share"]), float(first["begun_s"]))
        if first["trial"] != 1 or not 0 < header.share < 1 or not math.isfinite(header.begun_s):
            raise ValueError
    except (ValueError, LookupError, TypeError):
        raise BadInput(
            f"{path} is not a record of a trial", advice="flitwatch agent slurm --trial writes one."
        ) from None
    participants: dict[str, Participant] = {}
    torn = 0
    for number, line in enumerate(lines[1:], 2):
        if not line:
            continue
        try:
            participant = _parse_participant(orjson.loads(line))
        except (ValueError, TypeError):
            torn += 1
            continue
        if participant.advised is not is_advised(header.salt, participant.job_id, header.share):
            raise BadInput(f"line {number} of {path}: job {participant.job_id} is in the wrong half")
        participants.setdefault(participant.job_id, participant)
    return header, list(participants.values()), torn


def _parse_participant(said: dict[str, Any]) -> Participant:
    """Parse a line as a participant. Raise ValueError or TypeError if a value has the wrong type."""
    participant = Participant(**said)
    numbers = (participant.slowdown, participant.at_s, participant.usual_s)
    if not all(isinstance(number, int | float) and math.isfinite(number) for number in numbers):
        raise ValueError("a number is missing")
    if not (
        isinstance(participant.job_id, str)
        and isinstance(participant.advised, bool)
        and isinstance(participant.nodes, int)
    ):
        raise TypeError("a job's id, half or nodes have the wrong type")
    return participant


def _append_lines(path: Path, lines: Sequence[dict[str, Any]], how: int) -> None:
    with open(os.open(path, how | os.O_APPEND | os.O_NOFOLLOW, 0o600), "ab") as file:
        # End a line that a crash tore, so that it does not corrupt the next one.
        torn = file.tell() and os.pread(file.fileno(), 1, file.tell() - 1) != b"\n"
        file.write((b"\n" if torn else b"") + b"".join(orjson.dumps(line) + b"\n" for line in lines))
        file.flush()
        os.fsync(file.fileno())
