"""Staging and rollback of tables for OpenSM: at any time, including after a crash, either the old or the new configuration is in force.

A change in OpenSM's configuration folder consists of a new file of tables (and one of service levels, if included), which is not read yet, and then one
rename of `opensm.conf`, which refers to it. So half of a change can never be loaded. The previous state is in `flitwatch-N/`, with a journal. Each file
is written to a temporary file, synced and renamed.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypedDict, cast

from flitwatch_domain.errors import BadInput, Conflict, Forbidden
from flitwatch_routing.service_levels import Levels

CONFIGURATION, LOADED, LANES = "opensm.conf", "opensm-lfts.dump", "opensm-sl2vl.dump"
#: Files of a change: the journal, and the previous configuration.
_JOURNAL, _BEFORE = "journal.json", "opensm.conf.before"
_LOCK = ".flitwatch.lock"
#: A configuration has about 20 KB, the tables of 65,536 LIDs at 2,000 switches at most 8 GB.
MOST_CONFIGURATION_BYTES = 1 << 20


@dataclass(frozen=True)
class Change:
    """Staged change: tables for 2^lmc LIDs per adapter, and service levels with their policy file; no service levels if `levels` is None."""

    tables: bytes
    lmc: int = 0
    levels: Levels | None = None
    policy: bytes = b""


@dataclass(frozen=True)
class Plan:
    """Effect of staging: removed and added lines of the configuration, and its new text; `policy` is None if service levels do not
    change."""

    tables: Path
    policy: Path | None
    removed: tuple[str, ...]
    added: tuple[str, ...]
    text: str


class _Noted(TypedDict):
    """Record of a change: its recommendation, its progress, and the digests (SHA-256, hexadecimal) of the configuration before (None: there
    was none) and after it and of the tables.
    """

    recommendation: int
    state: Literal["begun", "staged", "rolled back"]
    before: str | None
    after: str
    tables: str


class _Journal(_Noted, total=False):
    """The same, with the digest of the policy file of service levels."""

    policy: str


class OpensmFolder:
    """The folder with OpenSM's configuration and the dump of its loaded tables (`opensm -F FOLDER/opensm.conf`). Raise BadInput if the path is not a
    folder, is a link, or the folder contains something other than regular files."""

    def __init__(self, path: Path) -> None:
        try:
            status = path.lstat()
        except OSError as failure:
            raise BadInput(f"cannot be used: {failure.strerror}", where=str(path)) from None
        if stat.S_ISLNK(status.st_mode):
            raise BadInput("is a link", where=str(path), advice=f"Name the folder itself: {path.resolve()}.")
        if not stat.S_ISDIR(status.st_mode):
            raise BadInput("is not a folder", where=str(path))
        self.path = path.absolute()
        for name in (CONFIGURATION, LOADED, LANES):
            _regular_file_status(self.path / name)

    @property
    def loaded(self) -> Path:
        """Return OpenSM's dump of the loaded tables; raise BadInput if there is none."""
        return self._find_dump(LOADED)

    @property
    def lanes(self) -> Path:
        """Return OpenSM's dump of the lanes by service level; raise BadInput if there is none."""
        return self._find_dump(LANES)

    def _find_dump(self, name: str) -> Path:
        at = self.path / name
        if not at.exists():
            raise BadInput(
                "is missing, so the loaded tables are unknown",
                where=str(at),
                advice=f"Let OpenSM write it: `dump_files_dir {self.path}` and log flag 0x40, or copy it here.",
            )
        return at

    def plan(self, number: int, change: Change) -> Plan:
        """Return the configuration that loads a recommendation and keeps all other settings. Raise BadInput if the path cannot be written in a
        configuration, or the recommendation would replace the site's own service levels."""
        tables, policy = self._tables_path(number), self._policy_path(number)
        settings = {"routing_engine": "file,no_fallback", "lfts_file": str(tables), "lmc": str(change.lmc)}
        if len(str(self.path).split()) != 1:
            raise BadInput("has blanks in its path, which OpenSM's configuration cannot contain", where=str(self.path))
        there_now = _read_lines(self.path / CONFIGURATION)
        if change.levels is not None:
            self._own_levels(there_now)
            settings |= change.levels.settings(str(policy))
        lines, removed, there = [], [], set()
        for line in there_now:
            words = line.split()
            key = words[0] if words else ""
            # OpenSM uses the last of repeated settings.
            if key in settings and (words[1:] != [settings[key]] or key in there):
                removed.append(line)
                continue
            there.add(key)
            lines.append(line)
        added = [f"{key} {value}" for key, value in settings.items() if key not in there]
        text = "".join(f"{line}\n" for line in [*lines, *added])
        return Plan(tables, None if change.levels is None else policy, tuple(removed), tuple(added), text)

    def _own_levels(self, lines: list[str]) -> None:
        """Raise BadInput if OpenSM assigns service levels that are not ours, because the site uses them."""
        last = {words[0]: words[1] for words in map(str.split, lines) if len(words) > 1}
        ours = re.fullmatch(
            rf"{re.escape(str(self.path))}/flitwatch-[0-9]+\.qos-policy", last.get("qos_policy_file", "")
        )
        if last.get("qos", "FALSE").upper() in ("TRUE", "YES", "1") and not ours:
            raise BadInput(
                "uses the site's own service levels (`qos TRUE`), which the recommendation would replace",
                where=str(self.path / CONFIGURATION),
                advice="Run the loop without --sl.",
            )

    def apply(self, number: int, change: Change) -> None:
        """Stage a change. Remains of an interrupted attempt are removed first. Written files are read back and compared. Raise Conflict if the tables
        are already staged. Raise BadInput or Forbidden if the folder is not writable, or files read back differ."""
        with self._lock_folder():
            backup = self._backup_folder(number)
            earlier = self._read_journal(number)
            if (
                earlier is not None
                and earlier["state"] != "rolled back"
                and self._configuration_digest() == earlier["after"]
            ):
                if earlier["state"] == "staged":
                    raise Conflict(f"recommendation {number} is already staged in {self.path}")
                # Interrupted after the rename: the previous configuration is already saved and must be kept.
                self._write_journal(number, {**earlier, "state": "staged"})
                return
            plan = self.plan(number, change)
            after = plan.text.encode()
            if _regular_file_status(backup) is not None:
                raise BadInput("is a file; expected a folder", where=str(backup), advice="Move it away.")
            backup.mkdir(mode=0o700, exist_ok=True)
            before = self.path / CONFIGURATION
            old_bytes = before.read_bytes() if before.exists() else None
            _write_whole(backup / _BEFORE, old_bytes or b"", 0o600)
            journal: _Journal = {
                "recommendation": number,
                "state": "begun",
                "before": None if old_bytes is None else _sha256_hex(old_bytes),
                "after": _sha256_hex(after),
                "tables": _sha256_hex(change.tables),
            }
            if plan.policy is not None:
                journal["policy"] = _sha256_hex(change.policy)
            self._write_journal(number, journal)
            for path, content in ((plan.tables, change.tables), (plan.policy, change.policy)):
                if path is None:
                    continue
                _write_whole(path, content, 0o644)
                if path.read_bytes() != content:
                    path.unlink()
                    raise BadInput("differs from what was written", where=str(path))
            _write_whole(before, after, _file_mode(before), like=before)
            if self._configuration_digest() != journal["after"]:
                self._restore_configuration(number, journal)
                raise BadInput("differs from what was written: the old one was restored", where=str(before))
            self._write_journal(number, {**journal, "state": "staged"})

    def rollback(self, number: int) -> bool:
        """Restore the previous configuration byte for byte, and remove the staged files. Return False if nothing was staged here. Raise Conflict if
        the configuration has changed since. Raise BadInput if the saved configuration is damaged."""
        with self._lock_folder():
            journal = self._read_journal(number)
            if journal is None or journal["state"] == "rolled back":
                return False
            if self._configuration_digest() not in (journal["before"], journal["after"]):
                raise Conflict(
                    f"{self.path / CONFIGURATION} was changed since recommendation {number} was staged",
                    advice=f"Compare it with {self._backup_folder(number) / _BEFORE} and restore your changes by hand.",
                )
            self._restore_configuration(number, journal)
            return True

    def staged(self, number: int) -> bool:
        """Return whether the configuration loads this recommendation and its files are complete."""
        journal = self._read_journal(number)
        if journal is None or self._configuration_digest() != journal["after"]:
            return False
        files = {self._tables_path(number): journal["tables"], self._policy_path(number): journal.get("policy")}
        return all(
            digest is None or (at.exists() and _sha256_hex(at.read_bytes()) == digest) for at, digest in files.items()
        )

    def _restore_configuration(self, number: int, journal: _Journal) -> None:
        at, backup = self.path / CONFIGURATION, self._backup_folder(number) / _BEFORE
        if self._configuration_digest() != journal["before"]:
            if journal["before"] is None:
                at.unlink()
                _sync_folder(self.path)
            else:
                old_bytes = backup.read_bytes() if backup.exists() else b""
                if _sha256_hex(old_bytes) != journal["before"]:
                    raise BadInput("is damaged: it differs from the stored one", where=str(backup))
                _write_whole(at, old_bytes, _file_mode(at), like=at)
        for at in (self._tables_path(number), self._policy_path(number)):
            with suppress(FileNotFoundError):
                at.unlink()
        self._write_journal(number, {**journal, "state": "rolled back"})

    def _tables_path(self, number: int) -> Path:
        return self.path / f"flitwatch-{number}.lfts"

    def _policy_path(self, number: int) -> Path:
        return self.path / f"flitwatch-{number}.qos-policy"

    def _backup_folder(self, number: int) -> Path:
        return self.path / f"flitwatch-{number}"

    def _read_journal(self, number: int) -> _Journal | None:
        at = self._backup_folder(number) / _JOURNAL
        try:
            journal = json.loads(at.read_bytes())
        except (FileNotFoundError, NotADirectoryError):
            return None
        except (OSError, ValueError):
            journal = None
        needed, all_keys = _Journal.__required_keys__, _Journal.__required_keys__ | _Journal.__optional_keys__
        if (
            not isinstance(journal, dict)
            or not needed <= set(journal) <= all_keys
            or journal["recommendation"] != number
        ):
            raise BadInput(
                "is damaged", where=str(at), advice=f"{at.parent / _BEFORE} contains the previous configuration."
            )
        return cast(_Journal, journal)

    def _write_journal(self, number: int, journal: _Journal) -> None:
        _write_whole(self._backup_folder(number) / _JOURNAL, json.dumps(journal, indent=1).encode() + b"\n", 0o600)

    def _configuration_digest(self) -> str | None:
        at = self.path / CONFIGURATION
        return _sha256_hex(at.read_bytes()) if at.exists() else None

    @contextmanager
    def _lock_folder(self) -> Iterator[None]:
        try:
            descriptor = os.open(self.path / _LOCK, os.O_CREAT | os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        except OSError as failure:
            raise Forbidden(
                f"{self.path} cannot be written: {failure.strerror}", advice="Use the account that OpenSM runs as."
            ) from None
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            yield
        except BlockingIOError:
            raise Conflict(f"another command is running in {self.path}") from None
        except OSError as failure:
            raise Forbidden(
                f"{failure.filename} cannot be written: {failure.strerror}",
                advice="Use the account that OpenSM runs as.",
            ) from None
        finally:
            os.close(descriptor)


def _regular_file_status(path: Path) -> os.stat_result | None:
    """Return a regular file's status, or None if the path is missing or a folder. Raise BadInput for a symbolic link or a special file."""
    try:
        status = path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    if stat.S_ISDIR(status.st_mode) and path.name not in (CONFIGURATION, LOADED, LANES):
        return None
    if not stat.S_ISREG(status.st_mode):
        raise BadInput("is a link" if stat.S_ISLNK(status.st_mode) else "is not a regular file", where=str(path))
    return status


def _read_lines(path: Path) -> list[str]:
    if not path.exists():
        return []
    raw = path.read_bytes()
    if len(raw) > MOST_CONFIGURATION_BYTES:
        raise BadInput(f"is not a configuration: {len(raw):,} bytes", where=str(path))
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        raise BadInput("is not text", where=str(path)) from None
    if re.search(r"[^\S\n\t ]|\x00", text):
        raise BadInput("is not a configuration: it contains characters that OpenSM does not read", where=str(path))
    return text.splitlines()


def _file_mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode) if path.exists() else 0o644


def _write_whole(path: Path, content: bytes, mode: int, like: Path | None = None) -> None:
    """Write a file atomically, even with a power failure: write a temporary file, sync and rename it."""
    aside = path.with_name(f".{path.name}.part")
    with suppress(FileNotFoundError):
        aside.unlink()
    out = os.open(aside, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with os.fdopen(out, "wb") as file:
        os.fchmod(out, mode)
        if like is not None and like.exists() and os.geteuid() == 0:
            owner = like.stat()
            os.fchown(out, owner.st_uid, owner.st_gid)
        file.write(content)
        file.flush()
        os.fsync(out)
    aside.replace(path)
    _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _sha256_hex(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
