"""Tasks that a simulation worker can run; engines are imported when a task runs."""

from __future__ import annotations

from flitwatch_db.tasks import Handler, lazy_handler

HANDLERS: dict[str, Handler] = {
    task: lazy_handler(f"flitwatch_simulation.{place}")
    for task, place in (
        ("sim.collective", "collective_task:collective"),
        ("sim.packet", "packet.task:packet"),
        ("sim.whatif", "whatif:whatif"),
        ("routing.loop", "loop.task:loop"),
        ("routing.optimise", "loop.task:optimise"),
        ("routing.advice", "application_aware.task:advice"),
        ("routing.reconstruct", "loop.task:reconstruct"),
    )
}
