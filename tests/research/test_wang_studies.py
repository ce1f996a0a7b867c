"""Wang 2018 in the paper's form: distributions over ranks and channels, by draws, on a small machine and with planted traffic."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from flitwatch_core import packet
from flitwatch_domain.topology_spec import fabric_of
from flitwatch_research.studies import published, wang
from flitwatch_research.studies.wang_distributions import Draw, combine_draws, draw_of
from flitwatch_research.studies.wang_figures import draw
from flitwatch_simulation.packet.engine import execute_workload
from flitwatch_simulation.packet.machine import build_machine
from flitwatch_simulation.workloads.messages import Messages, in_rounds, to_ops

SMALL = {"topology": "dragonfly:4,2,4,4", "ranks": 64, "load": 0.005, "seed": 3}


def study(run: Any, **parameters: Any) -> dict[str, Any]:
    return dict(run({**SMALL, **parameters}, lambda *_: None, lambda: False))


def one_message(size: int, to: int) -> tuple[Messages, packet.Result, Draw]:
    """Rank 0 on endpoint 0 sends to rank 1 on endpoint `to`, by minimal routes and sampled."""
    machine = build_machine(fabric_of("dragonfly:4,2,4,4"), "minimal", packet_bytes=1024)
    made = in_rounds(2, [(np.array([0]), np.array([1]), size)])
    endpoints = np.array([0, to])
    workload = packet.Workload(ops=to_ops([(made, endpoints)]), default_mode=machine.mode)
    result = execute_workload(machine, workload, packet_bytes=1024, seed=1, sampling=True)
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
    machine = build_machine(fabric_of("dragonfly:4,2,4,4"), "minimal", packet_bytes=1024)
    there, back = (np.array([0]), np.array([1]), 4096), (np.array([1]), np.array([0]), 4096)
    workload = packet.Workload(ops=to_ops([(in_rounds(2, [there, back]), np.array([0, 9]))]), default_mode=machine.mode)
    raw = execute_workload(machine, workload, packet_bytes=1024, seed=1).raw
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


@pytest.mark.system("numeric")
def test_distributions_grow_and_agree_with_the_means() -> None:
    points = study(wang.run_fig3, applications=["fill-boundary"], runs=2, load=0.025)["points"]
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


@pytest.mark.system("numeric")
def test_figure_seven_is_relative_to_random_adaptive() -> None:
    points = study(wang.run_fig7, applications=["amg"], runs=2)["points"]
    share = {(p["scale"], p["placement"], p["routing"]): p["slowest_percent_of_random_adaptive"] for p in points}
    base = [one for (_, *case), one in share.items() if case == ["random-node", "adaptive"]]
    assert len(base) == 5 and all(one["ci95"] == pytest.approx([100, 100]) for one in base)
    assert any(abs(one["mean"] - 100) > 1 for one in share.values())


@pytest.mark.system("numeric")
def test_figures_eight_to_ten_have_all_combinations_over_the_job_alone() -> None:
    points = study(wang.run_fig8, applications=["amg"], runs=2)["points"]
    cases = {(p["placement"], p["routing"], p["background"]) for p in points}
    assert len(cases) == len(points) == 30
    alone = [p for p in points if p["background"] == "none"]
    assert all(p["slowest_percent_of_alone"]["mean"] == pytest.approx(100) for p in alone)
    assert all((p["hops"] is None) == (p["background"] != "none") for p in points)
    bursty = [p["slowest_percent_of_alone"]["mean"] for p in points if p["background"] == "bursty"]
    assert max(bursty) > 120


def test_only_short_intervals_slow_amg_down_and_contiguous_nodes_least() -> None:
    """Figure 8(a): at the shortest interval of the paper's range random nodes under adaptive routing suffer many times over; at a long one nobody does."""
    small: dict[str, Any] = {"topology": "dragonfly:4,2,4,4", "ranks": 64}
    cases = (("contiguous", "minimal"), ("random-node", "adaptive"))
    close, wide = (
        [wang.loaded_over_alone("amg", *case, "uniform", load, **small)["mean"] / 100 for case in cases]
        for load in (7.6, 0.25)
    )
    assert close[1] > 5 * close[0] and close[0] < 1.5
    assert max(wide) < 1.5


@pytest.mark.system("numeric")
def test_a_cell_alongside_traffic_is_a_mean_over_draws_as_the_study_makes_it() -> None:
    cell = wang.loaded_over_alone(
        "amg", "random-node", "minimal", "uniform", 1.0, SMALL["topology"], 64, SMALL["seed"], scale=0.005, draws=3
    )
    points = study(wang.run_fig8, applications=["amg"], runs=3)["points"]
    (same,) = [
        p["slowest_percent_of_alone"]
        for p in points
        if (p["placement"], p["routing"], p["background"]) == ("random-node", "minimal", "uniform")
    ]
    assert cell["mean"] == pytest.approx(same["mean"]) and cell["ci95"] == pytest.approx(same["ci95"])
    assert cell["ci95"] is not None and cell["ci95"][0] < cell["mean"] < cell["ci95"][1]


@pytest.mark.system("numeric")
def test_bursts_cost_a_job_that_goes_on_their_share_of_the_time() -> None:
    """Figure 9: a job within one burst waits as long as the burst; one that sends all the time loses a part, on contiguous nodes under minimal routing nothing."""
    small: dict[str, Any] = {"topology": "dragonfly:4,2,4,4", "ranks": 64, "scale": 0.02}

    def bursty(placement: str, routing: str, exchanges: int, size: int | None = None) -> float:
        sent: dict[str, Any] = {"exchanges": exchanges, "burst_message_bytes": size, **small}
        return wang.loaded_over_alone("crystal-router", placement, routing, "bursty", 1.0, **sent)["mean"] / 100

    short, long = (bursty("random-node", "adaptive", exchanges) for exchanges in (1, 100))
    assert short > 4 and 1.1 < long < 1.9
    assert abs(bursty("contiguous", "minimal", 100) - 1) < 0.05
    # Smaller bursts at the same load are as much of the time.
    assert bursty("random-node", "adaptive", 100, 4096) == pytest.approx(long, abs=0.1)


@pytest.mark.system("numeric")
def test_a_point_alongside_bursts_says_how_many_intervals_the_job_takes() -> None:
    """Half of the endpoints of the small machine are free: bursts of 16 KiB to 63 others at 1 GiB/s come every 63 / 65536 s."""
    for exchanges in (1, 3):
        answer = study(wang.run_fig8, applications=["crystal-router"], runs=1, exchanges=exchanges)
        at = {(p["placement"], p["routing"], p["background"]): p for p in answer["points"]}
        alone = at["contiguous", "minimal", "none"]
        assert "intervals" not in alone
        bursty = at["contiguous", "minimal", "bursty"]
        assert bursty["intervals"] == pytest.approx(alone["slowest_ms"]["mean"] / (1e3 * 63 / 65536))
    once = study(wang.run_fig8, applications=["crystal-router"], runs=1)["points"]
    assert 2.5 < alone["slowest_ms"]["mean"] / once[0]["slowest_ms"]["mean"] < 3.5


def test_matrix_and_load_over_time_hold_every_byte() -> None:
    answer = study(wang.run_fig2, load=0.1)
    # Of 64 ranks: three times six stages, and eight exchanges, of the mean load each.
    rounds = {"crystal-router": 18, "fill-boundary": 8}
    for matrix in answer["matrices"]:
        name, ranks = matrix["application"], matrix["ranks"]
        sent_kb = 1e3 * np.sum(matrix["sent_mb"])
        if name in rounds:
            assert sent_kb == pytest.approx(0.1 * wang.APPLICATIONS[name][1] * ranks * rounds[name], rel=0.02)
        load = [p for p in answer["points"] if p["application"] == name]
        assert ranks * sum(p["mean_kb"] for p in load) == pytest.approx(sent_kb)
        assert all(p["mean_kb"] <= p["largest_kb"] for p in load)
    surges = [p["mean_kb"] > 0 for p in answer["points"] if p["application"] == "amg"]
    assert sum(surges) < len(surges)  # AMG is silent between its surges


@pytest.mark.system("numeric")
def test_matrices_and_loads_are_as_the_text_says_of_figure_2() -> None:
    """Section II-A: who sends to whom, and how a rank's load changes over time."""
    made = {name: wang._make_messages(name, None, 1.0, 1) for name in wang.APPLICATIONS}
    partners, near, by_round = {}, {}, {}
    for name, m in made.items():
        src, dst, size = m.matrix()
        partners[name] = np.bincount(src)
        near[name] = size[np.abs(src - dst) < 0.05 * m.ranks].sum() / size.sum()
        by_round[name] = np.bincount(m.src * m.rounds + m.send_round, m.size_bytes, m.ranks * m.rounds) / 1e3
    # Crystal router: stages between ever closer halves, so log2(ranks) partners, and most bytes in small neighbourhoods.
    assert set(partners["crystal-router"]) <= {9, 10} and near["crystal-router"] > 0.5
    assert by_round["crystal-router"].mean() == pytest.approx(190, rel=0.01)
    # Fill boundary: 26 neighbours of a block, and as many-to-many with more; a load from 100 to 2,560 KB.
    assert partners["fill-boundary"].min() > 2 * 26
    assert by_round["fill-boundary"].min() == pytest.approx(100, rel=0.05)
    assert by_round["fill-boundary"].max() == pytest.approx(2560, rel=0.05)
    # AMG: up to six neighbours at a time, messages that get smaller, and the least load of the three.
    amg = made["amg"]
    at_once = np.bincount(amg.src * amg.rounds + amg.send_round, minlength=amg.ranks * amg.rounds)
    assert at_once.max() == 6
    sizes = [int(amg.size_bytes[amg.send_round == k].max()) for k in range(4)]
    assert sizes == sorted(sizes, reverse=True) and sizes[0] > 10 * sizes[-1]
    assert by_round["amg"].mean() < 0.2 * min(by_round[name].mean() for name in ("crystal-router", "fill-boundary"))
    # Over time: crystal router is the most constant, fill boundary fluctuates, AMG has short surges.
    answer = study(wang.run_fig2, load=1.0)
    over = {
        name: np.array([p["mean_kb"] for p in answer["points"] if p["application"] == name])
        for name in wang.APPLICATIONS
    }
    varies = {name: float(load.std() / load.mean()) for name, load in over.items()}
    assert 1.5 * varies["crystal-router"] < varies["fill-boundary"] < varies["amg"]
    assert [float((over[name] < 0.1 * over[name].mean()).mean()) > 0.1 for name in wang.APPLICATIONS] == [
        False,
        True,
        True,
    ]


def test_amg_has_three_peaks_of_the_published_load() -> None:
    made = wang._make_messages("amg", 1728, 1.0, 1)
    by_round = np.bincount(made.src * made.rounds + made.send_round, made.size_bytes, made.ranks * made.rounds)
    most = by_round.reshape(made.ranks, made.rounds).max(axis=0) / 1e3
    assert most.max() == pytest.approx(75, rel=0.01) and (most > 70).sum() == 6  # down and up again, three times
    assert np.median(most) < 20


@pytest.mark.system("numeric")
def test_table_two_is_as_printed() -> None:
    answer = wang.run_table2({}, lambda *_: None, lambda: False)
    printed = published.published_rows("wang2018", "table II")
    assert len(answer["points"]) == len(printed) == 3
    for point in answer["points"]:
        row = printed[wang.SHORT[point["application"]]]
        assert round(point["uniform_mib"], 2) == row["uniform random, peak load"]
        assert point["bursty_gib"] == pytest.approx(row["bursty, peak load"], abs=0.006)
        # Whichever nodes the application takes: five draws agree to the byte.
        assert point["draws"] == 5
        for name in ("uniform_mib", "bursty_gib"):
            assert point[f"{name}_ci95"] == [point[name]] * 2


@pytest.mark.system("numeric")
@pytest.mark.parametrize(
    ("run", "pictures"), [(wang.run_fig2, 1), (wang.run_fig3, 2), (wang.run_fig7, 1), (wang.run_fig8, 3)]
)
def test_each_study_draws_what_the_paper_draws(tmp_path: Path, run: Any, pictures: int) -> None:
    paths = draw(study(run, applications=["amg"], **({} if run is wang.run_fig2 else {"runs": 1})), tmp_path)
    assert len(paths) == pictures
    assert all("Axes" in path.read_text() or "<svg" in path.read_text() for path in paths)


def test_pooling_leaves_ranks_without_packets_out_of_the_hops() -> None:
    _, _, found = one_message(10_000, 4)
    both = combine_draws([found, found])
    assert both["hops"] is not None and both["hops"]["min"] == both["hops"]["max"] == 2
