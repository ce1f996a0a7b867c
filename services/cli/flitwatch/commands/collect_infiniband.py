"""`flitwatch collect infiniband`: a subnet's topology and counters, from one host."""

from __future__ import annotations

import time
from contextlib import ExitStack
from typing import TYPE_CHECKING

import click

from flitwatch.commands.following import finish, keep_topology, publishing, say, session
from flitwatch.console import FiniteRange, emit

if TYPE_CHECKING:
    from flitwatch_domain.fabric import Fabric


@click.command("infiniband")
@click.option("--fabric", "name", default="infiniband", show_default=True, help="The fabric's name in the database.")
@click.option("--cluster", help="The scheduler's cluster whose nodes it joins, as `flitwatch import fabric --cluster`.")
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
@click.option(
    "--discover-every",
    "discovery_s",
    type=FiniteRange(1),
    default=300.0,
    show_default=True,
    help="Seconds between looks at the topology.",
)
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
    log_url: str | None,
    db_url: str | None,
    once: bool,
    interval_s: float | None,
    as_json: bool,
) -> None:
    """Read topology and port counters of the subnet that this host is on, with infiniband-diags: by ibnetdiscover, and in this process by libibumad.

    Where libibumad cannot be loaded or opens no port, perfquery asks, which takes a process a question and longer; the answer says which did.
    Data and packets are 64-bit counters. The time that a port waits to send is a 32-bit counter on most devices: where it is saturated it counts no more,
    which is said, and has no records until it is cleared. The topology goes into the database; with --log alone, import it with `flitwatch import fabric`.
    """
    from flitwatch_ingest.collectors.infiniband import InfinibandCollector, Tools, slow_of, warnings_of
    from flitwatch_ops import platform

    with ExitStack() as stack:
        url = None if log_url and not db_url else stack.enter_context(platform.database(db_url))
        log_at = log_url or platform.log_url(str(url))
        publisher, _, stop = stack.enter_context(session("infiniband", name, log_at, None, None))
        collector = InfinibandCollector(Tools(ca, ca_port), publisher, name, adapters, clear, parallel, lanes)

        def keep(fabric: Fabric) -> None:
            keep_topology(fabric, cluster, url)

        if not once:
            collector.run(stop, interval_s or 10.0, discovery_s, say, keep)
            finish(publisher, as_json)
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
            as_json,
        )
