"""The inputs that fuzzing starts from: those that people wrote (corpus/TARGET/NAME) and those that it found (found/TARGET.tar.xz, names are hashes)."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).resolve().parent


def written(target: str) -> list[Path]:
    """Inputs of `target` that people wrote."""
    return sorted((HERE / "corpus" / target).iterdir())


def archive(target: str) -> Path:
    """Where the inputs are that fuzzing found for `target`; absent where it found none."""
    return HERE / "found" / f"{target}.tar.xz"


def inputs(target: str) -> Iterator[tuple[str, bytes]]:
    """Name and bytes of every input of `target`."""
    for path in written(target):
        yield path.name, path.read_bytes()
    if archive(target).exists():
        with tarfile.open(archive(target)) as found:
            for member in found:
                data = found.extractfile(member)
                assert data is not None, f"{member.name} in {archive(target)} is no file"
                yield member.name, data.read()


def unpack(target: str, folder: Path) -> Path:
    """Write every input of `target` to `folder`, which is made; return it."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in inputs(target):
        (folder / name).write_bytes(data)
    return folder


def pack(target: str, found: dict[str, bytes]) -> None:
    """Make `found` (name: bytes) the inputs that fuzzing found; the same inputs give the same bytes of an archive."""
    if not found:
        archive(target).unlink(missing_ok=True)
        return
    archive(target).parent.mkdir(exist_ok=True)
    with tarfile.open(archive(target), "w:xz", preset=9) as out:
        for name, data in sorted(found.items()):
            member = tarfile.TarInfo(name)
            member.size = len(data)
            out.addfile(member, io.BytesIO(data))
