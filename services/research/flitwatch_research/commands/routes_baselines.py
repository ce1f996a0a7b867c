"""`flitwatch routes baselines`: the busiest link of a tree under the routings that optimised routes are compared with."""

from __future__ import annotations

import click

from flitwatch.console import LOCAL, json_option, mtu_option, print_result, seed_option


@click.command("baselines")
@click.option("--topology", type=LOCAL, required=True, help="quartz1 | xgft:h;m;w | file:PATH (an ibnetdiscover file)")
@click.option(
    "--traffic",
    "names",
    type=LOCAL,
    required=True,
    multiple=True,
    help="A pattern's name, a CSV src,dst,bytes[,packets], or a trace. Repeat it for each further time slot.",
)
@seed_option
@mtu_option
@json_option
def baselines(topology: str, names: tuple[str, ...], seed: int, mtu: int | None, as_json: bool) -> None:
    """Compare with adaptive routing: OpenSM's ftree (around failed cables) and minhop, random choices, and greedy moves from ftree (AFAR), each with
    one LID per endpoint. Gaps are null if the tables lose traffic.
    """
    from flitwatch_domain.fabric import endpoint_finder
    from flitwatch_domain.topology_spec import fabric_of
    from flitwatch_research.baselines.compared import compare_baselines
    from flitwatch_routing.bounds import compute_bounds, relative_gap
    from flitwatch_routing.patterns import load_traffic
    from flitwatch_routing.weighting import weighting_name

    fabric = fabric_of(topology)
    demands = [load_traffic(name, len(fabric.endpoints.router), seed, mtu, endpoint_finder(fabric)) for name in names]
    z_ar = sum(compute_bounds(fabric, item, packing=False).z_ar for item in demands)
    loads = compare_baselines(fabric, demands, seed)
    gaps = {f"{name}_gap": None if load is None else relative_gap(load, z_ar) for name, load in loads.items()}
    print_result({"z_ar": z_ar, **gaps, "weighting": weighting_name(mtu)}, as_json)
