"""`flitwatch routes`: static routes of fat trees, optimised, checked and exchanged with a subnet manager."""

from __future__ import annotations

import math
from pathlib import Path

import click

from flitwatch.console import TIME_LIMIT_S, OutPath, emit, json_option, stderr, stop_on_interrupt


@click.group()
def routes() -> None:
    """Optimise, check and exchange static routes."""


_TOPOLOGY = "quartz1 | xgft:h;m;w | file:PATH (an ibnetdiscover file)"


@routes.command()
@click.option("--topology", required=True, help=_TOPOLOGY)
@click.option("--traffic", "name", required=True, help="A pattern's name, or a CSV src,dst,bytes (endpoints from 0).")
@click.option("--seed", type=click.IntRange(0, 2**63 - 1), default=1, show_default=True)
@click.option("--time-limit", "limit_s", type=TIME_LIMIT_S, default=60.0, show_default=True, help="Seconds.")
@click.option("--out", type=OutPath(), help="Write the tables here, as OpenSM's file engine reads them.")
@json_option
def optimise(topology: str, name: str, seed: int, limit_s: float, out: Path | None, as_json: bool) -> None:
    """Find tables whose busiest link between switches carries as little as possible; stop with Ctrl-C for the best so far."""
    from flitwatch_routing import lft
    from flitwatch_routing.optimise import optimise as find
    from flitwatch_routing.patterns import traffic
    from flitwatch_simulation.packet.machine import fabric_of

    fabric = fabric_of(topology)
    demand = traffic(name, len(fabric.endpoints.router), seed)
    with stop_on_interrupt() as stopped, stderr.status("laying routes") as status:

        def watch(seconds: float, largest: float, moves: int) -> bool:
            found = f"busiest link {largest:.6g} bytes" if math.isfinite(largest) else "no way around failed cables yet"
            status.update(f"{seconds:.0f} of {limit_s:.0f} s: {found} after {moves:,} moves")
            return not stopped()

        found = find(fabric, demand, limit_s, seed, watch)
    if out is not None:
        lft.write(out, fabric, found.ports)
    emit(
        {
            "z": found.z, "z_ar": found.z_ar, "z_ar_exact": found.z_ar_exact, "ar_gap": found.ar_gap, "bound_gap": found.bound_gap,
            "proven": found.proven, "wall_s": found.wall_s, "worst_links": found.worst_links,
            "ftree_gap": found.ftree / found.z_ar - 1 if found.z_ar else None,
            "random_gap": found.random / found.z_ar - 1 if found.z_ar else None, "moves": found.moves, "lft": None if out is None else str(out),
            **({} if found.z else {"note": "no traffic crosses from switch to switch: all routes are as good"}),
        },
        as_json,
    )  # fmt: skip


@routes.command()
@click.argument("lfts", type=click.Path(path_type=Path))
@click.option("--topology", required=True, help=_TOPOLOGY)
@click.option("--traffic", "name", help="Also weigh this traffic.")
@click.option("--seed", type=click.IntRange(0, 2**63 - 1), default=1, show_default=True)
@json_option
def check(lfts: Path, topology: str, name: str | None, seed: int, as_json: bool) -> None:
    """Follow the tables of a dump: loops, holes, and the busiest link under a traffic matrix.

    Status 1 where they are not valid. What the dump does not tell is null: whether they are valid where it is unclear which endpoint some entries are
    for, and loads where traffic gets lost.
    """
    from flitwatch_routing import lft
    from flitwatch_routing.bounds import bounds, gap
    from flitwatch_routing.forwarding import check as follow
    from flitwatch_routing.patterns import traffic
    from flitwatch_simulation.packet.machine import fabric_of

    fabric = fabric_of(topology)
    demand = None if name is None else traffic(name, len(fabric.endpoints.router), seed)
    dump = lft.read_dump(lfts, fabric)
    found = follow(fabric, dump.ports, demand, dump.unknown)
    unknown = int(dump.unknown.sum())
    valid = None if found.valid and unknown else found.valid
    largest = bound = None
    if demand is not None and not found.lost and not demand[2][dump.unknown[demand[1]]].any():
        largest = float(found.load[fabric.router_links()].max(initial=0))
        with stderr.status("bounding the busiest link"):
            bound = bounds(fabric, demand, packing=False)
    emit(
        {
            "valid": valid, "loops": found.loops, "holes": found.holes, "unknown_endpoints": unknown, "where": list(found.where),
            "max_load": largest, "ar_gap": None if largest is None or bound is None else gap(largest, bound.z_ar),
            **({} if bound is None else {"z_ar": bound.z_ar, "z_ar_exact": bound.exact}),
        },
        as_json,
    )  # fmt: skip
    if not valid:
        raise click.exceptions.Exit(1)
