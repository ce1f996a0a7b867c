"""The picture of a mail: its pixels are the rows, and nothing is drawn of a job that was not slow."""

from __future__ import annotations

import struct
import zlib
from typing import Any

import pytest

from flitwatch_domain.timeline import GAP, INKS, ROW, WIDTH, describe_rows, draw_timeline, list_rows

SLOW: dict[str, Any] = {
    "job_id": "7", "start": "2026-11-01T10:00:00Z", "end": "2026-11-01T11:00:00Z", "as_of": "2026-11-01T12:00:00Z",
    "slowdown": {"since": "2026-11-01T10:30:00Z", "until": None},
    "candidates": [
        {"job_id": "8", "named": True, "start": "2026-11-01T09:00:00Z", "end": "2026-11-01T10:15:00Z"},
        {"job_id": "9", "named": False, "start": "2026-11-01T10:30:00Z", "end": None},
    ],
}  # fmt: skip


def pixels(png: bytes) -> list[bytes]:
    """The lines of a PNG without filters."""
    width, height = struct.unpack(">II", png[16:24])
    data = png[png.index(b"IDAT") + 4 : png.index(b"IEND") - 8]
    raw = zlib.decompress(data)
    assert len(raw) == height * (1 + 3 * width)
    return [raw[at + 1 : at + 1 + 3 * width] for at in range(0, len(raw), 1 + 3 * width)]


def test_rows_are_the_slow_job_and_those_that_are_named() -> None:
    rows = list_rows(SLOW)
    assert [row["job_id"] for row in rows] == ["7", "8"]
    assert [span["kind"] for span in rows[0]["spans"]] == ["usual", "slow"]
    assert rows[1]["spans"][0]["to_s"] - rows[1]["spans"][0]["from_s"] == 900
    assert "job 7 (grey: usual speed, red: slow)" in describe_rows(rows) and "9" not in describe_rows(rows)


@pytest.mark.parametrize("change", [{"slowdown": None}, {"start": None}])
def test_a_job_that_was_not_slow_has_no_rows(change: dict[str, Any]) -> None:
    assert list_rows(SLOW | change) == []


def test_pixels_have_the_colours_of_their_moments() -> None:
    lines = pixels(draw_timeline(list_rows(SLOW)))
    assert len(lines) == 2 * (ROW + GAP)

    def ink(line: int, share: float) -> tuple[int, ...]:
        at = 3 * int(share * WIDTH)
        return tuple(lines[line][at : at + 3])

    assert ink(0, 0.25) == INKS["usual"] and ink(0, 0.75) == INKS["slow"]
    assert ink(ROW + GAP, 0.1) == INKS["named"] and ink(ROW + GAP, 0.5) == (255, 255, 255)
