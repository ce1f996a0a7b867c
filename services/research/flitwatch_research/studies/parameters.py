"""Validation of studies' parameters, which are untrusted JSON; every error is a BadRequest with the parameter's name."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from flitwatch_domain.errors import BadRequest

Parameters = dict[str, Any]


def check_names(parameters: Parameters, names: Iterable[str]) -> None:
    """Raise BadRequest for unknown parameters, so that a typing error is not ignored silently."""
    names = sorted(names)
    for name in parameters:
        if name not in names:
            raise BadRequest(f"the study has no parameter {name!r}", advice=f"It has {', '.join(names)}.")


def read_number(parameters: Parameters, name: str, default: float, low: float, high: float) -> float:
    """Return a numeric parameter within its bounds."""
    value = parameters.get(name, default)
    if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
        raise BadRequest(f"parameter {name!r} is {value!r}; expected a number from {low:g} to {high:g}")
    return value


def read_whole_number(parameters: Parameters, name: str, default: int, low: int, high: int) -> int:
    """Return an integer parameter within its bounds."""
    value = read_number(parameters, name, default, low, high)
    if int(value) != value:
        raise BadRequest(f"parameter {name!r} is {value!r}; expected a whole number")
    return int(value)


def read_numbers(parameters: Parameters, name: str, default: list[float], low: float, high: float) -> list[float]:
    """Return a list of numbers within their bounds, at least one."""
    values = parameters.get(name, default)
    if not isinstance(values, list) or not 1 <= len(values) <= 1000:
        raise BadRequest(f"parameter {name!r} must be a list of 1 to 1000 numbers, not {values!r}")
    return [read_number({name: value}, name, 0.0, low, high) for value in values]


def read_string(parameters: Parameters, name: str, default: str) -> str:
    """Return a text parameter."""
    value = parameters.get(name, default)
    if not isinstance(value, str):
        raise BadRequest(f"parameter {name!r} is {value!r}; expected a text")
    return value


def read_strings(parameters: Parameters, name: str, default: list[str]) -> list[str]:
    """Return a nonempty list of texts, given as a list or a single text."""
    values = parameters.get(name, default)
    values = [values] if isinstance(values, str) else values
    if (
        not isinstance(values, list)
        or not 1 <= len(values) <= 1000
        or not all(isinstance(item, str) for item in values)
    ):
        raise BadRequest(f"parameter {name!r} must be a text or a list of texts, not {values!r}")
    return values
