"""Small picture for a mail: when the slow job had its usual speed, when it was slow, and when the named jobs ran. It is a PNG, because mail programs do not show SVG."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Literal, TypedDict

Kind = Literal["usual", "slow", "named"]
#: Colours that readers with a colour vision deficiency can distinguish; red, green, blue.
INKS: dict[Kind, tuple[int, int, int]] = {"usual": (154, 160, 166), "slow": (197, 34, 31), "named": (242, 153, 0)}
_PAPER = (255, 255, 255)
WIDTH, ROW, GAP = 600, 18, 6


class Span(TypedDict):
    """A period of a job, in epoch seconds."""

    kind: Kind
    from_s: float
    to_s: float


class TimelineRow(TypedDict):
    """A job and its periods."""

    job_id: str
    spans: list[Span]


def list_rows(explanation: Mapping[str, Any]) -> list[TimelineRow]:
    """Return the rows of an explanation: the slow job, then the named jobs; empty if it is not slow. Times are datetimes or ISO texts."""
    slow = explanation["slowdown"]
    if slow is None or explanation["start"] is None:
        return []
    start_s, end_s = _seconds(explanation["start"]), _seconds(explanation["end"] or explanation["as_of"])
    since_s = min(max(_seconds(slow["since"]), start_s), end_s)
    until_s = end_s if slow["until"] is None else min(max(_seconds(slow["until"]), since_s), end_s)
    spans: list[Span] = [
        {"kind": "usual", "from_s": start_s, "to_s": since_s},
        {"kind": "slow", "from_s": since_s, "to_s": until_s},
        {"kind": "usual", "from_s": until_s, "to_s": end_s},
    ]
    rows: list[TimelineRow] = [
        {"job_id": explanation["job_id"], "spans": [one for one in spans if one["from_s"] < one["to_s"]]}
    ]
    for job in explanation["candidates"]:
        if job["named"]:
            first_s = max(_seconds(job["start"]), start_s)
            last_s = end_s if job["end"] is None else min(_seconds(job["end"]), end_s)
            if first_s < last_s:
                rows.append({"job_id": job["job_id"], "spans": [{"kind": "named", "from_s": first_s, "to_s": last_s}]})
    return rows


def describe_rows(rows: Sequence[TimelineRow]) -> str:
    """Describe the picture in words, as its legend and its alternative text."""
    texts = []
    for row in rows:
        kinds = {span["kind"] for span in row["spans"]}
        told = (
            "orange: running"
            if "named" in kinds
            else "grey: usual speed, red: slow"
            if "usual" in kinds
            else "red: slow"
        )
        texts.append(f"job {row['job_id']} ({told})")
    return "Timeline, from the top: " + "; ".join(texts)


def draw_timeline(rows: Sequence[TimelineRow]) -> bytes:
    """Draw the rows as a PNG, one below the other, over the time of the first row."""
    spans = [span for row in rows for span in row["spans"]]
    first_s, last_s = min(span["from_s"] for span in spans), max(span["to_s"] for span in spans)
    lines = []
    for row in rows:
        pixels = bytearray(bytes(_PAPER) * WIDTH)
        for span in row["spans"]:
            low = int((span["from_s"] - first_s) / (last_s - first_s) * WIDTH)
            high = max(low + 1, int((span["to_s"] - first_s) / (last_s - first_s) * WIDTH))
            pixels[3 * low : 3 * high] = bytes(INKS[span["kind"]]) * (high - low)
        lines += [b"\0" + bytes(pixels[: 3 * WIDTH])] * ROW + [b"\0" + bytes(_PAPER) * WIDTH] * GAP
    header = struct.pack(">IIBBBBB", WIDTH, len(lines), 8, 2, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(b"".join(lines), 9)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(kind, data) for kind, data in chunks)


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def _seconds(moment: datetime | str) -> float:
    return (datetime.fromisoformat(moment) if isinstance(moment, str) else moment).timestamp()
