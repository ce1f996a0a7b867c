"""Randomised trials of advice: who takes part, and which half a job is in.

Whether advice is given to a job is drawn before its outcome is known, so that the difference between the halves is the advice's and no one's choice. A job
stays in its half regardless of the outcome (intention to treat).
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

#: Where the agent records who was drawn, unless the site says otherwise.
RECORD = Path("/var/lib/flitwatch/slurm/trial.jsonl")


@dataclass(frozen=True)
class Participant:
    """A job for which there was advice to give.

    Attributes
    ----------
    job_id : str
    advised : bool           it was given the advice; else it was left alone
    application : str
    nodes : int
    action : str             delay or prefer: what the advice was
    slowdown : float         what was expected without it
    usual_s : float          the application's mean run time
    at_s : float             when it was drawn, epoch seconds
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
    """Outcome of a job: epoch seconds; None: not yet, or unknown."""

    state: str
    start_s: float | None
    end_s: float | None


def is_advised(salt: str, job_id: str, share: float) -> bool:
    """Return whether a job is in the half that is given advice: the same for the same job, regardless of who asks and how often."""
    drawn = int.from_bytes(hashlib.sha256(f"{salt}\0{job_id}".encode()).digest()[:8], "big")
    return drawn < share * 2.0**64
