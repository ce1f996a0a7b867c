"""A real OpenSM under ibsim loads our tables and dumps them back, entry by entry; also where its own ftree refuses."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from noise_core import flow_ibsim
from routing import opensm
from routing.broken import without

from flitwatch_domain.generators import build_quartz1, build_xgft
from flitwatch_routing import lft
from flitwatch_routing.forwarding import check_routes
from flitwatch_routing.optimise import optimise_routes
from flitwatch_routing.patterns import load_traffic
from flitwatch_routing.switch_lids import find_unreached

pytestmark = pytest.mark.system("schedulers")


@pytest.mark.integration
def test_a_small_tree_with_a_failed_cable(tmp_path: Path) -> None:
    flow_ibsim.require()
    fabric = without(build_xgft(2, [12, 12], [1, 6]), 2, seed=1)
    ports = optimise_routes(fabric, load_traffic("bisection-shuffle", 144, 1), time_limit_s=0.3).ports
    assert (opensm.loaded(fabric, ports, tmp_path) == ports).all()


@pytest.mark.integration
@pytest.mark.parametrize("tree", [(2, [4, 4], [1, 4]), (3, [4, 3, 2], [1, 3, 2])])
def test_every_lid_of_an_endpoint_has_its_own_way(tmp_path: Path, tree: tuple) -> None:
    """OpenSM gives LIDs of its own; an entry keeps its place among those of its endpoint."""
    flow_ibsim.require()
    fabric = build_xgft(*tree)
    found = optimise_routes(
        fabric, load_traffic("bisection-shuffle", len(fabric.endpoints), 2), time_limit_s=0.3, lmc=1
    )
    assert (found.ports[:, 0::2] != found.ports[:, 1::2]).any()
    assert (opensm.loaded(fabric, found.ports, tmp_path, lmc=1) == found.ports).all()
    lowest = lft.read_ports(tmp_path / "opensm-lfts.dump", fabric)
    assert (lowest == found.ports[:, 0::2]).all()


@pytest.mark.integration
@pytest.mark.parametrize(("tree", "failed"), [((2, [4, 4], [1, 2], [1, 2]), 0), ((3, [3, 3, 2], [1, 3, 2]), 1)])
def test_every_switch_answers_at_its_lid(tmp_path: Path, tree: tuple, failed: int) -> None:
    """Queries by LID travel by the tables that we wrote; OpenSM gives what a file leaves out no path."""
    flow_ibsim.require()
    fabric = without(build_xgft(*tree), failed, seed=2)
    ports = optimise_routes(fabric, load_traffic("bisection-shuffle", len(fabric.endpoints), 1), time_limit_s=0.3).ports
    guids = lft.list_guids(fabric)[0]
    answers: dict[int, str] = {}

    def ask(run: Callable[..., str]) -> None:
        dump = (tmp_path / "opensm-lfts.dump").read_text()
        lids = {
            int(guid, 16): lid
            for lid, guid in re.findall(r"^(0x\w+) \d+ .*Switch portguid (0x\w+)", dump, re.MULTILINE)
        }
        for guid in guids:
            answers[guid] = run("smpquery", "nodeinfo", str(int(lids[guid], 16)))

    theirs = opensm.loaded(fabric, ports, tmp_path, then=ask)
    assert (theirs == ports).all()
    for guid in guids:
        assert f"0x{guid:016x}" in answers[guid]
    dumped = lft.read_dump(tmp_path / "opensm-lfts.dump", fabric)
    assert dumped.switch_ports is not None and len(find_unreached(fabric, dumped.switch_ports)) == 0


@pytest.mark.integration
def test_quartz1(tmp_path: Path) -> None:
    flow_ibsim.require()
    fabric = build_quartz1()
    found = optimise_routes(fabric, load_traffic("bisection-shuffle", 3072, 5), time_limit_s=2)
    assert check_routes(fabric, found.ports).valid
    theirs = opensm.loaded(fabric, found.ports, tmp_path)
    differing = int((theirs != found.ports).sum())
    assert differing == 0, f"{differing} of {found.ports.size} entries differ"
