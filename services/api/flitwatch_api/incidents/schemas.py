"""Response models for incidents."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, Field, StringConstraints

from flitwatch_domain.incidents import IncidentHead

#: Terminal control characters, zero-width characters and bidirectional marks are refused.
NoteText = Annotated[
    str,
    StringConstraints(
        min_length=1,
        max_length=2000,
        strip_whitespace=True,
        pattern=r"^[^\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]*$",
    ),
]


class IncidentList(BaseModel):
    """A page of incidents."""

    items: list[IncidentHead]
    next_cursor: str | None
    unexamined: int | None = Field(
        description="Number of ended jobs since `from` that are not examined yet, at most 1000: the list may be incomplete. Null: without `from`."
    )


class NewIncidentNote(BaseModel):
    """A note to store with an incident."""

    text: NoteText
