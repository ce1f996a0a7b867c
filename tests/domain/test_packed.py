"""Text files on disk: compressed, in UTF-16, damaged."""

from __future__ import annotations

import bz2
import gzip
import lzma
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard

from flitwatch_domain.errors import BadInput
from flitwatch_domain.importers import read_fabric, text
from flitwatch_domain.importers.packed import open_plain

TOPOLOGY = """Switch 4 "S-00000000000000a1"	# "leaf-1" enhanced port 0 lid 31 lmc 0
[1]	"H-00000000000000b0"[1](b0) 		# "n1 mlx5_0" lid 1 4xHDR
Ca	1 "H-00000000000000b0"		# "n1 mlx5_0"
[1](b0) 	"S-00000000000000a1"[1]		# lid 1 lmc 0 "leaf-1" lid 31 4xHDR
"""
PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "gz": gzip.compress,
    "two gz behind one another": lambda data: gzip.compress(data[:50]) + gzip.compress(data[50:]),
    "bz2": bz2.compress,
    "xz": lzma.compress,
    "zst": zstandard.ZstdCompressor().compress,
    "two zst frames": lambda data: (
        zstandard.ZstdCompressor().compress(data[:50]) + zstandard.ZstdCompressor().compress(data[50:])
    ),
    "utf-16": lambda data: data.decode().encode("utf-16"),
    "utf-16 big end": lambda data: data.decode().encode("utf-16-be"),
    "utf-16 without a mark": lambda data: data.decode().encode("utf-16-le"),
    "utf-16 in gz": lambda data: gzip.compress(data.decode().encode("utf-16")),
    "utf-8 with a mark": lambda data: b"\xef\xbb\xbf" + data,
}


@pytest.mark.parametrize("packer", PACKERS.values(), ids=PACKERS)
def test_a_topology_is_read_however_it_was_stored(tmp_path: Path, packer: Callable[[bytes], bytes]) -> None:
    file = tmp_path / "lab.topo.gz"
    file.write_bytes(packer(TOPOLOGY.encode()))
    fabric = read_fabric(file)
    assert (fabric.name, list(fabric.routers.name), list(fabric.endpoints.node)) == ("lab", ["leaf-1"], ["n1"])


@pytest.mark.parametrize(
    "packer", [PACKERS["gz"], PACKERS["xz"], PACKERS["bz2"], PACKERS["zst"]], ids=["gz", "xz", "bz2", "zst"]
)
def test_what_is_cut_short_says_so(tmp_path: Path, packer: Callable[[bytes], bytes]) -> None:
    file = tmp_path / "cut"
    # Random digits do not compress to nothing: half of the file is half of the text.
    whole = packer("".join(f"{(n * 2654435761) % 2**32:08x}\n" for n in range(20_000)).encode())
    file.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(BadInput, match="damaged or incomplete") as caught:
        text.read_bytes(file)
    assert caught.value.where == str(file)


def test_a_bomb_is_refused_before_it_fills_the_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text, "LARGEST_FILE_BYTES", 2**20)
    file = tmp_path / "bomb.gz"
    file.write_bytes(gzip.compress(bytes(2**24)))
    with pytest.raises(BadInput, match="larger than"):
        text.read_bytes(file)


def test_an_archive_of_several_files_is_named(tmp_path: Path) -> None:
    file = tmp_path / "all.zip"
    file.write_bytes(b"PK\x03\x04" + bytes(100))
    with pytest.raises(BadInput, match="ZIP archive"):
        text.read_bytes(file)


def test_lines_come_one_by_one(tmp_path: Path) -> None:
    file = tmp_path / "long.gz"
    file.write_bytes(gzip.compress(b"line\n" * 1_000_000))
    with open_plain(file) as plain:
        assert [next(plain) for _ in range(3)] == [b"line\n"] * 3
        assert file.stat().st_size < 100_000
