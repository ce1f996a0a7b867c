"""`sim.packet`: a packet-level run as a task, with progress and cancel."""

from __future__ import annotations

from typing import Any

from flitwatch_db.tasks import TaskContext
from flitwatch_domain.task_models.simulations import Packet
from flitwatch_research.packet.jobs import JobLine
from flitwatch_research.packet.link_counters import LinkStalls, worst_links
from flitwatch_research.packet.run import PacketSummary, simulate_packets, summarise_run
from flitwatch_research.packet.traffic_classes import NamedClass
from flitwatch_research.packet.workload import PacketRun

#: Number of links in the result; only the command's CSV file contains all of them.
WORST_LINKS = 100


class PacketResult(PacketSummary):
    """A run's summary with its seed and the links with the most stalls."""

    seed: int
    worst_links: list[LinkStalls]


def run_packet_task(args: dict[str, Any], context: TaskContext) -> PacketResult:
    """Run with the options of `flitwatch sim packet`. The result is the command's, with `worst_links` instead of the CSV file.

    Raises
    ------
    BadInput, BadRequest
        Options do not fit.
    Cancelled
    """
    request = request_of(args)
    machine, workload, result = simulate_packets(request, context.report, context.cancelled)
    return {
        **summarise_run(request, workload, result),
        "seed": request.seed,
        "worst_links": worst_links(machine, result, WORST_LINKS),
    }


def request_of(args: dict[str, Any]) -> PacketRun:
    """Return a task's arguments as a typed request."""
    options = Packet.of(args)
    fields = options.model_dump(exclude={"jobs", "traffic_classes"})
    jobs = (
        None
        if options.jobs is None
        else tuple(
            JobLine(item.pattern, item.ranks, item.bytes, item.placement, item.traffic_class) for item in options.jobs
        )
    )
    classes = tuple(
        NamedClass(item.name, item.minimum, item.maximum, item.priority) for item in options.traffic_classes
    )
    return PacketRun(**fields, jobs=jobs, traffic_classes=classes)
