"""Stored estimates of an application, read from the API: blame, forecast and drivers, as data and as text."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal, TypedDict, TypeVar

import click

from flitwatch.tables import (
    draw_sparkline,
    format_interval,
    format_number,
    is_on_terminal,
    print_table,
    remove_controls,
    text_or_unknown,
)
from flitwatch_domain.errors import NotFound

if TYPE_CHECKING:
    from flitwatch_client import Client, models

    class RunningForecast(models.Forecast):
        """Backtests from the API, with the forecasts of the application's running jobs."""

        running: list[models.Running]


Kind = Literal["blame", "deviation", "forecast"]
CANNOT_TELL = "cannot tell"
#: Counters listed for people.
MOST_COUNTERS = 12


Answer = TypeVar("Answer")


def _format_nodes(count: int) -> str:
    return f"{count} node{'' if count == 1 else 's'}"


class EstimateReasons(TypedDict):
    """Reasons why an application has no estimate."""

    application: str
    verdict: str
    reasons: list[str]


def load_blame(fw: Client, application: str, nodes: int | None, by: str, most: int) -> models.Blame | EstimateReasons:
    """Load the API's newest ranking with its first `most` names, or the reasons why there is none."""
    return _read_or_explain(
        fw, "blame", application, nodes, lambda: fw.api.blame(exe=application, nodes=nodes, by=by, limit=most)
    )


def load_forecast(fw: Client, application: str, nodes: int | None) -> RunningForecast | EstimateReasons:
    """Load the API's newest backtests, and under `running` the forecasts of the application's running jobs."""

    def read() -> RunningForecast:
        answer = fw.api.forecast(exe=application, nodes=nodes)
        of = answer["estimate"]["exe"], answer["estimate"]["nodes"]
        running = [row for row in fw.api.forecasts(limit=1000)["items"] if (row["exe"], row["nodes"]) == of]
        return {**answer, "running": running}

    return _read_or_explain(fw, "forecast", application, nodes, read)


class JobRunTime(TypedDict):
    """Total run time of a running job. `run_time` is None for a job that is not running."""

    job_id: str
    has_steps: bool
    run_time: models.RunTime | None
    simulated: bool


def run_time(fw: Client, job: str) -> JobRunTime:
    """Load the estimated total run time of a job. The estimate uses similar jobs that ran longer than the job has so far."""
    outlook = fw.api.outlook(job)
    return {
        "job_id": outlook["job_id"],
        "has_steps": outlook["has_steps"],
        "run_time": outlook["run_time"],
        "simulated": outlook["simulated"],
    }


def show_run_time(found: JobRunTime) -> None:
    """Print when a job will end, or why that cannot be determined."""
    estimate, head = found["run_time"], f"job {remove_controls(found['job_id'])}"
    if estimate is None:
        click.echo(f"{head} is not running, so there is nothing to forecast")
        return
    head = f"{head}, {format_number(estimate['elapsed_s'])} s so far"
    if estimate["expected_s"] is None:
        click.echo(f"{head}: {CANNOT_TELL}: {remove_controls(estimate['lacks'] or '')}")
        return
    click.echo(
        f"{head}: {format_number(estimate['expected_s'])} s in all ({format_number(estimate['low_s'])} to "
        f"{format_number(estimate['high_s'])} s, 90 %)"
    )
    ends, low, high = (_format_minute(estimate[name]) for name in ("ends", "ends_low", "ends_high"))
    click.echo(f"ends about {ends} UTC, between {low} and {high} UTC (90 %)")
    click.echo(f"rests on {remove_controls(estimate['rests_on'] or '')}")
    if found["has_steps"]:
        click.echo("it records its steps: `flitwatch forecast --application` has the time of its next ones")


def _format_minute(at: str | None) -> str:
    return CANNOT_TELL if at is None else datetime.fromisoformat(at).astimezone(UTC).strftime("%Y-%m-%d %H:%M")


def load_drivers(fw: Client, application: str, nodes: int | None, inputs: str) -> models.Deviation | EstimateReasons:
    """Load the relevance of each counter, for each size of the application."""

    def read() -> models.Deviation:
        answer = fw.api.drivers(inputs=inputs)
        sets = [item for item in answer["sets"] if _matches_application(item["estimate"], application, nodes)]
        return {
            **answer,
            "sets": sets,
            "lacking": [item for item in answer["lacking"] if _matches_application(item, application, nodes)],
        }

    return _read_or_explain(fw, "deviation", application, nodes, read)


def _matches_application(one: Any, application: str, nodes: int | None) -> bool:
    return one["exe"] == application and nodes in (None, one["nodes"])


def _read_or_explain(
    fw: Client, kind: Kind, application: str, nodes: int | None, read: Callable[[], Answer]
) -> Answer | EstimateReasons:
    """Return the result of `read` or, without an estimate, the API's reasons. Raise NotFound if the platform does not have this application."""
    there = fw.api.estimates()["items"]
    meant = [item for item in there if _matches_application(item, application, nodes)]
    if not meant:
        names = ", ".join(sorted({f"{item['exe']} ({_format_nodes(item['nodes'])})" for item in there}))
        advice = (
            f"It knows {names}."
            if names
            else "Import its runs, or let them report their steps: docs/performance-engineer.md."
        )
        size = "" if nodes is None else f" on {_format_nodes(nodes)}"
        raise NotFound(f"the platform has no runs of {application}{size}", advice=advice)
    if any(item[kind]["estimate_id"] is not None for item in meant):
        return read()
    reasons = [
        f"{item['nodes']} nodes, {item['runs']} runs: {item[kind]['lacks'] or 'not estimated yet; a worker computes it (flitwatch worker)'}"
        for item in meant
    ]
    return {"application": application, "verdict": CANNOT_TELL, "reasons": reasons}


def _print_reasons(found: Mapping[str, Any]) -> bool:
    """Print why there is no estimate, if there is none."""
    if "estimate" in found or "sets" in found:
        return False
    click.echo(f"{remove_controls(found['application'])}: {CANNOT_TELL}")
    for reason in found["reasons"]:
        click.echo(f"  {remove_controls(reason)}")
    return True


def _format_set(head: Mapping[str, Any]) -> str:
    simulated = " (simulated)" if head["simulated"] else ""
    return f"{remove_controls(head['exe'])} on {head['nodes']} nodes{simulated}, {head['runs']} runs, estimated {head['created']}"


def show_blame(found: Mapping[str, Any]) -> None:
    """Print the users or applications whose jobs coincide with slow runs."""
    if _print_reasons(found):
        return
    rows = [
        [
            text_or_unknown(entry["name"]),
            entry["verdict"],
            format_interval(entry["effect_s"], entry["effect_low_s"], entry["effect_high_s"], "s"),
            format_interval(
                entry["lost_node_hours"], entry["lost_low_node_hours"], entry["lost_high_node_hours"], "node-hours"
            ),
            format_number(entry["q"], 2),
            str(entry["exposed_runs"]),
        ]
        for entry in found["entries"]
    ]
    heads = [
        found["by"],
        "verdict",
        "extra time of an exposed run (95 %)",
        "in all exposed runs (95 %)",
        "q",
        "exposed runs",
    ]
    title = f"{_format_set(found['estimate'])}: {found['found']} named, {found['cannot_tell']} {CANNOT_TELL}, {found['total']} in all"
    print_table(title, heads, rows, heads[:2])
    for entry in found["entries"]:
        reasons = list(entry["reasons"]) or ([entry["reason"]] if entry["reason"] else [])
        if reasons:
            click.echo(f"{remove_controls(entry['name'])}, {entry['verdict']}: {remove_controls('; '.join(reasons))}")
    click.echo(remove_controls(found["caveat"]))


def show_forecast(found: Mapping[str, Any]) -> None:
    """Print forecasts for running jobs, and the accuracy of earlier ones."""
    if _print_reasons(found):
        return
    serves = found["serves"]
    click.echo(_format_set(found["estimate"]))
    click.echo(
        f"{serves['k']} steps from the last {serves['m']}: {serves['forecaster']} with {serves['features']}, "
        f"MAPE {format_number(serves['mape'])} % on held-out runs ({remove_controls(serves['why'])})"
    )
    if is_on_terminal() and found["curve_s"]:
        click.echo(f"usual step times  {draw_sparkline(found['curve_s'])}")
    for entry in found["running"]:
        click.echo(_format_outlook(entry))
    if not found["running"]:
        click.echo("no run of it is in progress")
    rows = [
        [
            str(entry["m"]),
            str(entry["k"]),
            entry["features"],
            name,
            f"{format_number(mape)} %",
            "yes" if name == entry["best"] else "",
        ]
        for entry in found["backtests"]
        for name, mape in sorted(entry["mape"].items(), key=lambda item: item[1])
    ]
    print_table(
        "Backtests",
        ["last steps", "next steps", "features", "forecaster", "MAPE", "least error"],
        rows,
        ["features", "forecaster", "least error"],
    )
    for entry in found["rests_on"]:
        _show_rests_on(entry)
    if found["rests_on_lacks"]:
        click.echo(f"based on: {CANNOT_TELL}: {remove_controls(found['rests_on_lacks'])}")
    if found["drift"] and found["drift"]["drifting"]:
        click.echo(
            f"drifting: {remove_controls(found['drift']['why'] or 'recent runs differ from those of the estimate')}"
        )
    for note in found["notes"]:
        click.echo(remove_controls(note))


def _show_rests_on(one: Mapping[str, Any]) -> None:
    rows = [
        [
            remove_controls(entry["name"]),
            remove_controls(entry["meaning"]),
            format_number(entry["increase"], 2),
            f"{format_number(entry['low'], 2)} to {format_number(entry['high'], 2)}",
            entry["verdict"],
        ]
        for entry in one["inputs"]
    ]
    print_table(
        f"What {remove_controls(one['forecaster'])} rests on: points of MAPE added on {one['runs']} later runs",
        ["input", "what", "added", "95 %", "verdict"],
        rows,
        ["input", "what", "verdict"],
    )
    for weights in one["weights"]:
        shares = ", ".join(f"{share:.0%}" for share in weights["mean"])
        click.echo(f"attention of {remove_controls(weights['forecaster'])}, the oldest step first: {shares}")


def _format_outlook(one: Mapping[str, Any]) -> str:
    head = f"job {text_or_unknown(one['job_id'])}, step {one['steps']}"
    newest = one["newest"]
    if newest is None:
        return f"{head}: {CANNOT_TELL}: {remove_controls(one['lacks'] or 'there is no forecast yet')}"
    return (
        f"{head}: the next {newest['ahead']} steps take {format_number(newest['expected_s'])} s "
        f"(90 %: {format_number(newest['low_s'])} to {format_number(newest['high_s'])} s), "
        f"usually {format_number(newest['usual_s'])} s"
    )


def show_drivers(found: Mapping[str, Any]) -> None:
    """Print the counters that predict slow steps, for each size."""
    if _print_reasons(found):
        return
    for counter_set in found["sets"]:
        order = sorted(
            range(len(found["counters"])),
            key=lambda at: (counter_set["place"][at] or len(found["counters"]), -(counter_set["relevance"][at] or 0.0)),
        )
        rows = [
            [
                found["counters"][at]["abbreviation"],
                format_number(counter_set["relevance"][at], 2),
                format_number(counter_set["relevance_spread"][at], 2),
                format_number(counter_set["rank"][at], 2),
                remove_controls(found["counters"][at]["meaning"]),
                remove_controls(found["counters"][at]["description"]),
            ]
            for at in order[:MOST_COUNTERS]
            if counter_set["relevance"][at] is not None
        ]
        for sentence in counter_set["answer"]:
            click.echo(remove_controls(sentence))
        title = f"{_format_set(counter_set['estimate'])}: MAPE {format_number(counter_set['mape'])} %, without counters {format_number(counter_set['baseline_mape'])} %"
        print_table(
            title,
            ["counter", "relevance", "standard error", "rank", "meaning", "counted events"],
            rows,
            ["counter", "meaning", "counted events"],
        )
    for counter_set in found["lacking"]:
        click.echo(
            f"{remove_controls(counter_set['exe'])} on {counter_set['nodes']} nodes: {CANNOT_TELL}: "
            f"{remove_controls(counter_set['lacks'] or 'not estimated yet')}"
        )
    click.echo(remove_controls(found["caveat"]))
