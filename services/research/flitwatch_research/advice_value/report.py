"""The study as Markdown, and its headline in one line."""

from __future__ import annotations

import json
import math
from typing import Any

from flitwatch_research.advice_value.job_log import load_theta_figures
from flitwatch_research.advice_value.modes import MODES, TABLE_FILE
from flitwatch_research.advice_value.pieces import DEFAULT, NONE, ORACLE
from flitwatch_research.advice_value.variants import (
    ALONE_S,
    FEELING,
    FEELING_LOAD,
    FEELING_SHARE,
    GROUPS,
    LIMIT,
    OFFERED,
    POPULATION,
    QUIET,
    THETA,
    USUAL_OVER_ALONE,
    find_variant,
)

Row = dict[str, Any]


def _load_modes() -> Row:
    """Load the table of measured routing modes."""
    return dict(json.loads(TABLE_FILE.read_text()))


def format_percent(value: Row) -> str:
    """Return a share with its interval, in percent."""
    if value["low"] is None:
        return f"{value['mean']:+.2%}"
    return f"{value['mean']:+.2%} ({value['low']:+.2%} to {value['high']:+.2%})"


def format_minutes(value: Row) -> str:
    """Return seconds with their interval, in minutes."""
    if value["low"] is None:
        return f"{value['mean'] / 60:+.0f}"
    return f"{value['mean'] / 60:+.0f} ({value['low'] / 60:+.0f} to {value['high'] / 60:+.0f})"


def format_headline(answer: Row) -> str:
    """Format the node-hours saved by the default advice in each variant, with the oracle for comparison."""
    savings = "; ".join(
        f"{variant} {format_percent(by[DEFAULT]['node_hours_saved_share'])}, {by[DEFAULT]['verdict']} (oracle "
        f"{by[ORACLE]['node_hours_saved_share']['mean']:+.2%})"
        for variant, by in answer["variants"].items()
    )
    return f"Node-hours saved by the advice that is served by default (`{DEFAULT}`), with 95 % intervals over {answer['seeds']} seeds{_format_seeds(answer)}: {savings}"


def _format_seeds(answer: Row) -> str:
    return "" if answer["first_seed"] == 1 else f" from {answer['first_seed']} on"


def _list_served(answer: Row) -> str:
    *others, last = answer["served"] or ["nothing"]
    return f"{', '.join(others)} and {last}" if others else last


def to_markdown(answer: Row) -> str:
    """Return the content of docs/advice-value.md."""
    lines = [
        "# Does advice pay?",
        "",
        f"Generated with `{answer['command']}`; all results here are **simulated**. The figures are in [advice-value.json](advice-value.json).",
        "",
        f"{format_headline(answer)}.",
        "",
        f"`{DEFAULT}` rests on {_list_served(answer)}; why, also of routing modes: [ADR 0043](adr/0043-default-advice.md). How "
        f"it is measured: [ADR 0042](adr/0042-advice-study.md).",
        "",
        *_format_variants(answer),
        *_describe_method(answer),
    ]
    return "\n".join(lines) + "\n"


def _format_variants(answer: Row) -> list[str]:
    lines = []
    for variant, by_policy in answer["variants"].items():
        what = {QUIET: "nothing feels the network", THETA: "the plain variant with jobs as on Theta"}.get(
            variant, find_variant(variant).summary
        )
        lines += [
            f"## {variant}: {what}",
            "",
            "| policy | node-hours saved | of jobs that feel the network | share of the oracle's | regret | best place / mode | "
            "slowdown p50 / p90 / p99 | mean wait, min | p95 of wait, min | worst user, min | utilisation | verdict |",
            "|---|---|---|---|---|---|---|---|---|---|---|---|",
        ]
        lines += [_format_policy(policy, figures) for policy, figures in by_policy.items()]
        lines.append("")
    return lines


def _format_policy(policy: str, one: Row) -> str:
    slow = one["slowdown"]
    slowdowns = f"{slow['0.5']:.2f} / {slow['0.9']:.2f} / {slow['0.99']:.2f}"
    if policy == NONE:
        return f"| {policy} | | | | | {_format_decisions(one)} | {slowdowns} | {one['wait_mean_s'] / 60:.0f} in all | | | {one['utilisation']:.1%} | |"
    share = "–" if one["oracle_share"] is None else f"{one['oracle_share']:+.0%}"
    worst = one["worst_user"]
    return (
        f"| {policy} | {format_percent(one['node_hours_saved_share'])} | "
        f"{format_percent(one['node_hours_saved_share_of_feeling_jobs'])} | {share} | {format_percent(one['regret'])} | "
        f"{_format_decisions(one)} | {slowdowns} "
        f"| {format_minutes(one['wait_change']['mean_s'])} | {format_minutes(one['wait_change']['p95_s'])} "
        f"| {worst['wait_change_mean_s'] / 60:+.0f} ({worst['user']}, seed {worst['seed']}) | {one['utilisation']:.1%} | {one['verdict']} |"
    )


def _format_decisions(one: Row) -> str:
    """Return shares of the starts with an optimal place and an optimal mode there; a dash if a seed has no such start."""
    place, mode = (one["decisions"][f"{what}_as_the_oracle"]["mean"] for what in ("place", "mode"))
    return "–" if math.isnan(place) else f"{place:.0%} / {mode:.0%}"


def _describe_method(answer: Row) -> list[str]:
    return [
        "## How it is measured",
        "",
        f"- {answer['days']} simulated days of one machine: {GROUPS} groups of Cori's kind. With one seed, every policy gets the "
        f"same jobs, background and noise. A run ends with its last job.",
        "- Differences are paired with `none` on the same seed; intervals are 95 %, by Student's t over seeds.",
        f"- Jobs that feel the network: {', '.join(FEELING)}, repeated to about {ALONE_S / 60:.0f} minutes alone, "
        f"{FEELING_LOAD:.0%} of the machine on average. Advice is requested only for these.",
        f"- Other jobs ({OFFERED.load:.0%}) are drawn as the twin draws users: {POPULATION.count} of them, "
        f"{POPULATION.aggressors} planted aggressors. They load the network and take a fixed time.",
        f"- Starts: EASY backfill in the order of Slurm's priority by age and size, one pass every {answer['tick_s'] / 60:.0f} "
        f"minutes. A requested time limit is {LIMIT[0]} to {LIMIT[1]} times the usual time; a job that exceeds it continues.",
        _describe_jobs(answer),
        "- Advice is `flitwatch_domain.advice.decision`, which answers `POST /advice`. It sees counters by group, and jobs with user, application, place and times, up to that moment. Blame is estimated again each week from the 250 newest runs of each application.",
        "- A policy named after a part of advice uses only that part, and `all` uses all of them:",
        "  - `counters`: stalls per flit of each group in the last ten minutes;",
        "  - `blame`: the runs alongside users whom the weekly estimate names;",
        "  - `forecast`: a group's next hour, from its usual value at that hour and today's difference "
        "(`flitwatch_domain.outlook`; needs three days of counters);",
        "  - `running`: a group's difference from its usual congestion lasts as long as the jobs there, according to similar "
        "jobs. Alongside a blamed user, only the expected time of that user's jobs counts. No job waits for jobs that stay too "
        "long (`blame-running`: both parts);",
        "  - `drivers`: counters of the kind that explains the application's deviation in the weekly estimate of drivers;",
        "  - `pattern`: one group, or nodes over all groups, according to the times of the application's own runs, or the "
        "traffic of its network cards (Wang 2018);",
        f"  - `routing`: {MODES[1]} for jobs over several groups. Condition: the network cards of a job that alternated between it and "
        f"{MODES[0]} favour it and that job was faster with it, both significantly (`routing.advice`). It is requested when the "
        f"job has its nodes. Once a week, one job of each application over several groups alternates.",
        "- `placement` and `delays`: only the placements or only the delays of the advice are followed. `served-routing`: the "
        "default advice with the routing mode.",
        "- Candidates are each group with space for the job, and the lowest free nodes of all groups together; if no group has "
        "space, the usual nodes.",
        "- A delay is ten minutes, and at most thirty in total, like the agent's default. A preferred group is used if it has "
        "space; no job waits for one.",
        f"- `{ORACLE}` knows the traffic and the slowdown of every job. For each job, it takes the best free placement and the best "
        f"mode for it. It never delays, so a better plan may exist.",
        "- Best place / mode: the share of job starts with the best placement on the machine at that time, and with the best "
        "mode there. Only jobs that feel the network count. The costs of the oracle are used for all policies.",
        f"- A mode's effect is measured in the packet engine on the same machine ({_load_modes()['topology']}), in pairs of runs "
        f"of {_load_modes()['ranks']} ranks.\n- These runs use neighbouring and scattered nodes of one to four groups, with and "
        f"without background (routing_modes.json). The runs give times of communication, counters of network cards, and the "
        f"bytes through a third group, which change the twin's loads. A job has the effect of the most similar nodes; other "
        f"patterns keep the default mode.",
        "- `pays`: the interval of the saving is above zero. `does harm`: it is below zero, or nothing is saved and the mean "
        "wait grows by more than its interval.",
        "- Regret: the oracle's additional saving, as a share of all node-hours.",
        "- Not modelled: the file system's queue, and users who are present only for some weeks.",
    ]


def _describe_jobs(answer: Row) -> str:
    if answer["jobs"] is not None:
        return (
            f"- Jobs: arrivals, sizes, limits and run times of {answer['jobs']['file']}, from a day that the seed draws, sizes "
            f"as shares of the machine. Random ones with {FEELING_SHARE:.0%}"
            f" of its node-hours make room for jobs that feel the network. Who owns a job says what it sends; that is drawn."
        )
    if THETA not in answer["variants"]:
        return "- The sizes, times and limits of jobs are drawn, not fitted to a log. Waits of a real site differ."
    log, base = load_theta_figures(), answer["variants"][THETA][NONE]
    return (
        f"- The sizes, times and limits of jobs are drawn; in `{THETA}` by published quantiles of a real log: {log['jobs']} jobs "
        f"of {log['days']:.0f} days on Theta, {log['machine_nodes']} nodes"
        f" (theta_2022.json, with its source; other logs: `--jobs FILE.swf`).\n- The log's limits are multiples of {USUAL_OVER_ALONE} "
        f"times the undisturbed time for jobs that feel the network.\n- "
        f"Utilisation there was {log['utilisation']:.0%} and the mean wait {log['wait_s']['mean'] / 3600:.0f} h; here, without "
        f"advice, {base['utilisation']:.0%} and {base['wait_mean_s'] / 3600:.1f} h:"
        " no user submits many jobs at once here, and no maintenance stops the machine."
    )
