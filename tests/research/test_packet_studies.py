"""Shapes of the packet-level studies, each with its tolerance and seed; the diagnosis; application-aware routing."""

from __future__ import annotations

import numpy as np
import pytest

from flitwatch_core.packet import DragonflyMode, RoutingChoice
from flitwatch_domain.diagnosis import CongestionMap, diagnose_congestion
from flitwatch_domain.errors import BadRequest, Cancelled
from flitwatch_domain.generators import build_xgft
from flitwatch_domain.network_noise.observations import (
    NicObservation,
    message_time_s,
)
from flitwatch_research.studies import desensi, taffet, taffet_sampling


def quiet(done: int, total: int, message: str) -> None:
    assert 0 <= done <= total
    assert message


def never() -> bool:
    return False


@pytest.mark.system("numeric")
@pytest.mark.parametrize("seed", [1, 9])
def test_table21_follows_the_variance_formulas(seed):
    answer = taffet_sampling.run_table21(
        {"seed": seed, "mpackets": 0.5, "leaves": 8, "nodes": 16, "kbytes": 4000}, quiet, never
    )
    points = {(point["congestion"], point["downsampling"]): point for point in answer["points"]}
    assert set(points) == {(one, d) for one in ("bernoulli", "simulated") for d in (1, 10, 100, 1000)}
    for point in points.values():
        assert point["standard_traffic_percent"] == pytest.approx(point["formula_standard_percent"], rel=0.2)
        assert point["one_bit_traffic_percent"] == pytest.approx(point["formula_one_bit_percent"], rel=0.2)
        assert point["standard_congested_percent"] > point["standard_traffic_percent"]  # fewer packets are congested
    for congestion in ("bernoulli", "simulated"):  # no floor: see the answer's note
        one, ten = (points[congestion, d]["standard_congested_percent"] for d in (1, 10))
        assert ten > 2 * one
    assert points["simulated", 1]["links"] == 2304  # as in the paper
    assert 0 < points["simulated", 1]["congested_share"] < 1


@pytest.mark.system("numeric")
def test_table51_ratios_follow_the_load_ratio_of_the_instance():
    answer = taffet.run_table51({"seed": 5, "mbytes": 4}, quiet, never)
    for pattern in ("bisection", "bisection-shuffle"):
        assert answer[f"ratio_{pattern}"] == pytest.approx(answer[f"load_ratio_{pattern}"], rel=0.15)


def test_table51_moves_with_seed_and_topology():
    found = set()
    for seed, tree in ((5, "xgft:3;16,8,4;1,8,8"), (6, "xgft:3;16,8,4;1,8,8"), (5, "xgft:3;16,8,4;1,4,8")):
        answer = taffet.run_table51({"seed": seed, "mbytes": 0.5, "topology": tree}, quiet, never)
        assert all(point["conserved"] for point in answer["points"])
        found.add(round(answer["ratio_bisection-shuffle"], 9))
    assert len(found) == 3


def test_pf3d_background_is_found_and_remapping_wins():
    alone, crowded, remapped = taffet.run_pf3d({"mbytes": 1, "seed": 2, "compute_ms": 0}, quiet, never)["points"]
    assert crowded["time_ms"] > 1.5 * alone["time_ms"]
    assert "background-traffic" in crowded["causes"]
    assert crowded["first_root"] in {"leaf1", "leaf2", "leaf3"}
    assert remapped["time_ms"] < 1.04 * alone["time_ms"]
    assert alone["causes"] == []


@pytest.mark.system("numeric")
def test_ping_pong_prefers_adaptive_within_and_high_bias_between_groups():
    answer = desensi.run_fig7(
        {"seed": 1, "repeats": 3, "size_bytes": 65536, "topology": "dragonfly:4,3,8,12"}, quiet, never
    )
    time = {(p["place"], p["mode"]): p["time_us"]["median"] for p in answer["points"]}
    assert time["inter-chassis", "adaptive"] < time["inter-chassis", "high-bias"]
    assert time["inter-groups", "high-bias"] < time["inter-groups", "adaptive"]
    assert all(p["conserved"] for p in answer["points"])


def test_studies_stop_when_cancelled():
    with pytest.raises(Cancelled):
        taffet_sampling.run_table21({"mpackets": 0.05}, quiet, lambda: True)
    with pytest.raises(BadRequest, match="mpackets"):
        taffet_sampling.run_table21({"mpackets": "many"}, quiet, never)


def test_model_is_equation_two():
    # 4 KiB: 64 packets of 5 flits.
    assert message_time_s(4096, 1000, 0.5) == pytest.approx(((64 + 512) / 1024 * 1000 + 320 * 1.5) / 800e6)
    assert RoutingChoice.time_cycles(4096, 1000, 0.5) == pytest.approx((64 + 512) / 1024 * 1000 + 320 * 1.5)


def test_small_messages_go_with_high_bias_until_they_add_up():
    choice = RoutingChoice()
    modes = [choice.select(1024) for _ in range(4)]
    assert modes == [DragonflyMode.ADAPTIVE_3] * 3 + [DragonflyMode.ADAPTIVE_0]
    assert choice.decided


def test_choice_is_equation_four_where_that_one_holds():
    """Where high bias stalls more than adaptive, comparing times is the published inequality by flits, in both of its directions."""
    rng, seen = np.random.default_rng(4), set()
    for _ in range(500):
        latency_factor, stall_factor = rng.uniform(0.3, 1.2), rng.uniform(1.05, 3.0)
        latency, stalls, size = rng.uniform(300, 5000), rng.uniform(0.1, 8.0), int(rng.integers(4096, 1 << 20))
        choice = RoutingChoice(latency_factor=latency_factor, stall_factor=stall_factor)
        choice.select(1 << 20)
        choice.observe(latency, stalls)
        packets = -(-size // 64)
        flits = packets - (-size // 16)
        most = latency * (1 - latency_factor) / (stalls * (stall_factor - 1)) * (packets + 512) / 1024
        assert (choice.select(size) == DragonflyMode.ADAPTIVE_3) == (flits < most)
        seen.add(flits < most)
    assert seen == {True, False}


def test_choice_compares_times_also_where_high_bias_stalls_less():
    # Equation 4 divides by s_bs - s_ad and turns round here; equation 3 does not.
    choice = RoutingChoice(latency_factor=0.9, stall_factor=0.5)
    choice.select(1 << 20)
    choice.observe(2000.0, 4.0)
    assert choice.select(1 << 20) == DragonflyMode.ADAPTIVE_3
    choice.observe(9000.0, 9.0)  # it was worse after all: the remembered adaptive values win
    assert choice.select(1 << 20) == DragonflyMode.ADAPTIVE_0
    assert choice.select(1 << 20, all_to_all=True) == DragonflyMode.ADAPTIVE_1


def test_old_observations_are_dropped():
    choice = RoutingChoice(latency_factor=0.5, stall_factor=1.0, oldest=2)
    choice.select(8192)
    choice.observe(1000.0, 1.0)
    assert choice.select(8192) == DragonflyMode.ADAPTIVE_3
    for _ in range(4):  # adaptive's good values age away; then it is estimated at twice the latency
        choice.observe(1500.0, 1.0)
    assert choice.select(8192) == DragonflyMode.ADAPTIVE_3


IDLE = NicObservation(("nid1", "nid2"), 1.0, 110_000_000, 22_000_000, 94_000_000, 5e7)


def test_the_latency_of_an_observation_is_in_cycles_of_the_network_card():
    assert IDLE.latency_cycles == pytest.approx(5e7 * 1e-6 * 800e6 / 22e6)


def tree_map():
    fabric = build_xgft(2, [4, 4], [1, 4])
    size = len(fabric.links)
    return fabric, np.zeros(size), np.full(size, 0.3)


def test_endpoint_root_is_a_pattern_of_communication():
    fabric, fraction, use = tree_map()
    fraction[(fabric.links.dst == len(fabric.routers) + 5)] = 0.9
    roots = diagnose_congestion(CongestionMap(fabric, fraction, use))
    assert [(one.vertex, one.cause) for one in roots] == [("n5", "communication-pattern")]


def test_interior_roots_tell_mapping_from_static_routes_and_background():
    fabric, fraction, use = tree_map()
    up = (fabric.links.src == 0) & (fabric.links.dst < len(fabric.routers))
    fraction[up], use[up] = 0.9, 0.95
    causes = {one.cause for one in diagnose_congestion(CongestionMap(fabric, fraction, use))}
    assert causes == {"mapping-or-bandwidth"}
    fraction[np.flatnonzero(up)[1:]] = 0.05
    assert {one.cause for one in diagnose_congestion(CongestionMap(fabric, fraction, use))} == {"static-routes"}
    use[up] = 0.05
    assert {one.cause for one in diagnose_congestion(CongestionMap(fabric, fraction, use))} == {"background-traffic"}
    assert diagnose_congestion(CongestionMap(fabric, np.full(len(fabric.links), np.nan), use)) == []


def test_a_root_has_lighter_links_after_it_or_one_in_full_use():
    fabric, fraction, use = tree_map()
    before = (fabric.links.src == 0) & (fabric.links.dst < len(fabric.routers))
    spine = int(fabric.links.dst[np.flatnonzero(before)[0]])
    into_spine = before & (fabric.links.dst == spine)
    after = (fabric.links.src == spine) & (fabric.links.dst != 0)
    fraction[into_spine], use[into_spine] = 0.9, 0.6
    found = [one.vertex for one in diagnose_congestion(CongestionMap(fabric, fraction, use))]
    assert found == [fabric.vertex_name(spine)]  # light after it
    fraction[after] = 0.4
    assert (
        diagnose_congestion(CongestionMap(fabric, fraction, use)) == []
    )  # neither light nor full: the samples do not say
    use[np.flatnonzero(after)[0]] = 0.9
    assert [one.vertex for one in diagnose_congestion(CongestionMap(fabric, fraction, use))] == found
