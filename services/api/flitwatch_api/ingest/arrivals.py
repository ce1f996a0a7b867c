"""Arrivals by source: the list of sources, the writer's counts and the refused records as one answer."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime

from fastapi import Request

from flitwatch_api.answers import build_model
from flitwatch_api.ingest import schemas, shown
from flitwatch_db.core.columns import Connection
from flitwatch_db.ingest import arrivals as stored
from flitwatch_db.ingest.arrivals import Arrival, DoorRefusal, MachineReport
from flitwatch_domain.doors import DOORS, TWIN, Door, door_of, kind_of

#: Topologies are read from files into the database, past the log.
_FILES = "files"


async def arrivals_of(request: Request, conn: Connection, now: datetime) -> schemas.Arrivals:
    """Sources with what came through each, and machines with what reports.

    Parameters
    ----------
    request : Request    whose caller reads reasons cut of their values unless they may see names
    now : datetime       the end of "the last minutes"
    """
    came = await stored.list_arrivals(conn, now)
    refused = await stored.list_refusals(conn, now)
    machines = await stored.list_machine_reports(conn, now)
    return build_model(
        schemas.Arrivals,
        now=now,
        recent_s=stored.RECENT_S,
        doors=[_door_arrivals(request, door, came, refused, machines, now) for door in DOORS],
        simulated=sum(item.recent for item in came if item.source == TWIN),
        unknown=sum(item.recent for item in came if item.source != TWIN and door_of(item.source, item.topic) is None),
        machines=[
            schemas.MachineReport(
                fabric=item.fabric, simulated=item.simulated, devices=item.devices, reporting=item.reporting
            )
            for item in machines
        ],
    )


def _door_arrivals(
    request: Request,
    door: Door,
    came: list[Arrival],
    refused: list[DoorRefusal],
    machines: list[MachineReport],
    now: datetime,
) -> schemas.DoorArrivals:
    mine = [item for item in came if door_of(item.source, item.topic) == door.key]
    imported = [item.imported_at for item in machines if not item.simulated] if door.key == _FILES else []
    fresh = sum((now - at).total_seconds() < stored.RECENT_S for at in imported)
    letters = [item._asdict() for item in refused if door_of(kind_of(item.source), item.topic) == door.key]
    fields = asdict(door)
    return build_model(
        schemas.DoorArrivals,
        {name: fields[name] for name in ("key", "title", "about", "commands", "needs", "scope")},
        records=sum(item.records for item in mine) + len(imported),
        recent=sum(item.recent for item in mine) + fresh,
        last_at=max([*(item.last_at for item in mine), *imported], default=None),
        refused=[build_model(schemas.DoorRefusal, row) for row in shown.mask_reasons(request, letters)],
    )
