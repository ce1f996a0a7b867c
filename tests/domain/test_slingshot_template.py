"""The template of Slingshot's fabric manager: groups, switches and cables are read correctly, and contradictions are refused."""

from __future__ import annotations

import copy
import json
from typing import Any

import numpy as np
import pytest
from support.slingshot_templates import planted

from flitwatch_domain.errors import BadInput
from flitwatch_domain.fabric import CountedAt, FabricKind, Technology
from flitwatch_domain.importers.read import detect_format, read_fabric
from flitwatch_domain.importers.slingshot import location_of
from flitwatch_domain.importers.slingshot_template import parse_fabric


def test_groups_switches_links_and_nics_come_back() -> None:
    text = json.dumps(planted(), indent=4)
    assert detect_format(text, "fabric_template.json") == "slingshot"
    fabric = parse_fabric(text, "fabric_template.json", "frontier")
    kinds = (fabric.kind, fabric.technology, fabric.counted_at, fabric.warnings)
    assert kinds == (FabricKind.DRAGONFLY, Technology.SLINGSHOT, CountedAt.SENDER, ())
    assert list(fabric.routers.name) == ["x1000c0r1", "x1000c0r3", "x1001c0r1", "x1001c7r7"]
    assert fabric.routers.group.tolist() == [0, 0, 1, 1] and fabric.routers.col.tolist() == [0, 1, 0, 1]
    assert list(fabric.endpoints.node) == ["x1000c0s0b0n0", "x1000c0s0b0n1", "x1001c0s1b0n0", "x1001c7s1b0n1"]
    assert fabric.endpoints.port.tolist() == [13, 13, 13, 13]
    assert fabric.summary()["links_by_class"] == {"green": 4, "blue": 2, "terminal": 8}
    counted = fabric.counted_links()
    global_link = counted[0, 27]
    assert int(fabric.links.dst[global_link]) == 3 and counted[0, 24] >= 0 and counted[0, 12] < 0
    rows = fabric.attributes["chip_ports"]
    assert [{port: link for port, link in enumerate(row) if link >= 0} for row in rows] == [
        {12: 13, 13: 12, 24: 48, 27: 50}
    ] * 4


def test_the_older_form_numbers_ports_and_names_no_jack(tmp_path: Any) -> None:
    template = planted()
    for switch in template["switches"]:
        switch |= {"edgePorts": list(range(32)), "fabricPorts": list(range(32, 64)), "IP": f"{switch['IP']}:8080"}
    template["links"].pop()
    (tmp_path / "fabric_template.json").write_text(json.dumps(template))
    fabric = read_fabric(tmp_path / "fabric_template.json")
    assert len(fabric.routers) == 4 and len(fabric.endpoints) == 0 and "chip_ports" not in fabric.attributes
    assert fabric.name == "fabric_template" and np.all(fabric.links.src_port == 24)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda t: t.pop("switches"), "has no list of switches"),
        (lambda t: t.update(switches=[]), "lists no switch"),
        (lambda t: t.update(links=[]) or [s.update(edgePorts=[]) for s in t["switches"]], "lists no links"),
        (lambda t: t.pop("links"), "has no list of links"),
        (lambda t: t["switches"].append(copy.deepcopy(t["switches"][0])), "is listed twice"),
        (lambda t: t["switches"][0].update(swcNum=0), "are both switch 0 of group 1"),
        (lambda t: t["switches"][0].update(grpId="1"), "grpId is 1, expected a number"),
        (lambda t: t["switches"][0].update(IP="10.0.0.7"), "is not the name of a switch"),
        (lambda t: t["switches"][0]["edgePorts"][0]["meta"].update(conn_port="x1000c0r1j7p1"), "is not a port of x1001c7r7"),
        (lambda t: t["links"][0].update(endpoint2="x9c0r1j1p0"), "leads to x9c0r1, which is not a switch of the template"),
        (lambda t: t["links"][0].pop("endpoint2"), "link 0: has no endpoint1 and endpoint2"),
        (lambda t: t["links"][1].update(endpoint1="x1000c0r1j13p0"), "is an end of another cable"),
        (lambda t: t["links"][0].update(endpoint1="x1000c0r1j40p0"), "beyond the jacks"),
    ],
)  # fmt: skip
def test_what_contradicts_itself_is_refused_by_name(change: Any, said: str) -> None:
    template = planted()
    change(template)
    with pytest.raises(BadInput, match=said):
        parse_fabric(json.dumps(template), "fabric_template.json", "frontier")


@pytest.mark.parametrize("text", ['{"swcNum": 1', '{"grpId": ' + "[" * 100_000])
def test_what_is_no_json_is_refused(text: str) -> None:
    with pytest.raises(BadInput, match="is not JSON"):
        parse_fabric(text, "fabric_template.json", "frontier")


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("x3000c0r41j13p0", ("x3000c0r41", 24, "")),
        ("x3000c0r41b0j32p1", ("x3000c0r41", 63, "")),
        ("x2006c0r39a0l1", ("x2006c0r39", None, "a0l1")),
        ("x3000c0r41j33p0", None),
        ("x2011c6r1j100p0", ("x2011c6r1", 64, "")),
        ("x2011c6r1j132p0", None),
        ("x3000c0r41", None),
        ("ros-0040a683cda1l12", None),
        ("x3000c0s34b4n0", None),
    ],
)
def test_component_names_of_ports(name: str, place: tuple | None) -> None:
    assert location_of(name) == place
