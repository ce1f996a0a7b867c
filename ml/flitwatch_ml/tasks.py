"""Estimators as tasks: `ml.blame`, `ml.deviation`, `ml.forecast` {exe, nodes, ...}, `ml.blame_measured` {name, runs, exposure}. Handlers import the
engines."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any, TypedDict

from flitwatch_db import connect, tasks
from flitwatch_db.core.events import emit_event
from flitwatch_db.estimates import inputs as estimates
from flitwatch_db.estimates import store as estimate_store
from flitwatch_db.tasks import Handler, TaskContext, files
from flitwatch_domain.errors import BadInput, NotEnoughData
from flitwatch_domain.neighbourhood import DEFINITIONS, OURS, large_job_nodes, measure_circumstances
from flitwatch_domain.task_models import read_arguments
from flitwatch_domain.task_models.measured import BlameArguments, EstimateArguments, MeasuredBlameArguments
from flitwatch_ml.work.sets import complete_runs


class StoredEstimate(TypedDict):
    """Result of an estimator's task: id of the stored estimate, score by kind of estimate, and whether its data was simulated."""

    estimate_id: int
    score: dict[str, Any]
    simulated: bool


def run_blame(args: dict[str, Any], context: TaskContext) -> StoredEstimate:
    """Rank users and job names by the association of their exposure with slow runs of one application."""
    from flitwatch_ml.work import blame as work

    arguments = BlameArguments.of(args)
    exe, nodes = arguments.exe, arguments.nodes
    with connect(context.dsn, role="writer") as conn:
        runs = complete_runs(estimates.runs_of(conn, exe, nodes))
        definition = OURS if arguments.definition is None else DEFINITIONS[arguments.definition]
        usual = definition.least_nodes or large_job_nodes(estimates.machine_nodes(conn, runs.run_id))
        least = usual if arguments.least_nodes is None else arguments.least_nodes
        context.report(1, 4, f"{len(runs.run_id)} runs; who ran alongside them")
        companions = work.co_running(estimates.co_running(conn, runs.run_id), least)
        context.report(
            2, 4, f"{len(companions['user'].names)} users, {len(companions['application'].names)} names of jobs"
        )
        context.check()
        estimate, entries = work.estimate_blame(
            runs, exe, nodes, companions, least, definition, estimates.route_changes_s(conn, runs.run_id)
        )
        return _save_estimate(conn, estimate, entries=entries)


def blame_measured(args: dict[str, Any], context: TaskContext) -> StoredEstimate:
    """Rank users concurrent with measured runs, from two files uploaded for this task."""
    from flitwatch_ml.work import measured as work

    arguments = MeasuredBlameArguments.of(args)
    with connect(context.dsn, role="writer") as conn:
        task = tasks.get_task(conn, context.task_id)
        estimates.check_name_of_files(conn, arguments.name)
        data = work.read_pieces(*(files.read_pieces(conn, task.task_id, number) for number in arguments.files()))

    def tell(done: int) -> None:
        context.check()
        context.report(done, arguments.shuffles, f"{len(data.runs)} runs, {len(data.users)} users; shuffled run times")

    tell(0)
    judged = work.judge_runs(data, arguments.shuffles, arguments.seed, tell)
    estimate, entries = work.estimate_measured(judged, arguments.name, arguments.seed, task.created_by)
    with connect(context.dsn, role="writer") as conn:
        # Users erased meanwhile must not reappear.
        files.check_still_there(conn, task.task_id, arguments.files())
        return keep_of_files(conn, estimate, entries)


def keep_of_files(
    conn: Any, estimate: estimate_store.Estimate, entries: Mapping[str, list[estimate_store.Entry]]
) -> StoredEstimate:
    """Store an estimate from uploaded runs. Alerts and advice use only recorded runs and ignore it.

    Raises
    ------
    Conflict
        The name belongs to an application with recorded runs.
    """
    estimates.check_name_of_files(conn, estimate.exe)
    return _announce_estimate(conn, estimate, estimate_store.save_estimate(conn, estimate, entries=entries))


def run_deviation(args: dict[str, Any], context: TaskContext) -> StoredEstimate:
    """Estimate the relevance of counters, and of the placement of runs, for the deviation of one application's step times."""
    from flitwatch_ml.work import deviation as work

    arguments = EstimateArguments.of(args)
    exe, nodes, definition = arguments.exe, arguments.nodes, arguments.definition or OURS.name
    with connect(context.dsn, role="writer") as conn:
        runs = complete_runs(estimates.runs_of(conn, exe, nodes))
        names, counts = estimates.step_features(conn, runs)
        neighbours = estimates.co_running(conn, runs.run_id)
        lay = measure_circumstances(neighbours.windows, neighbours.jobs)
        data = work.step_data(runs, counts, names, lay, definition)
        context.report(1, 2, f"{len(data['runs'].run_id)} runs, {len(data['names'])} features")
        technology = estimates.find_technology(conn, runs.run_id)
        return _save_estimate(conn, work.estimate_deviation(data, exe, nodes, definition, technology, context.check))


def run_forecast(args: dict[str, Any], context: TaskContext) -> StoredEstimate:
    """Run the backtests of one application and deploy the forecaster that they choose."""
    from flitwatch_ml.work import forecast as work

    arguments = EstimateArguments.of(args)
    exe, nodes = arguments.exe, arguments.nodes

    def tell(done: int, total: int, message: str) -> None:
        context.check()
        context.report(done, total, message)

    with connect(context.dsn, role="writer") as conn:
        runs = complete_runs(estimates.runs_of(conn, exe, nodes))
        names, counts = estimates.step_features(conn, runs)
        placement = estimates.load_placement(conn, runs.run_id)
        data = work.series_data(runs, counts, names, placement, *estimates.io_and_other_counters(conn, runs))
        estimate, models = work.estimate_forecast(data, exe, nodes, tell, arguments.definition or OURS.name)
        return _save_estimate(conn, estimate, models=models)


def _save_estimate(conn: Any, estimate: estimate_store.Estimate, **parts: Any) -> StoredEstimate:
    number = estimate_store.save_estimate(conn, estimate, **parts)
    kind, exe, nodes, runs = estimate.kind, estimate.exe, estimate.nodes, estimate.data["runs"]
    newest = {(row[0], row[1]): row[3] for row in estimates.list_applications(conn)}
    estimate_store.set_state(
        conn, kind, exe, nodes, runs=runs, newest_run=newest.get((exe, nodes), 0), estimate_id=number
    )
    return _announce_estimate(conn, estimate, number)


def _announce_estimate(conn: Any, estimate: estimate_store.Estimate, number: int) -> StoredEstimate:
    about = {"kind": estimate.kind, "exe": estimate.exe, "nodes": estimate.nodes}
    emit_event(conn, "estimate", {**about, "estimate_id": number})
    return {"estimate_id": number, "score": estimate.score, "simulated": estimate.simulated}


def _noting_lacks(kind: str, handler: Handler) -> Handler:
    """Return a handler that also stores missing data for display on the page."""

    def with_state_on_failure(args: dict[str, Any], context: TaskContext) -> Mapping[str, Any]:
        read_arguments(f"ml.{kind}", args)
        try:
            return handler(args, context)
        except (NotEnoughData, BadInput) as lacking:
            exe, nodes = args["exe"], args["nodes"]
            with connect(context.dsn, role="writer") as conn:
                runs, newest = next(
                    (row[2:] for row in estimates.list_applications(conn) if row[:2] == (exe, nodes)), (0, 0)
                )
                estimate_store.set_state(conn, kind, exe, nodes, runs=runs, newest_run=newest, lacks=str(lacking))
            raise

    return with_state_on_failure


def watch_estimates(dsn: str) -> None:
    """Start due estimates every minute on one of the workers."""
    from flitwatch_ml.work.watch import start_due_tasks

    start_due_tasks(dsn)


def network_noise(dsn: str) -> None:
    """Store the network noise of ended jobs every minute on one of the workers."""
    from flitwatch_ml.work.network_noise import save_network_noise

    save_network_noise(dsn)


def forecast_live(dsn: str, stop: threading.Event) -> None:
    """Forecast running jobs until stopped."""
    from flitwatch_ml.work.live import serve_forecasts

    serve_forecasts(dsn, stop)


#: Tasks of this package's workers.
HANDLERS: dict[str, Handler] = {
    "ml.blame": _noting_lacks("blame", run_blame),
    "ml.blame_measured": blame_measured,
    "ml.deviation": _noting_lacks("deviation", run_deviation),
    "ml.forecast": _noting_lacks("forecast", run_forecast),
}
#: Automatic work: functions called with the database and their periods in seconds; and functions that run until the worker stops.
PERIODIC: dict[str, tuple[float, Callable[[str], object]]] = {
    "ml.watch": (60.0, watch_estimates),
    "ml.network_noise": (60.0, network_noise),
}
SERVICES: dict[str, Callable[[str, threading.Event], None]] = {"ml.live": forecast_live}
