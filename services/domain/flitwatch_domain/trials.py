"""Randomised trials of advice: the participants, and the half of each job.

The half of a job is drawn before its outcome is known. Differences between the halves are therefore caused by the advice and not by a choice. A job
stays in its half regardless of the outcome (intention to treat).
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

#: Default file in which the agent records the drawn jobs.
RECORD = Path("/var/lib/flitwatch/slurm/trial.jsonl")


@dataclass(frozen=True)
class Participant:
    """A job with available advice.

    Attributes
    ----------
    advised : bool           whether it got the advice
    action : str             delay or prefer: the advice
    slowdown : float         expected slowdown without the advice
    usual_s : float          the application's mean run time
    at_s : float             time of the draw, epoch seconds
    """

    job_id: str
    advised: bool
    application: str
    nodes: int
    action: str
    slowdown: float
    usual_s: float
    at_s: float


@dataclass(frozen=True)
class Outcome:
    """Outcome of a job in epoch seconds; None if it is pending or unknown."""

    state: str
    start_s: float | None
    end_s: float | None


def is_advised(salt: str, job_id: str, share: float) -> bool:
    """Return whether a job is in the half with advice; the result is always the same for the same job."""
    drawn = int.from_bytes(hashlib.sha256(f"{salt}\0{job_id}".encode()).digest()[:8], "big")
    return drawn < share * 2.0**64
