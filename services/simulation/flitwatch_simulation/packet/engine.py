"""Runs of a workload on the packet engine, and the number of bytes sent."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as NotYet
from typing import Any

import numpy as np

from flitwatch_core import packet
from flitwatch_domain.errors import BadRequest, Cancelled
from flitwatch_simulation.packet.machine import Machine

Report = Callable[[int, int, str], None]
_LOOK_EVERY_S = 0.5


def execute_workload(
    machine: Machine,
    workload: packet.Workload,
    *,
    report: Report | None = None,
    cancelled: Callable[[], bool] | None = None,
    total_bytes: int = 0,
    **options: Any,
) -> packet.Result:
    """Run a workload in a separate thread, so that an interrupt of the caller ends it; `report(done, total, message)` is called twice per second.
    Raise BadRequest if the workload does not fit the fabric. Raise Cancelled."""
    control = packet.Control()
    divisor, unit = (10**3, "kB") if total_bytes < 10**12 else (10**6, "MB")  # progress is stored as 32-bit integers
    with ThreadPoolExecutor(1) as pool:
        running: Future[packet.Result] = pool.submit(machine.core.run, workload, control=control, **options)
        try:
            while True:
                try:
                    return running.result(_LOOK_EVERY_S)
                except NotYet:
                    if cancelled is not None and cancelled():
                        control.cancel()
                    if report is not None:
                        report(control.delivered_bytes // divisor, total_bytes // divisor, f"{unit} delivered")
        except packet.CancelledRun as stop:
            raise Cancelled("the packet simulation was cancelled") from stop
        except ValueError as unfit:
            raise BadRequest(f"the workload does not fit the fabric: {unfit}") from unfit
        finally:
            control.cancel()  # after any interruption of the wait, the result is not needed


def total_bytes(workload: packet.Workload) -> int:
    """Return the bytes that the jobs will deliver; 0 if there is only endless background traffic."""
    return sum(g.total_bytes for g in workload.generators) + int(_message_sizes(workload).sum()) - local_bytes(workload)


def local_bytes(workload: packet.Workload) -> int:
    """Return the bytes that the jobs send from an endpoint to itself, without using a link."""
    local = 0
    if workload.flows is not None:
        src, dst, size = map(np.asarray, workload.flows)
        local += int(size[src == dst].sum())
    if (ops := workload.ops) is not None:
        sends = np.flatnonzero(ops.kind == packet.OpKind.SEND)
        src, dst = ops.endpoint_of_rank[ops.rank[sends]], ops.endpoint_of_rank[ops.rank[ops.match[sends]]]
        local += int(ops.amount[sends][src == dst].sum())
    return local


def _message_sizes(workload: packet.Workload) -> np.ndarray:
    sizes = [np.zeros(1, np.int64)]
    if workload.flows is not None:
        sizes.append(np.asarray(workload.flows[2], np.int64))
    if workload.ops is not None:
        sizes.append(workload.ops.amount[workload.ops.kind == packet.OpKind.SEND].astype(np.int64))
    return np.concatenate(sizes)
