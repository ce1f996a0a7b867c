"""What the packet-level studies share: steps with progress and cancel, and their answers."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic
from typing import Any

from flitwatch_domain.errors import BadRequest, Cancelled
from flitwatch_simulation.studies.registry import Cancelled as IsCancelled
from flitwatch_simulation.studies.registry import Parameters, Report


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


def number(parameters: Parameters, name: str, default: float, low: float, high: float) -> float:
    """A numeric parameter within its bounds."""
    value = parameters.get(name, default)
    if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
        raise BadRequest(f"parameter {name!r} is {value!r}; expected a number from {low:g} to {high:g}")
    return value


def whole(parameters: Parameters, name: str, default: int, low: int, high: int) -> int:
    """A whole-number parameter within its bounds."""
    value = number(parameters, name, default, low, high)
    if int(value) != value:
        raise BadRequest(f"parameter {name!r} is {value!r}; expected a whole number")
    return int(value)
