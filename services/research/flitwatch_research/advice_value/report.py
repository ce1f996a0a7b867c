"""The study as Markdown, and its headline in one line."""

from __future__ import annotations

from typing import Any

from flitwatch_research.advice_value.pieces import DEFAULT, NONE, ORACLE
from flitwatch_research.advice_value.worlds import (
    ALONE_S,
    FEELING,
    FEELING_LOAD,
    GROUPS,
    LIMIT,
    OFFERED,
    POPULATION,
    QUIET,
    world_of,
)

Row = dict[str, Any]


def percent(value: Row) -> str:
    """A share with its interval, in per cent."""
    if value["low"] is None:
        return f"{value['mean']:+.2%}"
    return f"{value['mean']:+.2%} ({value['low']:+.2%} to {value['high']:+.2%})"


def minutes(value: Row) -> str:
    """Seconds with their interval, in minutes."""
    if value["low"] is None:
        return f"{value['mean'] / 60:+.0f}"
    return f"{value['mean'] / 60:+.0f} ({value['low'] / 60:+.0f} to {value['high'] / 60:+.0f})"


def headline(answer: Row) -> str:
    """What the advice that is served by default saves, world by world, beside the oracle."""
    told = "; ".join(
        f"{world} {percent(by[DEFAULT]['node_hours_saved_share'])}, {by[DEFAULT]['verdict']} (oracle {by[ORACLE]['node_hours_saved_share']['mean']:+.2%})"
        for world, by in answer["worlds"].items()
    )
    return f"Node-hours saved by the advice that is served by default (`{DEFAULT}`), with 95 % intervals over {answer['seeds']} seeds: {told}"


def markdown(answer: Row) -> str:
    """docs/advice-value.md."""
    lines = [
        "# Does advice pay?",
        "",
        f"Made by `{answer['command']}`; everything here is **simulated**. The figures are in [advice-value.json](advice-value.json).",
        "",
        f"{headline(answer)}.",
        "",
        f"`{DEFAULT}` rests on {' and '.join(answer['served']) or 'nothing'}; why: [ADR 1005](adr/1005-what-advice-is-served.md). How it is measured: [ADR 1004](adr/1004-does-advice-pay.md).",
        "",
        *_tables(answer),
        *_method(answer),
    ]
    return "\n".join(lines) + "\n"


def _tables(answer: Row) -> list[str]:
    lines = []
    for world, by_policy in answer["worlds"].items():
        what = "nothing feels the network" if world == QUIET else world_of(world).summary
        lines += [
            f"## {world}: {what}",
            "",
            "| policy | node-hours saved | of jobs that feel the network | share of the oracle's | slowdown p50 / p90 / p99 | mean wait, min | p95 of wait, min | worst user, min | utilisation | verdict |",
            "|---|---|---|---|---|---|---|---|---|---|",
        ]
        lines += [_line(policy, one) for policy, one in by_policy.items()]
        lines.append("")
    return lines


def _line(policy: str, one: Row) -> str:
    slow = one["slowdown"]
    told = f"{slow['0.5']:.2f} / {slow['0.9']:.2f} / {slow['0.99']:.2f}"
    if policy == NONE:
        return f"| {policy} | | | | {told} | | | | {one['utilisation']:.1%} | |"
    share = "–" if one["oracle_share"] is None else f"{one['oracle_share']:+.0%}"
    worst = one["worst_user"]
    return (
        f"| {policy} | {percent(one['node_hours_saved_share'])} | {percent(one['node_hours_saved_share_of_feeling_jobs'])} | {share} | {told} "
        f"| {minutes(one['wait_change']['mean_s'])} | {minutes(one['wait_change']['p95_s'])} "
        f"| {worst['wait_change_mean_s'] / 60:+.0f} ({worst['user']}, seed {worst['seed']}) | {one['utilisation']:.1%} | {one['verdict']} |"
    )


def _method(answer: Row) -> list[str]:
    return [
        "## How it is measured",
        "",
        f"- {answer['days']} simulated days of one machine: {GROUPS} groups of Cori's kind. A seed gives the same jobs, background and noise to every policy. The last job's end ends a run.",
        "- Differences are paired with `none` on the same seed; intervals are 95 %, by Student's t over seeds.",
        f"- Jobs that feel the network: {', '.join(FEELING)}, repeated to about {ALONE_S / 60:.0f} minutes alone, {FEELING_LOAD:.0%} of the machine on average. Advice is asked for these only.",
        f"- Other jobs ({OFFERED.load:.0%}) are drawn as the twin draws users: {POPULATION.count} of them, {POPULATION.aggressors} planted aggressors. They load the network and take a fixed time.",
        f"- Starts: EASY backfill in the order of Slurm's priority by age and size, one pass every {answer['tick_s'] / 60:.0f} minutes. A requested time limit is {LIMIT[0]} to {LIMIT[1]} times the usual time; a job that exceeds it goes on.",
        "- The sizes, times and limits of jobs are drawn, not fitted to a log: there is no public job log beside the checkout. Waits of a real site differ.",
        "- Advice is `decide.advise`, which answers `POST /advice`. It sees counters by group, and jobs with user, application, place and times, up to that moment. Blame is estimated anew each week from the 250 newest runs of each application.",
        "- `forecast` expects a group's congestion of the next hour from its usual at that hour and today's difference (`flitwatch_domain.outlook`). It needs three days of counters.",
        "- A delay is ten minutes, thirty in all at most, as the agent's default. A preferred group is used where it has room; no job waits for one.",
        f"- `{ORACLE}` knows every job's traffic and what each job feels. It takes the best of the places that are free now, job by job; it never delays. A better plan may exist.",
        "- `pays`: the interval of the saving lies above zero. `does harm`: it lies below zero, or nothing is saved and the mean wait grows beyond its interval.",
        "- Left out: routing modes (the twin's closed form of the network knows one), the file system's queue, and users who come for weeks only.",
    ]
