"""Cells of sacct's output: times, states, node lists, counts."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from flitwatch_domain import hostlist, units
from flitwatch_domain.errors import BadInput
from flitwatch_domain.units import EARLIEST_S, LATEST_S

_NOTHING = frozenset({"", "unknown", "none", "none assigned", "n/a", "(null)", "invalid"})
_EPOCH = re.compile(r"[0-9]{9,11}(?:\.[0-9]+)?")
#: Slurm's 32-bit and 64-bit NO_VAL and INFINITE, and 0: values of a time that is not set.
NO_TIMES = frozenset({0, 0xFFFFFFFE, 0xFFFFFFFF, 2**64 - 2, 2**64 - 1})
_ELAPSED = re.compile(r"(?:(?:([0-9]{1,6})-)?([0-9]{1,4}):)?([0-9]{1,4}):([0-9]{2})(?:\.[0-9]+)?")
_STATE = re.compile(r"([A-Z][A-Z_]+)(?: by \S+)?\+?")
_EXIT = re.compile(r"[0-9]{1,3}:[0-9]{1,3}")
#: Slurm's job states (squeue's documentation, JOB STATE CODES).
STATES = frozenset(
    {
        "BOOT_FAIL", "CANCELLED", "COMPLETED", "COMPLETING", "CONFIGURING", "DEADLINE", "FAILED", "LAUNCH_FAILED", "NODE_FAIL",
        "OUT_OF_MEMORY", "PENDING", "POWER_UP_NODE", "PREEMPTED", "RECONFIG_FAIL", "REQUEUED", "REQUEUE_FED", "REQUEUE_HOLD", "RESIZING",
        "RESV_DEL_HOLD", "REVOKED", "RUNNING", "SIGNALING", "SPECIAL_EXIT", "STAGE_OUT", "STOPPED", "SUSPENDED", "TIMEOUT", "UPDATE_DB",
        "EXPEDITING", "UNKNOWN",
    }
)  # fmt: skip


def is_nothing(text: str) -> bool:
    """Return whether a cell has no value."""
    return text.strip().lower() in _NOTHING


def optional_text(text: str) -> str | None:
    """Return the cell's text, or None if it has no value."""
    return None if is_nothing(text) else text.strip()


def time_s(text: str, zone: ZoneInfo | None) -> float | None:
    """Return epoch seconds of an epoch or ISO time with or without a zone; None for Unknown, None and NO_VAL. Raise BadInput otherwise.

    In the repeated hour at the end of summer time, the first instance is chosen; see `times_s`.
    """
    return next(iter(times_s(text, zone)), None)


def times_s(text: str, zone: ZoneInfo | None) -> tuple[float, ...]:
    """Return the possible epoch seconds of a time: none, one, or two if the clock was set back."""
    if is_nothing(text):
        return ()
    text = text.strip()
    if units.parse_whole(text) in NO_TIMES:
        return ()
    if _EPOCH.fullmatch(text):
        return (_check_range(float(text), text),)
    try:
        moment = datetime.fromisoformat(text if text.isascii() else "")
    except ValueError:
        raise BadInput(f"{text[:40]!r} is not a time") from None
    folds: tuple[datetime, ...] = (moment,)
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=zone) if zone else moment
        folds = (moment.replace(fold=0), moment.replace(fold=1))
    try:
        times = [_check_range(fold.astimezone(UTC).timestamp(), text) for fold in folds]
    except (OverflowError, OSError, ValueError):  # year 1 is year 0 in a zone east of Greenwich
        raise BadInput(f"{text[:40]!r} is not a time") from None
    # In spring the two also differ, for a nonexistent local time: the first one is used.
    return tuple(dict.fromkeys(times)) if times[-1] > times[0] else (times[0],)


def hour_s(text: str, zone: ZoneInfo | None) -> float | None:
    """Return epoch seconds of an hour's beginning, `2026-01-31T10:`; None if the clock is set within it, or if it is not an hour."""
    try:
        first, last = times_s(f"{text}00:00", zone), times_s(f"{text}59:59", zone)
    except BadInput:
        return None
    return first[0] if len(first) == len(last) == 1 and last[0] - first[0] == 3599 else None


def elapsed_s(text: str) -> float | None:
    """Return seconds of Elapsed, [DD-[HH:]]MM:SS, or of ElapsedRaw; None if it is empty or neither."""
    text = text.strip()
    seconds = units.parse_whole(text, most=10**11)
    if seconds is not None:
        return float(seconds)
    match = _ELAPSED.fullmatch(text)
    if match is None:
        return None
    days, hours, minutes, rest = (int(part or 0) for part in match.groups())
    return float(((days * 24 + hours) * 60 + minutes) * 60 + rest)


def limit_s(text: str) -> float | None:
    """Return seconds of Timelimit, [DD-[HH:]]MM:SS; None for no limit (UNLIMITED) or the partition's limit."""
    return elapsed_s(text) if ":" in text else None


def _check_range(seconds: float, text: str) -> float:
    if not EARLIEST_S <= seconds <= LATEST_S:
        raise BadInput(f"time {text[:40]!r} is outside 2000 to 2100")
    return seconds


def parse_state(text: str) -> str:
    """Return the state's name: CANCELLED of `CANCELLED by 1002`. Raise BadInput for a state that Slurm does not have."""
    match = _STATE.fullmatch(text.strip())
    if match is None or match.group(1) not in STATES:
        raise BadInput(f"{text[:40]!r} is not a state of Slurm")
    return match.group(1)


def exit_code(text: str) -> str | None:
    """Return code and signal, `0:0`."""
    if is_nothing(text):
        return None
    if _EXIT.fullmatch(text.strip()) is None:
        raise BadInput(f"{text[:40]!r} is not an exit code")
    return text.strip()


def parse_count(text: str) -> int | None:
    """Return a whole number, None for an empty cell."""
    text = text.strip()
    if is_nothing(text):
        return None
    number = units.parse_whole(text, most=10**9 - 1)
    if number is None:
        raise BadInput(f"{text[:40]!r} is not a number of nodes")
    return number


def node_list(text: str) -> str | None:
    """Return the host list unchanged after checking that it can be expanded; None if no node was assigned."""
    if is_nothing(text):
        return None
    hostlist.expand_hosts(text)
    return text.strip()
