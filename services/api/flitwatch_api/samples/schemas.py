"""Response models for packet samples."""

from __future__ import annotations

from datetime import datetime

from pydantic import BaseModel, Field


class SampleContext(BaseModel):
    """Context of packets, as registered at the receiving hosts."""

    context_id: int
    job_id: str | None
    tag: str | None = Field(description="Usually an MPI tag.")
    phase: str | None
    variants: list[str] = Field(description="one-bit or standard: how packets carried the sampled link.")
    longest_path: int
    first: datetime
    last: datetime = Field(description="Start of the newest slice.")
    simulated: bool


class SampleContextList(BaseModel):
    """Contexts with samples, newest first."""

    items: list[SampleContext]
    next_cursor: str | None


class SampleLinks(BaseModel):
    """Columns by link; estimates, because a packet carries only one link of its path."""

    link: list[int]
    tested: list[float] = Field(description="Number of packets whose path may include the link.")
    traffic: list[float] = Field(
        description="Number of packets; 0 if a link without traffic could show the same (one-bit variant)."
    )
    traffic_error: list[float] = Field(description="Standard deviation of traffic.")
    bytes: list[float] = Field(description="Traffic times the mean frame size of the tested packets.")
    congested: list[float] = Field(description="Number of packets that found the link congested.")
    congested_error: list[float]
    congested_fraction: list[float | None] = Field(description="congested / traffic, at most 1; null without traffic.")


class SampleMap(BaseModel):
    """Figures from sampled packets for the links on their possible paths. Absent links are unknown."""

    fabric_id: int
    from_: datetime | None = Field(alias="from")
    to: datetime | None
    contexts: int
    longest_path: int | None
    variants: list[str]
    simulated: bool
    links: SampleLinks


class SampleHosts(BaseModel):
    """Outcomes of the packets that arrived at sampling hosts, by column."""

    from_: datetime | None = Field(alias="from")
    to: datetime | None
    host: list[str]
    outcome: list[str] = Field(description="decoded, unmarked, overrun, wrong_checksum, unknown_source, ...")
    packets: list[float]
