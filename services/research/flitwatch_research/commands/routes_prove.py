"""`flitwatch routes prove`: the dissertation's integer programs of static routes, solved to optimality on small trees."""

from __future__ import annotations

from pathlib import Path

import click

from flitwatch.console import LOCAL, TIME_LIMIT_S, OutPath, json_option, mtu_option, print_result, seed_option


@click.command("prove")
@click.option("--topology", type=LOCAL, required=True, help="quartz1 | xgft:h;m;w | file:PATH (an ibnetdiscover file)")
@click.option(
    "--traffic", "name", type=LOCAL, required=True, help="A pattern's name, a CSV src,dst,bytes[,packets], or a trace."
)
@seed_option
@click.option("--time-limit", "limit_s", type=TIME_LIMIT_S, default=60.0, help="Seconds.")
@mtu_option
@click.option(
    "--formulation",
    type=click.Choice(["basic", "partitioned", "combined"]),
    default="basic",
    help="Basic MCF, Partitioned Binary, or both in parallel, where the first uses routes of the second.",
)
@click.option("--engine", type=click.Choice(["milp"]), hidden=True, expose_value=False)  # the name in `routes optimise`
@click.option("--out", type=OutPath(), help="Output file for the tables, in the format of OpenSM's file engine.")
@json_option
def prove(
    topology: str,
    name: str,
    seed: int,
    limit_s: float,
    mtu: int | None,
    formulation: str,
    out: Path | None,
    as_json: bool,
) -> None:
    """Prove the best tables of a small tree with the integer programs of Taffet 2021 in HiGHS. `routes optimise` searches larger trees."""
    from flitwatch_domain.fabric import endpoint_finder
    from flitwatch_domain.topology_spec import fabric_of
    from flitwatch_research.formulations.milp import optimise_with_highs
    from flitwatch_routing import lft
    from flitwatch_routing.bounds import relative_gap, weighting_name
    from flitwatch_routing.patterns import load_traffic
    from flitwatch_routing.switch_lids import towards_switches

    fabric = fabric_of(topology)
    demand = load_traffic(name, len(fabric.endpoints.router), seed, mtu, endpoint_finder(fabric))
    solution = optimise_with_highs(fabric, demand, limit_s, formulation)
    if out is not None:
        lft.write_dump(out, fabric, solution.ports, 0, towards_switches(fabric))
    print_result(
        {
            "z": solution.z,
            "z_ar": solution.z_ar,
            "z_ar_exact": solution.z_ar_exact,
            "ar_gap": solution.ar_gap,
            "bound_gap": solution.bound_gap,
            "proven": solution.proven,
            "wall_s": solution.wall_s,
            "worst_links": solution.worst_links,
            "weighting": weighting_name(mtu),
            "lft": None if out is None else str(out),
            "progress": [
                {"seconds": item.seconds, "z": item.z, "ar_gap": relative_gap(item.z, solution.z_ar)}
                for item in solution.progress
            ],
        },
        as_json,
    )
