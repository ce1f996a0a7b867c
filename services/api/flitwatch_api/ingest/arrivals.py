"""Arrivals by source: the list of sources, the writer's counts and the refused records in one response."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime

from fastapi import Request

from flitwatch_api.answers import build_model
from flitwatch_api.ingest import schemas, shown
from flitwatch_db.core.columns import Connection
from flitwatch_db.ingest import arrivals as stored
from flitwatch_db.ingest.arrivals import Arrival, MachineReport, SourceRefusal
from flitwatch_domain.data_sources import DATA_SOURCES, TWIN, DataSource, data_source_of, kind_of

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
        refused=[build_model(schemas.SourceRefusal, row) for row in shown.mask_reasons(request, letters)],
    )
