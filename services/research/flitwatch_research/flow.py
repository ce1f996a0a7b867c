"""Flow-level noise: the cost of a perturbation for a collective (Hoefler, Schneider and Lumsdaine 2009, section 3).

A pattern is a directed acyclic graph of messages in rounds. Each message's weight is the largest number of messages
on a link of its route, counted over its round and the perturbation, which is constant over the rounds. The
collective's cost is the longest path through the graph.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from flitwatch_core import _flow
from flitwatch_core._flow import Routes, Topology, algorithmic_routes, annotate, pattern, pattern_names, table_routes

__all__ = [
    "Collective",
    "Routes",
    "Topology",
    "algorithmic_routes",
    "annotate",
    "pattern",
    "pattern_names",
    "run_collective",
    "run_collectives",
    "table_routes",
]

Semantics = Literal["longest-path", "orcs"]


@dataclass(frozen=True)
class Collective:
    """Costs of one collective in units of one uncongested message.

    Attributes
    ----------
    quiet, perturbed : uint32 array of shape (runs,)
        Cost without and with the perturbation; run i depends only on (seed, first_run + i).
    increments : int
        Number of link counts: each link of a message counts once for the quiet and once for the perturbed network.
    cpu_s : float
        CPU time of all threads. Like `increments`, it covers all semantics computed together.
    semantics : str
        Rule for chaining the messages; see `run_collectives`.
    """

    quiet: NDArray[np.uint32]
    perturbed: NDArray[np.uint32]
    increments: int
    cpu_s: float
    semantics: str

    @property
    def slowdown(self) -> NDArray[np.float64]:
        """Perturbed over unperturbed cost, by run."""
        return self.perturbed / self.quiet

    @property
    def overhead(self) -> NDArray[np.int64]:
        """Perturbed minus unperturbed cost, by run."""
        return self.perturbed.astype(np.int64) - self.quiet


def run_collective(
    routes: Routes,
    pattern: str,
    ranks: int,
    perturbing: int,
    runs: int,
    *,
    seed: int = 1,
    first_run: int = 0,
    threads: int = 1,
    semantics: Semantics = "longest-path",
    wait_for_own_send: bool = False,
    perturbation: Literal["permutation", "random-peer"] = "permutation",
    random_mapping: bool = True,
    watch: Callable[[int, int], bool] | None = None,
) -> Collective | None:
    """Simulate `runs` random mappings of a collective, each without and with perturbation; see `run_collectives`."""
    results = run_collectives(
        routes,
        pattern,
        ranks,
        perturbing,
        runs,
        seed=seed,
        first_run=first_run,
        threads=threads,
        semantics=[semantics],
        wait_for_own_send=wait_for_own_send,
        perturbation=perturbation,
        random_mapping=random_mapping,
        watch=watch,
    )
    return None if results is None else results[0]


def run_collectives(
    routes: Routes,
    pattern: str,
    ranks: int,
    perturbing: int,
    runs: int,
    *,
    seed: int = 1,
    first_run: int = 0,
    threads: int = 1,
    semantics: Sequence[Semantics] = ("longest-path",),
    wait_for_own_send: bool = False,
    perturbation: Literal["permutation", "random-peer"] = "permutation",
    random_mapping: bool = True,
    watch: Callable[[int, int], bool] | None = None,
) -> list[Collective] | None:
    """Simulate `runs` random mappings of a collective under several semantics, which share mappings and link counts.

    Parameters
    ----------
    routes : Routes
        The network.
    pattern : str
        A name from `pattern_names()`, for some with an argument, as in "shift:4".
    ranks, perturbing : int
        Numbers of endpoints of the application and of the perturbation; they are random and disjoint.
    semantics : sequence of {"longest-path", "orcs"}
        "longest-path": a message waits for all messages that its sender receives in earlier rounds. "orcs": it waits
        only for the message received by its sender in the previous round, as in the simulator behind the
        published curves; never for the larger of the two.
    wait_for_own_send : bool
        Longest path only: a message also waits for its sender's previous one.
    perturbation : {"permutation", "random-peer"}
        Each perturbing endpoint sends to the next in a random cycle, or to an independent random one.
    watch : callable, optional
        Called with (runs done, runs) about twenty times per second; returning false cancels the simulation.

    Returns
    -------
    One Collective per semantics, or None after a cancellation.

    Raises
    ------
    ValueError
        Sizes, names or numbers are invalid.
    """
    outcome = _flow.run_collective(
        routes,
        pattern,
        ranks,
        perturbing,
        runs,
        seed=seed,
        first_run=first_run,
        threads=threads,
        semantics=list(semantics),
        wait_for_own_send=wait_for_own_send,
        perturbation=perturbation,
        random_mapping=random_mapping,
        watch=watch,
    )
    if outcome is None:
        return None
    costs, increments, cpu_s = outcome  # type: ignore[misc]
    return [
        Collective(quiet, perturbed, increments, cpu_s, name)
        for name, (quiet, perturbed) in zip(semantics, costs, strict=True)
    ]
