"""LLDP neighbours as a fabric: a leaf-spine from SONiC's dumps, from lldpd's JSON and from OpenConfig's tree, and contradictory input."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.ethernet import (
    LEAVES,
    SPINES,
    SWITCHES,
    alias,
    application,
    cables,
    card,
    dump,
    mac,
    neighbour,
    openconfig,
)

from flitwatch_domain.errors import BadInput
from flitwatch_domain.fabric import CountedAt, Fabric, FabricKind, Technology
from flitwatch_domain.importers.lldp import Neighbour, Switch, fabric_of
from flitwatch_domain.importers.neighbours import parse_fabric
from flitwatch_domain.importers.read import read_fabric

#: What lldpd 1.0.16 printed: a host's card behind port a1.
LLDPD_HOST = {
    "lldp": {
        "interface": {
            "swp1": {
                "via": "LLDP",
                "chassis": {
                    "gpu1.example.org": {
                        "id": {"type": "mac", "value": "ee:da:e5:3f:29:82"},
                        "capability": [{"type": "Bridge", "enabled": False}, {"type": "Station", "enabled": True}],
                    }
                },
                "port": {"id": {"type": "mac", "value": "ee:da:e5:3f:29:82"}, "descr": "ens1f0", "ttl": "120"},
            }
        }
    },
    "local-chassis": {"chassis": {"leafA": {"id": {"type": "mac", "value": "4e:26:7e:e7:e0:df"}}}},
}


def named(fabric: Fabric) -> set[tuple[str, str, str, str]]:
    """Directed links by the names of their ends and of the switches' ports."""
    ports, links, routers = fabric.attributes["port_names"], fabric.links, len(fabric.routers)

    def end(vertex: int, port: int) -> tuple[str, str]:
        return fabric.vertex_name(vertex), ports[vertex][port] if vertex < routers else ""

    ends = zip(links.src.tolist(), links.src_port.tolist(), links.dst.tolist(), links.dst_port.tolist(), strict=True)
    return {(*end(src, out), *end(dst, into)) for src, out, dst, into in ends}


def expected() -> set[tuple[str, str, str, str]]:
    one_way = {(leaf, port, other, far if other in SPINES else "") for leaf, port, other, far in cables()}
    return one_way | {(c, d, a, b) for a, b, c, d in one_way}


def is_the_leaf_spine(fabric: Fabric) -> None:
    assert (fabric.kind, fabric.technology) == (FabricKind.FAT_TREE, Technology.ETHERNET)
    assert fabric.counted_at is CountedAt.SENDER
    assert fabric.routers.name.tolist() == list(SWITCHES) and fabric.routers.level.tolist() == [0, 0, 1, 1]
    assert fabric.endpoints.node.tolist() == ["gpu1", "gpu2", "gpu3", "gpu4"]
    assert named(fabric) == expected()


def test_dumps_of_sonic_make_a_tree_with_names_speeds_and_cards() -> None:
    fabric = parse_fabric(json.dumps({switch: dump(application(switch)) for switch in SWITCHES}), "dumps.json", "roce")
    is_the_leaf_spine(fabric)
    assert fabric.warnings == () and (fabric.links.bandwidth_bps == 400e9).all()
    assert fabric.routers.guid.tolist() == [mac(switch).replace(":", "") for switch in SWITCHES]
    assert fabric.endpoints.guid.tolist() == [card(f"gpu{n}").replace(":", "") for n in (1, 2, 3, 4)]
    assert fabric.attributes["adapters"] == ["ens1f0np0"] * 4
    assert fabric.attributes["port_names"][0] == ["", "Ethernet0", "Ethernet4", "Ethernet8", "Ethernet12"]


@pytest.mark.parametrize("whole", [True, False], ids=["as sonic-db-dump prints it", "fields alone"])
def test_a_folder_has_a_file_a_switch(tmp_path: Path, whole: bool) -> None:
    for switch in SWITCHES:
        tables: Any = application(switch)
        (tmp_path / f"{switch}.json").write_text(json.dumps(dump(tables) if whole else tables))
    is_the_leaf_spine(read_fabric(tmp_path))


def test_leaves_alone_show_their_spines() -> None:
    """The spines were not read: they are bridges that name their ports."""
    fabric = parse_fabric(json.dumps({leaf: dump(application(leaf)) for leaf in LEAVES}), "dumps.json", "roce")
    assert fabric.routers.name.tolist() == list(SWITCHES) and fabric.routers.level.tolist() == [0, 0, 1, 1]
    assert len(fabric.endpoints) == 4 and fabric.kind is FabricKind.FAT_TREE
    assert any("spine1 was not read directly" in text for text in fabric.warnings)


def lldpd(switch: str, verbose: bool) -> dict[str, Any]:
    """What `lldpcli -f json` (or json0) prints of neighbours and chassis."""

    def chassis(name: str, address: str, forwards: bool) -> Any:
        about = {"id": {"type": "mac", "value": address}, "capability": [{"type": "Router", "enabled": forwards}]}
        if not verbose:
            return {name: about}
        return [{"id": [about["id"]], "name": [{"value": name}], "capability": about["capability"]}]

    def port(kind: str, value: str, text: str) -> Any:
        one = {"id": {"type": kind, "value": value}, "descr": text}
        return [{"id": [one["id"]], "descr": [{"value": text}]}] if verbose else one

    found = []
    for leaf, own, other, far in cables():
        if switch == leaf and other in SPINES:
            found.append((own, chassis(other, mac(other), True), port("ifname", far, alias(far))))
        elif switch == leaf:
            found.append((own, chassis(f"{other}.cluster.example", card(other), False), port("mac", card(other), far)))
        elif switch == other:
            found.append((far, chassis(leaf, mac(leaf), True), port("ifname", own, alias(own))))
    if verbose:
        entries: Any = [{"name": name, "chassis": who, "port": at} for name, who, at in found]
        return {"lldp": [{"interface": entries}]}
    entries = [{name: {"via": "LLDP", "chassis": who, "port": at}} for name, who, at in found]
    return {"lldp": {"interface": entries}, "local-chassis": {"chassis": chassis(switch, mac(switch), True)}}


@pytest.mark.parametrize("verbose", [False, True], ids=["json", "json0"])
def test_lldpd_says_the_same(verbose: bool) -> None:
    fabric = parse_fabric(json.dumps({switch: lldpd(switch, verbose) for switch in SWITCHES}), "lldp.json", "roce")
    is_the_leaf_spine(fabric)


def test_openconfig_says_the_same() -> None:
    fabric = parse_fabric(json.dumps({switch: openconfig(switch) for switch in SWITCHES}), "oc.json", "roce")
    is_the_leaf_spine(fabric)
    assert (fabric.links.bandwidth_bps == 400e9).all()


def test_what_lldpd_really_prints() -> None:
    fabric = parse_fabric(json.dumps(LLDPD_HOST), "leafA.json", "small")
    assert named(fabric) == {("leafA", "swp1", "gpu1", ""), ("gpu1", "", "leafA", "swp1")}
    assert fabric.endpoints.guid.tolist() == ["eedae53f2982"] and fabric.attributes["adapters"] == ["ens1f0"]


def test_a_card_that_speaks_alongside_its_host_is_one_neighbour() -> None:
    about = LLDPD_HOST["lldp"]["interface"]["swp1"]  # type: ignore[index]
    firmware = {"chassis": {"id": {"type": "mac", "value": "ee:da:e5:3f:29:82"}}, "port": about["port"]}
    document = {"lldp": {"interface": [{"swp1": firmware}, {"swp1": about}]}}
    fabric = parse_fabric(json.dumps(document), "leafA.json", "leafA")
    assert fabric.endpoints.node.tolist() == ["gpu1"] and fabric.warnings == ()


@pytest.mark.parametrize(
    ("own", "said"),
    [
        ("leafA", "LEAFA"),
        ("leafA", "leafa.dc.example"),
        ("LeafA.dc.example", "leafA"),
        ("leaf1", "leaf1-hsn0.dc.example"),
    ],
)
def test_a_switch_is_known_to_its_neighbours_however_they_spell_it(own: str, said: str) -> None:
    switches = [
        Switch(own, neighbours=[Neighbour("Ethernet0", "spine", port_id="Ethernet8", forwards=True)]),
        Switch("spine", neighbours=[Neighbour("Ethernet8", said, port_id="Ethernet0", forwards=True)]),
        Switch("other.a", neighbours=[Neighbour("Ethernet1", "other.b", port_id="Ethernet1", forwards=True)]),
    ]
    fabric = fabric_of(switches, "it", "it")
    # A switch of another domain is another one.
    assert sorted(fabric.routers.name.tolist()) == sorted([own, "spine", "other.a", "other.b"])
    assert len(fabric.links) == 4


def test_a_switch_without_neighbours_is_there_and_named() -> None:
    documents = {switch: dump(application(switch)) for switch in SWITCHES}
    documents["leaf3"] = dump({"LLDP_LOC_CHASSIS": {"lldp_loc_sys_name": "leaf3"}})
    fabric = parse_fabric(json.dumps(documents), "dumps.json", "roce")
    assert "leaf3" in fabric.routers.name.tolist()
    assert any(text.endswith("leaf3 has no LLDP neighbours") for text in fabric.warnings)


def test_a_stale_neighbour_is_named_and_no_cable() -> None:
    documents = {switch: application(switch) for switch in SWITCHES}
    documents["leaf2"]["LLDP_ENTRY_TABLE:Ethernet8"] = neighbour("spine1", mac("spine1"), "etp1", "28 00")
    fabric = parse_fabric(json.dumps(documents), "dumps.json", "roce")
    assert any("spine1 Ethernet0 is cabled to leaf1 Ethernet8 already" in text for text in fabric.warnings)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "is not JSON"),
        ("[]", "contains no LLDP neighbours"),
        ('{"leaf1": {}}', "contains no LLDP neighbours"),
        ('{"lldp": {}}', "no switch has a neighbour"),
        ('{"LLDP_ENTRY_TABLE:eth0": {"lldp_rem_sys_name": "x"}}', "no switch has a neighbour"),
        ('{"a": {"LLDP_LOC_CHASSIS": {"lldp_loc_sys_name": "x"}}, "b": {"LLDP_LOC_CHASSIS": {"lldp_loc_sys_name": "x"}}}', "switch x is listed twice"),
    ],
)  # fmt: skip
def test_what_is_no_fabric_is_one_line(text: str, said: str) -> None:
    with pytest.raises(BadInput, match=said):
        parse_fabric(text, "leaf.json", "leaf")
