"""Shapes of answers about counters. Columns of one object have one length; null is unknown, never zero."""

from __future__ import annotations

from datetime import datetime

from pydantic import BaseModel, Field

from flitwatch_domain.counters import STALL_CUTS, STALLED_AT


class RouterFigures(BaseModel):
    """By router, in the order of `router`."""

    router: list[int]
    flits: list[float | None]
    stall_cycles: list[float | None]
    ratio: list[float | None] = Field(
        description=f"Summed stalls over summed flits, which is the time stalled over the time of sending. From {STALLED_AT} on a "
        "router or port is stalled.",
        json_schema_extra={"x-stall-cuts": list(STALL_CUTS)},
    )
    coverage: list[float | None] = Field(
        description="Counted time over the window, of the tiles that the router usually counts; 1 is all."
    )


class ClassFigures(BaseModel):
    """A link class in the window."""

    flits: float | None
    stall_cycles: float | None
    ratio: float | None
    p50: float | None
    p95: float | None
    max: float | None
    per: str = Field(
        description="What p50, p95 and max are taken over: the ratios of each `link`, or of each `router`'s tiles of the class."
    )
    counted: int = Field(description="How many of those have a ratio.")


class PairFigures(BaseModel):
    """By pair of groups with counted links between them; `src` sends, `dst` receives."""

    src: list[int]
    dst: list[int]
    flits: list[float | None]
    stall_cycles: list[float | None]
    ratio: list[float | None]
    note: str | None = Field(default=None, description="Says so where the sums of a long window are estimates.")
    complete_through: datetime | None = Field(default=None, description="Port counters are complete up to here.")


class StallFigures(BaseModel):
    """A window of time [at - window_s, at)."""

    at: datetime | None = Field(description="End of the window that was used; null without data or time.")
    window_s: int | None
    complete_through: datetime | None = Field(description="Rows are complete up to here.")
    routers: RouterFigures
    classes: dict[str, ClassFigures]
    groups: PairFigures
    note: str | None = Field(
        default=None, description="Says so where figures of classes of a long window are estimates."
    )
    simulated: bool
    snapshot: bool


class LinkFigures(BaseModel):
    """By counted link."""

    at: datetime | None
    window_s: int | None
    link: list[int]
    src: list[int] = Field(description="Router that sends.")
    dst: list[int] = Field(description="Router that receives.")
    src_port: list[int | None]
    dst_port: list[int | None]
    class_: list[str] = Field(alias="class")
    flits: list[float | None]
    stall_cycles: list[float | None]
    ratio: list[float | None]
    note: str | None = Field(default=None, description="Says so where the sums of a long window are estimates.")


class LaneFigures(BaseModel):
    """By lane 0 to 15 of one port or endpoint, what it sent in [at - window_s, at)."""

    at: datetime | None = Field(description="End of the window that was used; null without data or time.")
    window_s: int | None
    sl_flits: list[float | None] = Field(
        description="Data by service level or queue; InfiniBand: words of 4 bytes, Ethernet: bytes."
    )
    stall_cycles: list[float | None] = Field(
        description="By virtual lane (InfiniBand: PortVLXmitWait in times of a word), priority (Ethernet: pauses in times of a byte) or traffic class (cycles that a NIC was paused)."
    )
    packets: list[float | None] = Field(description="By traffic class.")
    simulated: bool


class Timeseries(BaseModel):
    """Counters over time."""

    ts: list[datetime] = Field(description="Start of each step.")
    step_s: int
    routers: list[int]
    values: dict[str, list[list[float | None]]] = Field(description="By counter: [router][step].")


class Matrix(BaseModel):
    """Traffic between groups: the column sends, the row receives."""

    groups: list[int]
    flits: list[list[float | None]]
    stall_cycles: list[list[float | None]]
    ratio: list[list[float | None]]
    note: str | None = Field(default=None, description="Says so where the sums of a long span are estimates.")


class Span(BaseModel):
    """Time without samples."""

    from_: datetime = Field(alias="from")
    to: datetime
    devices: int


class Mark(BaseModel):
    """Something that happened."""

    ts: datetime
    kind: str
    text: str


class Overview(BaseModel):
    """The whole machine over time."""

    ts: list[datetime]
    step_s: int
    flits: list[float | None]
    stall_cycles: list[float | None]
    ratio: list[float | None]
    p50: list[float | None] = Field(description="Median over routers of their ratio.")
    p95: list[float | None]
    coverage: list[float | None]
    counted_share: float = Field(
        description="Share of the steps, up to where rows are complete, in which any router was counted; 0: nothing was counted."
    )
    gaps: list[Span]
    marks: list[Mark]


class Frames(BaseModel):
    """Router counters step by step, for brushing."""

    ts: list[datetime]
    step_s: int
    routers: list[int]
    flits: list[list[float | None]] = Field(description="[step][router]")
    stall_cycles: list[list[float | None]]
