"""Cells of sacct's output: times, states, node lists, counts."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from flitwatch_domain import hostlist
from flitwatch_domain.errors import BadInput
from flitwatch_domain.units import EARLIEST_S, LATEST_S

_NOTHING = frozenset({"", "unknown", "none", "none assigned", "n/a", "(null)", "invalid"})
_EPOCH = re.compile(r"\d{9,11}(?:\.\d+)?")
_STATE = re.compile(r"([A-Z][A-Z_]+)(?: by \S+)?\+?")
_EXIT = re.compile(r"\d{1,3}:\d{1,3}")
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
    """Whether a cell says that there is no value."""
    return text.strip().lower() in _NOTHING


def optional(text: str) -> str | None:
    """The cell's text, or None where it says nothing."""
    return None if is_nothing(text) else text.strip()


def time_s(text: str, zone: ZoneInfo | None) -> float | None:
    """Epoch seconds of a time: epoch, ISO with or without a zone; None for Unknown and None; BadInput otherwise."""
    if is_nothing(text):
        return None
    text = text.strip()
    if _EPOCH.fullmatch(text):
        return _plausible(float(text), text)
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise BadInput(f"{text[:40]!r} is not a time") from None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=zone) if zone else moment
    try:
        return _plausible(moment.astimezone(UTC).timestamp(), text)
    except (OverflowError, OSError, ValueError):  # year 1 in a zone east of Greenwich is year 0
        raise BadInput(f"{text[:40]!r} is not a time") from None


def _plausible(seconds: float, text: str) -> float:
    if not EARLIEST_S <= seconds <= LATEST_S:
        raise BadInput(f"time {text[:40]!r} lies outside 2000 to 2100")
    return seconds


def state(text: str) -> str:
    """The state's name: CANCELLED of `CANCELLED by 1002`; BadInput for what is none of Slurm's."""
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


def count(text: str) -> int | None:
    """A whole number, None for an empty cell."""
    text = text.strip()
    if is_nothing(text):
        return None
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise BadInput(f"{text[:40]!r} is not a number of nodes")
    return int(text)


def node_list(text: str) -> str | None:
    """The host list as written, after checking that it can be expanded; None where no node was assigned."""
    if is_nothing(text):
        return None
    hostlist.expand(text)
    return text.strip()
