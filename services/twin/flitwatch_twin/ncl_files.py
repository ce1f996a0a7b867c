"""Output files of AriesNCL for one run, and the `run.json` that links it to its job."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from flitwatch_domain.counters import TABLE_II
from flitwatch_domain.runs import RankRecord, RunRecord
from flitwatch_twin.runs import InstrumentedRun


def run_header(run: InstrumentedRun, job_id: str, start_s: int) -> RunRecord:
    """Return the value of a `run` record on `flitwatch.runs.v1` (docs/contracts/log.md)."""
    ranks: list[RankRecord] = [{"rank": rank, "node": node} for rank, node in zip(run.ranks, run.nodes, strict=True)]
    return {
        "type": "run",
        "run_key": run.key,
        "job_id": job_id,
        "exe": run.application.executable,
        "start": start_s,
        "ranks": ranks,
        "counters": [counter.vendor for counter in TABLE_II],
        "simulated": True,
    }


def write_run(folder: Path, run: InstrumentedRun, header: dict[str, Any]) -> None:
    """Write `<exe>.timings.json` (steps in reverse order), `<exe>.counters.<step>.bin` (int64 rank x counter), run.json, counters.txt."""
    folder.mkdir(parents=True, exist_ok=True)
    exe = run.application.executable
    (folder / "counters.txt").write_text("".join(f"{name}\n" for name in header["counters"]), encoding="ascii")
    for step in run.steps:
        (folder / f"{exe}.counters.{step.step}.bin").write_bytes(
            np.ascontiguousarray(step.values, np.dtype("=i8")).tobytes()
        )
    (folder / "run.json").write_text(
        json.dumps({key: header[key] for key in ("job_id", "start", "exe", "ranks", "simulated")}) + "\n",
        encoding="utf-8",
    )
    (folder / f"{exe}.timings.json").write_text(_format_timings(run, header["counters"]), encoding="ascii")


def _format_timings(run: InstrumentedRun, counters: list[str]) -> str:
    """Return the timings in the library's exact layout."""
    names = ",\n".join(f'        "{name}"' for name in counters)
    ranks = ", ".join(str(rank) for rank in run.ranks)
    steps = ",\n".join(
        "        {\n"
        f'            "timestep": {step.step},\n'
        f'            "time": [{", ".join(str(time) for time in step.time_ns.tolist())}]\n'
        "        }"
        for step in reversed(run.steps)
    )
    return f'{{\n    "counter_names": [\n{names}\n    ],\n    "ranks": [{ranks}],\n    "timings": [\n{steps}\n    ]\n}}'
