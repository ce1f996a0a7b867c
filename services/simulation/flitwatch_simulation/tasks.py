"""Tasks of a simulation worker; engines are imported when a task runs."""

from __future__ import annotations

from flitwatch_db.tasks import Handler, lazy_handler

HANDLERS: dict[str, Handler] = {
    task: lazy_handler(f"flitwatch_simulation.{place}")
    for task, place in (
        ("sim.whatif", "whatif:simulate_whatif"),
        ("routing.loop", "loop.task:run_loop_task"),
        ("routing.optimise", "loop.task:optimise_routes_task"),
        ("routing.advice", "application_aware:advise_routing"),
        ("routing.reconstruct", "loop.task:reconstruct_traffic"),
    )
}
