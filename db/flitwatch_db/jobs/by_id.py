"""A job by the id that its scheduler prints: the newest of several, and for PBS's `13.server` preferably one of that server."""

from __future__ import annotations

from psycopg.sql import SQL

from flitwatch_domain.jobs import kept_job_id

#: SQL after FROM job; its parameters are those of `build_parameters`.
NEWEST = SQL(
    "WHERE job_id = %(id)s AND (%(cluster)s::text IS NULL OR cluster = %(cluster)s)"
    " ORDER BY cluster = %(server)s::text DESC NULLS LAST, coalesce(start_ts, submit_ts) DESC NULLS LAST, restart DESC, job_pk DESC LIMIT 1"
)


def build_parameters(job_id: str, cluster: str | None) -> dict[str, str | None]:
    """Return the parameters of `NEWEST` for an id as the scheduler prints it."""
    stored_id, server = kept_job_id(job_id)
    return {"id": stored_id, "cluster": cluster, "server": server}
