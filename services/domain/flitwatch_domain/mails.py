"""Mails with the same sentences as plain text and as HTML; in HTML, each part has a button and can have a picture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from email.message import EmailMessage
from email.utils import format_datetime, localtime
from html import escape

from flitwatch_domain.timeline import TimelineRow, describe_rows, draw_timeline

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
