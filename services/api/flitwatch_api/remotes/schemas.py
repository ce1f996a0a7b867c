"""Shapes of answers about remotes."""

from __future__ import annotations

from datetime import datetime

from pydantic import BaseModel, ConfigDict, Field


class RemoteMachine(BaseModel):
    """A machine that a remote shows."""

    model_config = ConfigDict(extra="ignore")

    name: str
    kind: str = Field(description="dragonfly, fat_tree, torus or graph")
    technology: str
    simulated: bool
    snapshot: bool = Field(description="Its counters are one sample without a time.")
    routers: int
    endpoints: int
    last_ts: datetime | None = Field(description="End of the newest data.")


class Remote(BaseModel):
    """Another platform and its machines."""

    name: str
    url: str
    problem: str | None = Field(description="Why its machines cannot be shown; null: they are shown.")
    machines: list[RemoteMachine]


class RemoteList(BaseModel):
    """All remotes, in the order of the setting."""

    items: list[Remote]
