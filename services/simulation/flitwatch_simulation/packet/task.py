"""`sim.packet`: a packet-level run as a task, with progress and cancel."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from flitwatch_db.tasks import TaskContext
from flitwatch_domain.errors import BadRequest
from flitwatch_simulation.arguments import refuse_files
from flitwatch_simulation.packet.jobs import job_of
from flitwatch_simulation.packet.link_counters import worst_links
from flitwatch_simulation.packet.run import simulate, summary
from flitwatch_simulation.packet.workload import PacketRun
from flitwatch_simulation.workloads.patterns import PATTERNS

#: The result holds this many links; all of them are a matter for the command's CSV file.
WORST_LINKS = 100
_TEXT = ("topology", "routing", "traffic", "placement", "background", "engine")
_WHOLE = ("bytes", "packet_bytes", "ranks", "seed", "virtual_lanes")


def packet(args: dict[str, Any], context: TaskContext) -> dict[str, Any]:
    """Run the options of `flitwatch sim packet`; the answer is the command's, with `worst_links` in place of the CSV file.

    Raises
    ------
    BadRequest
        For options that do not fit. A task reads no file of the worker's machine: jobs stand in the argument as a list.
    Cancelled
    """
    request = request_of(args)
    machine, workload, result = simulate(request, context.report, context.cancelled)
    return {**summary(workload, result), "seed": request.seed, "worst_links": worst_links(machine, result, WORST_LINKS)}


def request_of(args: dict[str, Any]) -> PacketRun:
    """The argument of a task as a typed request."""
    known = {f.name for f in fields(PacketRun)} - {"links_csv", "vendor_csv"}
    if unknown := sorted(set(args) - known):
        raise BadRequest(f"the task has no option {unknown[0]!r}", advice=f"Use {', '.join(sorted(known))}.")
    for name in _TEXT:
        if args.get(name) is not None and not isinstance(args[name], str):
            raise BadRequest(f"{name} is {args[name]!r}; expected text")
    for name in _WHOLE:
        value = args.get(name)
        if value is not None and (isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**63):
            raise BadRequest(f"{name} is {value!r}; expected a whole number")
    for name in ("topology", "routing"):
        if not args.get(name):
            raise BadRequest(f"the task needs a {name}")
    scale = args.get("message_scale", 1.0)
    if isinstance(scale, bool) or not isinstance(scale, int | float):
        raise BadRequest(f"message_scale is {scale!r}; expected a number")
    if not isinstance(args.get("nic_protocol", False), bool):
        raise BadRequest(f"nic_protocol is {args['nic_protocol']!r}; expected true or false")
    refuse_files(args)
    _refuse_unknown_traffic(args)
    given = {name: value for name, value in args.items() if value is not None}
    if "jobs" in given:
        if not isinstance(given["jobs"], list) or not given["jobs"]:
            raise BadRequest("jobs is no list of {pattern, ranks, bytes, placement}")
        given["jobs"] = tuple(job_of(job, f"job {k}") for k, job in enumerate(given["jobs"]))
    return PacketRun(**{"traffic": None, "bytes": None, **given})


def _refuse_unknown_traffic(args: dict[str, Any]) -> None:
    traffic = args.get("traffic")
    if traffic is not None and traffic.partition(":")[0] != "uniform" and traffic not in PATTERNS:
        raise BadRequest(f"unknown traffic {traffic!r}; a task reads no file", advice=f"Use {', '.join(['uniform[:GIB_PER_S]', *sorted(PATTERNS)])}.")  # fmt: skip
