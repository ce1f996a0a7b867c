"""`flitwatch sim packet`: packets, credits and adaptive routing on a dragonfly, a tree or a torus."""

from __future__ import annotations

from typing import Any

import click

from flitwatch.console import LOCAL, json_option, make_progress, print_result


@click.command()
@click.option(
    "--topology",
    type=LOCAL,
    required=True,
    metavar="SPEC",
    help="theta, edison, quartz1, xgft:h;m;w[;p], slingshot, dragonfly:G,R,C, torus:20,20,20 or file:PATH.",
)
@click.option(
    "--routing",
    type=LOCAL,
    required=True,
    help="minimal, valiant, adaptive0 .. adaptive3 (dragonfly); ftree, hw-adaptive, spray (any way up for each packet), "
    "lft:FILE (tree); dor, valiant (torus); dor, lft:FILE (HyperX).",
)
@click.option(
    "--traffic",
    type=LOCAL,
    metavar="PATTERN|FILE",
    help="A pattern, or a file: CSV src,dst,bytes; a message DAG (ours, or GOAL text); a folder of DUMPI text; an OTF2 archive; "
    "a measured matrix `a , b = bytes`.",
)
@click.option(
    "--bytes",
    "bytes_",
    type=int,
    metavar="N",
    help="Mean bytes that each node sends. Files other than matrices have their own sizes.",
)
@click.option("--packet-bytes", default=2048, type=int, help="Payload of a packet in bytes.")
@click.option("--ranks", type=click.IntRange(2), help="Number of ranks in the pattern (default: all endpoints).")
@click.option(
    "--placement",
    default="contiguous",
    help="contiguous, random-node, random-router, random-chassis, random-cabinet, random-group, random-rank or cyclic.",
)
@click.option("--message-scale", default=1.0, help="Factor that multiplies all message sizes.")
@click.option("--background", default="none", help="none, uniform[:GIB_PER_S] or bursty[:GIB_PER_S] per node.")
@click.option(
    "--jobs",
    type=LOCAL,
    metavar="F",
    help="CSV pattern,ranks,bytes,placement[,class]: several jobs instead of --traffic's one.",
)
@click.option(
    "--seed",
    default=1,
    type=click.IntRange(0, 2**63 - 1),
    help="Seed of traffic, placement and routing.",
)
@click.option(
    "--replicas",
    default=1,
    type=click.IntRange(1, 1024),
    help="Number of runs, with seeds SEED, SEED + 1, and so on. One run per core is active at a time.",
)
@click.option(
    "--threads",
    type=click.IntRange(1, 4),
    help="Split each run across this many threads. The result does not depend on the number, but differs slightly from that of "
    "an undivided run (the default).",
)
@click.option(
    "--nic-protocol",
    is_flag=True,
    help="Simulate requests, responses and a window of 1024, like an Aries NIC. Use 64-byte packets.",
)
@click.option(
    "--virtual-lanes",
    default=1,
    type=click.IntRange(1, 15),
    help="Number of virtual lanes of a tree. A pair of endpoints always uses the same lane.",
)
@click.option(
    "--engine",
    type=click.Choice(["eager", "oracle-oldest", "oracle-round-robin"]),
    default="eager",
    help="Engine. The oracles are slow, event-driven engines that check the fast one.",
)
@click.option(
    "--congestion-control",
    type=click.Choice(["none", "pairs", "dcqcn"]),
    default="none",
    help="pairs: Slingshot's back-pressure on pairs that send to a congested node; dcqcn: RoCE's, with ECN marks and a lossless fabric.",
)
@click.option(
    "--traffic-class",
    "traffic_classes",
    multiple=True,
    metavar="NAME:min=S[,max=S][,priority=N]",
    help="Traffic class with its own buffers and a share of every link between min and max. The highest priority is served first (repeatable).",
)
@click.option("--job-class", metavar="NAME", help="Traffic class of --traffic.")
@click.option("--background-class", metavar="NAME", help="Traffic class of the background.")
@click.option(
    "--links-csv",
    metavar="PATH",
    help="Output file for the links' counters (default: a new temporary file).",
)
@click.option(
    "--vendor-csv",
    metavar="PATH",
    help="Also write the counters under the vendor's names: component,counter,value.",
)
@json_option
def packet(as_json: bool, bytes_: int | None, replicas: int, **parameters: Any) -> None:
    """Simulate packets with credits and adaptive routing. The counters of every link are written to a CSV file."""
    from flitwatch_research.packet.run import run_replicas
    from flitwatch_research.packet.workload import PacketRun

    if parameters["jobs"] is None and parameters["traffic"] is None:
        raise click.UsageError("give --traffic and --bytes, or --jobs")

    request = PacketRun(bytes=bytes_, **parameters)
    with make_progress("simulating") as bar:
        task = bar.add_task("", total=None)

        def report(done: int, total: int, _: str) -> None:
            bar.update(task, completed=done, total=total or None)

        result = run_replicas(request, replicas, report)
    print_result(result, as_json)
