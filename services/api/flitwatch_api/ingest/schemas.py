"""Response models for ingest."""

from __future__ import annotations

from datetime import datetime

from pydantic import BaseModel, Field

from flitwatch_api.answers import Page


class Topic(BaseModel):
    """One topic of the log."""

    topic: str
    records: int = Field(description="Number of records written so far.")
    values_per_s: float = Field(description="Rate over the last two minutes.")
    bytes_per_s: float
    lag_records: int | None = Field(
        description="Records in the log that are not written; null if the log does not answer."
    )
    lag_s: float | None = Field(
        description="Age of the oldest record in the log that is not written; null if the log does not answer."
    )
    last_at: datetime | None
    duplicates: int
    late: int
    dead: int
    unplaced: int = Field(
        description="Counter records that belong to no known fabric. They are stored unchanged and are not in any figure."
    )
    unplaced_because: str | None = Field(description="Reason for the newest such port; null if unknown.")


class LdmsSchema(BaseModel):
    """A metric set that was received."""

    schema_id: int
    name: str
    digest: str
    kind: str
    columns: int
    unknown: list[str] = Field(
        description="Columns that are not in the catalogue of counters. Their values are not stored."
    )
    first_seen: datetime
    last_seen: datetime
    records: int


class Gap(BaseModel):
    """A period of a device without samples."""

    id: int
    fabric_id: int | None
    device: str
    schema_: str = Field(alias="schema")
    from_: datetime = Field(alias="from")
    to: datetime
    reason: str
    open: bool = Field(description="Whether the device is still silent, with a gap up to the last minute.")


class Silence(BaseModel):
    """Devices that are currently silent, by schema and the minute when they became silent."""

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
    raw_bytes: int = Field(description="Full size of the record; at most its first 64 kB are kept.")


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
    silent_devices: int = Field(description="Number of devices with an open gap.")
    silent: list[Silence] = Field(description="Their largest groups.")
    position_age_s: float | None = Field(description="Time since the writer last advanced.")
    read_only: str | None = Field(
        description="Why records wait in the log and nothing new is stored; null: new data are stored."
    )


class SourceCoverage(BaseModel):
    """Records of one kind over time."""

    source: str = Field(description="Kind of data, for example `Router counters`.")
    topics: list[str]
    records: list[int] = Field(description="Number of records written in each step; 0: none.")
    dead: list[int] = Field(description="Number of records in each step that could not be used.")


class IngestCoverage(BaseModel):
    """Written records over time, by kind of data."""

    ts: list[datetime] = Field(description="Start of each step; the newest step may not be complete.")
    step_s: int
    sources: list[SourceCoverage]


class DeadLetterList(Page[DeadLetter]):
    """A page of dead letters."""


class SourceRefusal(BaseModel):
    """Records that a source could not use, by their source and topic."""

    records: int = Field(description="Number over the last day.")
    at: datetime = Field(description="The newest.")
    where: str
    reason: str = Field(description="Reason of the newest one.")


class SourceArrivals(BaseModel):
    """A source and its arrivals."""

    key: str
    title: str
    about: str
    commands: list[str] = Field(description="Command with {site}, {host} and {fabric} to fill in.")
    needs: list[str]
    scope: str | None = Field(description="Scope of the token that a sender needs at this API; null: none.")
    records: int = Field(description="Number since counting began.")
    recent: int = Field(description="Number in the last `recent_s`.")
    last_at: datetime | None = Field(description="Null: nothing yet.")
    refused: list[SourceRefusal]


class MachineReport(BaseModel):
    """A machine, and the number of its switches that currently have counters."""

    fabric: str
    simulated: bool
    devices: int
    reporting: int = Field(description="Number with counters in the last ten minutes.")


class Arrivals(BaseModel):
    """Arrivals by source."""

    now: datetime
    recent_s: int
    sources: list[SourceArrivals]
    simulated: int = Field(
        description="Records of the cluster twin in the last `recent_s`; they are not counted for any source."
    )
    unknown: int = Field(description="Other records in the last `recent_s` without a source.")
    machines: list[MachineReport]
