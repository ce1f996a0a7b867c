"""`flitwatch collect infiniband`: a subnet's topology and counters, from one host."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import click

from flitwatch.commands.following import (
    CollectorOptions,
    cluster_option,
    discovery_option,
    fabric_option,
    finish,
    keep_topology,
    publishing,
    say,
    topology_session,
)
from flitwatch.console import emit

if TYPE_CHECKING:
    from flitwatch_domain.fabric import Fabric


@click.command("infiniband")
@fabric_option("infiniband")
@cluster_option
@click.option("--adapters", is_flag=True, help="Ask every adapter too, not only the switches.")
@click.option(
    "--clear-saturated",
    "clear",
    is_flag=True,
    help="Clear the 32-bit counters of ports where one is saturated. Other tools that read them see the reset too.",
)
@click.option(
    "--lanes",
    is_flag=True,
    help="Ask for data by service level and waits by virtual lane too, of devices that count them: two more questions a port.",
)
@click.option(
    "--parallel",
    type=click.IntRange(1, 256),
    default=8,
    show_default=True,
    help="Devices asked at a time; by perfquery, fewer where some do not answer.",
)
@click.option("--ca", default="", help="The adapter of this host that asks (default: the first).")
@click.option("--ca-port", type=click.IntRange(0, 255), default=0, help="Its port.")
@discovery_option
@publishing
def infiniband(
    name: str,
    cluster: str | None,
    adapters: bool,
    clear: bool,
    lanes: bool,
    parallel: int,
    ca: str,
    ca_port: int,
    discovery_s: float,
    common: CollectorOptions,
) -> None:
    """Read topology and port counters of the subnet that this host is on, with infiniband-diags: by ibnetdiscover, and in this process by libibumad.

    Where libibumad cannot be loaded or opens no port, perfquery asks, which takes a process a question and longer; the answer says which did.
    Data and packets are 64-bit counters. The time that a port waits to send is a 32-bit counter on most devices: where it is saturated it counts no more,
    which is said, and has no records until it is cleared. The topology goes into the database; with --log alone, import it with `flitwatch import fabric`.
    """
    from flitwatch_ingest.collectors.infiniband import InfinibandCollector, Tools, slow_of, warnings_of

    with topology_session("infiniband", name, common) as (publisher, _, stop, database):
        collector = InfinibandCollector(Tools(ca, ca_port), publisher, name, adapters, clear, parallel, lanes)

        def keep(fabric: Fabric) -> None:
            keep_topology(fabric, cluster, database)

        if not common.once:
            collector.run(stop, common.interval_s or 10.0, discovery_s, say, keep)
            finish(publisher, common.as_json)
            return
        begun = time.monotonic()
        fabric = collector.discover()
        keep(fabric)
        found = collector.read(fabric)
        for text in ([slow_of(found)] if found.slow else []) + warnings_of(found):
            say(text)
        emit(
            {
                "fabric": name,
                "switches": len(fabric.routers),
                "endpoints": len(fabric.endpoints),
                "devices": found.devices,
                "ports": found.ports,
                "counters": found.counters,
                "lanes": found.lanes,
                "saturated": dict(found.saturated),
                "failed": {why: len(names) for why, names in found.failed.items()},
                "unanswered": sorted({name for names in found.failed.values() for name in names}),
                "asked_by": found.asked_by,
                "seconds": round(time.monotonic() - begun, 3),
            },
            common.as_json,
        )
