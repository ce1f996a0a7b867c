"""Stored estimates of an application, read from the API: blame, forecast and drivers, as answers and as text."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal, TypedDict, TypeVar

import click

from flitwatch.tables import clean, drawn, interval, number, show, sparkline, text
from flitwatch_domain.errors import NotFound

if TYPE_CHECKING:
    from flitwatch_client import Client, models

    class RunningForecast(models.Forecast):
        """The API's backtests, with the forecasts of the application's running jobs."""

        running: list[models.Running]


Kind = Literal["blame", "deviation", "forecast"]
CANNOT_TELL = "cannot tell"
#: Counters that are listed for a person.
MOST_COUNTERS = 12


Answer = TypeVar("Answer")


def _nodes(count: int) -> str:
    return f"{count} node{'' if count == 1 else 's'}"


class EstimateReasons(TypedDict):
    """Why there is no estimate of an application."""

    application: str
    verdict: str
    reasons: list[str]


def blame(fw: Client, application: str, nodes: int | None, by: str, most: int) -> models.Blame | EstimateReasons:
    """Who: the API's newest ranking with its first `most` names; or why nothing can be said."""
    return _answer(
        fw, "blame", application, nodes, lambda: fw.api.blame(exe=application, nodes=nodes, by=by, limit=most)
    )


def forecast(fw: Client, application: str, nodes: int | None) -> RunningForecast | EstimateReasons:
    """What next: the API's newest backtests, and under `running` the forecasts of the application's running jobs."""

    def read() -> RunningForecast:
        answer = fw.api.forecast(exe=application, nodes=nodes)
        of = answer["estimate"]["exe"], answer["estimate"]["nodes"]
        running = [row for row in fw.api.forecasts(limit=1000)["items"] if (row["exe"], row["nodes"]) == of]
        return {**answer, "running": running}

    return _answer(fw, "forecast", application, nodes, read)


class JobRunTime(TypedDict):
    """How long a running job takes in all; `run_time` is None for one that does not run."""

    job_id: str
    has_steps: bool
    run_time: models.RunTime | None
    simulated: bool


def run_time(fw: Client, job: str) -> JobRunTime:
    """How long a job takes, by jobs of its like that took longer than it has lasted."""
    found = fw.api.outlook(job)
    return {
        "job_id": found["job_id"],
        "has_steps": found["has_steps"],
        "run_time": found["run_time"],
        "simulated": found["simulated"],
    }


def show_run_time(found: JobRunTime) -> None:
    """Print when a job ends, or why that cannot be told."""
    told, head = found["run_time"], f"job {clean(found['job_id'])}"
    if told is None:
        click.echo(f"{head} does not run: there is nothing to forecast")
        return
    head = f"{head}, {number(told['elapsed_s'])} s so far"
    if told["expected_s"] is None:
        click.echo(f"{head}: {CANNOT_TELL}: {clean(told['lacks'] or '')}")
        return
    click.echo(
        f"{head}: {number(told['expected_s'])} s in all ({number(told['low_s'])} to {number(told['high_s'])} s, 90 %)"
    )
    click.echo(f"rests on {clean(told['rests_on'] or '')}")
    if found["has_steps"]:
        click.echo("it records its steps: `flitwatch forecast --application` has the time of its next ones")


def drivers(fw: Client, application: str, nodes: int | None, inputs: str) -> models.Deviation | EstimateReasons:
    """What: relevance of each counter, for each size of the application."""

    def read() -> models.Deviation:
        answer = fw.api.deviation(inputs=inputs)
        sets = [one for one in answer["sets"] if _meant(one["estimate"], application, nodes)]
        return {
            **answer,
            "sets": sets,
            "lacking": [one for one in answer["lacking"] if _meant(one, application, nodes)],
        }

    return _answer(fw, "deviation", application, nodes, read)


def _meant(one: Any, application: str, nodes: int | None) -> bool:
    return one["exe"] == application and nodes in (None, one["nodes"])


def _answer(
    fw: Client, kind: Kind, application: str, nodes: int | None, read: Callable[[], Answer]
) -> Answer | EstimateReasons:
    """What `read` gives; without an estimate, what it lacks, by the API.

    Raises
    ------
    NotFound
        The platform knows no such application.
    """
    there = fw.api.estimates()["items"]
    meant = [one for one in there if _meant(one, application, nodes)]
    if not meant:
        names = ", ".join(sorted({f"{one['exe']} ({_nodes(one['nodes'])})" for one in there}))
        advice = (
            f"It knows {names}."
            if names
            else "Import its runs, or let them report their steps: docs/performance-engineer.md."
        )
        size = "" if nodes is None else f" on {_nodes(nodes)}"
        raise NotFound(f"the platform knows no runs of {application}{size}", advice=advice)
    if any(one[kind]["estimate_id"] is not None for one in meant):
        return read()
    reasons = [
        f"{one['nodes']} nodes, {one['runs']} runs: {one[kind]['lacks'] or 'not estimated yet; a worker does it (flitwatch worker)'}"
        for one in meant
    ]
    return {"application": application, "verdict": CANNOT_TELL, "reasons": reasons}


def _lacking(found: Mapping[str, Any]) -> bool:
    """Print why there is no estimate, if there is none."""
    if "estimate" in found or "sets" in found:
        return False
    click.echo(f"{clean(found['application'])}: {CANNOT_TELL}")
    for reason in found["reasons"]:
        click.echo(f"  {clean(reason)}")
    return True


def _of(head: Mapping[str, Any]) -> str:
    simulated = " (simulated)" if head["simulated"] else ""
    return f"{clean(head['exe'])} on {head['nodes']} nodes{simulated}, {head['runs']} runs, estimated {head['created']}"


def show_blame(found: Mapping[str, Any]) -> None:
    """Print who goes with slow runs."""
    if _lacking(found):
        return
    rows = [
        [
            text(one["name"]),
            one["verdict"],
            interval(one["effect_s"], one["effect_low_s"], one["effect_high_s"], "s"),
            interval(one["lost_node_hours"], one["lost_low_node_hours"], one["lost_high_node_hours"], "node-hours"),
            number(one["q"], 2),
            str(one["exposed_runs"]),
        ]
        for one in found["entries"]
    ]
    heads = [found["by"], "verdict", "extra time of an exposed run", "lost", "q", "exposed runs"]
    title = f"{_of(found['estimate'])}: {found['found']} named, {found['cannot_tell']} {CANNOT_TELL}, {found['total']} in all"
    show(title, heads, rows, heads[:2])
    for one in found["entries"]:
        reasons = list(one["reasons"]) or ([one["reason"]] if one["reason"] else [])
        if reasons:
            click.echo(f"{clean(one['name'])}, {one['verdict']}: {clean('; '.join(reasons))}")
    click.echo(clean(found["caveat"]))


def show_forecast(found: Mapping[str, Any]) -> None:
    """Print what comes next for running jobs, and how far that could be trusted so far."""
    if _lacking(found):
        return
    serves = found["serves"]
    click.echo(_of(found["estimate"]))
    click.echo(
        f"{serves['k']} steps from the last {serves['m']}: {serves['forecaster']} with {serves['features']}, "
        f"error {number(serves['mape'])} % on held-out runs ({clean(serves['why'])})"
    )
    if drawn() and found["curve_s"]:
        click.echo(f"usual step times  {sparkline(found['curve_s'])}")
    for one in found["running"]:
        click.echo(_outlook(one))
    if not found["running"]:
        click.echo("no run of it is going on")
    rows = [
        [str(one["m"]), str(one["k"]), one["features"], name, f"{number(mape)} %", "yes" if name == one["best"] else ""]
        for one in found["backtests"]
        for name, mape in sorted(one["mape"].items(), key=lambda item: item[1])
    ]
    show(
        "Backtests",
        ["last steps", "next steps", "features", "forecaster", "error", "best"],
        rows,
        ["features", "forecaster", "best"],
    )
    for one in found["rests_on"]:
        _show_rests_on(one)
    if found["rests_on_lacks"]:
        click.echo(f"what it rests on: {CANNOT_TELL}: {clean(found['rests_on_lacks'])}")
    if found["drift"] and found["drift"]["drifting"]:
        click.echo(f"drifting: {clean(found['drift']['why'] or 'recent runs differ from those of the estimate')}")
    for note in found["notes"]:
        click.echo(clean(note))


def _show_rests_on(one: Mapping[str, Any]) -> None:
    rows = [
        [
            clean(entry["name"]),
            clean(entry["meaning"]),
            number(entry["increase"], 2),
            f"{number(entry['low'], 2)} to {number(entry['high'], 2)}",
            entry["verdict"],
        ]
        for entry in one["inputs"]
    ]
    show(
        f"What {clean(one['forecaster'])} rests on: points of error added on {one['runs']} later runs",
        ["input", "what", "added", "95 %", "verdict"],
        rows,
        ["input", "what", "verdict"],
    )
    for weights in one["weights"]:
        shares = ", ".join(f"{share:.0%}" for share in weights["mean"])
        click.echo(f"attention of {clean(weights['forecaster'])}, the oldest step first: {shares}")


def _outlook(one: Mapping[str, Any]) -> str:
    head = f"job {text(one['job_id'])}, step {one['steps']}"
    newest = one["newest"]
    if newest is None:
        return f"{head}: {CANNOT_TELL}: {clean(one['lacks'] or 'no forecast was made yet')}"
    return (
        f"{head}: the next {newest['ahead']} steps take {number(newest['expected_s'])} s ({number(newest['low_s'])} to {number(newest['high_s'])} s), "
        f"usually {number(newest['usual_s'])} s"
    )


def show_drivers(found: Mapping[str, Any]) -> None:
    """Print which counters carry the deviation, for each size."""
    if _lacking(found):
        return
    for one in found["sets"]:
        order = sorted(
            range(len(found["counters"])),
            key=lambda at: (one["place"][at] or len(found["counters"]), -(one["relevance"][at] or 0.0)),
        )
        rows = [
            [
                found["counters"][at]["abbreviation"],
                number(one["relevance"][at], 2),
                number(one["relevance_spread"][at], 2),
                number(one["rank"][at], 2),
                clean(found["counters"][at]["meaning"]),
                clean(found["counters"][at]["description"]),
            ]
            for at in order[:MOST_COUNTERS]
            if one["relevance"][at] is not None
        ]
        for sentence in one["answer"]:
            click.echo(clean(sentence))
        title = (
            f"{_of(one['estimate'])}: error {number(one['mape'])} %, without counters {number(one['baseline_mape'])} %"
        )
        show(
            title,
            ["counter", "relevance", "spread", "rank", "what it means", "what it counts"],
            rows,
            ["counter", "what it means", "what it counts"],
        )
    for one in found["lacking"]:
        click.echo(
            f"{clean(one['exe'])} on {one['nodes']} nodes: {CANNOT_TELL}: {clean(one['lacks'] or 'not estimated yet')}"
        )
    click.echo(clean(found["caveat"]))
