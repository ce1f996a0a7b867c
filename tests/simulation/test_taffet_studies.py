"""Taffet's sampling and diagnosis studies: seed and topology move them, and machines that they do not fit are named."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from flitwatch_domain.errors import BadRequest
from flitwatch_research.studies import registry

#: Each study in its quickest form, and two machines.
QUICK: dict[str, tuple[dict[str, Any], dict[str, Any], dict[str, Any]]] = {
    "taffet-pf3d": ({"mbytes": 0.1}, {"topology": "xgft:2;32,14;1,16"}, {"topology": "xgft:2;32,14;1,4"}),
    "taffet-minighost": ({"kbytes": 40}, {"topology": "xgft:2;32,24;1,16"}, {"topology": "xgft:2;32,24;1,8"}),
    "taffet-table2.1": ({"mpackets": 0.05}, {"leaves": 8, "nodes": 8}, {"leaves": 6, "nodes": 8}),
}


@pytest.mark.parametrize("name", QUICK)
def test_seed_and_topology_move_a_study_and_it_draws_itself(name: str, tmp_path: Path) -> None:
    study = registry.find(name)
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
        registry.find(name).run({"topology": topology}, lambda *_: None, lambda: False)


def test_the_case_studies_tree_is_the_default() -> None:
    study = registry.find("taffet-minighost")
    points = [
        study.run({"kbytes": 10, **machine}, lambda *_: None, lambda: False)["points"]
        for machine in ({}, {"topology": "xgft:2;32,72;1,16"})
    ]
    assert points[0] == points[1]
