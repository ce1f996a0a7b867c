"""Topologies by name: what the core cannot hold is refused before anything is built."""

from __future__ import annotations

import pytest

from flitwatch_domain.errors import BadRequest
from flitwatch_research import topologies


@pytest.mark.parametrize(
    ("spec", "ports"),
    [("xgft:1;100000;1", "100,000"), ("xgft:2;40000,2;1,40000", "80,000"), ("xgft:1;40000;1;2", "80,000")],
)
def test_a_switch_with_more_ports_than_can_be_numbered_is_refused(spec: str, ports: str) -> None:
    with pytest.raises(BadRequest, match=rf"a switch with {ports} ports, more than 65,535"):
        topologies.parse_topology(spec)


def test_the_largest_switch_has_all_its_ports() -> None:
    assert topologies.parse_topology("xgft:1;65535;1").kind == "xgft"
