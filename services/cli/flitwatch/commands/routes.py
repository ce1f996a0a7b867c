"""`flitwatch routes`: static routes of fat trees: optimise, check, and exchange with a subnet manager."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING

import click

from flitwatch.console import (
    LOCAL,
    TIME_LIMIT_S,
    FiniteRange,
    Group,
    OutPath,
    json_option,
    mtu_option,
    print_result,
    seed_option,
    stderr_console,
    stop_on_interrupt,
)

if TYPE_CHECKING:
    from flitwatch_routing.bounds import Bounds
    from flitwatch_routing.optimise import Routes


@click.group(cls=Group)
def routes() -> None:
    """Optimise, check and exchange static routes."""


_TOPOLOGY = "quartz1 | xgft:h;m;w | file:PATH (an ibnetdiscover file)"
_lmc_option = click.option(
    "--lmc",
    type=click.IntRange(0, 7),
    default=0,
    help="Give each endpoint 2^LMC LIDs, and spread traffic evenly over them.",
)


@routes.command()
@click.option("--topology", type=LOCAL, required=True, help=_TOPOLOGY)
@click.option(
    "--traffic",
    "names",
    type=LOCAL,
    required=True,
    multiple=True,
    help="A pattern's name, a CSV src,dst,bytes[,packets] (endpoints by number or name: `flitwatch topology endpoints`), or a "
    "trace (DUMPI, OTF2, GOAL). Repeat it for each further time slot; the sum over the slots is then minimised.",
)
@seed_option
@click.option("--time-limit", "limit_s", type=TIME_LIMIT_S, default=60.0, help="Seconds.")
@click.option(
    "--baselines/--no-baselines",
    default=True,
    help="Also compute the baselines, which takes some seconds more than the limit.",
)
@_lmc_option
@mtu_option
@click.option(
    "--fewest-worst", is_flag=True, help="Then minimise the number of links that carry as much as the busiest."
)
@click.option(
    "--loaded",
    type=click.Path(path_type=Path),
    help="OpenSM's dump of the loaded tables: change as few of their entries as --within allows.",
)
@click.option(
    "--within",
    type=FiniteRange(0, 1000),
    default=0.0,
    help="With --loaded: accept a busiest link this many percent above the bound.",
)
@click.option("--out", type=OutPath(), help="Output file for the tables, in the format of OpenSM's file engine.")
@json_option
def optimise(
    topology: str,
    names: tuple[str, ...],
    seed: int,
    limit_s: float,
    baselines: bool,
    lmc: int,
    mtu: int | None,
    fewest_worst: bool,
    loaded: Path | None,
    within: float,
    out: Path | None,
    as_json: bool,
) -> None:
    """Find tables that minimise the load of the busiest link between switches. Ctrl-C stops with the best tables so far.

    With several --traffic, the jobs send one time slot after the other, and z is the sum over the slots of the busiest link's load. Routes that are
    even over all slots together can be uneven in each. Gaps are differences from adaptive routing. The baselines are OpenSM's ftree (around failed cables)
    and minhop, random choices, and greedy moves from ftree (AFAR), each with one LID per endpoint. They are null if they lose traffic or were not
    computed.
    """
    import numpy as np

    from flitwatch_domain.fabric import endpoint_finder
    from flitwatch_domain.topology_spec import fabric_of
    from flitwatch_routing import lft
    from flitwatch_routing.bounds import relative_gap, weighting_name
    from flitwatch_routing.compared import BASELINES, compare_baselines
    from flitwatch_routing.optimise import optimise_routes as find
    from flitwatch_routing.patterns import load_traffic
    from flitwatch_routing.switch_lids import repair_tables, towards_switches
    from flitwatch_routing.traces.read import summarise_traces

    fabric = fabric_of(topology)
    demands = [load_traffic(name, len(fabric.endpoints.router), seed, mtu, endpoint_finder(fabric)) for name in names]
    unit = "bytes" if mtu is None else "weighted bytes"
    busy = "busiest link" if len(demands) == 1 else "busiest links of all slots"
    if within and loaded is None:
        raise click.UsageError("--within is for --loaded tables")
    loaded_dump = None if loaded is None else lft.read_dump(loaded, fabric, lmc)
    before = None if loaded_dump is None else loaded_dump.ports
    with stop_on_interrupt() as stopped, stderr_console().status("laying routes") as status:

        def watch(seconds: float, largest: float, moves: int) -> bool:
            busiest_text = (
                f"{busy} {largest:.6g} {unit}" if math.isfinite(largest) else "no path around failed cables yet"
            )
            status.update(f"{seconds:.0f} of {limit_s:.0f} s: {busiest_text} after {moves:,} moves")
            return not stopped()

        solution = find(
            fabric,
            demands[0],
            limit_s,
            seed,
            watch,
            lmc,
            later=demands[1:],
            fewest_worst=fewest_worst,
            loaded=before,
            within=within / 100,
        )
        others: dict[str, float | None] = dict.fromkeys(BASELINES)
        if baselines:
            status.update("computing the baselines")
            others = compare_baselines(fabric, demands, seed, stopped)
    if out is not None:
        towards = towards_switches(fabric)
        lft.write_dump(
            out,
            fabric,
            solution.ports,
            lmc,
            towards
            if loaded_dump is None or loaded_dump.switch_ports is None
            else repair_tables(fabric, loaded_dump.switch_ports, towards),
        )
    print_result(
        {
            "z": solution.z, "z_ar": solution.z_ar, "z_ar_exact": solution.z_ar_exact, "ar_gap": solution.ar_gap, "bound_gap": solution.bound_gap,
            "proven": solution.proven, "wall_s": solution.wall_s, "worst_links": solution.worst_links,
            **{f"{item}_gap": None if load is None else relative_gap(load, solution.z_ar) for item, load in others.items()},
            "moves": solution.moves, "weighting": weighting_name(mtu), "lft": None if out is None else str(out),
            **({} if len(demands) == 1 else {"slots": [
                {"z": item.z, "z_ar": item.z_ar, "ar_gap": item.ar_gap, "bound_gap": item.bound_gap} for item in solution.slots
            ]}),
            **({} if before is None else {
                "changed_entries": int((solution.ports != before).sum()), "changed_switches": int((solution.ports != before).any(axis=1).sum()),
                "entries": int(np.count_nonzero(before >= 0)),
            }),
            **({"traces": traces} if (traces := summarise_traces(names)) else {}),
            **({} if not (note := _explain_result(solution, before is not None, within, limit_s)) else {"note": note}),
        },
        as_json,
    )  # fmt: skip


def _explain_result(found: Routes, loaded: bool, within: float, limit_s: float) -> str:
    """Return explanations that the figures do not show."""
    if found.z and not found.moves and not found.proven and found.wall_s >= limit_s:
        return "computing the bounds took all the time, so nothing was searched: raise the time limit"
    if not found.z:
        return "no traffic crosses from switch to switch: all routes are equally good"
    if found.detours:
        return f"{found.detours} pairs of leaf and endpoint have no path up and then down. Their paths go up again and can deadlock (`flitwatch routes check`)"
    if loaded and found.bound_gap is not None and found.bound_gap > within / 100 + 1e-6:
        return f"the busiest link is {100 * found.bound_gap:.2f} % above the bound, not within {within:g} %: give it more time, or compute new tables"
    return ""


@routes.command()
@click.argument("lfts", type=click.Path(path_type=Path))
@click.option("--topology", type=LOCAL, required=True, help=_TOPOLOGY)
@click.option(
    "--traffic",
    "names",
    type=LOCAL,
    multiple=True,
    help="Compute loads for this traffic. Repeat it for each further time slot.",
)
@seed_option
@_lmc_option
@mtu_option
@json_option
def check(
    lfts: Path, topology: str, names: tuple[str, ...], seed: int, lmc: int, mtu: int | None, as_json: bool
) -> None:
    """Check the tables of a dump for loops, holes and deadlocks, and find the busiest link under a traffic matrix. `switch_holes` counts pairs of
    switches where the first has no path to the second's LID. The exit status is 1 if the tables have loops or holes, or if channel dependencies form
    a cycle (the message names one) while all traffic shares one virtual lane. Unknown values are null: validity if some entries cannot be assigned
    to an endpoint, and loads if traffic is lost. With several --traffic, max_load is the sum over the time slots of the busiest link's load. Without
    --lmc, only the lowest LID of an endpoint is used.
    """
    from flitwatch_domain.fabric import endpoint_finder
    from flitwatch_domain.topology_spec import fabric_of
    from flitwatch_routing import lft
    from flitwatch_routing.bounds import compute_bounds, relative_gap, weighting_name
    from flitwatch_routing.deadlock import find_dependencies
    from flitwatch_routing.forwarding import check_routes as follow
    from flitwatch_routing.patterns import load_traffic
    from flitwatch_routing.switch_lids import find_unreached
    from flitwatch_routing.traces.read import summarise_traces

    fabric = fabric_of(topology)
    if mtu is not None and not names:
        raise click.UsageError("--mtu weighs traffic: give --traffic too")
    demands = [load_traffic(name, len(fabric.endpoints.router), seed, mtu, endpoint_finder(fabric)) for name in names]
    dump = lft.read_dump(lfts, fabric, lmc)
    carried = [follow(fabric, dump.ports, item, dump.unknown, lmc) for item in demands]
    walk = carried[0] if carried else follow(fabric, dump.ports, None, dump.unknown, lmc)
    waits = find_dependencies(fabric, dump.ports, dump.unknown)
    astray = None if dump.switch_ports is None else find_unreached(fabric, dump.switch_ports)
    unknown = int(dump.unknown.sum())
    deadlock_free = False if waits.cycle else None if unknown else True
    valid = None if walk.valid and unknown else walk.valid
    where = list(walk.where)
    if astray is not None and len(astray):
        valid = False
        where.append("{} has no path to the LID of {}".format(*(fabric.routers.name[item] for item in astray[0])))
    largest: list[float] = []
    least: list[Bounds] = []
    arrives = not any(item.lost for item in carried)
    if demands and arrives and not any(size[dump.unknown[dst]].any() for _, dst, size in demands):
        largest = [float(item.load[fabric.router_links()].max(initial=0)) for item in carried]
        with stderr_console().status("bounding the busiest link"):
            least = [compute_bounds(fabric, item, packing=False) for item in demands]
    z_ar = sum(item.z_ar for item in least)
    print_result(
        {
            "valid": valid, "loops": walk.loops, "holes": walk.holes, "switch_holes": None if astray is None else len(astray), "unknown_endpoints": unknown, "where": where,
            "deadlock_free": deadlock_free, "dependencies": waits.pairs, "cycle": waits.named(fabric) if waits.cycle else None,
            "max_load": sum(largest) if largest else None, "ar_gap": relative_gap(sum(largest), z_ar) if largest else None,
            **({"z_ar": z_ar, "z_ar_exact": all(item.exact for item in least)} if least else {}),
            **({"slots": [
                {"max_load": load, "z_ar": item.z_ar, "ar_gap": relative_gap(load, item.z_ar)} for load, item in zip(largest, least, strict=True)
            ]} if len(least) > 1 else {}),
            **({"weighting": weighting_name(mtu)} if demands else {}),
            **({"traces": traces} if (traces := summarise_traces(names)) else {}),
        },
        as_json,
    )  # fmt: skip
    if not valid or waits.cycle:
        raise click.exceptions.Exit(1)


@routes.command()
@click.argument("before", type=click.Path(path_type=Path))
@click.argument("after", type=click.Path(path_type=Path))
@click.option("--topology", type=LOCAL, required=True, help=_TOPOLOGY)
@_lmc_option
@json_option
def diff(before: Path, after: Path, topology: str, lmc: int, as_json: bool) -> None:
    """Report what loading the tables AFTER would change if BEFORE are loaded, for example OpenSM's opensm-lfts.dump. The report counts changed,
    added and missing entries, and the affected switches and destinations, and names the switches with most changes. Entries are matched by port GUID
    or LID, as in `routes check`, so dumps with different LIDs can be compared. Endpoints whose LID is missing in either dump are counted and left
    out. Without --lmc, only the lowest LID of an endpoint is used. The exit status is 0 even if the tables differ.
    """
    from flitwatch_domain.topology_spec import fabric_of
    from flitwatch_routing import lft
    from flitwatch_routing.difference import compare_tables

    fabric = fabric_of(topology)
    changes = compare_tables(fabric, lft.read_dump(before, fabric, lmc), lft.read_dump(after, fabric, lmc))
    print_result(
        {
            "entries": changes.entries,
            "entries_changed": changes.changed,
            "added": changes.added,
            "removed": changes.removed,
            "switches_changed": changes.switches,
            "destinations_changed": changes.destinations,
            "unknown_endpoints": changes.unknown_endpoints,
            "most_changed": [{"switch": name, "entries": count} for name, count in changes.most],
        },
        as_json,
    )
