"""What the evidence page of a job reads: its explanation, its steps against earlier runs, and the counters of its own parts."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import psycopg

from flitwatch_db.jobs import as_of, explanation, parts
from flitwatch_domain.explanation import slowdown
from flitwatch_domain.explanation.case import Evidence
from flitwatch_domain.explanation.pictures import Line


def case(
    conn: psycopg.Connection[Any], job_id: str, cluster: str | None = None, now_s: float | None = None
) -> Evidence:
    """What `flitwatch_domain.explanation.case.html` prints of a job; errors and parameters as of `explain`."""
    now_s = time.time() if now_s is None else now_s
    job = as_of.job_at(conn, job_id, cluster, now_s)
    made = explanation.explain_job(conn, job, now_s, rooted=True)
    steps = explanation.steps_of(conn, job, now_s)
    counters = []
    if job["start_s"] is not None:
        end_s = min(now_s, job["end_s"] if job["end_s"] is not None else now_s)
        found = parts.parts(conn, job["job_pk"], job["start_s"], max(end_s, job["start_s"] + 1))
        middle = found.ts.astype(np.float64) + found.step_s / 2
        counters = [(f"{one.label}, {one.unit}", Line(one.label, middle, one.values)) for one in found.parts]
    return Evidence(made, _steps(steps) if steps is not None else [], counters)


def _steps(steps: slowdown.Steps) -> list[Line]:
    usual, _ = slowdown.usual_steps(steps.earlier_s)
    at = slowdown.timeline(steps, usual).end_s
    lines = [Line("this run", at, steps.time_s)]
    if len(steps.earlier_s):
        held = np.full((len(steps.earlier_s), len(at)), np.nan)
        within = steps.step < steps.earlier_s.shape[1]
        held[:, within] = steps.earlier_s[:, steps.step[within]]
        known = np.isfinite(held).any(axis=0)
        low, middle, high = (np.full(len(at), np.nan) for _ in range(3))
        low[known], middle[known], high[known] = np.nanquantile(held[:, known], [0.1, 0.5, 0.9], axis=0)
        lines.insert(0, Line(f"{len(steps.earlier_s)} earlier runs, 10 to 90 %", at, middle, low, high, ink="#8a919b"))
    return lines
