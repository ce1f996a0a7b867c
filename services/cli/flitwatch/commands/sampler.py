"""`flitwatch sampler` and `flitwatch-sampler`: packet samples on a receiving host."""

from __future__ import annotations

import csv
import json
import socket
import sys
from pathlib import Path
from typing import TypedDict

import click

from flitwatch.commands.following import Publication, log_options, open_session, print_message
from flitwatch.console import Database, Group, database_options, exit_with_error, json_option, print_result
from flitwatch.metrics import metrics_option

DEFAULT_CONTROL = Path("/run/flitwatch/sampler.sock")


@click.group(cls=Group)
def sampler() -> None:
    """Decode marked packets on a receiving host and publish their link samples."""


@sampler.command()
@click.argument("plan", type=click.Path(path_type=Path))
@click.option("--interface", required=True, help="Interface that receives packets for this host's programs.")
@click.option("--namespace", default="", show_default=False, help="Path of the network namespace of the interface.")
@click.option(
    "--slice",
    "slice_s",
    type=click.IntRange(1, 3600),
    default=10,
    help="Length of a slice in seconds.",
)
@click.option(
    "--control",
    type=click.Path(path_type=Path),
    help=f"Socket to listen on for contexts (usually {DEFAULT_CONTROL}).",
)
@log_options
@click.option("--state", type=click.Path(path_type=Path), help="File that stores the sequence number.")
@json_option
@metrics_option
def run(
    plan: Path,
    interface: str,
    namespace: str,
    slice_s: int,
    control: Path | None,
    log_url: str | None,
    db_url: str | None,
    state: Path | None,
    as_json: bool,
) -> None:
    """Capture packets until stopped, and publish a summary of every slice and context. PLAN is the output of `plan`."""
    from flitwatch_ingest.sampler import Sampler, SamplerPlan

    sampler_plan = SamplerPlan.read(plan)
    about, publication = f"{sampler_plan.fabric}-{sampler_plan.host}", Publication(log_url, db_url, state)
    with open_session("sampler", about, publication) as (publisher, checkpoint, stop):
        daemon = Sampler(
            sampler_plan,
            publisher,
            checkpoint,
            interface=interface,
            network_namespace=namespace,
            slice_s=slice_s,
            control=control,
            say=print_message,
        )
        print_message(f"sampling on {interface} for {sampler_plan.host} of {sampler_plan.fabric}")
        daemon.run(stop)
    print_result({"published": publisher.published, "packets": dict(daemon.packets)}, as_json)


@sampler.command()
@click.argument("job")
@click.option("--phase", help="Current phase of the job.")
@click.option("--ports", multiple=True, help="FIRST-LAST[=TAG]: destination ports of the job's messages (repeatable).")
@click.option("--end", is_flag=True, help="The job has ended.")
@click.option(
    "--control",
    type=click.Path(path_type=Path),
    default=DEFAULT_CONTROL,
    help="Socket on which the sampler listens.",
)
@json_option
def context(job: str, phase: str | None, ports: tuple[str, ...], end: bool, control: Path, as_json: bool) -> None:
    """Tell this host's sampler which JOB is running. Call this from the scheduler's prolog and epilog, or from the application between its phases."""
    message: dict[str, object] = {"job": job}
    if phase is not None:
        message["phase"] = phase
    if ports:
        message["ports"] = [_parse_range(text) for text in ports]
    if end:
        message["end"] = True
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as line:
        try:
            line.sendto(json.dumps(message).encode(), str(control))
        except OSError as problem:
            exit_with_error(f"{control}: {problem.strerror}. Is a sampler running with --control {control}?")
    if as_json:
        print_result({"control": str(control), "sent": message}, True)


@sampler.command()
@click.argument("fabric")
@click.argument("host")
@click.option(
    "--addresses",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    required=True,
    help="CSV node,address of the senders and the host.",
)
@click.option(
    "--variant",
    type=click.Choice(["one-bit", "standard"]),
    default="one-bit",
    help="How the fabric's switches mark packets.",
)
@click.option(
    "--downsampling",
    type=click.IntRange(1),
    default=1,
    help="Senders mark one in this many packets.",
)
@click.option(
    "--detour",
    type=click.IntRange(0),
    default=0,
    help="Extra hops that adaptive routes can take.",
)
@database_options
@json_option
def plan(
    fabric: str,
    host: str,
    addresses: Path,
    variant: str,
    downsampling: int,
    detour: int,
    database: Database,
    as_json: bool,
) -> None:
    """Print the plan of HOST in FABRIC (a name or number in the database) as JSON, with --json on one line."""
    from flitwatch_db.fabrics import store as fabrics
    from flitwatch_ingest.sampler import make_plan

    with database.connect() as conn:
        topology = fabrics.load_fabric(conn, fabric)
    sampler_plan = make_plan(
        topology,
        host,
        _read_addresses(addresses),
        variant=variant,  # type: ignore[arg-type]
        downsampling=downsampling,
        detour=detour,
    )
    sys.stdout.write(sampler_plan.model_dump_json(indent=None if as_json else 1) + "\n")


class _PortRange(TypedDict):
    """Ports of a job's flows, and the tag of its packets."""

    first: int
    last: int
    tag: str | None


def _parse_range(text: str) -> _PortRange:
    span, _, tag = text.partition("=")
    first, _, last = span.partition("-")
    if not (first.isascii() and first.isdigit()) or not ((last or first).isascii() and (last or first).isdigit()):
        raise click.BadParameter(f"write ports as 7000-7003=TAG, not {text!r}")
    return {"first": int(first), "last": int(last or first), "tag": tag or None}


def _read_addresses(path: Path) -> dict[str, str]:
    addresses: dict[str, str] = {}
    with path.open(newline="") as lines:
        for number, row in enumerate(csv.reader(lines), start=1):
            if not row or row[0].startswith("#") or [cell.strip().lower() for cell in row] == ["node", "address"]:
                continue
            if len(row) != 2 or row[0].strip() in addresses:
                exit_with_error(f"{path}:{number}: expected node,address, each node once")
            addresses[row[0].strip()] = row[1].strip()
    return addresses
