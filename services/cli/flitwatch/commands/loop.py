"""`flitwatch loop`: from counters to routes and round again."""

from __future__ import annotations

from pathlib import Path

import click

from flitwatch.console import LOCAL, TIME_LIMIT_S, FiniteRange, OutPath, emit, json_option, stderr


@click.group()
def loop() -> None:
    """Run the closed loop from counters to routes."""


@loop.command()
@click.option("--topology", type=LOCAL, default="quartz1", show_default=True, help="quartz1 | xgft:h;m;w | file:PATH")
@click.option(
    "--pattern",
    type=LOCAL,
    required=True,
    help="A pattern's name, a CSV src,dst,bytes, or a measured matrix (lines a , b = bytes).",
)
@click.option("--seed", type=click.IntRange(0, 2**63 - 1), default=1, show_default=True, help="Seed of what is drawn.")
@click.option(
    "--sl", "sls", type=click.IntRange(1, 16), default=5, show_default=True, help="Service levels of the routes."
)
@click.option(
    "--vl", "vls", type=click.IntRange(1, 15), default=5, show_default=True, help="Virtual lanes of the routes."
)
@click.option(
    "--epochs",
    type=click.IntRange(1, 64),
    default=1,
    show_default=True,
    help="Spans of time that are reconstructed one by one.",
)
@click.option(
    "--megabytes",
    type=FiniteRange(0.001, 1000),
    default=10.0,
    show_default=True,
    help="What the busiest node sends.",
)
@click.option(
    "--basis",
    type=click.Choice(["od", "auto", "i", "s", "cd", "scd", "cs", "scs"]),
    default="od",
    show_default=True,
    help="auto: the one that predicts held-out counters best.",
)
@click.option(
    "--iterations",
    type=click.IntRange(1, 1000),
    default=5,
    show_default=True,
    help="Of traffic whose order of messages is unknown.",
)
@click.option(
    "--slots",
    type=click.IntRange(1, 64),
    default=1,
    show_default=True,
    help="Read counters in so many parts of the jobs' progress, whole messages each: routes then suit every part.",
)
@click.option(
    "--time-limit",
    "optimise_s",
    type=TIME_LIMIT_S,
    default=30.0,
    show_default=True,
    help="Seconds for the optimiser.",
)
@click.option(
    "--reconstruct-limit",
    "reconstruct_s",
    type=TIME_LIMIT_S,
    default=900.0,
    show_default=True,
    help="Seconds for the reconstruction, of all slots.",
)
@click.option(
    "--mtu",
    type=click.FloatRange(1, 65_536),
    help="Count MTU/2 x packets + bytes/2 instead of bytes, so that many small messages count beside few large ones.",
)
@click.option("--out", type=OutPath(), help="Write the new tables here.")
@json_option
def run(
    topology: str,
    pattern: str,
    seed: int,
    sls: int,
    vls: int,
    epochs: int,
    megabytes: float,
    basis: str,
    iterations: int,
    slots: int,
    optimise_s: float,
    reconstruct_s: float,
    mtu: float | None,
    out: Path | None,
    as_json: bool,
) -> None:
    """Simulate ftree and adaptive routing, reconstruct the traffic blindly from counters, optimise, and simulate the new routes."""
    from flitwatch_domain.topology_spec import fabric_of
    from flitwatch_routing import lft
    from flitwatch_simulation.loop import LoopRun
    from flitwatch_simulation.loop import run as turn

    with stderr.status("starting") as status:

        def report(done: int, stages: int, what: str) -> None:
            status.update(f"{done + 1} of {stages}: {what}")

        parameters = LoopRun(
            pattern, topology, seed, sls, vls, epochs, megabytes, basis=basis, iterations=iterations, optimise_s=optimise_s,
            reconstruct_s=max(reconstruct_s, 1.0), slots=slots, mtu=mtu,
        )  # fmt: skip
        result, ports = turn(parameters, report)
    if out is not None:
        lft.write(out, fabric_of(topology), ports)
    emit({**result, "lft": None if out is None else str(out)}, as_json)
