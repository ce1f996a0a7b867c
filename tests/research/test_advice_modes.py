"""Routing modes in the study of advice: the effect is the packet engine's, the adviser sees network cards only, what helps is advised and what harms is not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from flitwatch_domain.advice.parts import Parts
from flitwatch_research.advice_value import modes, network
from flitwatch_research.advice_value.advisers import Question, Served
from flitwatch_research.advice_value.closed_loop import Loop
from flitwatch_research.advice_value.mode_fit import PATTERNS, measure_case
from flitwatch_research.advice_value.modes import ALTERNATE, HIGH_BIAS, PLACINGS, Effect, load_effects
from flitwatch_research.advice_value.network import Network
from flitwatch_research.advice_value.pieces import simulate_month, summarize_month
from flitwatch_research.advice_value.worlds import GROUPS, QUIET, make_month, small_machine
from flitwatch_simulation.application_aware.advice import DEFAULT_MODE
from flitwatch_twin.users import Exchange

TICK_S = 300.0
FAST, SLOW = 0.6, 1.6


def planted(time: float, latency: float) -> dict[tuple[int, int, str, str], Effect]:
    """High bias takes `time` of the default's, and its network cards count `latency` of the default's latency."""
    one = np.ones(1)
    usual = Effect(0 * one, one, 1000 * one, 0.01 * one, 1.0)
    biased = Effect(0 * one, time * one, latency * 1000 * one, 0.01 * one, 0.2)
    spans = [
        (int(exchange), groups, placing)
        for exchange in Exchange
        for groups in range(1, GROUPS + 1)
        for placing in PLACINGS
    ]
    return {(*one, mode): made for one in spans for mode, made in ((DEFAULT_MODE, usual), (HIGH_BIAS, biased))}


@pytest.fixture
def plant(monkeypatch: pytest.MonkeyPatch):
    def plant(time: float, latency: float) -> None:
        table = planted(time, latency)
        monkeypatch.setattr(modes, "load_effects", lambda: table)

    return plant


def saved(world: str = "plain") -> float:
    month = make_month(world, 1, 4, TICK_S)
    none, routing = (
        summarize_month(month, policy, simulate_month(month, policy))["feeling_node_hours"]
        for policy in ("none", "routing")
    )
    return 1 - routing / none


@pytest.mark.system("numeric")
def test_a_mode_that_is_planted_as_fast_and_looks_fast_saves(plant) -> None:
    plant(FAST, FAST)
    assert saved() > 0.1


@pytest.mark.system("numeric")
def test_a_mode_that_looks_fast_and_is_slow_is_not_advised(plant) -> None:
    """Latency and stalls favour it, but the job gets on more slowly under it. A job of each application alternates once: that is all that it costs."""
    plant(SLOW, FAST)
    assert abs(saved()) < 0.05


def test_who_insists_on_a_slow_mode_does_harm(plant) -> None:
    """The effect is the simulation's own: what network cards count does not make it true."""

    class Insists(Served):
        def routed(self, question: Question, now_s: float) -> str:
            return HIGH_BIAS

    plant(SLOW, FAST)
    month = make_month("plain", 1, 2, TICK_S)
    insists = Insists(Parts.of([]), month.machine.nodes, month.machine.groups)
    none, biased = (
        summarize_month(month, "x", Loop(month, one).run())["feeling_node_hours"] for one in (None, insists)
    )
    assert biased > 1.1 * none


@pytest.mark.parametrize("groups", [1, 2, 4])
def test_a_mode_is_asked_for_where_the_job_stands_and_never_within_one_group(plant, groups: int) -> None:
    """A job over several groups alternates and teaches; then the next one gets the mode, unless it stands in one group."""
    adviser = Served(Parts.of(["routing"]), 1536, GROUPS)
    adviser._modes["milc-128"] = {
        "environment": f"MPICH_GNI_ROUTING_MODE={HIGH_BIAS}",
        "recommendation_id": 0,
        "reason": "",
        "groups": 2,
    }
    question = Question("ann", "milc-128", 128, (tuple(at % groups for at in range(128)),))
    first, then = (adviser.routed(question, float(now)) for now in (0, 300))
    assert (first, then) == ((ALTERNATE, HIGH_BIAS) if groups > 1 else (None, None))


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
    none, counters = (simulate_month(month, policy) for policy in ("none", "counters"))
    hours = [summarize_month(month, "x", one)["feeling_node_hours"] for one in (none, counters)]
    assert hours[1] > 0.9 * hours[0], "two days have no past: places are all that differ"


@pytest.mark.system("numeric")
@pytest.mark.parametrize("groups", [1, 4])
def test_the_packet_engine_says_of_other_nodes_what_the_table_says(groups: int) -> None:
    """Slower within one group, faster over four on scattered nodes, without background and with it; no packet takes a detour."""
    again = measure_case(Exchange.NEIGHBOUR, groups, "scattered", (7,))
    stored = load_effects()[int(Exchange.NEIGHBOUR), groups, "scattered", HIGH_BIAS]
    for times in (again["modes"][HIGH_BIAS]["time"], stored.time.tolist()):
        assert min(times) > 1.2 if groups == 1 else max(times) < 0.95
    assert again["modes"][HIGH_BIAS]["non_minimal"] == stored.detours == 0.0
    assert again["modes"][DEFAULT_MODE]["time"] == [1.0, 1.0]


def test_the_table_has_every_exchange_of_the_jobs_on_every_number_of_groups() -> None:
    assert set(load_effects()) == {
        (int(exchange), groups, placing, mode)
        for exchange in PATTERNS
        for groups in range(1, GROUPS + 1)
        for placing in PLACINGS
        for mode in (DEFAULT_MODE, HIGH_BIAS)
    }
    for (*_, mode), effect in load_effects().items():
        assert (np.diff(effect.utilisation) > 0).all()
        if mode == DEFAULT_MODE:
            assert effect.time_at(0.4) == 1.0 and effect.detours == 1.0


def test_fewer_detours_take_as_much_from_the_load_as_the_twins_law_says() -> None:
    machine = small_machine()
    made = Network(machine)
    nodes = np.concatenate([np.flatnonzero(machine.group_of[machine.node_router] == group)[:32] for group in (0, 1)])
    usual = made.load(nodes, int(Exchange.NEIGHBOUR), (1, 2), False)
    biased = made.routed(usual, len(nodes), (HIGH_BIAS,))
    factor = load_effects()[int(Exchange.NEIGHBOUR), 2, "packed", HIGH_BIAS].detours
    assert usual.effect(HIGH_BIAS) is load_effects()[int(Exchange.NEIGHBOUR), 2, "packed", HIGH_BIAS]
    scattered = made.load(np.arange(0, 512, 4), int(Exchange.NEIGHBOUR), (1, 2), False)
    assert (
        scattered.effect(HIGH_BIAS) is load_effects()[int(Exchange.NEIGHBOUR), scattered.spans, "scattered", HIGH_BIAS]
    )
    # In the footprint's law (1 + DETOUR) of what leaves a group crosses its global links, and DETOUR of all over all groups.
    out = 32 * 0.5 * 0.35
    change = (usual.global_[0] - biased.global_[0]) * network.GLOBAL
    assert change[0] == pytest.approx((1 - factor) * 0.3 * (out + 2 * out / GROUPS), rel=1e-3)
    assert change[3] == pytest.approx((1 - factor) * 0.3 * 2 * out / GROUPS, rel=1e-3)
    assert made.routed(usual, len(nodes), (DEFAULT_MODE,)) is usual
    inside = made.load(nodes[:32], int(Exchange.NEIGHBOUR), (1, 2), False)
    assert made.routed(inside, 32, (HIGH_BIAS,)) is inside
    assert replace(usual).spans == 2
