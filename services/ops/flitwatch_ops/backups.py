"""Backups of the embedded database: base backups, every segment of its write-ahead log, and recovery to any second between them.

A backup folder contains `base/NAME/` (the output of pg_basebackup, and `backup.json`) and `wal/SEGMENT.gz`. The server copies each full segment
there, and at least one per minute while data change.
"""

from __future__ import annotations

import gzip
import json
import os
import re
import shutil
import tarfile
import time
from collections.abc import Callable
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypedDict

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from flitwatch_db.core import log_keep
from flitwatch_db.core.connection import clock_s
from flitwatch_domain.errors import Conflict, NotFound, Unavailable
from flitwatch_ops import embedded_host
from flitwatch_ops.backup_files import Base, OnStep, Restorable, drop_older, find_restorable, format_moment, list_bases
from flitwatch_ops.embedded import Embedded
from flitwatch_ops.kept_log import archive_command, archive_folder, quote_path, quote_setting


class TakenBackup(TypedDict):
    """New base backup, and the names of the older ones that were dropped."""

    folder: str
    base: str
    bytes: int
    seconds: float
    dropped: list[str]
    restorable: Restorable


class RestoredBackup(TypedDict):
    """Result of a restore: the base backup, the restored time (ISO format; None for the latest), and the folder `before` with the previous data."""

    base: str
    to: str | None
    before: str | None
    seconds: float


def take_backup(server: Embedded, keep: int, on_step: OnStep = lambda done, total, what: None) -> TakenBackup:
    """Take a base backup of the running server. Drop all but the `keep` newest, and the log that only dropped ones need. Raise Conflict if the server
    was started before log archiving was configured, or cannot archive now."""
    folder = archive_folder(server.folder)
    assert folder is not None, "keep_log first"
    begun = time.monotonic()
    with psycopg.connect(server.url_of("postgres", "postgres"), autocommit=True) as conn:
        _require_archiving(conn, folder)
        started_s = clock_s(conn)
        name = datetime.fromtimestamp(started_s, UTC).strftime("%Y%m%dT%H%M%S.%fZ")
        part = folder / "base" / f".{name}.part"
        on_step(0, 3, "checkpoint")
        host = embedded_host.prepare_host(server.folder, server.binaries)
        part.mkdir(mode=0o700)
        as_caller = embedded_host.Host(host.bin, None, None)
        parameters = conninfo_to_dict(server.url_of("postgres", "postgres"))
        place = make_conninfo(**{name: str(parameters[name]) for name in ("host", "user", "passfile")})
        as_caller.run(
            "pg_basebackup",
            *(
                "-d",
                place,
                "-D",
                str(part / "files"),
                "-F",
                "tar",
                "--compress=client-gzip:1",
                "-X",
                "stream",
                "-c",
                "fast",
            ),
            *("--manifest-checksums=SHA256", "--label", f"flitwatch {name}"),
        )
        on_step(1, 3, "log")
        # The backup contains the log that it needs. Its last segment is closed, so that archiving continues after it.
        _await_archived(conn, folder)
        finished_s = clock_s(conn)
    with tarfile.open(part / "files" / "base.tar.gz") as tar:
        label = tar.extractfile("backup_label")
        assert label is not None
        first = re.search(r"\(file ([0-9A-F]{24})\)", label.read().decode())
    assert first is not None
    size = sum(p.stat().st_size for p in part.glob("files/*"))
    base = Base(name, started_s, finished_s, first.group(1), size)
    (part / "backup.json").write_text(json.dumps(asdict(base)))
    part.rename(folder / "base" / name)
    on_step(2, 3, "older ones")
    dropped = drop_older(folder, keep)
    on_step(3, 3, "done")
    return {
        "folder": str(folder),
        "base": name,
        "bytes": size,
        "seconds": round(time.monotonic() - begun, 1),
        "dropped": dropped,
        "restorable": find_restorable(folder),
    }


def start_keeping(server: Embedded) -> None:
    """Restart the running server if it does not archive its log to the configured folder. This cuts its other users' connections. Raise Unavailable
    if the server did not restart."""
    folder = archive_folder(server.folder)
    assert folder is not None, "keep_log first"
    with psycopg.connect(server.url_of("postgres", "postgres"), autocommit=True) as conn:
        is_archiving = _archives_log(conn, folder)
    if not is_archiving:
        server.restart()


def restore_backup(
    server: Embedded,
    folder: Path,
    to_s: float | None,
    on_step: OnStep = lambda done, total, what: None,
    stop: Callable[[], bool] = lambda: False,
) -> RestoredBackup:
    """Restore the database to its state at `to_s` (epoch seconds), or to the latest archived state.

    The previous data are kept next to it, and their log that was not archived yet is used too. If the restore fails, they are put back.

    Raises
    ------
    NotFound
        No base backup is old enough.
    Conflict
        The database is in use.
    Unavailable
        The log ends before `to_s` or cannot be read. The database is unchanged.
    """
    folder = folder.absolute()
    base = _base_for(folder, to_s)
    begun = time.monotonic()
    with server.unused() as host:
        fresh = server.folder / "data.restored"
        shutil.rmtree(fresh, ignore_errors=True)
        _require_space(server.folder, folder / "base" / base.name)
        on_step(0, 2, "base backup")
        try:
            host.make_folder(fresh)
            _extract_base(folder / "base" / base.name, fresh, host)
        except BaseException:
            shutil.rmtree(fresh, ignore_errors=True)
            raise
        (fresh / "recovery.signal").touch()
        host.own(fresh / "recovery.signal")
        before = None
        if server.data.exists():
            before = server.folder / f"data.before-{datetime.now(UTC).strftime('%Y%m%dT%H%M%SZ')}"
            server.data.rename(before)
        fresh.rename(server.data)
    on_step(1, 2, "log")
    recovering = Embedded(server.folder, server.durable, server.binaries, _recovery_settings(folder, before, to_s))
    try:
        recovering.recover(stop)
    except BaseException as problem:
        _put_back(recovering, before)
        if isinstance(problem, Unavailable) and "before configured recovery target was reached" in problem.message:
            raise Unavailable(
                f"the copied log ends before {format_moment(to_s)}; the database is unchanged",
                advice="Leave out --to to restore everything.",
            ) from None
        raise
    on_step(2, 2, "done")
    return {
        "base": base.name,
        "to": None if to_s is None else format_moment(to_s),
        "before": None if before is None else str(before),
        "seconds": round(time.monotonic() - begun, 1),
    }


def _put_back(server: Embedded, before: Path | None) -> None:
    server.kill()
    shutil.rmtree(server.data, ignore_errors=True)
    if before is not None:
        before.rename(server.data)


def _recovery_settings(folder: Path, before: Path | None, to_s: float | None) -> dict[str, str]:
    fetch_command = f"gzip -dc {quote_path(str(folder / 'wal'))}/%f.gz > %p 2> /dev/null"
    # Written to a temporary file first: if the segment is missing, the program leaves an empty file, which must not count.
    command = f"({fetch_command} || (rm -f %p; false))"
    if before is not None:
        command += f" || cp {quote_path(str(before / 'pg_wal'))}/%f %p 2> /dev/null"
    target = (
        {}
        if to_s is None
        else {"recovery_target_time": f"'{format_moment(to_s)}'", "recovery_target_action": "promote"}
    )
    # Connections are refused until the restore is complete.
    return {"restore_command": quote_setting(command), "hot_standby": "off", **target}


def _base_for(folder: Path, to_s: float | None) -> Base:
    base_list = list_bases(folder)
    if not base_list:
        raise NotFound(f"{folder} contains no backup", advice="Name the folder that flitwatch db backup wrote.")
    fitting = [base for base in base_list if to_s is None or base.finished_s <= to_s]
    if not fitting:
        raise NotFound(
            f"the oldest backup in {folder} is from {format_moment(base_list[0].finished_s)}, which is after {format_moment(to_s)}",
            advice="Choose a later time.",
        )
    return fitting[-1]


def _extract_base(base: Path, data: Path, host: embedded_host.Host) -> None:
    for name, place in (("base.tar.gz", data), ("pg_wal.tar.gz", data / "pg_wal")):
        with tarfile.open(base / "files" / name) as tar:
            tar.extractall(place, filter="data")
    for path in [data, *data.rglob("*")]:
        host.own(path)
        path.chmod(0o700 if path.is_dir() else 0o600)


def _require_space(place: Path, base: Path) -> None:
    with gzip.open(base / "files" / "base.tar.gz") as packed:
        needed = packed.seek(0, os.SEEK_END)
    free = shutil.disk_usage(place).free
    if free < needed * 1.1:
        raise Unavailable(
            f"the restored database takes {needed / 1e9:.1f} GB, and {place} has {free / 1e9:.1f} GB left",
            advice="The present data are kept too. Free some space first.",
        )


def _archives_log(conn: psycopg.Connection[Any], folder: Path) -> bool:
    archiving = log_keep.load_archiving(conn)
    return archiving.on and archiving.command == archive_command(folder)


def _require_archiving(conn: psycopg.Connection[Any], folder: Path) -> None:
    if not _archives_log(conn, folder):
        raise Conflict(
            f"the database was started before its log was copied to {folder}",
            advice="Run this command again with --restart. It restarts the database, and services reconnect within seconds.",
        )
    archiving = log_keep.load_archiving(conn)
    if archiving.failed is not None:
        raise Conflict(
            f"segment {archiving.failed} of the log could not be copied",
            advice="server.log next to the database's data has the reason.",
        )


def _await_archived(conn: psycopg.Connection[Any], folder: Path, limit_s: float = 120.0) -> None:
    segment = log_keep.close_segment(conn)
    deadline = time.monotonic() + limit_s
    while not (folder / "wal" / f"{segment}.gz").exists():
        _require_archiving(conn, folder)
        if time.monotonic() > deadline:
            raise Unavailable(
                f"segment {segment} of the log was not copied within {limit_s:g} s", advice="See server.log."
            )
        time.sleep(0.1)
