"""Shapes of answers about ingest."""

from __future__ import annotations

from datetime import datetime

from pydantic import BaseModel, Field


class Topic(BaseModel):
    """One topic of the log."""

    topic: str
    records: int = Field(description="Written since the beginning.")
    values_per_s: float = Field(description="Over the last two minutes.")
    bytes_per_s: float
    lag_records: int | None = Field(description="In the log and not written; null where the log cannot be asked.")
    lag_s: float | None = Field(
        description="Age of the oldest record in the log that is not written; null where the log cannot be asked."
    )
    last_at: datetime | None
    duplicates: int
    late: int
    dead: int
    unplaced: int = Field(
        description="Records of counters that no fabric has a place for: kept as they came, and in no figure."
    )
    unplaced_because: str | None = Field(description="Why, of the newest such port; null where none is known.")


class LdmsSchema(BaseModel):
    """A metric set that was seen."""

    schema_id: int
    name: str
    digest: str
    kind: str
    columns: int
    unknown: list[str] = Field(
        description="Columns alongside counters that no counter of the catalogue names: their values are not kept."
    )
    first_seen: datetime
    last_seen: datetime
    records: int


class Gap(BaseModel):
    """Time of a device without samples."""

    id: int
    fabric_id: int | None
    device: str
    schema_: str = Field(alias="schema")
    from_: datetime = Field(alias="from")
    to: datetime
    reason: str
    open: bool = Field(description="Whether the device is still silent: the gap reaches to within a minute of now.")


class Silence(BaseModel):
    """Devices that are silent now, by schema and the minute since when."""

    schema_: str = Field(alias="schema")
    from_: datetime = Field(alias="from")
    devices: int


class DeadLetter(BaseModel):
    """A record that could not be used."""

    id: int
    at: datetime
    topic: str
    partition: int
    offset: int
    source: str
    where: str
    reason: str
    raw_bytes: int = Field(description="The record's whole size; at most its first 64 kB are kept.")


class DeadLetters(BaseModel):
    """Number of dead letters, and the newest ones."""

    total: int
    last_hour: int
    recent: list[DeadLetter]


class Status(BaseModel):
    """Ingest status."""

    now: datetime
    topics: list[Topic]
    schemas: list[LdmsSchema]
    dead_letters: DeadLetters
    gaps: list[Gap] = Field(description="The newest.")
    gap_total: int = Field(description="All that are kept.")
    silent_devices: int = Field(description="Devices with an open gap, each once.")
    silent: list[Silence] = Field(description="The largest groups of them.")
    position_age_s: float | None = Field(description="Since the writer last moved a position.")
    read_only: str | None = Field(description="Why records wait in the log and nothing new is stored; null: it is.")


class DeadLetterList(BaseModel):
    """A page of dead letters."""

    items: list[DeadLetter]
    next_cursor: str | None


class DoorRefusal(BaseModel):
    """Records that a source could not use, by their source and topic."""

    records: int = Field(description="Over the last day.")
    at: datetime = Field(description="The newest.")
    where: str
    reason: str = Field(description="Of the newest.")


class DoorArrivals(BaseModel):
    """A way in, and what came through it."""

    key: str
    title: str
    about: str
    commands: list[str] = Field(description="With {site}, {host} and {fabric} to be filled in.")
    needs: list[str]
    scope: str | None = Field(description="The scope of the token that a sender needs at this API; null: none.")
    records: int = Field(description="Since counting began.")
    recent: int = Field(description="Over the last `recent_s`.")
    last_at: datetime | None = Field(description="Null: nothing yet.")
    refused: list[DoorRefusal]


class MachineReport(BaseModel):
    """A machine, and how many of its switches have counters now."""

    fabric: str
    simulated: bool
    devices: int
    reporting: int = Field(description="With counters of the last ten minutes.")


class Arrivals(BaseModel):
    """Arrivals by source."""

    now: datetime
    recent_s: int
    doors: list[DoorArrivals]
    simulated: int = Field(description="Records of the cluster twin over the last `recent_s`; no source counts them.")
    unknown: int = Field(description="Other records over the last `recent_s` that name no source.")
    machines: list[MachineReport]
