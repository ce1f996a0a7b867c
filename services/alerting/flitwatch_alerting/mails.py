"""Mails: the same sentences as plain text and as HTML, where each part has one button."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from email.message import EmailMessage
from email.utils import format_datetime, localtime
from html import escape

_CARD = "border:1px solid #d0d7de;border-radius:6px;padding:12px 16px;margin:0 0 16px;max-width:640px"
_BUTTON = "display:inline-block;padding:8px 14px;border-radius:6px;background:#0b57d0;color:#fff;text-decoration:none"


@dataclass(frozen=True)
class MailPart:
    """What a mail says of one thing: a heading, sentences, and the address of its page."""

    heading: str
    sentences: Sequence[str]
    page: str


def compose(subject: str, sender: str, to: Sequence[str], key: str, parts: Sequence[MailPart]) -> EmailMessage:
    """Compose a mail; `key` identifies it, so that a repetition is the same mail."""
    message = EmailMessage()
    message["Subject"] = subject[:200]
    message["From"], message["To"] = sender, ", ".join(to)
    message["Date"] = format_datetime(localtime())
    message["Message-ID"] = f"<{key}@flitwatch>"
    message.set_content("\n\n".join("\n".join([f"{one.heading} {one.page}", *one.sentences]) for one in parts) + "\n")
    cards = "".join(_card(one) for one in parts)
    message.add_alternative(f'<div style="font-family:sans-serif;line-height:1.4">{cards}</div>\n', subtype="html")
    return message


def _card(part: MailPart) -> str:
    sentences = "".join(f"<li>{escape(one)}</li>" for one in part.sentences)
    listed = f"<ul>{sentences}</ul>" if sentences else ""
    button = f'<a href="{escape(part.page)}" style="{_BUTTON}">Open in Flitwatch</a>'
    return f'<div style="{_CARD}"><p><strong>{escape(part.heading)}</strong></p>{listed}<p>{button}</p></div>'
