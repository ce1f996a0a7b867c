"""What the packet-level studies share: steps with progress and cancel, and their answers."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic
from typing import Any

from flitwatch_domain.errors import Cancelled
from flitwatch_simulation.studies.parameters import number, whole
from flitwatch_simulation.studies.registry import Cancelled as IsCancelled
from flitwatch_simulation.studies.registry import Parameters, Report

__all__ = ["number", "sweep", "whole"]


def sweep(
    study: str,
    cases: list[Parameters],
    compute: Callable[[Parameters, IsCancelled], list[dict[str, Any]]],
    report: Report,
    cancelled: IsCancelled,
    **extra: Any,
) -> Parameters:
    """Compute the cases in turn; the answer holds all points."""
    started = monotonic()
    points: list[dict[str, Any]] = []
    for done, case in enumerate(cases):
        if cancelled():
            raise Cancelled(f"{study} was cancelled after {done} of {len(cases)} cases")
        report(done, len(cases), ", ".join(f"{key} {value}" for key, value in case.items()))
        points += compute(case, cancelled)
    report(len(cases), len(cases), "done")
    return {"study": study, "points": points, "simulated": True, "wall_s": monotonic() - started, **extra}
