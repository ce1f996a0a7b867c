"""Outcomes of jobs: state, start and end by the scheduler's id."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import psycopg

from flitwatch_domain.trials import Outcome


def load_outcomes(
    conn: psycopg.Connection[Any], job_ids: Sequence[str], since_s: float, cluster: str | None = None
) -> dict[str, Outcome]:
    """Return outcomes by id of jobs that ended since a time (epoch seconds) or have not ended; for a requeued job, that of its last run.

    Jobs unknown to accounting are omitted: ids are reused, so older jobs with the same id are different jobs.
    """
    rows = conn.execute(
        "SELECT DISTINCT ON (job_id) job_id, state, extract(epoch FROM start_ts)::float8, extract(epoch FROM end_ts)::float8 FROM job"
        " WHERE job_id = ANY(%s) AND (%s::text IS NULL OR cluster = %s) AND (end_ts IS NULL OR end_ts >= to_timestamp(%s))"
        " ORDER BY job_id, restart DESC, job_pk DESC",
        [list(job_ids), cluster, cluster, since_s],
    ).fetchall()
    return {job_id: Outcome(state, start, end) for job_id, state, start, end in rows}
