"""Routing modes in the study of advice: the effect is the packet engine's, the adviser sees network cards only, and what does harm is seen to do harm."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from flitwatch_research.advice_value import closed_loop, modes, network
from flitwatch_research.advice_value.mode_fit import PATTERNS, measured
from flitwatch_research.advice_value.modes import HIGH_BIAS, Effect, effects
from flitwatch_research.advice_value.network import Network
from flitwatch_research.advice_value.pieces import row, simulated
from flitwatch_research.advice_value.worlds import GROUPS, QUIET, make_month, small_machine
from flitwatch_simulation.application_aware.advice import DEFAULT_MODE
from flitwatch_twin.users import Exchange

TICK_S = 300.0
FAST, SLOW = 0.6, 1.6


def planted(time: float, latency: float) -> dict[tuple[int, int, str], Effect]:
    """High bias takes `time` of the default's, and its network cards count `latency` of the default's latency."""
    one = np.ones(1)
    usual = Effect(0 * one, one, 1000 * one, 0.01 * one, 1.0)
    biased = Effect(0 * one, time * one, latency * 1000 * one, 0.01 * one, 0.2)
    spans = [(int(exchange), groups) for exchange in Exchange for groups in range(1, GROUPS + 1)]
    return {(*one, mode): made for one in spans for mode, made in ((DEFAULT_MODE, usual), (HIGH_BIAS, biased))}


@pytest.fixture
def plant(monkeypatch: pytest.MonkeyPatch):
    def plant(time: float, latency: float) -> None:
        table = planted(time, latency)
        for module in (modes, network, closed_loop):
            monkeypatch.setattr(module, "effects", lambda: table)

    return plant


def saved(world: str = "plain") -> float:
    month = make_month(world, 1, 4, TICK_S)
    none, routing = (
        row(month, policy, simulated(month, policy))["feeling_node_hours"] for policy in ("none", "routing")
    )
    return 1 - routing / none


def test_a_mode_that_is_planted_as_fast_and_looks_fast_saves(plant) -> None:
    plant(FAST, FAST)
    assert saved() > 0.1


def test_a_mode_that_looks_fast_and_is_slow_does_harm(plant) -> None:
    """The effect is the simulation's own: what the adviser works out from network cards does not make it true."""
    plant(SLOW, FAST)
    assert saved() < -0.1


def test_a_mode_that_looks_slow_is_never_taken_however_fast_it_is(plant) -> None:
    plant(FAST, SLOW)
    # A job of each application alternates once: that is all.
    assert 0 <= saved() < 0.05


def test_a_mode_changes_nothing_where_nothing_feels_the_network(plant) -> None:
    plant(SLOW, FAST)
    assert saved(QUIET) == pytest.approx(0.0, abs=1e-9)


def test_without_its_part_no_job_is_routed_otherwise(plant) -> None:
    plant(FAST, FAST)
    month = make_month("plain", 1, 2, TICK_S)
    none, counters = (simulated(month, policy) for policy in ("none", "counters"))
    hours = [row(month, "x", one)["feeling_node_hours"] for one in (none, counters)]
    assert hours[1] > 0.9 * hours[0], "two days have no past: places are all that differ"


@pytest.mark.parametrize("groups", [1, 4])
def test_the_packet_engine_says_of_other_nodes_what_the_table_says(groups: int) -> None:
    """Slower within one group, faster over four, without background and with it; no packet takes a detour."""
    again = measured(Exchange.NEIGHBOUR, groups, (7,))
    stored = effects()[int(Exchange.NEIGHBOUR), groups, HIGH_BIAS]
    for times in (again["modes"][HIGH_BIAS]["time"], stored.time.tolist()):
        assert min(times) > 1.2 if groups == 1 else max(times) < 0.95
    assert again["modes"][HIGH_BIAS]["non_minimal"] == stored.detours == 0.0
    assert again["modes"][DEFAULT_MODE]["time"] == [1.0, 1.0]


def test_the_table_has_every_exchange_of_the_jobs_on_every_number_of_groups() -> None:
    assert set(effects()) == {
        (int(exchange), groups, mode)
        for exchange in PATTERNS
        for groups in range(1, GROUPS + 1)
        for mode in (DEFAULT_MODE, HIGH_BIAS)
    }
    for (_, _, mode), effect in effects().items():
        assert (np.diff(effect.utilisation) > 0).all()
        if mode == DEFAULT_MODE:
            assert effect.time_at(0.4) == 1.0 and effect.detours == 1.0


def test_fewer_detours_take_as_much_from_the_load_as_the_twins_law_says() -> None:
    machine = small_machine()
    made = Network(machine)
    nodes = np.concatenate([np.flatnonzero(machine.group_of[machine.node_router] == group)[:32] for group in (0, 1)])
    usual = made.load(nodes, int(Exchange.NEIGHBOUR), (1, 2), False)
    biased = made.routed(usual, len(nodes), (HIGH_BIAS,))
    factor = effects()[int(Exchange.NEIGHBOUR), 2, HIGH_BIAS].detours
    # In the footprint's law (1 + DETOUR) of what leaves a group crosses its global links, and DETOUR of all over all groups.
    out = 32 * 0.5 * 0.35
    change = (usual.global_[0] - biased.global_[0]) * network.GLOBAL
    assert change[0] == pytest.approx((1 - factor) * 0.3 * (out + 2 * out / GROUPS), rel=1e-3)
    assert change[3] == pytest.approx((1 - factor) * 0.3 * 2 * out / GROUPS, rel=1e-3)
    assert made.routed(usual, len(nodes), (DEFAULT_MODE,)) is usual
    inside = made.load(nodes[:32], int(Exchange.NEIGHBOUR), (1, 2), False)
    assert made.routed(inside, 32, (HIGH_BIAS,)) is inside
    assert replace(usual).spans == 2
