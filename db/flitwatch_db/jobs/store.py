"""Store the scheduler's jobs; a later record of a job replaces the earlier one."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, LiteralString, NamedTuple

import orjson
import psycopg
from psycopg.sql import SQL

from flitwatch_db.jobs.arrays import CLOCK_DIFFERENCE_S, build_cluster_condition, place_ranks, settle_arrays
from flitwatch_db.jobs.as_of import end_or
from flitwatch_domain import hostlist
from flitwatch_domain.errors import BadInput
from flitwatch_domain.hosts import find_host
from flitwatch_domain.jobs import RUNAWAY, RUNAWAY_AFTER_S, UNKNOWN_CLUSTER, Job, mark_runaway

_UPSERT = """
    INSERT INTO job (cluster, job_id, array_task, het_offset, restart, user_name, account, name, partition, state, exit_code,
                     submit_ts, start_ts, end_ts, nodes, node_list, simulated, limit_s)
    SELECT cluster, job_id, array_task, het_offset, restart, "user", account, name, partition, state, exit_code,
           to_timestamp(submit_s), to_timestamp(start_s), to_timestamp(end_s), nodes, node_list, simulated, limit_s
    FROM jsonb_to_recordset(%s::jsonb) AS j (cluster text, job_id text, array_task int, het_offset int, restart int, "user" text,
         account text, name text, partition text, state text, exit_code text, submit_s float8, start_s float8, end_s float8, nodes int,
         node_list text, simulated boolean, limit_s float8)
    ORDER BY cluster, job_id, restart
    ON CONFLICT (cluster, job_id, restart) DO UPDATE SET
        array_task = excluded.array_task, het_offset = excluded.het_offset, user_name = excluded.user_name, account = excluded.account,
        name = excluded.name, partition = excluded.partition, state = excluded.state, exit_code = excluded.exit_code,
        submit_ts = excluded.submit_ts, start_ts = excluded.start_ts, end_ts = excluded.end_ts, nodes = excluded.nodes,
        node_list = excluded.node_list, simulated = excluded.simulated, limit_s = excluded.limit_s, updated_at = clock_timestamp()
    RETURNING job_pk, cluster, job_id, restart, xmax = 0
"""

# An incarnation is identified by its submission and start: one that was numbered too early is the same row under another number.
_RENUMBERED = """
    SELECT old.job_pk, new.job_pk, old.cluster || '/' || old.job_id, old.restart, j.restart
    FROM jsonb_to_recordset(%s::jsonb) AS j (cluster text, job_id text, restart int, submit_s float8, start_s float8)
    JOIN job old ON old.cluster = j.cluster AND old.job_id = j.job_id AND old.restart <> j.restart
        AND old.submit_ts = to_timestamp(j.submit_s) AND old.start_ts = to_timestamp(j.start_s)
    LEFT JOIN job new ON new.cluster = j.cluster AND new.job_id = j.job_id AND new.restart = j.restart
    WHERE (new.submit_ts, new.start_ts) IS DISTINCT FROM (old.submit_ts, old.start_ts)
"""

_DISTINGUISHED_BY = ("cluster", "job_id", "restart", "submit_s", "start_s")

_STEPS = """
    INSERT INTO job_step (job_pk, step, name, state, start_ts, end_ts, nodes, node_list)
    SELECT job_pk, step, name, state, to_timestamp(start_s), to_timestamp(end_s), nodes, node_list
    FROM jsonb_to_recordset(%s::jsonb) AS s (job_pk bigint, step text, name text, state text, start_s float8, end_s float8, nodes int,
         node_list text)
    ORDER BY job_pk, step
    ON CONFLICT (job_pk, step) DO UPDATE SET
        name = excluded.name, state = excluded.state, start_ts = excluded.start_ts, end_ts = excluded.end_ts, nodes = excluded.nodes,
        node_list = excluded.node_list
"""

# Endpoints of hosts in fabrics' spelling, for names in accounting's (flitwatch_domain.hosts).
_ENDPOINTS = """
    SELECT n.name, e.fabric_id, e.node, e.endpoint, e.router FROM unnest(%s::text[]) AS n (name) JOIN endpoint e ON host_of(e.node) = host_of(n.name)
    WHERE rtrim(lower(e.node), '.') = rtrim(lower(n.name), '.') OR strpos(e.node, '.') = 0 OR strpos(n.name, '.') = 0 ORDER BY 1, 2, 3, 4
"""

_FABRICS = """
    SELECT f.fabric_id, f.simulated, f.attributes ->> 'cluster', f.created_at, array(SELECT other_id FROM fabric_plane p WHERE p.fabric_id = f.fabric_id)
    FROM fabric f WHERE f.fabric_id = ANY(%s)
"""

_RUNNING = SQL(
    "SELECT j.job_pk FROM job j WHERE j.end_ts IS NULL AND {} = 'infinity' AND EXISTS (SELECT FROM job_node n WHERE (n.job_pk, n.fabric_id) = (j.job_pk, %s))"
).format(SQL(end_or("'infinity'::timestamptz", "j.")))

_UNPLACED = SQL("""
    SELECT DISTINCT n.job_pk FROM fabric f JOIN endpoint e USING (fabric_id) JOIN job_node n ON host_of(n.node) = host_of(e.node)
    JOIN job j ON j.job_pk = n.job_pk AND j.simulated = f.simulated AND (f.attributes ->> 'cluster' IS NULL OR j.cluster IN (f.attributes ->> 'cluster', %(unknown)s))
    WHERE f.fabric_id = %(fabric)s
      AND (n.fabric_id IS NULL OR n.fabric_id IN (SELECT other_id FROM fabric_plane p WHERE p.fabric_id = f.fabric_id))
      AND ({} = 'infinity' OR NOT EXISTS (SELECT FROM job_node o WHERE (o.job_pk, o.fabric_id) = (n.job_pk, f.fabric_id)))
""").format(SQL(end_or("'infinity'::timestamptz", "j.")))

#: Job numbers are reused after a while, so a run belongs to a job that ran when the run began; for a requeued job, to the incarnation that had started.
#: A run that was assigned to a job of another cluster, on other nodes, moves if its own job arrives.
_LATE = SQL("""
    WITH own AS (
        SELECT DISTINCT ON (r.run_id) r.run_id, j.job_pk FROM run r JOIN job j ON j.job_id = r.job_id AND j.simulated = r.simulated
        WHERE r.job_id = ANY(%(ids)s) AND r.start_ts <= coalesce(j.end_ts, 'infinity')
          AND r.start_ts >= j.start_ts - %(clocks)s * interval '1 second'
          AND (r.job_pk IS NULL OR EXISTS (SELECT FROM job a WHERE a.job_pk = r.job_pk AND a.cluster <> j.cluster AND NOT EXISTS (
              SELECT FROM job_node n JOIN run_rank k ON host_of(k.node) = host_of(n.node) WHERE n.job_pk = a.job_pk AND k.run_id = r.run_id)))
          AND {}
        ORDER BY r.run_id, (j.start_ts <= r.start_ts) DESC, j.start_ts DESC, j.job_pk DESC
    )
    UPDATE run SET job_pk = own.job_pk FROM own WHERE run.run_id = own.run_id RETURNING run.run_id
""").format(build_cluster_condition(SQL("r.start_ts"), SQL("SELECT k.node FROM run_rank k WHERE k.run_id = r.run_id")))


def upsert_jobs(conn: psycopg.Connection[Any], jobs: Sequence[Job], fabric_id: int | None = None) -> list[int]:
    """Store jobs like `store_jobs`; return the `job_pk` of each stored job."""
    return [job_pk for job_pk, _ in store_jobs(conn, jobs, fabric_id)]


def store_jobs(
    conn: psycopg.Connection[Any], jobs: Sequence[Job], fabric_id: int | None = None
) -> list[tuple[int, Job]]:
    """Store jobs with their steps and nodes, and assign earlier runs to them; return the `job_pk` of each and the stored job.

    Rows of pending array tasks are omitted if all their tasks have their own rows.

    Parameters
    ----------
    jobs : sequence of Job
        If a job occurs twice, the last occurrence is stored.
    fabric_id : int, optional
        The fabric with the nodes' endpoints; by default found by the nodes' names.

    Raises
    ------
    BadInput
        A host list is unreadable; then nothing is stored.
    """
    if not jobs:
        return []
    now_s = time.time()
    last = settle_arrays(conn, {(job.cluster, job.job_id, job.restart): mark_runaway(job, now_s) for job in jobs})
    if not last:
        return []
    nodes = {key: _expand_nodes(job) for key, job in last.items()}
    rows = [
        {
            "cluster": job.cluster, "job_id": job.job_id, "array_task": job.array_task, "het_offset": job.het_offset,
            "restart": job.restart, "user": job.user, "account": job.account, "name": job.name, "partition": job.partition,
            "state": job.state, "exit_code": job.exit_code, "submit_s": job.submit_s, "start_s": job.start_s, "end_s": job.end_s,
            "nodes": job.nodes if job.nodes is not None else len(set(nodes[key])) or None, "node_list": job.node_list, "simulated": job.simulated, "limit_s": job.limit_s,
        }
        for key, job in last.items()
    ]  # fmt: skip
    _renumber_incarnations(conn, _encode_rows([{name: row[name] for name in _DISTINGUISHED_BY} for row in rows]))
    stored_rows = conn.execute(_UPSERT, [_encode_rows(rows)]).fetchall()
    keys = {(cluster, job_id, restart): int(job_pk) for job_pk, cluster, job_id, restart, _ in stored_rows}
    new = {int(job_pk) for job_pk, *_, is_new in stored_rows if is_new}
    _store_steps(conn, {keys[key]: job for key, job in last.items()}, new)
    _store_nodes(conn, {keys[key]: names for key, names in nodes.items()}, fabric_id, new)
    late = conn.execute(
        _LATE, {"ids": sorted({job_id for _, job_id, _ in keys}), "clocks": CLOCK_DIFFERENCE_S}
    ).fetchall()
    place_ranks(conn, [run_id for (run_id,) in late])
    return [(keys[key], job) for key, job in last.items()]


def mark_runaways(conn: psycopg.Connection[Any]) -> int:
    """Mark stored jobs that are running according to their last records but are far past their limit, like `flitwatch_domain.jobs.mark_runaway`; return their number."""
    return conn.execute(
        "UPDATE job SET state = %s, updated_at = clock_timestamp() WHERE state = 'RUNNING' AND end_ts IS NULL"
        " AND start_ts + make_interval(secs => 2 * limit_s + %s) < now()",
        [RUNAWAY, RUNAWAY_AFTER_S],
    ).rowcount


def _renumber_incarnations(conn: psycopg.Connection[Any], rows: str) -> None:
    """Set the numbers of stored incarnations from `rows`; a row that had such a number gets the one that became free."""
    moves = conn.execute(_RENUMBERED, [rows]).fetchall()
    if not moves:
        return
    numbers: dict[int, int] = {}
    for key in {move[2] for move in moves}:
        own = [move for move in moves if move[2] == key]
        targets: dict[int, int] = {}
        for moved, _, _, _, to in own:
            if moved not in targets and to not in targets.values():
                targets[moved] = to
        spare = {old_number for moved, _, _, old_number, _ in own if moved in targets} - set(targets.values())
        holders = {holder for moved, holder, _, _, to in own if targets.get(moved) == to and holder is not None}
        numbers |= targets | dict(zip(sorted(holders - set(targets)), sorted(spare), strict=False))
    # Numbers are unique at all times, so all get temporary ones first.
    for aside in (-1, 1):
        conn.execute(
            "UPDATE job SET restart = w.restart FROM unnest(%s::bigint[], %s::int[]) AS w (job_pk, restart) WHERE job.job_pk = w.job_pk",
            [list(numbers), [number if aside > 0 else -1 - number for number in numbers.values()]],
        )


def _encode_rows(rows: list[dict[str, Any]]) -> str:
    text = orjson.dumps(rows).decode()
    if "\\u0000" not in text:
        return text
    # PostgreSQL's text does not allow NUL; a job's name is chosen by the user.
    shown = [
        {k: v.replace("\0", "\N{SYMBOL FOR NULL}") if isinstance(v, str) else v for k, v in row.items()} for row in rows
    ]
    return orjson.dumps(shown).decode()


def _expand_nodes(job: Job) -> list[str]:
    if not job.node_list:
        return []
    try:
        return hostlist.expand_hosts(job.node_list)
    except BadInput as problem:
        raise BadInput(f"job {job.job_id} of {job.cluster}: {problem.reason}") from None


def _store_steps(conn: psycopg.Connection[Any], jobs: Mapping[int, Job], new: Collection[int]) -> None:
    steps = [
        (job_pk, step) for job_pk, job in jobs.items() for step in {step.step: step for step in job.steps}.values()
    ]
    changed = [
        {
            "job_pk": job_pk,
            "step": step.step,
            "name": step.name,
            "state": step.state,
            "start_s": step.start_s,
            "end_s": step.end_s,
            "nodes": step.nodes,
            "node_list": step.node_list,
        }
        for job_pk, step in steps
        if job_pk not in new
    ]
    if changed:
        conn.execute(_STEPS, [_encode_rows(changed)])
    lines = [
        f"{job_pk}\t{_field(step.step)}\t{_field(step.name)}\t{_field(step.state)}\t{_moment(step.start_s)}\t{_moment(step.end_s)}"
        f"\t{NULL if step.nodes is None else step.nodes}\t{_field(step.node_list)}\n"
        for job_pk, step in steps
        if job_pk in new
    ]
    _copy_lines(conn, "job_step (job_pk, step, name, state, start_ts, end_ts, nodes, node_list)", lines)


def _store_nodes(
    conn: psycopg.Connection[Any], nodes: dict[int, list[str]], fabric_id: int | None, new: Collection[int]
) -> None:
    nodes_by_job = {job_pk: set(names) for job_pk, names in nodes.items()}
    there: dict[int, set[str]] = {job_pk: set() for job_pk in nodes}
    if old := nodes.keys() - new:
        for job_pk, node in conn.execute("SELECT job_pk, node FROM job_node WHERE job_pk = ANY(%s)", [sorted(old)]):
            there[job_pk].add(node)
    changed = {
        job_pk: sorted(nodes_by_job[job_pk]) for job_pk in sorted(nodes) if nodes_by_job[job_pk] != there[job_pk]
    }
    _write_places(conn, changed, fabric_id, old & changed.keys())


class _Place(NamedTuple):
    """A host's endpoints on a fabric, as the last fields of rows of job_node."""

    fabric_id: int
    fields: list[str]


def _write_places(
    conn: psycopg.Connection[Any], nodes: Mapping[int, Sequence[str]], fabric_id: int | None, old: Collection[int]
) -> None:
    """Replace the nodes of `old` jobs: write a row for each endpoint on a job's fabrics, or one without a place if a node is on none."""
    if old:
        conn.execute("DELETE FROM job_node WHERE job_pk = ANY(%s)", [sorted(old)])
    places = _find_places(conn, sorted({node for names in nodes.values() for node in names}))
    fabrics = _choose_fabrics(conn, nodes, places, fabric_id)
    # Most of a batch's time is spent on these rows: the text after the job's number is shared by all jobs on the same fabrics.
    tails: defaultdict[frozenset[int], dict[str, list[str]]] = defaultdict(dict)
    lines: list[str] = []
    for job_pk, names in nodes.items():
        on, job = fabrics.get(job_pk, frozenset()), str(job_pk)
        kept = tails[on]
        for node in names:
            if (ends := kept.get(node)) is None:
                own = [fields for place in places.get(node, ()) if place.fabric_id in on for fields in place.fields]
                ends = kept[node] = [f"\t{_field(node)}\t{fields}\n" for fields in own or (_NOWHERE,)]
            for end in ends:
                lines.append(job + end)
    _copy_lines(conn, "job_node (job_pk, node, fabric_id, endpoint, router)", lines)


def _find_places(conn: psycopg.Connection[Any], names: Sequence[str]) -> dict[str, list[_Place]]:
    """Find the places of hosts, by name in accounting's spelling, in the order of fabrics; hosts without a fabric are omitted."""
    rows = conn.execute(_ENDPOINTS, [names]).fetchall() if names else []
    hosts: defaultdict[tuple[str, int], defaultdict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for name, on, node, endpoint, router in rows:
        hosts[name, on][node].append(f"{on}\t{endpoint}\t{NULL if router is None else router}")
    places: defaultdict[str, list[_Place]] = defaultdict(list)
    for (name, on), alike in hosts.items():
        if (node := find_host(name, alike)) is not None:
            places[name].append(_Place(on, alike[node]))
    return dict(places)


def _choose_fabrics(
    conn: psycopg.Connection[Any],
    nodes: Mapping[int, Sequence[str]],
    places: Mapping[str, Sequence[_Place]],
    fabric_id: int | None,
) -> dict[int, frozenset[int]]:
    """Choose the fabrics of each job.

    A node's name may exist on several fabrics (nid00001 is on most Crays). A job is placed on one: the one with its cluster's name, else, of those without a
    cluster's name, the one with most of its nodes, else the newest; and on that fabric's planes. A job of an unknown cluster can be on a fabric
    of any cluster. Simulated jobs are placed on simulated fabrics, measured ones on measured fabrics.
    """
    if not places:
        return {}
    counts = {
        job_pk: Counter(place.fabric_id for node in names for place in places.get(node, ()))
        for job_pk, names in nodes.items()
    }
    counts = {job_pk: count for job_pk, count in counts.items() if count}
    if not counts:
        return {}
    known = {row[0]: row[1:] for row in conn.execute(_FABRICS, [sorted(set().union(*counts.values()))])}
    jobs = conn.execute("SELECT job_pk, cluster, simulated FROM job WHERE job_pk = ANY(%s)", [list(counts)])
    chosen: dict[int, frozenset[int]] = {}
    for job_pk, cluster, simulated in jobs.fetchall():
        ranked = [
            (named == cluster, count, created_at, on)
            for on, count in counts[job_pk].items()
            for is_simulated, named, created_at, _ in [known[on]]
            if is_simulated == simulated
            and (fabric_id == on or (fabric_id is None and (named is None or cluster in (named, UNKNOWN_CLUSTER))))
        ]
        if ranked:
            on = max(ranked)[-1]
            chosen[job_pk] = frozenset({on} if fabric_id is not None else {on, *known[on][-1]})
    return chosen


#: COPY's text for NULL, and the last fields of a node without a place.
NULL = "\\N"
_NOWHERE = "\t".join([NULL] * 3)
_ESCAPES = str.maketrans({"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r", "\0": "\N{SYMBOL FOR NULL}"})


def _copy_lines(conn: psycopg.Connection[Any], into: LiteralString, lines: Sequence[str]) -> None:
    """Append rows, given as lines in COPY's text format, to a table."""
    if lines:
        with conn.cursor() as cursor, cursor.copy(f"COPY {into} FROM STDIN") as copy:
            copy.write("".join(lines))


def _field(text: str | None) -> str:
    return NULL if text is None else text.translate(_ESCAPES)


@lru_cache(4096)
def _moment(epoch_s: float | None) -> str:
    return NULL if epoch_s is None else datetime.fromtimestamp(epoch_s, UTC).isoformat()


def place_jobs(conn: psycopg.Connection[Any], job_pks: Iterable[int]) -> None:
    """Find the endpoints and routers of jobs' nodes."""
    jobs = list(job_pks)
    rows = conn.execute(
        "SELECT job_pk, array_agg(DISTINCT node ORDER BY node) FROM job_node WHERE job_pk = ANY(%s) GROUP BY 1 ORDER BY 1",
        [jobs],
    )
    _write_places(conn, dict(rows.fetchall()), None, jobs)


def place_running(conn: psycopg.Connection[Any], fabric_id: int) -> None:
    """Place the running jobs of a replaced topology and their ranks again: its hosts can have other numbers and more adapters.

    Jobs that ended, or may have, keep the numbers under which their counters are stored.
    """
    running = [job_pk for (job_pk,) in conn.execute(_RUNNING, [fabric_id])]
    place_jobs(conn, running)
    runs = conn.execute("SELECT run_id FROM run WHERE job_pk = ANY(%s)", [running]).fetchall()
    place_ranks(conn, [run_id for (run_id,) in runs])


def place_unplaced(conn: psycopg.Connection[Any], fabric_id: int) -> int:
    """Place jobs that were stored before their fabric, or before another of its planes; return how many were examined.

    Jobs that ended, or may have, and have a place on the fabric keep it.
    """
    rows = conn.execute(_UNPLACED, {"fabric": fabric_id, "unknown": UNKNOWN_CLUSTER}).fetchall()
    place_jobs(conn, [row[0] for row in rows])
    return len(rows)
