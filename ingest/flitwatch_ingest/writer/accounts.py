"""Records of Flitwatch's own topics: jobs, runs, packet samples, rejected input."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import psycopg

from flitwatch_db.core.events import JobEvent, RunEvent
from flitwatch_db.counters import samples as sample_table
from flitwatch_db.jobs import store as job_table
from flitwatch_db.runs import store as run_table
from flitwatch_domain import hostlist
from flitwatch_domain.errors import BadInput
from flitwatch_domain.jobs import Job, JobStep, split_job_id
from flitwatch_domain.runs import Run, RunStep
from flitwatch_ingest.writer.pending_rows import FAULTS, PendingRows, header_text, rejection_reason
from flitwatch_stream import shapes, topics
from flitwatch_stream.log import Record

#: Called with a record that the database refuses, and the reason.
Refuse = Callable[[Record, str], None]
#: Errors for a record that cannot be stored.
REFUSED = (psycopg.DataError, psycopg.IntegrityError, BadInput, *FAULTS)


def decode_own_record(record: Record, pending_rows: PendingRows) -> None:
    """Decode one record of our own topics into rows of the transaction."""
    try:
        if record.topic == topics.JOBS:
            pending_rows.jobs.append((record, job_of(shapes.parse_job(record.value))))
        elif record.topic == topics.RUNS:
            value = shapes.parse_run(record.value)
            pending_rows.runs.append(
                (record, run_of(value) if isinstance(value, shapes.RunValue) else (value.run_key, step_of(value)))
            )
        elif record.topic == topics.SAMPLES:
            summary = summary_of(shapes.parse_sample(record.value))
            pending_rows.samples.append((record, summary))
            pending_rows.sample_rows += len(summary.link)
            pending_rows.rates[record.topic].values += 2 * len(summary.link)
        else:
            pending_rows.letter(
                record,
                header_text(record, topics.REASON) or "rejected by its collector",
                header_text(record, topics.WHERE),
            )
    except (BadInput, *FAULTS) as bad:
        pending_rows.letter(record, rejection_reason(record, bad))


def job_of(value: shapes.JobValue) -> Job:
    """Return a job as a domain object. Raise BadInput if the job id or node list is not valid in Slurm."""
    split_job_id(value.job_id)
    if value.node_list:
        hostlist.expand_hosts(value.node_list)
    steps = tuple(JobStep(s.step, s.name, s.state, s.start, s.end, s.nodes, s.node_list) for s in value.steps)
    return Job(
        value.cluster, value.job_id, value.state, value.restart, value.user, value.account, value.name, value.partition, value.exit_code,
        value.submit, value.start, value.end, value.nodes, value.node_list, steps, value.simulated, value.limit,
    )  # fmt: skip


def run_of(value: shapes.RunValue) -> Run:
    """Return a run's head as a domain object."""
    return Run(
        value.run_key,
        value.exe,
        value.job_id,
        value.start,
        tuple(place.rank for place in value.ranks),
        tuple(place.node for place in value.ranks),
        tuple(value.counters),
        value.simulated,
    )


def step_of(value: shapes.StepValue) -> RunStep:
    """Return a run's step as a domain object. Raise BadInput if a number exceeds 64 bits."""
    try:
        times = np.array(value.time_ns, np.int64)
        values = None if value.values is None else np.array(value.values, np.int64).reshape(len(value.time_ns), -1)
    except OverflowError:
        raise BadInput(f"step {value.step}: a number does not fit 64 bits") from None
    return RunStep(value.step, times, values)


def summary_of(value: shapes.SampleValue) -> sample_table.Summary:
    """Return a summary of packet samples in the database's form."""
    sums = np.array([getattr(value, name) for name in sample_table.SUMS], np.float64).T.reshape(
        len(value.link), len(sample_table.SUMS)
    )
    return sample_table.Summary(
        value.fabric,
        value.host,
        value.job,
        value.tag,
        value.phase,
        value.start,
        value.longest_path,
        value.variant,
        np.array(value.link, np.int32),
        sums,
        value.packets,
        value.simulated,
    )


def _refusal_reason(record: Record, problem: Exception) -> str:
    return (
        f"the database refuses this: {problem}"
        if isinstance(problem, psycopg.Error)
        else rejection_reason(record, problem)
    )


def write_samples(conn: psycopg.Connection[Any], pending_rows: PendingRows, refuse: Refuse) -> None:
    """Add summaries of packet samples. Those that the database refuses are passed to `refuse`."""
    if not pending_rows.samples:
        return
    try:
        with conn.transaction():
            sample_table.write_samples(conn, [summary for _, summary in pending_rows.samples])
    except REFUSED:
        for record, summary in pending_rows.samples:
            try:
                with conn.transaction():
                    sample_table.write_samples(conn, [summary])
            except REFUSED as problem:
                refuse(record, _refusal_reason(record, problem))


def write_jobs(conn: psycopg.Connection[Any], pending_rows: PendingRows, refuse: Refuse) -> list[JobEvent]:
    """Store jobs and return their events. Jobs that the database refuses are passed to `refuse`."""
    if not pending_rows.jobs:
        return []
    stored: list[tuple[int, Job]] = []
    try:
        with conn.transaction():
            stored = job_table.store_jobs(conn, [job for _, job in pending_rows.jobs])
    except REFUSED:
        for record, job in pending_rows.jobs:
            try:
                with conn.transaction():
                    stored += job_table.store_jobs(conn, [job])
            except REFUSED as problem:
                refuse(record, _refusal_reason(record, problem))
    return [{"job_pk": key, "job_id": job.job_id, "state": job.state} for key, job in dict(stored).items()]


def write_runs(conn: psycopg.Connection[Any], pending_rows: PendingRows, refuse: Refuse) -> list[RunEvent]:
    """Store runs and steps in order of arrival and return their events. Records that cannot be stored are passed to `refuse`."""
    ids: dict[str, int | None] = {}
    new: dict[int, int] = {}
    for record, item in pending_rows.runs:
        try:
            with conn.transaction():
                run_id, steps = _write_run(conn, item, ids)
                new[run_id] = new.get(run_id, 0) + steps
        except REFUSED as problem:
            refuse(record, _refusal_reason(record, problem))
    return [{"run_id": run_id, "steps": steps} for run_id, steps in new.items()]


def _write_run(
    conn: psycopg.Connection[Any], item: Run | tuple[str, RunStep], ids: dict[str, int | None]
) -> tuple[int, int]:
    if isinstance(item, Run):
        ids[item.run_key] = run_id = run_table.upsert_run(conn, item)
        return run_id, 0
    key, step = item
    if key not in ids:
        ids[key] = run_table.run_id_of(conn, key)
    stored_id = ids[key]
    if stored_id is None:
        raise BadInput(f"a step of run {key[:80]!r}whose first record has not arrived")
    return stored_id, run_table.upsert_steps(conn, stored_id, [step])
