"""Arrivals by source: the list of sources, the writer's counts and the refused records in one response."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from datetime import UTC, datetime

from fastapi import Request

from flitwatch_api.answers import build_model
from flitwatch_api.ingest import schemas
from flitwatch_api.names import hides_jobs_from, sees_names
from flitwatch_api.problems import CUT, redact_record
from flitwatch_db.core.columns import Connection
from flitwatch_db.ingest import arrivals as stored
from flitwatch_db.ingest.arrivals import Arrival, MachineReport, SourceRefusal
from flitwatch_db.ingest.reads import Row
from flitwatch_domain.data_sources import DATA_SOURCES, TWIN, DataSource, data_source_of, kind_of
from flitwatch_stream.topics import JOBS, LDMS_PREFIX, RUNS, SAMPLES

_SOURCES = {JOBS: "Jobs of the scheduler", RUNS: "Steps of runs", SAMPLES: "Packet samples"}
_COUNTERS = {"router": "Router counters", "endpoint": "Network card counters"}


def name_source(topic: str, kind: str | None) -> str:
    """Return a topic's kind of data. `kind` is that of the devices in its schema, if it has one."""
    if topic.startswith(LDMS_PREFIX):
        return _COUNTERS.get(kind or "", "Other counters")
    return _SOURCES.get(topic, topic)


def build_coverage(rows: Iterable[Row], from_s: float, step_s: int, steps: int) -> schemas.IngestCoverage:
    """Sum the rows of `count_by_step` by kind of data, in alphabetical order."""
    sources: dict[str, schemas.SourceCoverage] = {}
    for row in rows:
        name = name_source(row["topic"], row["kind"])
        if name not in sources:
            zeros = [0] * steps
            sources[name] = build_model(
                schemas.SourceCoverage, source=name, topics=[], records=list(zeros), dead=list(zeros)
            )
        source = sources[name]
        if row["topic"] not in source.topics:
            source.topics.append(row["topic"])
        source.records[row["at"]] += row["records"]
        source.dead[row["at"]] += row["dead"]
    starts = [datetime.fromtimestamp(from_s + at * step_s, UTC) for at in range(steps)]
    return build_model(
        schemas.IngestCoverage, ts=starts, step_s=step_s, sources=[sources[name] for name in sorted(sources)]
    )


def mask_dead_letters(request: Request, rows: list[Row]) -> list[schemas.DeadLetter]:
    """Return refused records as shown to the caller. Full reasons are recorded in the audit log."""
    return [build_model(schemas.DeadLetter, row) for row in mask_reasons(request, rows)]


def mask_topics(request: Request, rows: list[schemas.Topic]) -> list[schemas.Topic]:
    """Return topics as shown to the caller. The reason why counters have no fabric names hosts, which can belong to a job."""
    reason_rows = [{"reason": topic.unplaced_because, "where": ""} for topic in rows]
    texts = [row["reason"] for row in mask_reasons(request, [row for row in reason_rows if row["reason"] is not None])]
    return [
        topic if topic.unplaced_because is None else topic.model_copy(update={"unplaced_because": texts.pop(0)})
        for topic in rows
    ]


def mask_reasons(request: Request, rows: list[Row]) -> list[Row]:
    """Return rows with `reason`, `where` and possibly `source` as shown to the caller. Full reasons are recorded in the audit log."""
    cut = [redact_record(row) for row in rows]
    if hides_jobs_from(request):
        # Reasons quote refused values, and places can be jobs.
        return [{**row, "reason": CUT, "where": ""} for row in cut]
    if not sees_names(request):
        return cut
    request.state.saw_names = any(row["reason"] != shown["reason"] for row, shown in zip(rows, cut, strict=True))
    return rows


#: Topologies are imported from files into the database, without the log.
_FILES = "files"


async def arrivals_of(request: Request, conn: Connection, now: datetime) -> schemas.Arrivals:
    """Return the sources with their arrivals, and the machines with their reporting devices.

    Parameters
    ----------
    request : Request    of the caller, who sees reasons without values unless they may see names
    now : datetime       end of "the last minutes"
    """
    came = await stored.list_arrivals(conn, now)
    refused = await stored.list_refusals(conn, now)
    machines = await stored.list_machine_reports(conn, now)
    return build_model(
        schemas.Arrivals,
        now=now,
        recent_s=stored.RECENT_S,
        sources=[_list_arrivals(request, source, came, refused, machines, now) for source in DATA_SOURCES],
        simulated=sum(item.recent for item in came if item.source == TWIN),
        unknown=sum(
            item.recent for item in came if item.source != TWIN and data_source_of(item.source, item.topic) is None
        ),
        machines=[
            schemas.MachineReport(
                fabric=item.fabric, simulated=item.simulated, devices=item.devices, reporting=item.reporting
            )
            for item in machines
        ],
    )


def _list_arrivals(
    request: Request,
    source: DataSource,
    came: list[Arrival],
    refused: list[SourceRefusal],
    machines: list[MachineReport],
    now: datetime,
) -> schemas.SourceArrivals:
    mine = [item for item in came if data_source_of(item.source, item.topic) == source.key]
    imported = [item.imported_at for item in machines if not item.simulated] if source.key == _FILES else []
    fresh = sum((now - at).total_seconds() < stored.RECENT_S for at in imported)
    letters = [item._asdict() for item in refused if data_source_of(kind_of(item.source), item.topic) == source.key]
    fields = asdict(source)
    return build_model(
        schemas.SourceArrivals,
        {name: fields[name] for name in ("key", "title", "about", "commands", "needs", "scope")},
        records=sum(item.records for item in mine) + len(imported),
        recent=sum(item.recent for item in mine) + fresh,
        last_at=max([*(item.last_at for item in mine), *imported], default=None),
        refused=[build_model(schemas.SourceRefusal, row) for row in mask_reasons(request, letters)],
    )
