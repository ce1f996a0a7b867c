"""The initial inputs of fuzzing, one archive per target: files written by people, and files found by fuzzing, whose names are hashes.

`inputs.py TARGET FILE...` adds files written by people.
"""

from __future__ import annotations

import io
import re
import sys
import tarfile
from pathlib import Path

CORPUS = Path(__file__).resolve().parent / "corpus"
HASH = re.compile(r"[0-9a-f]{40}")


def locate_archive(target: str) -> Path:
    """Return the path of the archive of `target`."""
    return CORPUS / f"{target}.tar.xz"


def read_inputs(target: str) -> dict[str, bytes]:
    """Return the bytes of every input of `target` by its name; those that people wrote come first."""
    with tarfile.open(locate_archive(target)) as archive:
        contents = {member.name: file.read() for member in archive if (file := archive.extractfile(member))}
    return dict(sorted(contents.items(), key=lambda item: (HASH.fullmatch(item[0]) is not None, item[0])))


def read_written(target: str) -> dict[str, bytes]:
    """Return the inputs of `target` that people wrote."""
    return {name: data for name, data in read_inputs(target).items() if not HASH.fullmatch(name)}


def unpack_inputs(contents: dict[str, bytes], folder: Path) -> Path:
    """Write inputs to `folder`, which is made; return it."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in contents.items():
        (folder / name).write_bytes(data)
    return folder


def pack_inputs(target: str, contents: dict[str, bytes]) -> None:
    """Write the archive of `target`; the same inputs give the same bytes."""
    with tarfile.open(locate_archive(target), "w:xz", preset=9) as archive:
        for name, data in sorted(contents.items()):
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))


if __name__ == "__main__":
    target, *files = sys.argv[1:]
    old = read_inputs(target) if locate_archive(target).exists() else {}
    pack_inputs(target, old | {Path(file).name: Path(file).read_bytes() for file in files})
