"""Read the data for a job's evidence page: its explanation, its steps and those of earlier runs, and the counters of its own parts."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import psycopg

from flitwatch_db.jobs import as_of, explanation, parts
from flitwatch_domain.explanation import slowdown
from flitwatch_domain.explanation.case import Evidence
from flitwatch_domain.explanation.pictures import Line


def load_evidence(
    conn: psycopg.Connection[Any], job_id: str, cluster: str | None = None, now_s: float | None = None
) -> Evidence:
    """Load a job's evidence for `flitwatch_domain.explanation.case.render_page`; errors and parameters are those of `explain_by_id`."""
    now_s = time.time() if now_s is None else now_s
    job = as_of.job_at(conn, job_id, cluster, now_s)
    job_explanation = explanation.explain_job(conn, job, now_s, rooted=True)
    steps = explanation.steps_of(conn, job, now_s)
    counters = []
    if job["start_s"] is not None:
        end_s = min(now_s, job["end_s"] if job["end_s"] is not None else now_s)
        job_parts = parts.load_parts(conn, job["job_pk"], job["start_s"], max(end_s, job["start_s"] + 1))
        middle = job_parts.ts.astype(np.float64) + job_parts.step_s / 2
        counters = [(f"{part.label}, {part.unit}", Line(part.label, middle, part.values)) for part in job_parts.parts]
    return Evidence(job_explanation, _build_step_lines(steps) if steps is not None else [], counters)


def _build_step_lines(steps: slowdown.Steps) -> list[Line]:
    usual, _ = slowdown.usual_steps(steps.earlier_s)
    at = slowdown.build_timeline(steps, usual).end_s
    lines = [Line("this run", at, steps.time_s)]
    if len(steps.earlier_s):
        earlier_s = np.full((len(steps.earlier_s), len(at)), np.nan)
        within = steps.step < steps.earlier_s.shape[1]
        earlier_s[:, within] = steps.earlier_s[:, steps.step[within]]
        is_known = np.isfinite(earlier_s).any(axis=0)
        low, middle, high = (np.full(len(at), np.nan) for _ in range(3))
        low[is_known], middle[is_known], high[is_known] = np.nanquantile(
            earlier_s[:, is_known], [0.1, 0.5, 0.9], axis=0
        )
        lines.insert(0, Line(f"{len(steps.earlier_s)} earlier runs, 10 to 90 %", at, middle, low, high, ink="#8a919b"))
    return lines
