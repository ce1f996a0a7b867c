"""Causal chain of an explanation as sentences, from cause to effect, for the page, alerts, evidence and the command line."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from flitwatch_domain.explanation.result import (
    CandidateJob,
    ChainSentence,
    Finding,
    FlowWaiting,
    JobSlowdown,
    Part,
    Remedy,
    SlowedTotal,
)
from flitwatch_domain.explanation.words import format_count, format_jobs, format_longer, format_percent

#: Maximum numbers of links and jobs in the sentences; the answer lists the others.
MOST_LINKS, MOST_JOBS = 3, 3
#: Changes with a smaller share are omitted.
LEAST_SHARE = 0.01


def build_chain(made: Finding, slowed: SlowedTotal | None = None) -> list[ChainSentence]:
    """Return the sentences of a finding. They identify jobs by number and never name a user. Empty if the job is not slow and slowed no other job.

    `part` is slowed, steps, links, jobs, since, certainty or help (one sentence per remedy).
    """
    slow = made["slowdown"]
    cost: list[tuple[Part, str]] = [] if slowed is None else [("slowed", slowed_text(slowed))]
    if slow is None:
        return [{"part": part, "text": text} for part, text in cost]
    sentences: list[tuple[Part, str]] = [
        *cost,
        ("steps", _describe_steps(slow, over=made["end"] is not None)),
        ("links", _describe_links(made)),
        ("jobs", _describe_jobs(made)),
        ("since", _describe_onset(slow)),
        ("certainty", _describe_certainty(made)),
        *(("help", help_text(remedy)) for remedy in made["remedies"]),
    ]
    return [{"part": part, "text": text} for part, text in sentences]


def minutes_and_seconds(seconds: float) -> str:
    """Format a duration as 37 s, 5 min 48 s or 1 h 04 min, as the page does."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    minutes, remainder = divmod(whole, 60)
    if minutes < 60:
        return f"{minutes} min {remainder:02} s" if remainder else f"{minutes} min"
    hours, rest = divmod(round(whole / 60), 60)
    return f"{hours} h {rest:02} min" if rest else f"{hours} h"


def slowed_text(slowed: SlowedTotal) -> str:
    """Describe a job's cost to other jobs, according to incidents."""
    lost, low, high = (minutes_and_seconds(slowed[name]) for name in ("lost_s", "lost_low_s", "lost_high_s"))
    numbers = ", ".join(str(number) for number in slowed["incidents"][:MOST_JOBS])
    where = f"incident{'' if len(slowed['incidents']) == 1 else 's'} {numbers}"
    return f"Slowed {format_count(slowed['jobs'], 'job')} by {lost} in total (95 %: {low} to {high}; {where})."


def help_text(remedy: Remedy) -> str:
    """Describe a remedy with the time that it saves, or with the reason why that is unknown."""
    if remedy["minutes_saved"] is not None:
        saved = minutes_and_seconds(remedy["minutes_saved"] * 60) + _interval_text(remedy)
        if remedy["in_past"]:
            return f"{remedy['text']} It cost {saved}."
        if round(remedy["minutes_saved"] * 60) == 0:
            return f"{remedy['text']} This saves nothing, because no further step is expected."
        return f"{remedy['text']} At the present speed, this saves up to {saved}, less if job {remedy['job_id']} ends sooner."
    return f"{remedy['text']} The time saved is unknown: {remedy['why_unknown']}."


def _interval_text(remedy: Remedy) -> str:
    low, high = remedy.get("minutes_saved_low"), remedy.get("minutes_saved_high")
    if low is None or high is None:
        return ""
    return f" (95 %: {minutes_and_seconds(max(0.0, low) * 60)} to {minutes_and_seconds(high * 60)})"


def _describe_steps(slow: JobSlowdown, over: bool) -> str:
    longer = format_longer(slow["factor"])
    lost = f"{minutes_and_seconds(slow['lost_s'])} lost{' so far' if slow['until'] is None and not over else ''}"
    if slow["basis"] == "counters":
        return f"The job takes {longer} jobs of its name and size; {lost}."
    which = (
        f"Step {slow['first_step']} took"
        if slow["first_step"] == slow["last_step"]
        else f"Steps {slow['first_step']} to {slow['last_step']} took"
    )
    if slow["basis"] == "own steps":
        return f"{which} {longer} its median step; {lost}."
    runs = f"{slow['earlier_runs']} earlier run{'' if slow['earlier_runs'] == 1 else 's'}"
    return f"{which} {longer} the median of {runs}; {lost}."


def _describe_links(made: Finding) -> str:
    root = made.get("root")
    return _describe_stalls(made) if root is None else f"{_describe_stalls(made)} {root_text(root)}"


def root_text(root: Mapping[str, Any]) -> str:
    """Describe where congestion begins, in one sentence."""
    waiting = root["victims_total"]
    behind = f"{format_count(waiting, 'link')} wait{'s' if waiting == 1 else ''} behind it"
    why = root["cause"].replace("-", " ")
    if root["confidence"] is None:
        return f"According to packet samples, the congestion begins at {root['src_name']} to {root['dst_name']} ({why}); {behind}."
    used = f", {format_percent(root['utilisation'])} in use" if root["utilisation"] is not None else ""
    return (
        f"According to port counters, the congestion begins at {root['src_name']} to {root['dst_name']} ({why}{used},"
        f" confidence {format_percent(root['confidence'])}); {behind}."
    )


def _describe_stalls(made: Finding) -> str:
    own = made["routers"]
    if own is None:
        return "The affected links are unknown, because its nodes on a fabric with counters are unknown."
    if made["links"]:
        named = "; ".join(
            f"{link['from_name']} to {link['to_name']} ({link['link_class']}, stall ratio "
            f"{_format_ratio(link['stall_ratio_before'])} to {_format_ratio(link['stall_ratio_after'])})"
            for link in made["links"][:MOST_LINKS]
        )
        more = len(made["links"]) - MOST_LINKS
        return f"Stalls rose most on {named}{f'; and {more} more' if more > 0 else ''}."
    if own["rose"] is None:
        return "The affected links are unknown, because its routers have no counters both before and after the onset."
    return "No link at its routers or between its groups has more stalls than before."


def _describe_jobs(made: Finding) -> str:
    by_flow = [candidate for candidate in made["candidates"] if (candidate["part"] or 0.0) >= LEAST_SHARE]
    if by_flow:
        return " ".join(
            _describe_part(candidate)
            for candidate in sorted(by_flow, key=lambda candidate: -(candidate["part"] or 0.0))[:MOST_JOBS]
        )
    likely = [candidate for candidate in made["candidates"] if candidate["score"] >= LEAST_SHARE][:MOST_JOBS]
    if not likely:
        count = made["candidates_total"]
        if not count:
            return "No known job ran alongside it."
        return f"{'The job' if count == 1 else f'None of the {count} jobs'} alongside it added {'no ' if count == 1 else ''}traffic at that time."
    return " ".join(_describe_job(candidate) for candidate in likely)


def _describe_part(one: CandidateJob) -> str:
    facts = [] if one["nodes"] is None else [f"{one['nodes']} nodes"]
    facts.append(f"since {_format_clock(one['start'])}{', after the slowdown had begun' if not one['score'] else ''}")
    if one["change"] == "sends more" and one["changed"] is not None:
        facts.append(f"has sent more since {_format_clock(one['changed'])}")
    if one["end"] is not None:
        facts.append(f"ended at {_format_clock(one['end'])}")
    return f"Job {one['job_id']} ({', '.join(facts)}): {format_percent(one['part'] or 0.0)} of the added waiting is due to its traffic."


def _describe_job(one: CandidateJob) -> str:
    nodes = "" if one["nodes"] is None else f" on {one['nodes']} nodes"
    did = f"started{nodes}" if one["change"] == "started" else f"began to send more{nodes}"
    changed = one["changed"] or one["start"]
    before, after = one["sent_before_bytes_per_s"], one["sent_after_bytes_per_s"]
    # A job that started at the onset sent nothing before.
    added = None if after is None else after - (before or 0.0)
    sends = "" if added is None or added <= 0 else f", added {_format_number(added / 2**30)} GiB/s"
    over = "" if one["end"] is None else f", ended at {_format_clock(one['end'])}"
    return (
        f"Job {one['job_id']} {did} at {_format_clock(changed)}{sends}{over}, and shares "
        f"{format_count(one['shared_routers'], 'router')} and {format_count(one['shared_groups'], 'group')}:"
        f" {format_percent(one['score'])} of the change."
    )


def _describe_onset(slow: JobSlowdown) -> str:
    if slow["from_start"] and slow["basis"] == "counters":
        return "It records no steps, and its counters show no onset."
    if slow["from_start"]:
        return "It was slow from its first step, so the onset is unknown."
    by = "the counters of its routers" if slow["since_by"] == "counters" else "its steps"
    until = "" if slow["until"] is None else f" until {_format_clock(slow['until'])}"
    return (
        f"{'Since' if not until else 'From'} {_format_clock(slow['since'])}{until}; according to {by}, it began between {_format_clock(slow['since_low'])} and "
        f"{_format_clock(slow['since_high'])}"
        " (95 % confidence)."
    )


def _describe_certainty(made: Finding) -> str:
    flow = made["flow"]
    if made["verdict"] == "slows itself" and flow is not None:
        return f"It slows itself: {format_percent(flow['own_part'] or 0.0)} of the added waiting is due to its own traffic."
    if made["verdict"] == "named" and flow is not None and flow["waiting"] is not None:
        named = [candidate for candidate in made["candidates"] if candidate["named"]]
        others = [candidate["part"] or 0.0 for candidate in made["candidates"] if not candidate["named"]]
        parts = " and ".join(format_percent(candidate["part"] or 0.0) for candidate in named)
        many = len(named) > 1
        next_ = f"the next job's is {format_percent(max(others))}" if others else "no other job ran alongside it"
        return (
            f"{format_jobs([candidate['job_id'] for candidate in named]).capitalize()} {'are' if many else 'is'} named: "
            f"{'their shares are' if many else 'its share is'} {parts}, and {next_}."
            f"{_describe_resolution(flow)} Based on traffic and timing; not proof of cause."
        )
    if made["verdict"] == "named":
        scores = [candidate["score"] for candidate in made["candidates"]]
        rest = f"the next job's is {format_percent(scores[1])}" if len(scores) > 1 else "no other job ran alongside it"
        return f"Job {made['named']} is named: its share is {format_percent(scores[0])}, and {rest}. Based on traffic and timing; not proof of cause."
    return f"No job is named: {'; '.join(made['reasons'])}."


def _describe_resolution(flow: FlowWaiting) -> str:
    """Describe hourly counters, the source of the routes, and a path to the file system; minutes and assumed routes are omitted."""
    hours = " This is based on hourly sums, which hide short bursts." if flow["resolution_s"] > 60 else ""
    served = " The job waits on its path to the file system." if flow["to_file_system"] else ""
    return served + hours + (" The routes are from the forwarding tables." if flow["routes"] == "tables" else "")


def _format_clock(moment: datetime) -> str:
    return moment.strftime("%H:%M:%S UTC")


def _format_ratio(value: float | None) -> str:
    return "unknown" if value is None else _format_number(value)


def _format_number(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 else f"{value:.2g}"
