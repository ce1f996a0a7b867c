"""Reports of runs in the database's terms: owner and key."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from datetime import UTC, datetime

import numpy as np

from flitwatch_api.parameters import LATEST_S
from flitwatch_api.runs import schemas
from flitwatch_domain.access import Caller
from flitwatch_domain.errors import BadRequest
from flitwatch_domain.runs import Run, RunStep


def key_of(caller: Caller, key: str) -> str:
    """Return the stored key. It is specific to the caller, so guessing a key gives no access to imported runs or another account's runs."""
    digest = hashlib.sha256("\0".join((caller.name, key)).encode()).hexdigest()
    return f"reported-{digest[:32]}"


def owner_of(caller: Caller) -> str | None:
    """Return the account whose jobs a caller may report: people only their own, a service all (None)."""
    return None if caller.role == "service" else caller.name


def head_of(caller: Caller, new: schemas.ReportedRun) -> Run:
    """Return the head of a run: one rank per node, or one rank if the nodes are unknown."""
    nodes = tuple(new.nodes) or (None,)
    return Run(
        key_of(caller, new.key),
        new.application,
        new.job_id,
        None if new.start is None else _start_seconds(new.start),
        tuple(range(len(nodes))),
        nodes,
    )


def steps_of(steps: Sequence[schemas.ReportedStep]) -> list[RunStep]:
    """Return steps with the one measured time."""
    return [RunStep(step.step, np.array([round(step.time_s * 1e9)], np.int64)) for step in steps]


def _start_seconds(start: datetime) -> float:
    seconds = (start if start.tzinfo else start.replace(tzinfo=UTC)).timestamp()
    if not 0 <= seconds < LATEST_S:
        raise BadRequest("`start` must be between 1970 and 2106")
    return seconds
