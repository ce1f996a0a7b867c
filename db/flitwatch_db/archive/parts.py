"""Part of an archive: Parquet files and a manifest with their checksums, written completely or not at all."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, TypedDict, cast

import pyarrow as pa
import pyarrow.parquet as pq

from flitwatch_db.archive.shapes import ADDED, IN_OWN_COUNTS, Shape
from flitwatch_domain.errors import BadInput, Unavailable

#: Rows read at a time.
BATCH_ROWS = 50_000
#: Size limit of a manifest.
MOST_MANIFEST_BYTES = 16 << 20
MANIFEST = "manifest.json"
_FILE_KEYS = {"rows": int, "bytes": int, "sha256": str}


#: Times of the first and the last job, in ISO format.
_Span = TypedDict("_Span", {"from": str, "to": str}, total=False)


class TableFile(TypedDict):
    """A table's file: its rows, bytes and digest."""

    rows: int
    bytes: int
    sha256: str


class ManifestHead(_Span, total=False):
    """Manifest without its files (docs/contracts/files.md); a fabric's contains only format, digest, time and version.

    Attributes
    ----------
    part : path within the folder;  label : SIMULATED or measured
    jobs, runs : numbers of each;  fabrics : digests of the fabrics of its jobs
    replaces : the part that this one replaces, without an erased user
    """

    format: str
    digest: str
    part: str
    label: str
    simulated: bool
    made_at: str
    code_version: str
    migration: str
    server_version: str
    edition: str
    clusters: list[str]
    jobs: int
    runs: int
    replaces: str | None
    fabrics: list[str]


class Manifest(ManifestHead):
    """Manifest with its files."""

    files: dict[str, TableFile]


class Writer:
    """Writer of a part in a temporary folder; `commit` renames it to its place.

    Parameters
    ----------
    draft : Path         the temporary folder, on the same file system as `place`
    place : Path         final folder
    about : dict         the manifest's head; its scalars are in every file's metadata too
    """

    def __init__(self, draft: Path, place: Path, about: ManifestHead) -> None:
        self.draft, self.place, self.about = draft, place, about
        self.rows: dict[str, int] = {}
        # The part contains names, so only the owner and the group may read it.
        draft.mkdir(mode=0o750)

    def write(self, shape: Shape, batches: Iterable[pa.RecordBatch]) -> int:
        """Write a table's file; return its number of rows. Raise BadInput if the database contains a value that an archive cannot: a number that is
        not finite."""
        metadata = {key: str(value) for key, value in self.about.items() if isinstance(value, str | int | float | bool)}
        schema = shape.schema.with_metadata({f"flitwatch.{key}": value for key, value in metadata.items()})
        rows = 0
        with pq.ParquetWriter(self.draft / f"{shape.name}.parquet", schema, compression="zstd") as file:
            for batch in batches:
                shape.check(batch, shape.name)
                file.write_batch(batch)
                rows += len(batch)
        self.rows[shape.name] = rows
        return rows

    def commit(self) -> Manifest:
        """Write the manifest, rename the folder, and return the manifest."""
        files: dict[str, TableFile] = {}
        for name, rows in self.rows.items():
            path = self.draft / f"{name}.parquet"
            files[name] = {"rows": rows, "bytes": path.stat().st_size, "sha256": digest_of(path)}
            _sync_path(path)
        manifest: Manifest = {**self.about, "files": files}
        path = self.draft / MANIFEST
        path.write_text(json.dumps({**manifest, "sha256": _compute_seal(manifest)}, indent=1, ensure_ascii=False))
        _sync_path(path)
        self.place.parent.mkdir(mode=0o750, exist_ok=True)
        _sync_path(self.draft)
        self.draft.rename(self.place)
        _sync_path(self.place.parent)
        return manifest

    def discard(self) -> None:
        """Remove the draft."""
        shutil.rmtree(self.draft, ignore_errors=True)


class Part:
    """Existing part, as described by its manifest.

    Attributes
    ----------
    shown : str          its name in messages
    shapes : dict[str, Shape]   its files, by name
    manifest : dict
    """

    def __init__(self, place: Path, shown: str, shapes: dict[str, Shape], kind: str) -> None:
        self.place, self.shown, self.shapes = place, shown, shapes
        self.manifest = self._read_manifest(kind)
        self.shapes = {name: shape for name, shape in shapes.items() if name in self.manifest["files"]}

    def _read_manifest(self, kind: str) -> Manifest:
        where = f"{self.shown}/{MANIFEST}"
        path = self.place / MANIFEST
        try:
            if path.is_symlink() or path.stat().st_size > MOST_MANIFEST_BYTES:
                raise BadInput("this is not a manifest", where=where)
            manifest = json.loads(path.read_bytes())
        except FileNotFoundError:
            raise BadInput("the file is missing", where=where) from None
        except (ValueError, RecursionError):
            raise _make_damage_error(where) from None
        if not isinstance(manifest, dict) or not isinstance(manifest.get("files"), dict):
            raise _make_damage_error(where)
        if manifest.get("format") != kind:
            raise BadInput(
                f"the format is {str(manifest.get('format'))[:80]!r}; this version reads {kind!r}", where=where
            )
        seal = manifest.pop("sha256", None)
        if seal != _compute_seal(manifest):
            raise _make_damage_error(where)
        if (set(manifest["files"]) ^ set(self.shapes)) - (ADDED - set(manifest["files"])):
            odd = ", ".join(sorted(set(manifest["files"]) ^ set(self.shapes)))[:200]
            raise BadInput(f"the files are not those of an archive: {odd}", where=where)
        for name, file in manifest["files"].items():
            if not isinstance(file, dict) or any(type(file.get(key)) is not kind for key, kind in _FILE_KEYS.items()):
                raise BadInput(f"rows, bytes and sha256 of {name} are missing", where=where)
        return cast(Manifest, manifest)

    def verify(self) -> None:
        """Compare every file with its checksum, and its columns with the format. Raise BadInput if a file is missing, damaged or of a different
        shape; the message names it."""
        for name, file in self.manifest["files"].items():
            path, where = self.place / f"{name}.parquet", f"{self.shown}/{name}.parquet"
            if path.is_symlink() or not path.is_file():
                raise BadInput("the file is missing", where=where)
            if path.stat().st_size != file["bytes"] or digest_of(path) != file["sha256"]:
                raise _make_damage_error(where)
            with self._open_table(name) as opened:
                if opened.metadata.num_rows != file["rows"]:
                    raise BadInput(f"{opened.metadata.num_rows} rows, but the manifest has {file['rows']}", where=where)

    def read(self, name: str) -> Iterator[pa.RecordBatch]:
        """Yield the validated rows of a table in batches. Raise BadInput if a value is wrong; the message names the file and column."""
        where = f"{self.shown}/{name}.parquet"
        with self._open_table(name) as file:
            batches = file.iter_batches(BATCH_ROWS)
            while True:
                try:
                    batch = next(batches)
                except StopIteration:
                    return
                except (pa.ArrowException, OSError) as problem:
                    raise BadInput(f"cannot be read: {str(problem)[:200]}", where=where) from None
                self.shapes[name].check(batch, where)
                yield batch

    def in_own_counts(self, name: str) -> frozenset[str]:
        """Return a table's columns with stalls in the device's own counts, as in archives from before ADR 0047."""
        with self._open_table(name) as file:
            return own_counts(file.schema_arrow)

    def rows(self, name: str) -> list[dict[str, Any]]:
        """Return all rows of a small table."""
        return [row for batch in self.read(name) for row in batch.to_pylist()]

    def _open_table(self, name: str) -> pq.ParquetFile:
        where, expected_schema = f"{self.shown}/{name}.parquet", self.shapes[name].schema
        try:
            file = pq.ParquetFile(self.place / f"{name}.parquet")
            file_schema = file.schema_arrow
        except (pa.ArrowException, OSError) as problem:
            raise BadInput(f"cannot be read as Parquet: {str(problem)[:200]}", where=where) from None
        if file_schema.equals(expected_schema):
            return file
        file.close()
        for field in expected_schema:
            if field.name not in file_schema.names:
                raise BadInput(f"column {field.name!r} is missing", where=where)
            kind = file_schema.field(file_schema.names.index(field.name))
            if not kind.equals(field):
                raise BadInput(
                    f"column {field.name!r} is {_format_field(kind)}, not {_format_field(field)}", where=where
                )
        raise BadInput(f"the columns are not {', '.join(expected_schema.names)}"[:400], where=where)


def own_counts(schema: pa.Schema) -> frozenset[str]:
    """Return the columns whose unit is one of `IN_OWN_COUNTS`."""
    return frozenset(
        field.name
        for field in schema
        for end, unit in IN_OWN_COUNTS.items()
        if field.name.endswith(end) and (field.metadata or {}).get(b"unit") == unit.encode()
    )


def _format_field(field: pa.Field) -> str:
    return f"{field.type}{'' if field.nullable else ' not null'}"


def _make_damage_error(where: str) -> BadInput:
    return BadInput(
        "the file is damaged", where=where, advice="Fetch it from a copy of the archive; nothing was changed."
    )


def _compute_seal(manifest: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(manifest, sort_keys=True, ensure_ascii=True).encode()).hexdigest()


def head_of(manifest: Manifest) -> ManifestHead:
    """Return a manifest without its files."""
    return cast(ManifestHead, {key: value for key, value in manifest.items() if key != "files"})


def digest_of(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _sync_path(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def parse_manifest_time(manifest: Mapping[str, Any], key: str, where: str) -> datetime:
    """Return a time in a manifest, with its time zone."""
    try:
        timestamp = datetime.fromisoformat(manifest[key])
    except (KeyError, TypeError, ValueError):
        timestamp = None
    if timestamp is None or timestamp.tzinfo is None:
        raise BadInput(f"{key!r} is not a time with a zone", where=f"{where}/{MANIFEST}")
    return timestamp


@contextlib.contextmanager
def guard_disk_writes(what: str) -> Iterator[None]:
    """Raise an error with advice if the disk is full or not writable."""
    try:
        yield
    except OSError as problem:
        raise Unavailable(
            f"{what}: {problem.strerror or str(problem)[:200]}",
            advice="Free space or correct the rights, and run it again.",
        ) from None
