"""Sizes of machines by which requests are held to limits are those of the machines."""

from __future__ import annotations

import pytest

from flitwatch_domain.task_models.node_counts import NAMED_NODES, nodes_of
from flitwatch_domain.topology_spec import MACHINES, fabric_of


def test_every_named_machine_has_its_size() -> None:
    assert {name: len(made().endpoints) for name, made in MACHINES.items()} == NAMED_NODES


@pytest.mark.parametrize("spec", ["xgft:2;4,8;1,4", "dragonfly:4,2,4"])
def test_a_generated_machine_has_its_size(spec: str) -> None:
    assert nodes_of(spec) == len(fabric_of(spec).endpoints)
