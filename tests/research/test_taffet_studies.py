"""Taffet's sampling and diagnosis studies: effects of seed and topology, and errors for unsuitable machines."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from flitwatch_domain.errors import BadRequest
from flitwatch_research.studies import registry
from flitwatch_simulation.workloads.minighost import STRATEGIES, faces_of, minighost_messages

#: Each study in its quickest form, and two machines.
QUICK: dict[str, tuple[dict[str, Any], dict[str, Any], dict[str, Any]]] = {
    "taffet-pf3d": ({"mbytes": 0.1}, {"topology": "xgft:2;32,14;1,16"}, {"topology": "xgft:2;32,14;1,4"}),
    "taffet-minighost": ({"kbytes": 40}, {"topology": "xgft:2;32,24;1,16"}, {"topology": "xgft:2;32,24;1,8"}),
    "taffet-table2.1": ({"mpackets": 0.05}, {"leaves": 8, "nodes": 8}, {"leaves": 6, "nodes": 8}),
}


@pytest.mark.system("numeric")
@pytest.mark.parametrize("name", QUICK)
def test_seed_and_topology_move_a_study_and_it_draws_itself(name: str, tmp_path: Path) -> None:
    study = registry.find_study(name)
    quick, small, other = QUICK[name]

    def points(seed: int, machine: dict[str, Any]) -> list[dict[str, Any]]:
        answer = study.run({**quick, **machine, "seed": seed}, lambda *_: None, lambda: False)
        assert answer["simulated"]
        assert all(point.get("conserved", True) for point in answer["points"])
        assert study.draw is not None
        (figure,) = study.draw(answer, tmp_path)
        assert figure.read_text().startswith("<?xml")
        return answer["points"]

    first = points(1, small)
    reseeded, moved = points(2, small), points(1, other)
    value = {"taffet-table2.1": "one_bit_traffic_percent"}.get(name, "time_ms")
    for changed in (reseeded, moved):
        assert any(a[value] != b[value] for a, b in zip(first, changed, strict=True))
    assert points(1, small) == first


@pytest.mark.parametrize(
    ("name", "topology"),
    [
        ("taffet-pf3d", "xgft:2;32,11;1,16"),  # too few leaves
        ("taffet-minighost", "xgft:2;32,23;1,16"),
        ("taffet-pf3d", "xgft:2;16,72;1,8"),  # leaves of another size
        ("taffet-minighost", "xgft:2;24,32;1,8"),
        ("taffet-minighost", "theta"),
    ],
)
def test_machines_that_a_study_does_not_fit_are_named(name: str, topology: str) -> None:
    with pytest.raises(BadRequest, match="leaf switches of 32 nodes"):
        registry.find_study(name).run({"topology": topology}, lambda *_: None, lambda: False)


@pytest.mark.system("numeric")
def test_the_case_studies_tree_is_the_default() -> None:
    study = registry.find_study("taffet-minighost")
    points = [
        study.run({"kbytes": 10, **machine}, lambda *_: None, lambda: False)["points"]
        for machine in ({}, {"topology": "xgft:2;32,72;1,16"})
    ]
    assert points[0] == points[1]


@pytest.mark.system("numeric")
@pytest.mark.parametrize("seed", [1, 3])
def test_minighost_has_the_published_order_and_its_endpoint_roots(seed: int) -> None:
    """Section 2.4.2: each mapping and each strategy is faster than the one before, and the second-last row is congested in the south phase."""
    answer = registry.find_study("taffet-minighost").run({"seed": seed}, lambda *_: None, lambda: False)
    points = {(p["mapping"], p["strategy"]): p for p in answer["points"]}
    published = sorted((p for p in points.values() if p["published_s"]), key=lambda p: -p["published_s"])
    assert [(p["mapping"], p["strategy"]) for p in published] == [
        ("cyclic", "bspma"),
        ("linear", "bspma"),
        ("tiled", "bspma"),
        ("tiled", "svaf"),
        ("tiled", "svafp"),
    ]
    assert [p["time_ms"] for p in published] == sorted((p["time_ms"] for p in published), reverse=True)
    tiled = {strategy: points["tiled", strategy] for strategy in ("bspma", "svaf", "svafp")}
    assert tiled["bspma"]["endpoint_roots"] > 0 and tiled["bspma"]["rows_of_south_roots"] == [14]
    assert 14 not in tiled["svafp"]["rows_of_south_roots"]


@pytest.mark.system("numeric")
@pytest.mark.parametrize("seed", [1, 3])
def test_by_waits_aggregated_faces_still_congest_the_row_before_the_last(seed: int) -> None:
    """Figure 2.7b: row 14 is congested with SVAF too; with the study's small messages, queues longer than their credits do not show it (ADR 0038)."""
    parameters = {"seed": seed, "congested_after_ns": 1000.0}
    answer = registry.find_study("taffet-minighost").run(parameters, lambda *_: None, lambda: False)
    tiled = {p["strategy"]: p for p in answer["points"] if p["mapping"] == "tiled"}
    for strategy in ("bspma", "svaf"):
        assert tiled[strategy]["endpoint_roots"] > 0 and 14 in tiled[strategy]["rows_of_south_roots"]
        assert not {0, 15} & set(tiled[strategy]["rows_of_south_roots"])
    south = {strategy: one["endpoint_roots_by_direction"]["south"] for strategy, one in tiled.items()}
    assert south["svafp"] < south["bspma"]


def test_a_stencil_with_periodic_boundaries_would_have_no_edge() -> None:
    """Ranks at the edge of the domain have fewer neighbours: nothing leaves it."""
    faces = faces_of((4, 3, 2), np.arange(24))
    assert [(one.axis, one.sign) for one in faces] == [(1, 1), (1, -1), (0, 1), (0, -1), (2, 1), (2, -1)]
    assert [int(one.count.sum()) for one in faces] == [16, 16, 18, 18, 12, 12]
    assert all((one.dst - one.src == one.sign * {0: 1, 1: 4, 2: 12}[one.axis]).all() for one in faces)


def test_strategies_send_the_same_faces_and_differ_by_their_reductions() -> None:
    faces = faces_of((4, 4, 2), np.arange(32))
    made = {name: minighost_messages(faces, 32, name, 5, 1000.0) for name in STRATEGIES}
    large = {name: one.chosen(one.size_bytes > 8) for name, one in made.items()}
    assert len({one.total_bytes for one in large.values()}) == 1
    assert [large[name].src.size // 128 for name in STRATEGIES] == [1, 5, 5]
    assert len({one.src.size - large[name].src.size for name, one in made.items()}) == 1
    last = {name: int(large[name].send_round.max()) for name in STRATEGIES}
    reductions = {name: made[name].chosen(made[name].size_bytes == 8).send_round for name in STRATEGIES}
    assert reductions["svafp"].min() > last["svafp"] and reductions["svaf"].min() < last["svaf"]
