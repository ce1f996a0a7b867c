"""Removal of a user from an archive's files on request."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from flitwatch_db.archive.folder import Folder
from flitwatch_db.archive.parts import ManifestHead, Part, head_of
from flitwatch_db.archive.writing import OnStep
from flitwatch_domain.errors import BadRequest


def forget_user(
    root: Path, user: str, *, dry_run: bool = False, on_step: OnStep = lambda done, total, what: None
) -> dict[str, int]:
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
        user_parts = list(_find_user_parts(folder.parts(), user, on_step))
        for part, jobs, runs in () if dry_run else user_parts:
            _rewrite_part(folder, part, jobs, runs)
    return {
        "jobs": sum(len(jobs) for _, jobs, _ in user_parts),
        "runs": sum(len(runs) for _, _, runs in user_parts),
        "parts": len(user_parts),
    }


def _find_user_parts(parts: Sequence[Part], user: str, on_step: OnStep) -> Iterator[tuple[Part, set[int], set[int]]]:
    """Yield the parts with jobs of the user, and the numbers of these jobs and their runs."""
    for done, part in enumerate(parts):
        on_step(done, len(parts), part.shown)
        part.verify()
        jobs = {row["job_pk"] for row in part.rows("job") if row["user_name"] == user}
        if jobs:
            yield part, jobs, {row["run_id"] for row in part.rows("run") if row["job_pk"] in jobs}
    on_step(len(parts), len(parts), "")


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
