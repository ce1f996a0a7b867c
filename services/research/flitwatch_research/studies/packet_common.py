"""Common parts of the packet-level studies: steps with progress and cancellation, and their results."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from threading import Event
from time import monotonic
from typing import Any

from flitwatch_domain.errors import Cancelled
from flitwatch_research.studies.parameters import check_names, read_number, read_numbers, read_string, read_whole_number
from flitwatch_research.studies.registry import Cancelled as IsCancelled
from flitwatch_research.studies.registry import Parameters, Report

__all__ = ["check_names", "read_number", "read_numbers", "read_string", "read_whole_number", "sweep_cases"]


def sweep_cases(
    study: str,
    cases: list[Parameters],
    compute: Callable[[Parameters, IsCancelled], Sequence[Mapping[str, Any]]],
    report: Report,
    cancelled: IsCancelled,
    parameters: Parameters,
    **extra: Any,
) -> Parameters:
    """Compute the cases, `threads` at a time (1). The result contains all points in order of the cases, regardless of the threads.

    A point is a case with the figures from `compute`.
    """
    started = monotonic()
    threads = read_whole_number(parameters, "threads", 1, 1, 1024)
    points: list[dict[str, Any]] = []
    ended = Event()

    def stop() -> bool:
        return ended.is_set() or cancelled()

    with ThreadPoolExecutor(threads) as pool:
        running = [pool.submit(compute, case, stop) for case in cases]
        try:
            for done, (case, future) in enumerate(zip(cases, running, strict=True)):
                report(done, len(cases), ", ".join(f"{key} {value}" for key, value in case.items()))
                while True:
                    if cancelled():
                        raise Cancelled(f"{study} was cancelled after {done} of {len(cases)} cases")
                    if wait([future], 0.5).done:
                        break
                points += [{**case, **figures} for figures in future.result()]
        finally:  # an interrupt, a cancellation or a case's error ends them all
            ended.set()
            pool.shutdown(wait=False, cancel_futures=True)
    report(len(cases), len(cases), "done")
    return {"study": study, "points": points, "simulated": True, "wall_s": monotonic() - started, **extra}
