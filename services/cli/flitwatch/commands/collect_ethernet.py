"""`flitwatch collect sonic` and `flitwatch collect gnmi`: topology and counters, read from each Ethernet switch."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from flitwatch.commands.following import (
    CollectorOptions,
    add_checkpoint_options,
    ca_file_option,
    cluster_option,
    discovery_option,
    exit_collector,
    fabric_option,
    keep_topology,
    needs_extra,
    print_message,
    report_published,
    topology_session,
)
from flitwatch.console import print_result

if TYPE_CHECKING:
    from flitwatch_domain.fabric import Fabric
    from flitwatch_ingest.collectors.ethernet import Source

#: Default polling interval in seconds.
_INTERVAL_S = 10.0

F = TypeVar("F", bound=Callable[..., Any])


def _add_switch_options(function: F) -> F:
    """Add the options of both commands."""
    for option in (
        fabric_option("ethernet"),
        cluster_option,
        click.option("--user", help="User name for the switches."),
        click.option(
            "--password-file",
            type=click.Path(path_type=Path),
            help="File with the password in one line, readable only by its owner.",
        ),
        ca_file_option,
        click.option(
            "--parallel",
            type=click.IntRange(1, 256),
            default=16,
            help="Number of switches to ask at the same time.",
        ),
        discovery_option,
    ):
        function = option(function)
    return add_checkpoint_options(function)


@click.command("sonic")
@click.argument("places", nargs=-1, required=True)
@_add_switch_options
def sonic(
    places: tuple[str, ...], user: str | None, password_file: Path | None, ca_file: Path | None, **options: Any
) -> None:
    """Read topology and counters of switches that run SONiC, from their Redis or from dumps. PLACES are redis://HOST:PORT (rediss:// with TLS),
    unix:PATH of a socket, or one file or folder per switch with the output of `sonic-db-dump -n NAME -y` for COUNTERS_DB, APPL_DB and CONFIG_DB. If
    a dump does not name its switch, the name of the file or folder is used. The time in which PFC paused a priority is the port's stall. The
    topology, from LLDP, is written to the database. With only --log, import it with `flitwatch import fabric`.
    """

    def sources() -> list[Source]:
        from flitwatch_ingest.collectors.ethernet import password_of
        from flitwatch_ingest.collectors.sonic import source_of

        password = password_of(password_file) if password_file else None
        return [source_of(place, user, password, ca_file) for place in places]

    _run_collector("sonic", sources, places[0], **options)


@click.command("gnmi")
@click.argument("targets", nargs=-1, required=True)
@click.option(
    "--insecure-network",
    "plain",
    is_flag=True,
    help="Connect without TLS. A password is then sent only to this machine.",
)
@click.option(
    "--encoding",
    type=click.Choice(["json_ietf", "json", "proto"]),
    default="json_ietf",
    help="Encoding of the values. Not every switch supports each encoding.",
)
@click.option(
    "--trees",
    type=click.Choice(["openconfig", "sonic"]),
    default="openconfig",
    help="Trees to read: OpenConfig's, or the databases of SONiC's telemetry server, which have PFC's pause times.",
)
@click.option("--stream", is_flag=True, help="Let the switches send every --interval seconds, instead of polling them.")
@_add_switch_options
def gnmi(
    targets: tuple[str, ...],
    plain: bool,
    encoding: str,
    trees: str,
    stream: bool,
    user: str | None,
    password_file: Path | None,
    ca_file: Path | None,
    **options: Any,
) -> None:
    """Read topology and counters of switches with gNMI. TARGETS are HOST:PORT. OpenConfig counts pause frames but not their duration: stalls are
    unknown, and the frames are stored unchanged. For switches that run SONiC, --trees sonic reads the time in which PFC paused a priority, which is
    the port's stall. The topology, from LLDP, is written to the database. With only --log, import it with `flitwatch import fabric`. With --stream,
    a switch sends its counters (SAMPLE) and reports changes of its neighbours (ON_CHANGE). A broken stream is reopened.
    """
    from flitwatch_domain.errors import BadRequest

    if stream and options["common"].once:
        raise BadRequest("a stream has no end", advice="Leave out --stream or --once.")
    every_s = options["common"].interval_s or _INTERVAL_S

    def sources() -> list[Source]:
        from flitwatch_ingest.collectors.ethernet import password_of
        from flitwatch_ingest.collectors.gnmi import TREES, GnmiSwitch, check_ca_file
        from flitwatch_ingest.collectors.gnmi_stream import GnmiStream

        password = password_of(password_file) if password_file else None
        ca = check_ca_file(ca_file)
        switches = [GnmiSwitch(target, user, password, ca, plain, encoding, TREES[trees]()) for target in targets]
        return [GnmiStream(switch, every_s) for switch in switches] if stream else list(switches)

    _run_collector("gnmi", sources, targets[0], **options)


def _run_collector(
    protocol: str,
    sources: Callable[[], list[Source]],
    about: str,
    *,
    name: str,
    cluster: str | None,
    parallel: int,
    discovery_s: float,
    common: CollectorOptions,
) -> None:
    from flitwatch_domain.errors import BadInput, Unavailable

    with needs_extra("ethernet"):
        from flitwatch_ingest.collectors.ethernet import EthernetCollector, Round, warnings_of

        switches = sources()
    opened = topology_session(protocol, f"{name} {about}", common, patience_s=60.0 if common.once else None)
    with opened as (publisher, checkpoint, stop, database), ExitStack() as stack:
        for source in switches:
            stack.callback(source.close)
        collector = EthernetCollector(switches, publisher, protocol, name, checkpoint, parallel)

        def keep(fabric: Fabric) -> None:
            keep_topology(fabric, cluster, database)

        if not common.once:
            collector.run(stop, common.interval_s or _INTERVAL_S, discovery_s, print_message, keep)
            report_published(publisher, common.as_json)
            return
        begun, reading = time.monotonic(), Round()
        fabric: Fabric | None = None
        unwired: BadInput | Unavailable | None = None
        try:
            fabric = collector.discover(reading)
            keep(fabric)
        except (BadInput, Unavailable) as problem:
            unwired = problem
        collector.read(reading)
        if not reading.records:
            raise reading.error or unwired or BadInput("no switch counted anything", where=about)
        for text in warnings_of(reading):
            print_message(text)
        print_result(
            {
                "fabric": name if fabric else None,
                "switches": len(fabric.routers) if fabric else 0,
                "endpoints": len(fabric.endpoints) if fabric else 0,
                "read": reading.switches,
                "ports": reading.ports,
                "counters": reading.tally.placed,
                "kept": reading.tally.kept,
                "unused": reading.tally.unused,
                "unknown": dict(reading.tally.unknown),
                "bad": reading.bad,
                "failed": {why: len(at) for why, at in reading.failed.items()},
                "published": publisher.published,
                "rejected": publisher.rejected,
                "seconds": round(time.monotonic() - begun, 3),
            },
            common.as_json,
        )
        if unwired is not None:
            raise unwired
        exit_collector(reading.bad + len(reading.tally.unknown), common)
