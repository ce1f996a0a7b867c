"""The studies of Hoefler et al. 2009: exact numbers are reproduced, and shapes have disjoint confidence intervals."""

from __future__ import annotations

import csv
import itertools
import json
from pathlib import Path
from typing import Any

import pytest

from flitwatch_domain.errors import BadInput, BadRequest, Cancelled, NotFound, TooCostly
from flitwatch_domain.secret_file import LocalText
from flitwatch_research.studies import output, registry
from flitwatch_research.tasks import HANDLERS


class Quiet:
    """A task's context that nobody watches."""

    def report(self, *_: object) -> None:
        pass

    def cancelled(self) -> bool:
        return False


def run(name: str, **parameters: Any) -> dict[str, Any]:
    return registry.find_study(name).run(parameters, lambda *_: None, lambda: False)


def interval(point: dict[str, Any]) -> tuple[float, float]:
    low, high = point["slowdown"]["ci95"]
    return low, high


def test_table_1_is_exact() -> None:
    points = run("table1")["points"]
    assert [(p["endpoints"], p["switches"]) for p in points] == [
        (144, 18),
        (288, 36),
        (1152, 240),
        (2304, 480),
        (3456, 720),
        (10368, 3024),
        (20736, 6048),
    ]
    assert all(p["switch_ports"] == [24] for p in points)


def test_the_worked_example_costs_five_and_three() -> None:
    for point in run("example")["points"]:
        assert point["cost"] == {"quiet": 3, "perturbed": 5}
        weights = point["perturbed_weights"]
        assert (weights["0-1"], weights["1-3"], weights["3-7"], weights["0-4"]) == (2, 1, 2, 2)


def test_the_table_of_the_worked_example_is_balanced() -> None:
    example = json.loads(Path(registry.__file__).with_name("hoefler_example.json").read_text())
    for switch, ports in enumerate(example["ports"]):
        remote = [p for e, p in enumerate(ports) if switch >= 4 or e // 4 != switch]
        uses = {remote.count(port) for port in set(remote)}
        assert uses == ({3} if switch < 4 else {2})


@pytest.mark.system("numeric")
@pytest.mark.parametrize("semantics", ["orcs", "longest-path"])
def test_slowdown_grows_with_the_ratio_and_3d_stays_below_2d(semantics: str) -> None:
    points = run("fig15", runs=120, ratios=[0.1, 0.5, 0.9], semantics=semantics)["points"]
    by_torus = {name: [p for p in points if p["series"] == name] for name in ("100-ary 2-cube", "20-ary 3-cube")}
    for series in by_torus.values():
        for lower, higher in itertools.pairwise(series):
            assert interval(lower)[1] < interval(higher)[0]
    for flat, deep in zip(*by_torus.values(), strict=True):
        assert interval(deep)[1] < interval(flat)[0]


def test_the_100_ary_2_cube_slows_down_about_twelvefold() -> None:
    (point,) = run("fig15", runs=200, ratios=[0.9], semantics="orcs", topologies={"2-cube": "torus:100,100"})["points"]
    assert 11.0 < point["slowdown"]["mean"] < 13.5


@pytest.mark.parametrize("semantics", ["orcs", "longest-path"])
def test_slowdown_grows_with_size(semantics: str) -> None:
    tori = run("fig16", runs=200, k_2d=[10, 24, 54], k_3d=[4, 8, 14], semantics=semantics)["points"]
    trees = run(
        "fig13",
        runs=300,
        topologies=["xgft:2;12,12;1,6;1,2", "xgft:3;12,12,8;1,12,4;1,1,3", "xgft:4;12,12,12,6;1,12,12,3;1,1,1,4"],
        semantics=semantics,
    )["points"]
    for series in (tori[:3], tori[3:], trees):
        for smaller, larger in itertools.pairwise(series):
            assert smaller["x"] < larger["x"]
            assert interval(smaller)[1] < interval(larger)[0]
    assert (tori[0]["x"], tori[3]["x"]) == (100, 64)


@pytest.mark.system("numeric")
@pytest.mark.parametrize("semantics", ["orcs", "longest-path"])
def test_table_1s_trees_slow_down_with_size_but_for_the_one_with_uneven_cables(semantics: str) -> None:
    """Upper pairs of switches in the tree of 2,304 have one cable and two in turn; only that tree goes by ftree's tables."""
    points = run("fig13", semantics=semantics)["points"]
    assert [p["x"] for p in points] == [144, 288, 1152, 2304, 3456, 10368, 20736]
    uneven = points.pop(3)
    assert {p["routing"] for p in points} == {"dmodk"} and uneven["routing"] == "ftree"
    for smaller, larger in itertools.pairwise(points):
        assert interval(smaller)[1] < interval(larger)[0]
    assert interval(points[2])[1] < interval(uneven)[0] and interval(points[3])[1] < interval(uneven)[0]


def test_fig11s_stand_ins_grow_with_the_ratio_and_with_the_network() -> None:
    """The text about figure 11: slowdown increases with the network's size and with the ratio; half bisection is apart."""
    points = run("fig11", runs=200, ratios=[0.2, 0.5, 0.8], semantics="orcs")["points"]
    series = [list(group) for _, group in itertools.groupby(points, key=lambda p: p["series"])]
    assert [group[0]["endpoints"] for group in series] == [132, 576, 1152, 3456, 4608]
    for group in series:
        for lower, higher in itertools.pairwise(group):
            assert interval(lower)[1] < interval(higher)[0]
    for smaller, larger in itertools.pairwise(series):
        for here, there in zip(smaller, larger, strict=True):
            assert here["ratio"] == there["ratio"] and here["slowdown"]["mean"] < there["slowdown"]["mean"]
    assert interval(series[0][1])[1] < interval(series[3][1])[0]
    # From one machine to the next, the step is the largest to the one with half of the bisection.
    means = [group[-1]["slowdown"]["mean"] for group in series]
    steps = [after - before for before, after in itertools.pairwise(means)]
    assert max(steps) == steps[-1]


def test_half_bisection_suffers_more_than_full() -> None:
    def mean(spec: str) -> tuple[float, float]:
        low, high = HANDLERS["sim.collective"]({"topology": spec, "runs": 200}, Quiet())["slowdown"]["ci95"]  # type: ignore[index]
        return low, high

    assert mean("xgft:2;12,12;1,12")[1] < mean("xgft:2;12,12;1,6")[0]


def test_figures_move_with_seed_and_topology_and_not_with_threads() -> None:
    def means(**parameters: Any) -> list[float]:
        small = {"runs": 40, "k_2d": [10], "k_3d": [5]} | parameters
        return [p["slowdown"]["mean"] for p in run("fig16", **small)["points"]]

    first = means(seed=1)
    assert first == means(seed=1, threads=2)
    assert all(a != b for a, b in zip(first, means(seed=2), strict=True))
    assert all(a != b for a, b in zip(first, means(k_2d=[12], k_3d=[6]), strict=True))


@pytest.mark.shared
def test_fig11_takes_imported_machines(shared: Path) -> None:
    machines = {
        name: LocalText(f"file:{shared}/data/infiniband/{name}") for name in ("selene.storage.txt", "loginoff-topo.txt")
    }
    fabrics = [{"name": name, "spec": spec} for name, spec in machines.items()]
    points = run("fig11", runs=150, ratios=[0.2, 0.8], fabrics=fabrics, stand_ins=False, semantics="orcs")["points"]
    for name in machines:
        low, high = [p for p in points if p["series"] == name]
        assert interval(low)[1] < interval(high)[0]


def test_a_study_leaves_json_csv_and_a_figure(tmp_path: Path) -> None:
    study = registry.find_study("fig16")
    answer = run("fig16", runs=10, k_2d=[4], k_3d=[3])
    (figure,) = output.write_outputs(study, answer, tmp_path)
    assert figure.read_text().lstrip().startswith("<?xml") and "slowdown" in figure.read_text()
    assert json.loads((tmp_path / "hoefler-fig16.json").read_text())["points"] == answer["points"]
    with (tmp_path / "hoefler-fig16.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 4 and float(rows[0]["slowdown.mean"]) == answer["points"][0]["slowdown"]["mean"]


def test_a_study_reports_progress_and_can_be_cancelled() -> None:
    seen: list[tuple[int, int]] = []
    with pytest.raises(Cancelled):
        registry.find_study("fig15").run(
            {"runs": 100_000}, lambda done, total, _: seen.append((done, total)), lambda: len(seen) > 3
        )
    assert seen and all(0 <= done <= total for done, total in seen)


def test_requests_that_make_no_sense_are_refused() -> None:
    with pytest.raises(NotFound, match="no study"):
        registry.find_study("fig99")
    for parameters in ({"runs": 1}, {"ratios": []}, {"ratios": [1.5]}, {"semantics": "guess"}):
        with pytest.raises(BadRequest):
            run("fig15", **{"runs": 2, "topologies": {"ring": "torus:9"}} | parameters)
    for spec in ("torus:", "torus:0", "xgft:2;4,4;1", "xgft:2;4,4;2,2", "mesh:4,4", "theta:3", "xgft:2;4,4;1,2;1,nan"):
        with pytest.raises((BadInput, BadRequest)):
            HANDLERS["sim.collective"]({"topology": spec, "runs": 2}, Quiet())
    for spec in ("torus:99999,99999", "xgft:3;999,999,999;1,9,9", "torus:9,9,9,9,9,9,9,9,9"):
        with pytest.raises(TooCostly, match="links"):
            HANDLERS["sim.collective"]({"topology": spec, "runs": 2}, Quiet())


def exact_share_of_two_leaves(nodes: int) -> float:
    """Two leaves of `nodes` behind one cable each: those that cross in one direction share it, so together they get one cable's bandwidth."""
    half, total = nodes, 0.0
    orders = list(itertools.permutations(range(2 * nodes)))
    for order in orders:
        leaves = [(order[k] // nodes, order[half + k] // nodes) for k in range(half)]
        total += (sum(a == b for a, b in leaves) + ((0, 1) in leaves) + ((1, 0) in leaves)) / half
    return total / len(orders)


@pytest.mark.parametrize(
    ("topology", "exact"),
    [("xgft:1;8;1", 1.0), ("xgft:2;2,2;1,1", 5 / 6), ("xgft:2;3,2;1,1", exact_share_of_two_leaves(3))],
)
def test_effective_bisection_bandwidth_of_small_trees(topology: str, exact: float) -> None:
    answer = run("ebb", topology=topology, runs=4000)
    found = answer["effective_bisection_bandwidth"]
    low, high = found["ci95"]
    slack = 2 * (high - low)  # four standard errors each way
    assert low - slack <= exact <= high + slack and high - low < 0.02
    assert answer["simulated"] and exact_share_of_two_leaves(2) == pytest.approx(5 / 6)


def test_effective_bisection_bandwidth_falls_with_depth_and_taper_and_is_compared_with_what_was_published() -> None:
    share = {
        spec: run("ebb", topology=spec, runs=60)["effective_bisection_bandwidth"]["ci95"]
        for spec in ("xgft:1;24;1", "xgft:2;12,12;1,6;1,2", "xgft:3;12,12,8;1,12,4;1,1,3", "xgft:2;12,12;1,3;1,2")
    }
    crossbar, flat, deep, tapered = share.values()
    assert crossbar == [1, 1] and flat[0] > deep[1] and flat[0] > tapered[1]
    points = {point["series"]: point for point in run("ebb", runs=2)["points"]}
    shares = [point["published"] for point in points.values() if point["published"] is not None]
    assert len(shares) == 3 and all(len(str(share)) == len("0.000") for share in shares), shares
    assert run("ebb", topology="xgft:2;12,12;1,6;1,2", runs=60)["effective_bisection_bandwidth"]["ci95"] == flat
