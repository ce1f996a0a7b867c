"""Files of a backup folder: their list, the restorable period, and the check of every byte."""

from __future__ import annotations

import gzip
import json
import re
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TypedDict

from flitwatch_domain.errors import NotFound
from flitwatch_ops import embedded_host

SEGMENT_BYTES = 16 << 20
SEGMENTS_A_LOG_ID = (1 << 32) // SEGMENT_BYTES
_SEGMENT = re.compile(r"([0-9A-F]{8})([0-9A-F]{8})([0-9A-F]{8})\.gz")

OnStep = Callable[[int, int, str], None]


@dataclass(frozen=True)
class Base:
    """Base backup.

    Attributes
    ----------
    begun_s, finished_s : float   epoch seconds of the server's clock; any moment from `finished_s` on can be restored
    first_segment : str           the first log segment that it needs
    """

    name: str
    begun_s: float
    finished_s: float
    first_segment: str
    size_bytes: int


def list_bases(folder: Path) -> list[Base]:
    """Return the base backups of a folder, oldest first."""
    base_list = []
    for path in sorted(folder.glob("base/*/backup.json")):
        try:
            base_list.append(Base(**json.loads(path.read_text())))
        except (ValueError, TypeError):
            continue
    return sorted(base_list, key=lambda base: base.finished_s)


#: Times in ISO format; None if nothing can be restored.
Restorable = TypedDict("Restorable", {"from": str | None, "to": str | None})


class CheckedBase(TypedDict):
    """Base backup with the time it was finished (ISO format), its size, and its defects."""

    name: str
    finished: str | None
    bytes: int | None
    problem: str | None


class CheckedBackups(TypedDict):
    """Result of checking every byte of a backup folder. `segments` counts the log's segments; `missing` and `damaged` are segment names."""

    folder: str
    bases: list[CheckedBase]
    segments: int
    missing: list[str]
    damaged: list[str]
    restorable: Restorable
    ok: bool


def find_restorable(folder: Path) -> Restorable:
    """Return the period that the folder can restore, according to the names and times of its files."""
    base_list = list_bases(folder)
    if not base_list:
        return {"from": None, "to": None}
    segment_times_s = [path.stat().st_mtime for path in folder.glob("wal/*.gz") if _SEGMENT.fullmatch(path.name)]
    return {
        "from": format_moment(base_list[0].finished_s),
        "to": format_moment(max([base_list[-1].finished_s, *segment_times_s])),
    }


def verify_backups(folder: Path, on_step: OnStep = lambda done, total, what: None) -> CheckedBackups:
    """Read every byte of a folder's backups and compare it with the recorded checksums. Raise NotFound if the folder contains no backup."""
    # The server's programs run in another folder.
    folder = folder.absolute()
    base_list = list_bases(folder)
    unreadable = sorted({p.name for p in folder.glob("base/[!.]*")} - {base.name for base in base_list})
    if not base_list and not unreadable:
        raise NotFound(f"{folder} contains no backup", advice="Make one with flitwatch db backup --folder.")
    binaries = embedded_host.Host(embedded_host.locate_wheel(), None, None)
    segments = sorted(path for path in folder.glob("wal/*.gz") if _SEGMENT.fullmatch(path.name))
    total = len(base_list) + len(segments)
    base_reports: list[CheckedBase] = [
        {"name": name, "finished": None, "bytes": None, "problem": "backup.json cannot be read"} for name in unreadable
    ]
    for at, base in enumerate(base_list):
        on_step(at, total, base.name)
        problem = binaries.try_run("pg_verifybackup", "-n", "-q", str(folder / "base" / base.name / "files"))
        base_reports.append(
            {
                "name": base.name,
                "finished": format_moment(base.finished_s),
                "bytes": base.size_bytes,
                "problem": problem or None,
            }
        )
    damaged = []
    for at, path in enumerate(segments, len(base_list)):
        on_step(at, total, path.name)
        if not _is_whole(path):
            damaged.append(path.name.removesuffix(".gz"))
    missing = missing_segments([p.name.removesuffix(".gz") for p in segments], [b.first_segment for b in base_list])
    return {
        "folder": str(folder),
        "bases": base_reports,
        "segments": len(segments),
        "missing": missing,
        "damaged": damaged,
        "restorable": find_restorable(folder),
        "ok": not (missing or damaged or any(base["problem"] for base in base_reports)),
    }


def missing_segments(names: Sequence[str], needed_from: Sequence[str]) -> list[str]:
    """Return the log segments missing between the first that a base backup needs and the last of its timeline.

    A segment's name is its timeline, and a number in two parts of eight hexadecimal digits. The second part has only SEGMENTS_A_LOG_ID different
    values.
    """
    have: dict[str, set[int]] = {}
    for name in names:
        have.setdefault(name[:8], set()).add(_number_segment(name))
    missing = set()
    for first in needed_from:
        line = have.get(first[:8], set())
        if not line:
            missing.add(first)
            continue
        for number in set(range(_number_segment(first), max(line) + 1)) - line:
            missing.add(f"{first[:8]}{number // SEGMENTS_A_LOG_ID:08X}{number % SEGMENTS_A_LOG_ID:08X}")
    return sorted(missing)


def drop_older(folder: Path, keep: int) -> list[str]:
    base_list = list_bases(folder)
    dropped = base_list[: max(0, len(base_list) - keep)]
    for base in dropped:
        shutil.rmtree(folder / "base" / base.name)
    if dropped:
        oldest = base_list[len(dropped)].first_segment
        for path in folder.glob("wal/*.gz"):
            # Numbers continue across timelines. The small history files that distinguish timelines are kept.
            if _SEGMENT.fullmatch(path.name) and path.name[8:24] < oldest[8:]:
                path.unlink()
    return [base.name for base in dropped]


def _is_whole(path: Path) -> bool:
    try:
        with gzip.open(path) as packed:
            return sum(len(block) for block in iter(lambda: packed.read(1 << 20), b"")) == SEGMENT_BYTES
    except (OSError, EOFError, ValueError):
        return False


def _number_segment(segment: str) -> int:
    return int(segment[8:16], 16) * SEGMENTS_A_LOG_ID + int(segment[16:], 16)


def format_moment(moment_s: float | None) -> str:
    """Format a time in epoch seconds as ISO 8601."""
    assert moment_s is not None
    return datetime.fromtimestamp(moment_s, UTC).isoformat()
