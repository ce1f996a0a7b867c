"""Figure 5.10 of Taffet 2021: routes of the master problem alone for a barrier with a bully, on a tree that is small enough for HiGHS."""

from __future__ import annotations

from flitwatch_domain.diagnosis.trees import DARK
from flitwatch_domain.topology_spec import fabric_of
from flitwatch_research.formulations import milp
from flitwatch_research.papers_routes.loops import BULLY_UNITS, synthetic_traffic, unlucky_seed
from flitwatch_research.papers_routes.seen import keep_seen
from flitwatch_routing.baselines import ftree_tables
from flitwatch_routing.forwarding import check_routes
from flitwatch_simulation.loop.demand import BARRIER_BULLY
from flitwatch_simulation.loop.machine import SimulatedMachine
from flitwatch_simulation.loop.parameters import LoopRun

#: The tree, and megabytes of a bully node.
TOPOLOGY, MEGABYTES = "xgft:3;8,4,4;1,4,2", 16.0
#: Seconds of a search. Partitioned Binary's steps have shares of the text's 720 s, of which it needs about four. The master problem found nothing better after a minute.
LIMITS_S = {"basic": 60.0, "partitioned": 720.0}
#: The name of the stored run.
KEPT = "master-problem-alone"


def measure_master_problem() -> dict[tuple[str, str], float]:
    """Return the numbers of links with two flows of the bully and of dark links, and the barrier's time over that without the bully, by routes; store the run for the picture."""
    fabric = fabric_of(TOPOLOGY)
    parameters = LoopRun(BARRIER_BULLY, TOPOLOGY, unlucky_seed(fabric), megabytes=MEGABYTES)
    traffic = synthetic_traffic(fabric, parameters)
    tables = {"ftree": ftree_tables(fabric)} | {
        formulation: milp.optimise_with_highs(fabric, traffic, limit_s, formulation).ports
        for formulation, limit_s in LIMITS_S.items()
    }
    machine = SimulatedMachine(parameters)
    alone_s = machine.simulate(tables["ftree"], alone=True).time_s
    figures = {}
    for name, ports in tables.items():
        between = fabric.router_links()
        load = check_routes(fabric, ports, traffic).load[between]
        carried = machine.simulate(ports)
        figures[name, "links with two flows"] = float((load >= 2 * BULLY_UNITS).sum())
        figures[name, "dark links"] = float((carried.congested[between] >= DARK).sum())
        figures[name, "time over the barrier alone"] = carried.time_s / alone_s
        if name == "basic":
            keep_seen(KEPT, TOPOLOGY, carried)
    return figures
