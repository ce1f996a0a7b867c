"""Explanation as sentences, the same for the page, alerts, evidence and the command line. Times are UTC."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from flitwatch_domain.explanation.candidates import Candidate
from flitwatch_domain.explanation.flow import LEAST_PART
from flitwatch_domain.explanation.slowdown import Slowdown

if TYPE_CHECKING:
    from flitwatch_domain.explanation.onset_context import OnsetContext


def format_clock(seconds: float) -> str:
    """Format a time as 18:42:40 UTC."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%H:%M:%S UTC")


def format_percent(share: float) -> str:
    """Format a share as 42 %."""
    return f"{share * 100:.0f} %"


def format_count(number: int, noun: str) -> str:
    """Format a number with its noun: 1 group, 2 groups."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def format_slower(factor: float) -> str:
    """Format a ratio of times as "42 % slower", or from 2 on as "2.9x slower"."""
    return f"{factor:.1f}x slower" if factor >= 2.0 else f"{round((factor - 1) * 100)} % slower"


def format_longer(factor: float) -> str:
    """Format a ratio of times as "42 % longer than", or from 2 on as "2.9 times as long as"."""
    return f"{factor:.1f} times as long as" if factor >= 2.0 else f"{round((factor - 1) * 100)} % longer than"


def make_title(verdict: str, found: Slowdown | None, onset_s: float | None, named: Sequence[Candidate]) -> str:
    """Return a one-line summary: the slowdown, its onset, and the named jobs."""
    if found is None or onset_s is None:
        return "Not slow" if verdict == "not slow" else "Cannot tell whether it is slow"
    factor = format_slower(found.factor)
    over = "" if found.end_s is None else f" until {format_clock(found.end_s)}"
    from_start = "from its first step" if found.first_step is not None else "than usual"
    onset = f"{'from' if over else 'since'} {format_clock(onset_s)}"
    begin = f"{factor} {from_start if found.from_start else onset}"
    since = f"{begin}{over}"
    if verdict == "slows itself":
        return f"{since}; its own traffic fills the links that it waits for"
    if not named:
        return f"{since}; cannot tell which job caused it"
    first = named[0]
    if len(named) == 1 and not found.from_start and first.change != "none":
        nodes_text = "" if first.job.nodes is None else f" on {first.job.nodes} nodes"
        did = f"started{nodes_text}" if first.change == "started" else "began to send more"
        when = f"{begin}, when job {first.job.job_id} {did}"
        return f"{when},{over}" if over else when
    return f"{since}; {format_jobs([candidate.job.job_id for candidate in named])} fill{'s' if len(named) == 1 else ''} the links that it waits for"


def format_jobs(ids: Sequence[str]) -> str:
    """Format job ids: job 1, jobs 1 and 2, jobs 1, 2 and 3."""
    if len(ids) == 1:
        return f"job {ids[0]}"
    return f"jobs {', '.join(ids[:-1])} and {ids[-1]}"


def make_detail(
    verdict: str, reasons: Sequence[str], found: Slowdown | None, scene: OnsetContext | None, named: Sequence[Candidate]
) -> str:
    """Return the basis of the title, or the missing data."""
    if found is None:
        return _join_sentence(reasons) if reasons else "Its time is within the range of earlier runs."
    parts = []
    flow = None if scene is None or scene.flow is None or not scene.flow.known else scene.flow
    if flow is not None:
        parts.append(
            f"Its flits wait {flow.waiting + flow.quiet:.2g} cycles on their "
            f"path{' to the file system' if flow.to_file_system else ''}, compared with {flow.quiet:.2g} when the network is "
            f"quiet."
        )
    elif scene is not None and scene.own.after is not None and scene.own.before is not None:
        parts.append(f"The stall ratio on its routers rose from {scene.own.before:.2g} to {scene.own.after:.2g}.")
    if verdict == "slows itself" and flow is not None:
        parts.append(f"{format_percent(flow.own)} of the added waiting is due to its own traffic.")
    for candidate in named:
        if candidate.part is not None:
            parts.append(
                f"{format_percent(candidate.part)} of the added waiting is due to the traffic of job {candidate.job.job_id}."
            )
        else:
            shared = f"{candidate.shared_routers} of its routers and {candidate.shared_groups} of its groups"
            parts.append(
                f"Job {candidate.job.job_id} shares {shared} and accounts for {format_percent(candidate.score)} of the change."
            )
    if named and flow is not None and flow.between:
        more = [job for job, part in flow.part.items() if part > (named[0].part or 0.0)]
        if any(flow.between.get(job, 0.0) < LEAST_PART for job in more):
            parts.append("A job with a larger part was not in the way of the traffic between its nodes.")
    if named:
        parts.append("Based on traffic and timing; not proof of cause.")
    elif reasons:
        parts.append(_join_sentence(reasons))
    return " ".join(parts)


def _join_sentence(reasons: Sequence[str]) -> str:
    text = "; ".join(reasons)
    return f"{text[:1].upper()}{text[1:]}."
