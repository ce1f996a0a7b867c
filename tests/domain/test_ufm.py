"""UFM's links, ports and systems as a fabric: the public cabling of a director fabric, only links, and contradictory records."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from support.ufm import documents_of, public_cables

from flitwatch_domain.errors import BadInput
from flitwatch_domain.fabric import FabricKind
from flitwatch_domain.importers.read import read_fabric
from flitwatch_domain.importers.ufm import parse_fabric

SPINE = {
    "source_guid": "1c34da0300728606",
    "source_port": "37",
    "source_port_dname": "37",
    "source_port_node_description": "SLG01-02:37",
    "destination_guid": "1c34da0300728a06",
    "destination_port": "2",
    "destination_port_dname": "2",
    "destination_port_node_description": "SSPINE1-13:2",
    "name": "1c34da0300728606_37:1c34da0300728a06_2",
}
HOST = {
    "source_guid": "1c34da0300728606",
    "source_port": "1",
    "source_port_dname": "1",
    "source_port_node_description": "SLG01-02:1",
    "destination_guid": "0c42a103001b8256",
    "destination_port": "1",
    "destination_port_dname": "HCA-2/1",
    "destination_port_node_description": "luna-0001 mlx5_10",
    "name": "1c34da0300728606_1:0c42a103001b8256_1",
}


@pytest.mark.shared
def test_the_public_cabling_of_a_director_fabric(shared: Path, tmp_path: Path) -> None:
    cables = public_cables(shared / "samples/doors/ufm/switch_to_host_topo1.ndt")
    file = tmp_path / "ufm.json"
    file.write_text(json.dumps(documents_of(cables)))
    fabric = read_fabric(file)
    nodes, switches = {row[0] for row in cables}, {row[2] for row in cables}
    assert len(cables) > 2000 and set(fabric.endpoints.node.tolist()) == nodes
    assert set(fabric.routers.name.tolist()) == switches
    assert len(fabric.endpoints) == len(cables)
    assert (fabric.links.bandwidth_bps == 200e9).all()
    assert sorted(fabric.attributes["lids"]) == list(range(1, len(cables) + 1))
    assert fabric.attributes["adapters"].count("ibp11s0f0") == sum(row[1] == "ibp11s0f0" for row in cables)


def test_links_alone_make_a_fabric_and_either_order_is_the_same() -> None:
    fabric = parse_fabric(json.dumps([SPINE, HOST]), "links.json", "luna")
    assert fabric.kind is FabricKind.FAT_TREE
    assert fabric.routers.name.tolist() == ["SLG01-02", "SSPINE1-13"] and fabric.routers.level.tolist() == [0, 1]
    assert fabric.endpoints.node.tolist() == ["luna-0001"] and fabric.attributes["adapters"] == ["mlx5_10"]
    assert np.isnan(fabric.links.bandwidth_bps).all()
    turned = {
        key.replace("source", "x").replace("destination", "source").replace("x_", "destination_"): value
        for key, value in SPINE.items()
    }
    again = parse_fabric(json.dumps({"links": [SPINE, turned, HOST]}), "links.json", "luna")
    assert again.links.src.tolist() == fabric.links.src.tolist()


def test_ports_add_speed_lid_and_the_adapters_own_guid() -> None:
    port = {
        "name": "0c42a103001b8256_1",
        "guid": "0c42a103001b8256",
        "active_speed": "HDR",
        "active_width": "4x",
        "lid": 254,
        "description": "Computer IB Port",
    }
    other = {
        "name": "1c34da0300728606_1",
        "lid": 2,
        "active_speed": "HDR",
        "active_width": "2x",
        "description": "Switch IB Port",
        "peer_guid": "0c42a103001b8256",
        "peer_node_guid": "0c42a103001b8250",
    }
    fabric = parse_fabric(json.dumps({"links": [SPINE, HOST], "ports": [port, other]}), "ufm", "luna")
    assert fabric.attributes["lids"] == [254] and fabric.attributes["switch_lids"] == [2, 0]
    assert fabric.endpoints.guid.tolist() == ["0c42a103001b8256"]
    assert fabric.attributes["adapter_guids"] == ["0c42a103001b8250"]
    terminal = fabric.links.bandwidth_bps[~np.isnan(fabric.links.bandwidth_bps)]
    assert terminal.tolist() == [100e9, 100e9]


@pytest.mark.parametrize(
    ("document", "said"),
    [
        ("[", "is not JSON"),
        ("[]", "lists no links"),
        ('{"links": {}}', "links is not a list of records"),
        (json.dumps([{**HOST, "source_guid": "no"}]), "link 1: its source has no GUID or no port"),
        (json.dumps([{**HOST, "destination_port": "0"}]), "its destination has no GUID or no port"),
        (
            json.dumps([SPINE, {**HOST, "source_port": "37"}]),
            "link 2: port 37 of 1c34da0300728606 is also an end of link 1",
        ),
        (
            json.dumps([{**HOST, "destination_port_node_description": "", "destination_port_dname": "1"}]),
            "no record shows whether 0c42a103001b8256 is a switch",
        ),
    ],
)
def test_what_contradicts_itself_is_refused_with_its_place(document: str, said: str) -> None:
    with pytest.raises(BadInput, match=said):
        parse_fabric(document, "ufm", "luna")
