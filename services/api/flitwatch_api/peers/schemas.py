"""Shapes of answers about peers."""

from __future__ import annotations

from datetime import datetime

from pydantic import BaseModel, ConfigDict, Field


class PeerMachine(BaseModel):
    """A machine that a peer shows."""

    model_config = ConfigDict(extra="ignore")

    name: str
    kind: str = Field(description="dragonfly, fat_tree, torus or graph")
    technology: str
    simulated: bool
    snapshot: bool = Field(description="Its counters are one sample without a time.")
    routers: int
    endpoints: int
    last_ts: datetime | None = Field(description="End of the newest data.")


class Peer(BaseModel):
    """Another platform and its machines."""

    name: str
    url: str
    problem: str | None = Field(description="Why its machines cannot be shown; null: they can.")
    machines: list[PeerMachine]


class PeerList(BaseModel):
    """All peers, in the order of the setting."""

    items: list[Peer]
