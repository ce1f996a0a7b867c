"""Memory and CPU time of processes, sampled while they work."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Mapping
from pathlib import Path

import numpy as np

_TICK_S = 1 / os.sysconf("SC_CLK_TCK")
SAMPLE_S = 1.0


class Watch:
    """Sampler of processes with their children, in a thread.

    Parameters
    ----------
    processes : mapping of str to int
        Process ids by name.
    """

    def __init__(self, processes: Mapping[str, int]) -> None:
        self._processes = dict(processes)
        self._cpu_begin_s = {name: cpu_s(pid) for name, pid in self._processes.items()}
        self._began = time.monotonic()
        self._samples: dict[str, list[tuple[float, float]]] = {name: [] for name in processes}
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._sample_memory, daemon=True)
        self._thread.start()

    def _sample_memory(self) -> None:
        while not self._ended.wait(SAMPLE_S):
            for name, pid in self._processes.items():
                with contextlib.suppress(OSError, ValueError):
                    self._samples[name].append((time.monotonic() - self._began, memory_mb(pid)))

    def stop(self) -> dict[str, dict[str, float | None]]:
        """Stop and return, by process: CPU time since the start, final and maximum memory, and its growth over the second half."""
        self._ended.set()
        self._thread.join()
        return {name: self._summarize_usage(name, pid) for name, pid in self._processes.items()}

    def _summarize_usage(self, name: str, pid: int) -> dict[str, float | None]:
        samples = np.array(self._samples[name]).reshape(-1, 2)
        later = samples[len(samples) // 2 :]
        slope = np.polyfit(later[:, 0], later[:, 1], 1)[0] * 60 if len(later) > 2 else None
        return {
            "cpu_s": round(cpu_s(pid) - self._cpu_begin_s[name], 2),
            "rss_mb": round(float(samples[-1, 1]), 1) if len(samples) else None,
            "rss_max_mb": round(float(samples[:, 1].max()), 1) if len(samples) else None,
            "rss_slope_mb_per_min": round(float(slope), 2) if slope is not None else None,
        }


def _list_process_family(pid: int) -> list[int]:
    pids = [pid]
    with contextlib.suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            pids += [int(child) for child in (task / "children").read_text().split()]
    return pids


def cpu_s(pid: int) -> float:
    """Return the CPU time of a process and its children, including ended ones."""
    total = 0
    for member in _list_process_family(pid):
        with contextlib.suppress(OSError):
            fields = Path(f"/proc/{member}/stat").read_text().rpartition(")")[2].split()
            total += sum(int(field) for field in (fields[11:15] if member == pid else fields[11:13]))
    return total * _TICK_S


def memory_mb(pid: int) -> float:
    """Return the resident memory of a process and its children; shared memory counts once (proportional set size)."""
    total = 0
    for member in _list_process_family(pid):
        with contextlib.suppress(OSError):
            for line in Path(f"/proc/{member}/smaps_rollup").read_text().splitlines():
                if line.startswith("Pss:"):
                    total += int(line.split()[1])
    return total / 1024
