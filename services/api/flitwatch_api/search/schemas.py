"""Response models of the search."""

from __future__ import annotations

from pydantic import BaseModel, Field


class Hit(BaseModel):
    """A search hit."""

    kind: str = Field(description="job, incident, router, node, user or fabric")
    id: str
    title: str
    detail: str | None
    href: str = Field(description="Path of its page.")


class Hits(BaseModel):
    """Search hits, exact hits first."""

    items: list[Hit]
