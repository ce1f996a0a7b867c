"""What has arrived by door: the doors' list, the writer's counts and the refused records as one answer."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime

from fastapi import Request

from flitwatch_api.answers import shape
from flitwatch_api.ingest import schemas, shown
from flitwatch_db.core.columns import Connection
from flitwatch_db.ingest import arrivals as stored
from flitwatch_db.ingest.arrivals import Arrival, DoorRefusal, MachineReport
from flitwatch_domain.doors import DOORS, TWIN, Door, door_of, kind_of

#: Topologies are read from files into the database, past the log.
_FILES = "files"


async def arrivals_of(request: Request, conn: Connection, now: datetime) -> schemas.Arrivals:
    """Doors with what came through each, and machines with what reports.

    Parameters
    ----------
    request : Request    whose caller reads reasons cut of their values unless they may see names
    now : datetime       the end of "the last minutes"
    """
    came = await stored.arrived(conn, now)
    refused = await stored.refused(conn, now)
    machines = await stored.reporting(conn, now)
    return shape(
        schemas.Arrivals,
        now=now,
        recent_s=stored.RECENT_S,
        doors=[_through(request, door, came, refused, machines, now) for door in DOORS],
        simulated=sum(one.recent for one in came if one.source == TWIN),
        unknown=sum(one.recent for one in came if one.source != TWIN and door_of(one.source, one.topic) is None),
        machines=[
            schemas.MachineReport(
                fabric=one.fabric, simulated=one.simulated, devices=one.devices, reporting=one.reporting
            )
            for one in machines
        ],
    )


def _through(
    request: Request,
    door: Door,
    came: list[Arrival],
    refused: list[DoorRefusal],
    machines: list[MachineReport],
    now: datetime,
) -> schemas.DoorArrivals:
    mine = [one for one in came if door_of(one.source, one.topic) == door.key]
    imported = [one.imported_at for one in machines if not one.simulated] if door.key == _FILES else []
    fresh = sum((now - at).total_seconds() < stored.RECENT_S for at in imported)
    letters = [one._asdict() for one in refused if door_of(kind_of(one.source), one.topic) == door.key]
    fields = asdict(door)
    return shape(
        schemas.DoorArrivals,
        {name: fields[name] for name in ("key", "title", "about", "commands", "needs", "scope")},
        records=sum(one.records for one in mine) + len(imported),
        recent=sum(one.recent for one in mine) + fresh,
        last_at=max([*(one.last_at for one in mine), *imported], default=None),
        refused=[shape(schemas.DoorRefusal, row) for row in shown.readable(request, letters)],
    )
