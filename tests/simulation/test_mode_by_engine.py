"""Routing modes against the packet engine: modes that are faster there are advised from the cards' counts, slower ones are not."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from flitwatch_domain.network_noise.observations import NIC_HZ, NicObservation, advise_mode
from flitwatch_domain.topology_spec import fabric_of
from flitwatch_research.advice_value.mode_fit import RANKS, TOPOLOGY, Run, nodes_of, run_once
from flitwatch_research.advice_value.modes import HIGH_BIAS, MODES
from flitwatch_simulation.application_aware import DEFAULT_MODE, LEAST_OBSERVATIONS, choose_mode
from flitwatch_simulation.packet.machine import Machine, build_machine
from flitwatch_simulation.workloads import patterns
from flitwatch_simulation.workloads.messages import repeat_messages

#: None of these made the study's table or was looked at for the rule.
PLACED, SEEDS = 41, range(51, 51 + LEAST_OBSERVATIONS)
FLITS, PACKETS = 5_000_000, 1_000_000

#: Pattern, bytes, groups, placing, whether high bias is faster there.
CASES = [
    ("halo3d", 32_768, 2, "scattered", True),
    ("amg", 32_768, 4, "scattered", True),
    ("halo3d", 2_048, 3, "scattered", True),
    ("sweep3d", 32_768, 2, "scattered", False),
    ("permutation", 32_768, 4, "scattered", False),
    pytest.param("halo3d", 131_072, 2, "scattered", False, marks=pytest.mark.system("numeric")),
    ("halo3d", 32_768, 4, "packed", False),
    ("bisection", 32_768, 2, "packed", False),
]


@cache
def machine() -> Machine:
    return build_machine(fabric_of(TOPOLOGY), "adaptive0", packet_bytes=64, nic_protocol=True)


def runs(pattern: str, size: int, groups: int, placing: str) -> dict[str, list[Run]]:
    """A job on one allocation that alternates between the modes."""
    nodes = nodes_of(machine(), groups, placing, np.random.default_rng(PLACED))
    messages = repeat_messages(patterns.make_pattern(pattern, RANKS, size, PLACED), 2)
    return {mode: [run_once(machine(), messages, nodes, mode, 0.0, seed) for seed in SEEDS] for mode in MODES}


def observed(one: Run) -> NicObservation:
    """What its network cards counted: the same messages are the same flits, in more or less time."""
    return NicObservation(
        ("job",),
        one["time_s"],
        FLITS,
        PACKETS,
        round(one["stalls_per_flit"] * FLITS),
        one["latency_cycles"] * PACKETS / NIC_HZ * 1e6,
    )


@pytest.mark.system("numeric")
@pytest.mark.parametrize(("pattern", "size", "groups", "placing", "helps"), CASES)
def test_what_the_engine_finds_faster_is_advised_and_what_it_finds_slower_is_not(
    pattern: str, size: int, groups: int, placing: str, helps: bool
) -> None:
    found = runs(pattern, size, groups, placing)
    times = {mode: np.mean([one["time_s"] for one in own]) for mode, own in found.items()}
    assert (times[HIGH_BIAS] < times[DEFAULT_MODE]) == helps, "the engine says otherwise: the case plants nothing"
    chosen = choose_mode({mode: [observed(one) for one in own] for mode, own in found.items()}, size)
    assert chosen.mode == (HIGH_BIAS if helps else None), chosen
    if helps:
        assert advise_mode(HIGH_BIAS, "", groups, groups).mode == HIGH_BIAS


@pytest.mark.system("numeric")
def test_within_one_group_nothing_is_advised_whatever_the_cards_counted() -> None:
    """The study's own jobs: half as slow again within a group, where equation 2 alone favours the mode."""
    found = runs("halo3d", 32_768, 1, "scattered")
    times = {mode: np.mean([one["time_s"] for one in own]) for mode, own in found.items()}
    assert times[HIGH_BIAS] > 1.2 * times[DEFAULT_MODE]
    chosen = choose_mode({mode: [observed(one) for one in own] for mode, own in found.items()}, 32_768)
    assert chosen.best == HIGH_BIAS and chosen.low > 1 and chosen.mode is None
    for observed_groups, groups in ((1, 1), (4, 1), (1, 4), (None, 4), (4, None), (None, None)):
        mode, why = advise_mode(HIGH_BIAS, "latency", observed_groups, groups)
        assert mode is None and "group" in why
    assert advise_mode(HIGH_BIAS, "latency", 2, 4) == (HIGH_BIAS, "latency")
