"""An explanation as sentences: the page, alerts, evidence and the command line print the same ones. Times are UTC."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from flitwatch_domain.explanation.candidates import Candidate
from flitwatch_domain.explanation.slowdown import Slowdown

if TYPE_CHECKING:
    from flitwatch_domain.explanation.onset_context import OnsetContext


def clock(seconds: float) -> str:
    """A moment as 18:42:40 UTC."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%H:%M:%S UTC")


def percent(share: float) -> str:
    """A share as 42 %."""
    return f"{share * 100:.0f} %"


def counted(number: int, noun: str) -> str:
    """A number with its noun: 1 group, 2 groups."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def title(
    job: dict[str, Any], verdict: str, found: Slowdown | None, onset_s: float | None, named: Candidate | None
) -> str:
    """One line: how slow, since when, and who."""
    if found is None or onset_s is None:
        return "Not slow" if verdict == "not slow" else "Cannot tell whether it is slow"
    factor = f"{round((found.factor - 1) * 100)} % slower"
    over = "" if found.end_s is None else f" until {clock(found.end_s)}"
    if named is not None:
        held = "" if named.job.nodes is None else f" on {named.job.nodes} nodes"
        did = f"started{held}" if named.change == "started" else "began to send more"
        return f"{factor} since {clock(onset_s)}{over}, when job {named.job.job_id} {did}"
    if found.from_start:
        return f"{factor} {'from its first step' if found.first_step is not None else 'than usual'}{over}; cannot tell who caused it"
    return f"{factor} since {clock(onset_s)}{over}; cannot tell who caused it"


def detail(
    verdict: str, reasons: Sequence[str], found: Slowdown | None, scene: OnsetContext | None, named: Candidate | None
) -> str:
    """What the title rests on, or what is lacking."""
    if found is None:
        return _sentence(reasons) if reasons else "Its time is within what earlier runs took."
    parts = []
    if scene is not None and scene.own.after is not None and scene.own.before is not None:
        parts.append(f"The stall ratio on its routers went from {scene.own.before:.2g} to {scene.own.after:.2g}.")
    if named is not None:
        shared = f"{named.shared_routers} of its routers and {named.shared_groups} of its groups"
        parts.append(
            f"Job {named.job.job_id} shares {shared} and brought {percent(named.score)} of what changed. That is timing and load, not proof."
        )
    elif reasons:
        parts.append(_sentence(reasons))
    return " ".join(parts)


def _sentence(reasons: Sequence[str]) -> str:
    text = "; ".join(reasons)
    return f"{text[:1].upper()}{text[1:]}."
