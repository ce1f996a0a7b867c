"""`flitwatch collect infiniband`: a subnet's topology and counters, read from one host."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import click

from flitwatch.commands.following import (
    CollectorOptions,
    add_collector_options,
    cluster_option,
    discovery_option,
    fabric_option,
    keep_topology,
    print_message,
    report_published,
    topology_session,
)
from flitwatch.console import print_result

if TYPE_CHECKING:
    from flitwatch_domain.fabric import Fabric


@click.command("infiniband")
@fabric_option("infiniband")
@cluster_option
@click.option("--adapters", is_flag=True, help="Also read the counters of adapters, not only those of switches.")
@click.option(
    "--clear-saturated",
    "clear",
    is_flag=True,
    help="Clear the 32-bit counters of a port if one is saturated. Other tools that read them see the reset too.",
)
@click.option(
    "--lanes",
    is_flag=True,
    help="Also read data by service level and waits by virtual lane, from devices that count them. This takes two more queries per port.",
)
@click.option(
    "--parallel",
    type=click.IntRange(1, 256),
    default=8,
    help="Number of devices to ask at the same time. perfquery asks fewer if some do not answer.",
)
@click.option("--ca", default="", show_default=False, help="Adapter of this host to use (default: the first).")
@click.option("--ca-port", type=click.IntRange(0, 255), default=0, show_default=False, help="Port of the adapter.")
@discovery_option
@add_collector_options
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
    """Read topology and port counters of this host's subnet, with ibnetdiscover and libibumad. If libibumad cannot be loaded or opens no port, the
    slower perfquery is used. The report shows which of them was used.
    Data and packets have 64-bit counters. The time that a port waits to send has a 32-bit counter on most devices. When it is saturated, it stops
    counting; this is reported, and no values are published until it is cleared. The topology is written to the database. With only --log, import it
    with `flitwatch import fabric`.
    """
    from flitwatch_ingest.collectors.infiniband import InfinibandCollector, Tools, slow_of, warnings_of

    with topology_session("infiniband", name, common) as (publisher, _, stop, database):
        collector = InfinibandCollector(Tools(ca, ca_port), publisher, name, adapters, clear, parallel, lanes)

        def keep(fabric: Fabric) -> None:
            keep_topology(fabric, cluster, database)

        if not common.once:
            collector.run(stop, common.interval_s or 10.0, discovery_s, print_message, keep)
            report_published(publisher, common.as_json)
            return
        begun = time.monotonic()
        fabric = collector.discover()
        keep(fabric)
        reading = collector.read(fabric)
        for text in ([slow_of(reading)] if reading.slow else []) + warnings_of(reading):
            print_message(text)
        print_result(
            {
                "fabric": name,
                "switches": len(fabric.routers),
                "endpoints": len(fabric.endpoints),
                "devices": reading.devices,
                "ports": reading.ports,
                "counters": reading.counters,
                "lanes": reading.lanes,
                "saturated": dict(reading.saturated),
                "failed": {why: len(names) for why, names in reading.failed.items()},
                "unanswered": sorted({name for names in reading.failed.values() for name in names}),
                "asked_by": reading.asked_by,
                "seconds": round(time.monotonic() - begun, 3),
            },
            common.as_json,
        )
