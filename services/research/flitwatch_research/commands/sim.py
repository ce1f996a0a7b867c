"""`flitwatch sim`: simulate collectives (flow level) and packets."""

from __future__ import annotations

from typing import Any

import click

from flitwatch.console import LOCAL, Group, json_option, make_progress, print_result


@click.group(cls=Group)
def sim() -> None:
    """Simulate collectives and packets on a topology."""


@sim.command()
@click.option("--topology", type=LOCAL, required=True, metavar="SPEC", help="See `flitwatch topology show --help`.")
@click.option("--routing", type=LOCAL, help="dmodk, dor, minhop, updn, ftree, minimal, valiant or lft:PATH.")
@click.option("--pattern", default="binomial-bcast", help="A communication pattern.")
@click.option("--ratio", default=0.5, help="Share of endpoints that send other traffic.")
@click.option("--runs", default=1000, type=click.IntRange(1, 10_000_000), help="Number of random mappings.")
@click.option(
    "--seed",
    default=1,
    type=click.IntRange(0, 2**63 - 1),
    help="Random seed of mappings and other traffic.",
)
@click.option(
    "--semantics",
    type=click.Choice(["longest-path", "orcs"]),
    default="longest-path",
    help="How to compute the time of a round from shared links: the longest path, or the rules of ORCS.",
)
@click.option("--wait-for-own-send", is_flag=True, help="Let a message also wait for the sender's previous message.")
@click.option(
    "--perturbation",
    type=click.Choice(["permutation", "random-peer"]),
    default="permutation",
    help="Traffic of the other nodes: a permutation, or each to a random peer.",
)
@click.option(
    "--mapping",
    type=click.Choice(["random", "linear"]),
    default="random",
    help="How ranks are assigned to nodes.",
)
@click.option(
    "--threads",
    default=1,
    type=click.IntRange(1, 1024),
    help="Number of threads. The results do not depend on it.",
)
@json_option
def collective(as_json: bool, topology: str, routing: str | None, **options: Any) -> None:
    """Measure how much random traffic slows a collective (Hoefler et al. 2009)."""
    from flitwatch_domain.task_models.simulations import CollectiveOptions
    from flitwatch_research import routings, topologies
    from flitwatch_research.collectives import run_collective as simulate

    collective_options = CollectiveOptions.of(options)
    named = topologies.parse_topology(topology)
    routes = routings.routes_of(named, routing)

    with make_progress("simulating") as bar:
        task = bar.add_task("", total=collective_options.runs)

        def watch(done: int, total: int) -> bool:
            bar.update(task, completed=done, total=total)
            return True

        result = simulate(collective_options, named, routes, watch)
    print_result(result, as_json)
