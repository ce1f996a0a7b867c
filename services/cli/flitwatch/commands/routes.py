"""`flitwatch routes`: static routes of fat trees, optimised, checked and exchanged with a subnet manager."""

from __future__ import annotations

from pathlib import Path

import click

from flitwatch.console import emit, fail, json_option, stderr


@click.group()
def routes() -> None:
    """Optimise, check and exchange static routes."""


def _fabric(spec: str):  # type: ignore[no-untyped-def]
    from flitwatch_simulation.topologies import parse

    fabric = parse(spec).fabric
    if fabric is None:
        fail(f"{spec} names no machine with switches and ports; use quartz1 or file:PATH", code=2)
    return fabric


@routes.command()
@click.option("--topology", required=True, help="quartz1 | file:PATH (an ibnetdiscover file)")
@click.option("--traffic", "name", required=True, help="A pattern's name, or a CSV src,dst,bytes (endpoints from 0).")
@click.option("--seed", type=click.IntRange(0, 2**63 - 1), default=1, show_default=True)
@click.option("--time-limit", "limit_s", type=click.FloatRange(0, 86400), default=60.0, show_default=True)
@click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write the tables here, as OpenSM's file engine reads them.",
)
@json_option
def optimise(topology: str, name: str, seed: int, limit_s: float, out: Path | None, as_json: bool) -> None:
    """Find tables whose busiest link between switches carries as little as possible; stop with Ctrl-C for the best so far."""
    from flitwatch_routing import lft
    from flitwatch_routing.optimise import optimise as find
    from flitwatch_routing.patterns import traffic

    fabric = _fabric(topology)
    demand = traffic(name, len(fabric.endpoints.router), seed)
    with stderr.status("laying routes") as status:

        def watch(seconds: float, largest: float, moves: int) -> bool:
            status.update(f"{seconds:.0f} of {limit_s:.0f} s: busiest link {largest:.6g} bytes after {moves:,} moves")
            return True

        found = find(fabric, demand, limit_s, seed, watch)
    if out is not None:
        lft.write(out, fabric, found.ports)
    emit(
        {
            "z": found.z, "z_ar": found.z_ar, "ar_gap": found.ar_gap, "bound_gap": found.bound_gap, "proven": found.proven, "wall_s": found.wall_s,
            "worst_links": found.worst_links, "ftree_gap": found.ftree / found.z_ar - 1 if found.z_ar else None,
            "random_gap": found.random / found.z_ar - 1 if found.z_ar else None, "moves": found.moves, "lft": None if out is None else str(out),
        },
        as_json,
    )  # fmt: skip


@routes.command()
@click.argument("lfts", type=click.Path(path_type=Path))
@click.option("--topology", required=True, help="quartz1 | file:PATH")
@click.option("--traffic", "name", help="Also weigh this traffic.")
@click.option("--seed", type=click.IntRange(0, 2**63 - 1), default=1, show_default=True)
@json_option
def check(lfts: Path, topology: str, name: str | None, seed: int, as_json: bool) -> None:
    """Follow the tables of a dump: loops, holes, and the busiest link under a traffic matrix."""
    from flitwatch_routing import lft
    from flitwatch_routing.bounds import adaptive_bound
    from flitwatch_routing.forwarding import check as follow
    from flitwatch_routing.patterns import traffic

    fabric = _fabric(topology)
    demand = None if name is None else traffic(name, len(fabric.endpoints.router), seed)
    found = follow(fabric, lft.read(lfts, fabric), demand)
    largest = float(found.load[fabric.router_links()].max()) if demand is not None else None
    bound = adaptive_bound(fabric, demand) if demand is not None else None
    emit(
        {
            "valid": found.valid, "loops": found.loops, "holes": found.holes, "max_load": largest,
            "ar_gap": None if largest is None or not bound else largest / bound - 1,
        },
        as_json,
    )  # fmt: skip
    if not found.valid:
        raise click.exceptions.Exit(1)
