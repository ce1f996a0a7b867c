"""Automatic archiving: a setting defines the folder, the age, and when archived jobs are deleted from the database."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg
import pyarrow as pa
import pyarrow.compute as pc
from psycopg.types.json import Jsonb

from flitwatch_db.archive.folder import Folder, mark_archive_folder, read_part_keys
from flitwatch_db.archive.parts import ManifestHead, Part, head_of
from flitwatch_db.archive.writing import Candidate, OnStep, find_candidates, write_archive
from flitwatch_domain.errors import BadRequest

Conn = psycopg.Connection[Any]
#: Number of jobs deleted per transaction.
DROP_JOBS = 500
_SETTING, _STATE = "archive", "archive_through"


@dataclass(frozen=True)
class Policy:
    """Rules for when jobs are archived and dropped.

    Attributes
    ----------
    folder : str
        Absolute path; all workers of queue `db` need access to it.
    after_days : float
        Whole days (UTC) that ended this long ago are archived; below 2, counters per second are still included.
    drop_after_days : float or None
        Archived jobs that ended or were restored this long ago are deleted from the database with their runs; None: they are kept.
    """

    folder: str
    after_days: float
    drop_after_days: float | None = None

    def __post_init__(self) -> None:
        if not Path(self.folder).is_absolute():
            raise BadRequest(f"{self.folder!r} is not an absolute path", advice="Write the path from the root.")
        if not 0 <= self.after_days < 1e5:
            raise BadRequest("the number of days must be 0 to 100,000")
        if self.drop_after_days is not None and not self.after_days + 1 <= self.drop_after_days < 1e5:
            raise BadRequest(
                "jobs are dropped at least a day later than they are archived", advice="Raise --drop-after-days."
            )


def load_policy(conn: Conn) -> Policy | None:
    """Return the current policy; None if there is none."""
    row = conn.execute("SELECT value FROM setting WHERE key = %s", [_SETTING]).fetchone()
    return None if row is None or row[0] is None else Policy(**row[0])


def set_policy(conn: Conn, wanted: Policy | None) -> None:
    """Set the policy, which applies from the next maintenance on; None disables archiving. Raise BadRequest if the folder does not exist, or contains
    other things. Raise Conflict if another process is initialising it."""
    if wanted is not None:
        mark_archive_folder(Path(wanted.folder))
    conn.execute(
        "INSERT INTO setting VALUES (%s, %s) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
        [_SETTING, Jsonb(None if wanted is None else asdict(wanted))],
    )
    conn.execute("DELETE FROM setting WHERE key = %s", [_STATE])


def apply_policy(conn: Conn, url: str, on_step: OnStep) -> dict[str, int] | None:
    """Archive due days, once a day, and delete expired jobs; None if there is no policy.

    Parameters
    ----------
    conn : psycopg.Connection
        With role `keeper`, in autocommit.

    Raises
    ------
    Conflict, Unavailable, BadInput, BadRequest
        As in `archive`; then nothing is deleted. An unavailable folder is not created, because this would fill the local disk at the mount point.
    """
    active_policy = load_policy(conn)
    if active_policy is None:
        return None
    now = datetime.now(UTC)
    through = _floor_to_midnight(now - timedelta(days=active_policy.after_days))
    state = [active_policy.folder, through.isoformat()]
    row = conn.execute("SELECT value FROM setting WHERE key = %s", [_STATE]).fetchone()
    if row is not None and row[0] == state:
        return {"archived": 0, "dropped": 0}
    archived = write_archive(url, Path(active_policy.folder), before=through, on_step=on_step, create=False)
    dropped = 0
    if active_policy.drop_after_days is not None:
        dropped = drop_archived_jobs(
            conn, Path(active_policy.folder), _floor_to_midnight(now - timedelta(days=active_policy.drop_after_days))
        )
    conn.execute(
        "INSERT INTO setting VALUES (%s, %s) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
        [_STATE, Jsonb(state)],
    )
    return {"archived": archived["jobs"] + archived["runs"], "dropped": dropped}


def _floor_to_midnight(moment: datetime) -> datetime:
    return moment.replace(hour=0, minute=0, second=0, microsecond=0)


def drop_archived_jobs(conn: Conn, folder: Path, before: datetime) -> int:
    """Delete jobs and their runs that ended before a time and are in an archive in their current state; return their number.

    All parts that contain one of them are first read and compared with their checksums.
    """
    since = {row[0] for row in conn.execute("SELECT job_pk FROM restored_job WHERE restored_at >= %s", [before])}
    due = [
        candidate
        for candidate in find_candidates(conn, before)
        if candidate.key.kind == "job" and candidate.pk not in since
    ]
    with Folder(folder) as archive_folder:
        safe: set[Any] = set()
        due_keys = {candidate.key for candidate in due}
        for part in archive_folder.parts(sorted({candidate.month for candidate in due})):
            there = read_part_keys(part) & due_keys
            if there - safe:
                part.verify()
                safe |= there
    due = [candidate for candidate in due if candidate.key in safe]
    for first in range(0, len(due), DROP_JOBS):
        _delete_jobs(conn, due[first : first + DROP_JOBS])
    return len(due)


def _delete_jobs(conn: Conn, some: Sequence[Candidate]) -> None:
    with conn.transaction():
        # If the scheduler has changed a job since, it is archived again first.
        same = conn.execute(
            "SELECT j.job_pk FROM job j JOIN unnest(%s::bigint[], %s::timestamptz[]) AS w (job_pk, updated_at) USING (job_pk, updated_at) FOR UPDATE OF j",
            [[candidate.pk for candidate in some], [candidate.key.updated_at for candidate in some]],
        ).fetchall()
        conn.execute("DELETE FROM run WHERE job_pk = ANY(%s)", [[row[0] for row in same]])
        conn.execute("DELETE FROM job WHERE job_pk = ANY(%s)", [[row[0] for row in same]])


def forget_user(root: Path, user: str, *, dry_run: bool = False) -> dict[str, int]:
    """Rewrite the parts with a user's jobs without these jobs and their data, and remove the old parts.

    Counters contain no user names and are kept, unless the part has no other job. Copies of the archive elsewhere are not changed.

    Parameters
    ----------
    root : Path
        Path of an archive.
    user : str
        The scheduler's name of the user.
    dry_run : bool
        Only count.

    Returns
    -------
    dict
        jobs, runs, parts (rewritten or removed)

    Raises
    ------
    BadRequest, Conflict
        The name is empty; the folder is not an archive, or is in use.
    BadInput
        A file is damaged; the message names it.
    """
    if not user.strip():
        raise BadRequest("no user is named", advice="Write the name as in the scheduler.")
    with Folder(root) as folder:
        # All parts are read before any is changed, so that a damaged part leaves everything unchanged.
        user_parts = list(_find_user_parts(folder.parts(), user))
        for part, jobs, runs in () if dry_run else user_parts:
            _rewrite_part(folder, part, jobs, runs)
    return {
        "jobs": sum(len(jobs) for _, jobs, _ in user_parts),
        "runs": sum(len(runs) for _, _, runs in user_parts),
        "parts": len(user_parts),
    }


def _find_user_parts(parts: Sequence[Part], user: str) -> Iterator[tuple[Part, set[int], set[int]]]:
    """Yield the parts with jobs of the user, and the numbers of these jobs and their runs."""
    for part in parts:
        part.verify()
        jobs = {row["job_pk"] for row in part.rows("job") if row["user_name"] == user}
        if jobs:
            yield part, jobs, {row["run_id"] for row in part.rows("run") if row["job_pk"] in jobs}


def _rewrite_part(folder: Folder, part: Part, jobs: set[int], runs: set[int]) -> None:
    files = part.manifest["files"]
    if files["job"]["rows"] > len(jobs) or files["run"]["rows"] > len(runs):
        month = part.shown.split("/")[0]
        place = folder.next_place(month, part.manifest["simulated"])
        about: ManifestHead = {**head_of(part.manifest), "part": place, "replaces": part.place.name}
        about["jobs"], about["runs"] = files["job"]["rows"] - len(jobs), files["run"]["rows"] - len(runs)
        with folder.write(place, about) as writer:
            for name, shape in part.shapes.items():
                writer.write(shape, _filter_batches(part, name, jobs, runs))
            writer.commit()
    shutil.rmtree(part.place)


def _filter_batches(part: Part, name: str, jobs: set[int], runs: set[int]) -> Iterator[pa.RecordBatch]:
    gone = {"job_pk": pa.array(sorted(jobs), pa.int64()), "run_id": pa.array(sorted(runs), pa.int64())}
    for batch in part.read(name):
        key = part.shapes[name].columns[0].name
        yield batch.filter(pc.invert(pc.is_in(batch.column(0), value_set=gone[key]))) if key in gone else batch
