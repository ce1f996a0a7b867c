"""Published studies and simulations as tasks of a worker; engines are imported when a task runs."""

from __future__ import annotations

from flitwatch_db.tasks import Handler, lazy_handler

HANDLERS: dict[str, Handler] = {
    "sim.study": lazy_handler("flitwatch_research.studies.shared:run_study_task"),
    "sim.collective": lazy_handler("flitwatch_research.collectives:run_collective_task"),
    "sim.packet": lazy_handler("flitwatch_research.packet.run:run_packet_task"),
}
