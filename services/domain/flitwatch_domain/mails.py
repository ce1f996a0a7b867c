"""Mails with the same sentences as plain text and as HTML; in HTML, each part has a button and can have a picture."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from email import policy
from email.message import EmailMessage
from email.utils import format_datetime, localtime
from html import escape
from typing import Annotated, Any, Literal, TypedDict

from pydantic import AfterValidator

Kind = Literal["usual", "slow", "named"]
#: Colours that readers with a colour vision deficiency can distinguish; red, green, blue.
INKS: dict[Kind, tuple[int, int, int]] = {"usual": (154, 160, 166), "slow": (197, 34, 31), "named": (242, 153, 0)}
#: Why a text of one line is refused if it is not printable.
UNPRINTABLE = "contains a line break or another character that cannot be printed; write it on one line"
_PAPER = (255, 255, 255)
WIDTH, ROW, GAP = 600, 18, 6


def _check_mailbox(text: str) -> str:
    """Return one address, `name@host`, a local name, or `Words <name@host>`, that is valid in a message's header; ValueError otherwise."""
    if not text.isprintable():
        raise ValueError(f"{text!r} is not a mail address: it {UNPRINTABLE}")
    try:
        read = policy.default.header_factory("To", text).addresses
    except (ValueError, IndexError):
        # The package raises them for `ops@`, and for encoded line breaks.
        read = ()
    # The package removes a space from a name, and text after an address; both are mistakes.
    whole = [address for address in read if address.username and text.removesuffix(">").endswith(address.addr_spec)]
    if len(read) != 1 or not whole:
        raise ValueError(f"{text!r} is not a mail address: write one name@host per entry")
    return text


Mailbox = Annotated[str, AfterValidator(_check_mailbox)]


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
        legend = (
            "orange: running"
            if "named" in kinds
            else "grey: usual speed, red: slow"
            if "usual" in kinds
            else "red: slow"
        )
        texts.append(f"job {row['job_id']} ({legend})")
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


_CARD = "border:1px solid #d0d7de;border-radius:6px;padding:12px 16px;margin:0 0 16px;max-width:640px"
_BUTTON = "display:inline-block;padding:8px 14px;border-radius:6px;background:#0b57d0;color:#fff;text-decoration:none"


@dataclass(frozen=True)
class MailPart:
    """Part of a mail about one subject: a heading, sentences, the address of its page, and the rows of its picture (empty: no picture)."""

    heading: str
    sentences: Sequence[str]
    page: str
    rows: Sequence[TimelineRow] = ()


def compose(subject: str, sender: str, to: Sequence[str], key: str, parts: Sequence[MailPart]) -> EmailMessage:
    """Compose a mail; `key` identifies it, so that a repeated mail has the same id."""
    message = EmailMessage()
    message["Subject"] = subject[:200]
    message["From"], message["To"] = sender, ", ".join(to)
    message["Date"] = format_datetime(localtime())
    message["Message-ID"] = f"<{key}@flitwatch>"
    message.set_content("\n\n".join("\n".join([f"{one.heading} {one.page}", *one.sentences]) for one in parts) + "\n")
    names = [f"picture-{number}.{key}@flitwatch" for number in range(len(parts))]
    cards = "".join(_card(one, name) for one, name in zip(parts, names, strict=True))
    message.add_alternative(f'<div style="font-family:sans-serif;line-height:1.4">{cards}</div>\n', subtype="html")
    page = message.get_payload(1)
    for one, name in zip(parts, names, strict=True):
        if one.rows and isinstance(page, EmailMessage):
            # Embedded in the mail, for mail programs that load nothing from the network.
            page.add_related(draw_timeline(one.rows), "image", "png", cid=f"<{name}>", disposition="inline")
    return message


def _card(part: MailPart, picture: str) -> str:
    sentences = "".join(f"<li>{escape(one)}</li>" for one in part.sentences)
    listed = f"<ul>{sentences}</ul>" if sentences else ""
    button = f'<a href="{escape(part.page)}" style="{_BUTTON}">Open in Flitwatch</a>'
    words = escape(describe_rows(part.rows)) if part.rows else ""
    shown = (
        f'<p><img src="cid:{picture}" alt="{words}" style="max-width:100%"><br><small>{words}</small></p>'
        if words
        else ""
    )
    return f'<div style="{_CARD}"><p><strong>{escape(part.heading)}</strong></p>{listed}{shown}<p>{button}</p></div>'
