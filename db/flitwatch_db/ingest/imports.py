"""Results of an import, counted in the database and not by the reader of its files."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

import psycopg

from flitwatch_domain.jobs import UNKNOWN_CLUSTER

#: Maximum number of example hosts in a report.
MOST_EXAMPLES = 5


class JobCounts(NamedTuple):
    """Stored jobs, their steps, and their distinct users.

    Attributes
    ----------
    placed : jobs with at least one node on a fabric
    unplaced : jobs without a node on any fabric; jobs without a node list are in neither count
    unplaced_examples : some hosts that are on no fabric
    """

    jobs: int
    steps: int
    users: int
    placed: int
    unplaced: int
    unplaced_examples: list[str]


class RunCounts(NamedTuple):
    """Stored runs; total steps and ranks, and the largest number of counters.

    Attributes
    ----------
    jobs : runs with a stored job
    placed : runs with at least one rank on a fabric
    unplaced_examples : some hosts of ranks that are on no fabric
    """

    runs: int
    steps: int
    ranks: int
    counters: int
    jobs: int
    placed: int
    unplaced_examples: list[str]


class FabricCounts(NamedTuple):
    """Stored jobs that a fabric can concern, of the days before the newest job (`COUNTED_DAYS`).

    Attributes
    ----------
    jobs : jobs with a node on the fabric, or on no fabric
    placed : jobs with a node on the fabric
    unplaced_examples : some of their hosts that are on no fabric
    """

    jobs: int
    placed: int
    unplaced_examples: list[str]


class Refused(NamedTuple):
    """Location and reason of a dead letter."""

    where: str
    reason: str


def list_incarnations(
    conn: psycopg.Connection[Any], keys: Collection[tuple[str, str]]
) -> list[tuple[str, str, int, float | None, float | None, float | None]]:
    """List the stored incarnations of the jobs `keys` (cluster, job id): cluster, job id, restart, and submission, start and end in epoch seconds."""
    columns = [list(column) for column in zip(*set(keys), strict=True)] or [[], []]
    return conn.execute(
        "SELECT cluster, job_id, restart, extract(epoch FROM submit_ts)::float8, extract(epoch FROM start_ts)::float8,"
        " extract(epoch FROM end_ts)::float8 FROM job JOIN unnest(%s::text[], %s::text[]) AS k (cluster, job_id) USING (cluster, job_id)",
        columns,
    ).fetchall()


def count_jobs_from_here(conn: psycopg.Connection[Any]) -> None:
    """Start to count an import's jobs, in a temporary table of this connection."""
    conn.execute("CREATE TEMPORARY TABLE IF NOT EXISTS imported_job (job_pk bigint PRIMARY KEY)")
    conn.execute("TRUNCATE imported_job")
    conn.execute("SELECT set_config('flitwatch.import_since', clock_timestamp()::text, false)")


def count_jobs(conn: psycopg.Connection[Any], keys: Collection[tuple[str, str, int]]) -> None:
    """Add the stored jobs among `keys` (cluster, job id, restart). An array's pending tasks have a row whose id depends on the other stored rows."""
    columns = [list(column) for column in zip(*set(keys), strict=True)] or [[], [], []]
    waiting = [(cluster, job_id.partition("_")[0]) for cluster, job_id, _ in keys if "[" in job_id]
    conn.execute(
        "INSERT INTO imported_job SELECT job_pk FROM job j JOIN unnest(%s::text[], %s::text[]) AS k (cluster, number)"
        " ON j.cluster = k.cluster AND split_part(j.job_id, '_', 1) = k.number AND strpos(j.job_id, '[') > 0"
        # Rows of pending tasks from an earlier import do not count.
        " AND j.updated_at >= current_setting('flitwatch.import_since')::timestamptz ON CONFLICT DO NOTHING",
        [[cluster for cluster, _ in waiting], [number for _, number in waiting]],
    )
    conn.execute(
        "INSERT INTO imported_job SELECT job_pk FROM job j JOIN unnest(%s::text[], %s::text[], %s::int[]) AS k (cluster, job_id, restart)"
        " USING (cluster, job_id, restart) ON CONFLICT DO NOTHING",
        columns,
    )


def has_jobs(conn: psycopg.Connection[Any]) -> bool:
    """Return whether any job is stored."""
    return conn.execute("SELECT FROM job LIMIT 1").fetchone() is not None


def jobs_counted(conn: psycopg.Connection[Any]) -> JobCounts:
    """Count the jobs imported since `count_jobs_from_here`."""
    row = conn.execute(
        "SELECT count(*), coalesce(sum((SELECT count(*) FROM job_step s WHERE s.job_pk = j.job_pk)), 0), count(DISTINCT user_name),"
        " count(*) FILTER (WHERE known), count(*) FILTER (WHERE NOT known)"
        " FROM imported_job JOIN job j USING (job_pk)"
        " LEFT JOIN (SELECT job_pk, bool_or(endpoint IS NOT NULL) AS known FROM job_node JOIN imported_job USING (job_pk) GROUP "
        "BY 1) n USING (job_pk)"
    ).fetchone()
    assert row is not None
    examples = conn.execute(
        "SELECT DISTINCT node FROM job_node JOIN imported_job USING (job_pk) WHERE endpoint IS NULL ORDER BY node LIMIT %s",
        [MOST_EXAMPLES],
    ).fetchall()
    jobs, steps, users, placed, unplaced = map(int, row)
    return JobCounts(jobs, steps, users, placed, unplaced, [node for (node,) in examples])


def count_runs(conn: psycopg.Connection[Any], run_keys: Sequence[str]) -> RunCounts:
    """Count the stored runs among `run_keys`."""
    row = conn.execute(
        "SELECT count(*), coalesce(sum((SELECT count(*) FROM run_step s WHERE s.run_id = r.run_id)), 0), coalesce(sum(ranks), 0),"
        " coalesce(max(cardinality(counter_names)), 0), count(job_pk),"
        " count(*) FILTER (WHERE EXISTS (SELECT FROM run_rank k WHERE k.run_id = r.run_id AND k.endpoint IS NOT NULL))"
        " FROM run r WHERE run_key = ANY(%s)",
        [list(run_keys)],
    ).fetchone()
    assert row is not None
    examples = conn.execute(
        "SELECT DISTINCT node FROM run_rank JOIN run USING (run_id) WHERE run_key = ANY(%s) AND endpoint IS NULL AND node IS NOT NULL"
        " ORDER BY node LIMIT %s",
        [list(run_keys), MOST_EXAMPLES],
    ).fetchall()
    runs, steps, ranks, counters, jobs, placed = map(int, row)
    return RunCounts(runs, steps, ranks, counters, jobs, placed, [node for (node,) in examples])


#: Days before the newest job whose jobs a topology's import counts: a site's whole history has too many.
COUNTED_DAYS = 7

_NEWEST_JOBS = (
    " FROM (SELECT j.job_pk, j.start_ts, max(j.start_ts) OVER () AS newest_ts FROM job j JOIN fabric f ON f.fabric_id = %(fabric)s"
    "  AND j.simulated = f.simulated AND (f.attributes ->> 'cluster' IS NULL OR j.cluster IN (f.attributes ->> 'cluster', %(unknown)s))) w"
    " JOIN job_node USING (job_pk) WHERE (start_ts IS NULL OR start_ts > newest_ts - make_interval(days => %(days)s))"
)


def count_jobs_of_fabric(conn: psycopg.Connection[Any], fabric_id: int) -> FabricCounts:
    """Count the newest jobs that have a place on a fabric, and those that have none at all."""
    values = {"fabric": fabric_id, "unknown": UNKNOWN_CLUSTER, "days": COUNTED_DAYS, "most": MOST_EXAMPLES}
    row = conn.execute(
        "SELECT count(DISTINCT job_pk), count(DISTINCT job_pk) FILTER (WHERE fabric_id IS NOT NULL)"
        + _NEWEST_JOBS
        + " AND (fabric_id = %(fabric)s OR fabric_id IS NULL)",
        values,
    ).fetchone()
    assert row is not None
    examples = conn.execute(
        "SELECT DISTINCT node" + _NEWEST_JOBS + " AND fabric_id IS NULL ORDER BY node LIMIT %(most)s", values
    ).fetchall()
    return FabricCounts(int(row[0]), int(row[1]), [node for (node,) in examples])


def list_refused(
    conn: psycopg.Connection[Any], sources: Collection[str], limit: int, shared: Collection[str] = (), after: int = 0
) -> tuple[int, list[Refused]]:
    """Count the dead letters of `sources`, and those of `shared` after number `after`; list the first `limit` of them."""
    which = "FROM dead_letter WHERE source = ANY(%s) OR (source = ANY(%s) AND dead_letter_id > %s)"
    values = [list(sources), list(shared), after]
    count = conn.execute(f"SELECT count(*) {which}", values).fetchone()
    assert count is not None
    rows = conn.execute(
        f"SELECT coalesce(where_, ''), reason {which} ORDER BY dead_letter_id LIMIT %s", [*values, limit]
    ).fetchall()
    return int(count[0]), [Refused(*row) for row in rows]


def last_refused(conn: psycopg.Connection[Any]) -> int:
    """Return the newest dead letter's number; 0 if there is none."""
    row = conn.execute("SELECT coalesce(max(dead_letter_id), 0) FROM dead_letter").fetchone()
    assert row is not None
    return int(row[0])


def refused_by(conn: psycopg.Connection[Any], sources: Collection[str], beginning: str) -> dict[str, tuple[int, int]]:
    """Count the dead letters of each of `sources`, in total and with a reason that begins with `beginning`."""
    rows = conn.execute(
        "SELECT source, count(*), count(*) FILTER (WHERE starts_with(reason, %s)) FROM dead_letter WHERE source = ANY(%s) GROUP BY source",
        [beginning, list(sources)],
    ).fetchall()
    return {source: (int(count), int(so)) for source, count, so in rows}


def last_gap(conn: psycopg.Connection[Any]) -> int:
    """Return the newest gap's number; 0 if there is none."""
    row = conn.execute("SELECT coalesce(max(gap_id), 0) FROM gap").fetchone()
    assert row is not None
    return int(row[0])


def gaps_after(conn: psycopg.Connection[Any], gap_id: int) -> int:
    """Count the gaps that are newer than `gap_id`."""
    row = conn.execute("SELECT count(*) FROM gap WHERE gap_id > %s", [gap_id]).fetchone()
    assert row is not None
    return int(row[0])


def count_unplaced(conn: psycopg.Connection[Any], spans: Mapping[str, tuple[float, float]]) -> dict[str, int]:
    """Count counter records without a place on any fabric, by topic.

    Parameters
    ----------
    spans : mapping
        Epoch seconds (first, last) by topic.
    """
    counts: dict[str, int] = {}
    for topic, (first_s, last_s) in spans.items():
        row = conn.execute(
            "SELECT count(*) > 0, coalesce(sum((SELECT count(*) FROM observation o WHERE o.schema_id = s.schema_id"
            " AND o.ts BETWEEN to_timestamp(%s) AND to_timestamp(%s))), 0) FROM ldms_schema s WHERE kind <> 'other' AND name = %s",
            [first_s, last_s, topic.removeprefix("ldms.")],
        ).fetchone()
        if row and row[0]:
            counts[topic] = int(row[1])
    return counts


def list_unplaced(
    conn: psycopg.Connection[Any], spans: Mapping[str, tuple[float, float]], topics: Collection[str]
) -> list[str]:
    """List some instances of these topics whose counters have no place, within the spans of `count_unplaced`."""
    found: list[str] = []
    for topic in topics:
        rows = conn.execute(
            "SELECT DISTINCT o.instance FROM observation o JOIN ldms_schema s USING (schema_id) WHERE s.kind <> 'other' AND s.name = %s"
            " AND o.ts BETWEEN to_timestamp(%s) AND to_timestamp(%s) ORDER BY 1 LIMIT %s",
            [topic.removeprefix("ldms."), *spans[topic], MOST_EXAMPLES - len(found)],
        ).fetchall()
        found += [instance for (instance,) in rows]
    return found


def unknown_columns(conn: psycopg.Connection[Any], schemas: Collection[str]) -> dict[str, list[str]]:
    """Return columns of these schemas that appear next to counters but are not in the catalogue."""
    rows = conn.execute(
        "SELECT s.name, array_agg(DISTINCT c ->> 'name' ORDER BY c ->> 'name') FROM ldms_schema s, jsonb_array_elements(s.columns) c"
        " WHERE s.name = ANY(%s) AND c -> 'unknown' = 'true' GROUP BY 1 ORDER BY 1",
        [list(schemas)],
    ).fetchall()
    return dict(rows)


def why_unplaced(conn: psycopg.Connection[Any], topics: Collection[str], limit: int) -> list[str]:
    """Return the newest distinct reasons why counters of these topics have no place."""
    rows = conn.execute(
        "SELECT reason FROM event, jsonb_array_elements_text(payload -> 'reasons') AS reason"
        " WHERE kind = 'unplaced' AND payload ->> 'topic' = ANY(%s) GROUP BY 1 ORDER BY max(event_id) DESC, 1 LIMIT %s",
        [list(topics), limit],
    ).fetchall()
    return [row[0] for row in rows]
