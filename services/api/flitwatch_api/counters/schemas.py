"""Response models for counters. The columns of one object have the same length; null is unknown, never zero."""

from __future__ import annotations

from datetime import datetime

from pydantic import BaseModel, Field

from flitwatch_domain.counters import STALL_CUTS, STALLED_AT


class RouterFigures(BaseModel):
    """Columns with one entry per router, in the order of `router`."""

    router: list[int]
    flits: list[float | None]
    stall_cycles: list[float | None]
    ratio: list[float | None] = Field(
        description=f"Sum of stalls divided by sum of flits: stalled time divided by sending time. From {STALLED_AT} on, a "
        f"router or port counts as stalled.",
        json_schema_extra={"x-stall-cuts": list(STALL_CUTS)},
    )
    coverage: list[float | None] = Field(
        description="Share of the window for which the router's usual tiles have counters; 1 is all."
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
        description="Basis of p50, p95 and max: the ratio of each `link`, or of each `router`'s tiles of the class."
    )
    counted: int = Field(description="Number of links or routers with a ratio.")


class PairFigures(BaseModel):
    """Columns with one entry per pair of groups with counted links between them; `src` sends, `dst` receives."""

    src: list[int]
    dst: list[int]
    flits: list[float | None]
    stall_cycles: list[float | None]
    ratio: list[float | None]
    note: str | None = Field(default=None, description="Present if the sums of a long window are estimates.")
    complete_through: datetime | None = Field(default=None, description="Time up to which port counters are complete.")


class StallFigures(BaseModel):
    """Stalls in the window [at - window_s, at)."""

    at: datetime | None = Field(description="End of the window; null without data or times.")
    window_s: int | None
    complete_through: datetime | None = Field(description="Time up to which rows are complete.")
    routers: RouterFigures
    classes: dict[str, ClassFigures]
    groups: PairFigures
    note: str | None = Field(default=None, description="Present if figures by class of a long window are estimates.")
    simulated: bool
    snapshot: bool


class LinkFigures(BaseModel):
    """Columns with one entry per counted link."""

    at: datetime | None
    window_s: int | None
    link: list[int]
    src: list[int] = Field(description="Sending router.")
    dst: list[int] = Field(description="Receiving router.")
    src_port: list[int | None]
    dst_port: list[int | None]
    class_: list[str] = Field(alias="class")
    flits: list[float | None]
    stall_cycles: list[float | None]
    ratio: list[float | None]
    note: str | None = Field(default=None, description="Present if the sums of a long window are estimates.")


class LaneFigures(BaseModel):
    """Data that each lane (0 to 15) of one port or endpoint sent in [at - window_s, at)."""

    at: datetime | None = Field(description="End of the window; null without data or times.")
    window_s: int | None
    sl_flits: list[float | None] = Field(
        description="Data by service level or queue; InfiniBand: words of 4 bytes, Ethernet: bytes."
    )
    stall_cycles: list[float | None] = Field(
        description="Waits by virtual lane (InfiniBand: PortVLXmitWait in word times), priority (Ethernet: pauses in byte times) or "
        "traffic class (cycles in which a NIC was paused)."
    )
    packets: list[float | None] = Field(description="Packets by traffic class.")
    simulated: bool


class Timeseries(BaseModel):
    """Counters over time."""

    ts: list[datetime] = Field(description="Start of each step.")
    step_s: int
    routers: list[int]
    values: dict[str, list[list[float | None]]] = Field(description="Values by counter: [router][step].")


class Matrix(BaseModel):
    """Traffic between groups: the column sends, the row receives."""

    groups: list[int]
    flits: list[list[float | None]]
    stall_cycles: list[list[float | None]]
    ratio: list[list[float | None]]
    note: str | None = Field(default=None, description="Present if the sums of a long period are estimates.")


class Span(BaseModel):
    """Time without samples."""

    from_: datetime = Field(alias="from")
    to: datetime
    devices: int


class Mark(BaseModel):
    """An event."""

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
    p50: list[float | None] = Field(description="Median ratio of the routers.")
    p95: list[float | None]
    coverage: list[float | None]
    counted_share: float = Field(description="Share of the complete steps in which any router has counters; 0: none.")
    cards_counted: bool = Field(description="Whether any network card has counters in this time.")
    gaps: list[Span]
    marks: list[Mark]


class Frames(BaseModel):
    """Router counters step by step, for brushing."""

    ts: list[datetime]
    step_s: int
    routers: list[int]
    flits: list[list[float | None]] = Field(description="[step][router]")
    stall_cycles: list[list[float | None]]
