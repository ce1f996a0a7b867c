"""Wang 2018 as the paper draws it: distributions over ranks and channels, by draws, on a small machine and with planted traffic."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from flitwatch_core import packet
from flitwatch_domain.topology_spec import fabric_of
from flitwatch_research.studies import published, wang
from flitwatch_research.studies.wang_distributions import Draw, draw_of, together
from flitwatch_research.studies.wang_figures import draw
from flitwatch_simulation.packet.machine import build
from flitwatch_simulation.packet.run import execute
from flitwatch_simulation.workloads.messages import Messages, in_rounds, to_ops

SMALL = {"topology": "dragonfly:4,2,4,4", "ranks": 64, "load": 0.05, "seed": 3}


def study(run: Any, **parameters: Any) -> dict[str, Any]:
    return dict(run({**SMALL, **parameters}, lambda *_: None, lambda: False))


def one_message(size: int, to: int) -> tuple[Messages, packet.Result, Draw]:
    """Rank 0 on endpoint 0 sends to rank 1 on endpoint `to`, by minimal routes and sampled."""
    machine = build(fabric_of("dragonfly:4,2,4,4"), "minimal", packet_bytes=1024)
    made = in_rounds(2, [(np.array([0]), np.array([1]), size)])
    endpoints = np.array([0, to])
    workload = packet.Workload(ops=to_ops([(made, endpoints)]), default_mode=machine.mode)
    result = execute(machine, workload, packet_bytes=1024, seed=1, sampling=True)
    return made, result, draw_of(machine, result, endpoints, sampled=True)


@pytest.mark.parametrize(("to", "hops", "leaves"), [(1, 1, 0), (4, 2, 1), (20, 3, 1)])
def test_a_planted_message_is_found_on_its_channels_and_in_its_ranks_hops(to: int, hops: int, leaves: int) -> None:
    # Four endpoints a router, four routers a row, two rows: endpoint 1 shares the router, 4 the row, 20 lies in the other row and column.
    _, _, found = one_message(50_000, to)
    assert found["hops"][0] == hops and np.isnan(found["hops"][1])
    # Packets take parallel cables and both corners; a corner's router serves neither rank, so that its channels are not counted.
    assert found["local_mb"].sum() == pytest.approx(0.05 * leaves)
    assert not found["global_mb"].any()
    assert found["time_ms"][1] > 0


def test_sends_start_when_their_round_does() -> None:
    machine = build(fabric_of("dragonfly:4,2,4,4"), "minimal", packet_bytes=1024)
    there, back = (np.array([0]), np.array([1]), 4096), (np.array([1]), np.array([0]), 4096)
    workload = packet.Workload(ops=to_ops([(in_rounds(2, [there, back]), np.array([0, 9]))]), default_mode=machine.mode)
    raw = execute(machine, workload, packet_bytes=1024, seed=1).raw
    assert raw["send_start_ps"][0] == 0
    assert raw["send_start_ps"][1] == raw["send_ps"][0] > 0


def test_draws_are_put_together_with_an_interval_and_kept_apart_by_number() -> None:
    (point, *_) = study(wang.run_fig3, applications=["crystal-router"], runs=3)["points"]
    assert point["draws"] == 3 == len(point["median_ms_of_draws"])
    assert point["median_ms"]["mean"] == pytest.approx(np.mean(point["median_ms_of_draws"]))
    low, high = point["median_ms"]["ci95"]
    assert low < point["median_ms"]["mean"] < high
    assert point["time_ms"]["max"] == pytest.approx(max(point["slowest_ms_of_draws"]))
    (alone, *_) = study(wang.run_fig3, applications=["crystal-router"], runs=1)["points"]
    assert alone["median_ms_of_draws"] == point["median_ms_of_draws"][:1]
    assert alone["median_ms"]["ci95"] is None


def test_distributions_grow_and_agree_with_the_means() -> None:
    points = study(wang.run_fig3, applications=["fill-boundary"], runs=2, load=0.2)["points"]
    assert len(points) == 10
    for point in points:
        for name in ("hops", "local_traffic_mb", "global_traffic_mb", "local_saturation_ms", "global_saturation_ms"):
            quantiles = point[name]["quantiles"]
            assert quantiles == sorted(quantiles)
            assert (quantiles[0], quantiles[10], quantiles[-1]) == tuple(
                point[name][k] for k in ("min", "median", "max")
            )
        assert point["hops"]["min"] <= point["mean_hops"] <= point["hops"]["max"]
    at = {(p["placement"], p["routing"]): p for p in points}
    # Localised communication has fewer hops, balanced traffic smaller largest channels (section IV-A).
    assert at["contiguous", "minimal"]["hops"]["median"] < at["random-node", "adaptive"]["hops"]["median"]
    most = {case: p["local_traffic_mb"]["max"] for case, p in at.items()}
    assert most["random-node", "adaptive"] < most["contiguous", "minimal"]


def test_figure_seven_is_relative_to_random_adaptive() -> None:
    points = study(wang.run_fig7, applications=["amg"], runs=2)["points"]
    share = {(p["scale"], p["placement"], p["routing"]): p["slowest_percent_of_random_adaptive"] for p in points}
    base = [one for (_, *case), one in share.items() if case == ["random-node", "adaptive"]]
    assert len(base) == 5 and all(one["ci95"] == pytest.approx([100, 100]) for one in base)
    assert any(abs(one["mean"] - 100) > 1 for one in share.values())


def test_figures_eight_to_ten_have_all_combinations_over_the_job_alone() -> None:
    points = study(wang.run_fig8, applications=["amg"], runs=2)["points"]
    cases = {(p["placement"], p["routing"], p["background"]) for p in points}
    assert len(cases) == len(points) == 30
    alone = [p for p in points if p["background"] == "none"]
    assert all(p["slowest_percent_of_alone"]["mean"] == pytest.approx(100) for p in alone)
    assert all((p["hops"] is None) == (p["background"] != "none") for p in points)
    beside = [p["slowest_percent_of_alone"]["mean"] for p in points if p["background"] == "bursty"]
    assert max(beside) > 120


def test_only_short_intervals_slow_amg_down_and_contiguous_nodes_least() -> None:
    """Figure 8(a): at the shortest interval of the paper's range random nodes under adaptive routing suffer many times over; at a long one nobody does."""
    small: dict[str, Any] = {"topology": "dragonfly:4,2,4,4", "ranks": 64}
    cases = (("contiguous", "minimal"), ("random-node", "adaptive"))
    close, wide = (
        [wang.beside_over_alone("amg", *case, "uniform", load, **small) for case in cases] for load in (7.6, 0.25)
    )
    assert close[1] > 5 * close[0] and close[0] < 1.5
    assert max(wide) < 1.5


def test_matrix_and_load_over_time_hold_every_byte() -> None:
    answer = study(wang.run_fig2, load=1.0)
    for matrix in answer["matrices"]:
        name, ranks = matrix["application"], matrix["ranks"]
        sent_kb = 1e3 * np.sum(matrix["sent_mb"])
        assert sent_kb == pytest.approx(wang.APPLICATIONS[name][1] * ranks, rel=0.02)
        load = [p for p in answer["points"] if p["application"] == name]
        assert ranks * sum(p["mean_kb"] for p in load) == pytest.approx(sent_kb)
        assert all(p["mean_kb"] <= p["largest_kb"] for p in load)
    surges = [p["mean_kb"] > 0 for p in answer["points"] if p["application"] == "amg"]
    assert sum(surges) < len(surges)  # AMG is silent between its surges


def test_table_two_is_as_printed() -> None:
    answer = wang.run_table2({}, lambda *_: None, lambda: False)
    printed = published.rows("wang2018", "table II")
    assert len(answer["points"]) == len(printed) == 3
    for point in answer["points"]:
        row = printed[wang.SHORT[point["application"]]]
        assert round(point["uniform_mib"], 2) == row["uniform random, peak load"]
        assert point["bursty_gib"] == pytest.approx(row["bursty, peak load"], abs=0.006)


@pytest.mark.parametrize(
    ("run", "pictures"), [(wang.run_fig2, 1), (wang.run_fig3, 2), (wang.run_fig7, 1), (wang.run_fig8, 3)]
)
def test_each_study_draws_what_the_paper_draws(tmp_path: Path, run: Any, pictures: int) -> None:
    paths = draw(study(run, applications=["amg"], **({} if run is wang.run_fig2 else {"runs": 1})), tmp_path)
    assert len(paths) == pictures
    assert all("Axes" in path.read_text() or "<svg" in path.read_text() for path in paths)


def test_pooling_leaves_ranks_without_packets_out_of_the_hops() -> None:
    _, _, found = one_message(10_000, 4)
    both = together([found, found])
    assert both["hops"] is not None and both["hops"]["min"] == both["hops"]["max"] == 2
