"""InfiniBand topologies: real ones, damaged ones, contradictory ones."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from flitwatch_domain.errors import BadInput
from flitwatch_domain.fabric import ROLES, Fabric, FabricKind, LinkClass, NodeRole, endpoint_table
from flitwatch_domain.generators import build_quartz1
from flitwatch_domain.importers import read_fabric
from flitwatch_domain.importers.ibnetdiscover import parse_fabric

#: Two leaves, two spines; leaf 1 has two hosts, leaf 2 one with two ports and a storage server.
SMALL = """#
# Topology file: generated on Tue Feb 23 14:02:12 2021
#
vendid=0x2c9
switchguid=0x1(1)
Switch\t40 "S-0000000000000001"\t\t# "MF0;leaf1:MQM8700/U1" enhanced port 0 lid 1 lmc 0
[1]\t"H-00000000000000a1"[1](a1) \t\t# "node1 mlx5_0" lid 11 4xHDR
[2]\t"H-00000000000000a2"[1](a2) \t\t# "node2 mlx5_0" lid 12 4xHDR
[31]\t"S-0000000000000003"[1]\t\t# "MF0;spine1:MQM8700/U1" lid 3 4xHDR
[32]\t"S-0000000000000004"[1]\t\t# "MF0;spine2:MQM8700/U1" lid 4 4xEDR

Switch\t40 "S-0000000000000002"\t\t# "MF0;leaf2:MQM8700/U1" enhanced port 0 lid 2 lmc 0
[1]\t"H-00000000000000a3"[1](a3) \t\t# "node3 HCA-1" lid 13 4xHDR
[2]\t"H-00000000000000a3"[2](a4) \t\t# "node3 HCA-1" lid 14 4xHDR
[3]\t"H-00000000000000b1"[1](b1) \t\t# "oss-7 mlx5_2" lid 15 4xEDR
[41]\t"H-00000000000000c1"[1](c1) \t\t# "Mellanox Technologies Aggregation Node" lid 16 4xHDR
[31]\t"S-0000000000000003"[2]\t\t# "MF0;spine1:MQM8700/U1" lid 3 4xHDR
[32]\t"S-0000000000000004"[2]\t\t# "MF0;spine2:MQM8700/U1" lid 4 4xHDR

Switch\t40 "S-0000000000000003"\t\t# "MF0;spine1:MQM8700/U1" enhanced port 0 lid 3 lmc 0
[1]\t"S-0000000000000001"[31]\t\t# "MF0;leaf1:MQM8700/U1" lid 1 4xHDR
[2]\t"S-0000000000000002"[31]\t\t# "MF0;leaf2:MQM8700/U1" lid 2 4xHDR

Switch\t40 "S-0000000000000004"\t\t# "MF0;spine2:MQM8700/U1" enhanced port 0 lid 4 lmc 0
[1]\t"S-0000000000000001"[32]\t\t# "MF0;leaf1:MQM8700/U1" lid 1 4xEDR
[2]\t"S-0000000000000002"[32]\t\t# "MF0;leaf2:MQM8700/U1" lid 2 4xHDR

Ca\t1 "H-00000000000000a1"\t\t# "node1 mlx5_0"
[1](a1) \t"S-0000000000000001"[1]\t\t# lid 11 lmc 0 "MF0;leaf1:MQM8700/U1" lid 1 4xHDR
Ca\t1 "H-00000000000000a2"\t\t# "node2 mlx5_0"
[1](a2) \t"S-0000000000000001"[2]\t\t# lid 12 lmc 0 "MF0;leaf1:MQM8700/U1" lid 1 4xHDR
Ca\t2 "H-00000000000000a3"\t\t# "node3 HCA-1"
[1](a3) \t"S-0000000000000002"[1]\t\t# lid 13 lmc 0 "MF0;leaf2:MQM8700/U1" lid 2 4xHDR
[2](a4) \t"S-0000000000000002"[2]\t\t# lid 14 lmc 0 "MF0;leaf2:MQM8700/U1" lid 2 4xHDR
Ca\t1 "H-00000000000000b1"\t\t# "oss-7 mlx5_2"
[1](b1) \t"S-0000000000000002"[3]\t\t# lid 15 lmc 0 "MF0;leaf2:MQM8700/U1" lid 2 4xEDR
Ca\t1 "H-00000000000000c1"\t\t# "Mellanox Technologies Aggregation Node"
[1](c1) \t"S-0000000000000002"[41]\t\t# lid 16 lmc 0 "MF0;leaf2:MQM8700/U1" lid 2 4xHDR
""".replace("Switch\t40", "Switch\t41")


def small(text: str = SMALL) -> Fabric:
    return parse_fabric(text, "ib.txt", "ib")


def test_small_fabric_in_full() -> None:
    fabric = small()
    assert list(fabric.routers.name) == ["leaf1", "leaf2", "spine1", "spine2"]
    assert fabric.routers.level.tolist() == [0, 0, 1, 1]
    assert fabric.kind is FabricKind.FAT_TREE
    assert list(fabric.endpoints.node) == ["node1", "node2", "node3", "node3", "oss-7", "aggregation-00000000000000c1"]
    assert fabric.attributes["adapters"] == ["mlx5_0", "mlx5_0", "HCA-1", "HCA-1", "mlx5_2", None]
    assert [ROLES[code] for code in fabric.endpoints.role[3:]] == [NodeRole.COMPUTE, NodeRole.IO, NodeRole.SERVICE]
    assert list(fabric.endpoints.guid[:2]) == ["a1", "a2"]
    assert fabric.summary()["links_by_class"] == {"host": 12, "up": 4, "down": 4}
    assert fabric.warnings == ()
    rates = fabric.links.bandwidth_bps
    assert set(rates.tolist()) == {200e9, 100e9}
    assert (rates == 100e9).sum() == 4, "one EDR cable up, one to the storage server"


@pytest.mark.parametrize(
    "change",
    [
        lambda t: t.replace("\t", " "),
        lambda t: t.replace("\t", ""),
        lambda t: t.replace("\n", "\r\n"),
        lambda t: t.replace("\n", "\r"),
        lambda t: t.replace(' # "', '\r # "'),
    ],
)
def test_lost_tabs_and_carriage_returns_change_nothing(change: object) -> None:
    changed = small(change(SMALL))  # type: ignore[operator]
    assert changed.summary() == small().summary()
    assert list(changed.endpoints.node) == list(small().endpoints.node)


@pytest.mark.shared
@pytest.mark.parametrize(
    ("file", "switches", "endpoints", "adapters", "levels", "groups"),
    [
        ("selene.storage.txt", 160, 1247, 1247, [64, 64, 32], [0, 1, 2, 3]),
        ("loginoff-topo.txt", 8, 145, 144, [6, 2], [0]),
        ("small_topo_file", 2, 13, 13, [1, 1], [0]),
    ],
)
def test_real_fabrics(
    shared: Path, file: str, switches: int, endpoints: int, adapters: int, levels: list[int], groups: list[int]
) -> None:
    fabric = read_fabric(shared / "data" / "infiniband" / file)
    assert (len(fabric.routers), len(fabric.endpoints)) == (switches, endpoints)
    assert fabric.attributes["adapter_count"] == adapters
    assert np.bincount(fabric.routers.level).tolist() == levels
    assert fabric.groups == groups
    assert fabric.kind is FabricKind.FAT_TREE


@pytest.mark.shared
def test_selenes_pods_are_its_leaf_groups(shared: Path) -> None:
    fabric = read_fabric(shared / "data" / "infiniband" / "selene.storage.txt")
    for pod in fabric.groups:
        names = fabric.routers.name[(fabric.routers.group == pod) & (fabric.routers.level == 0)]
        assert len({re.sub(r"SLG0?(\d).*", r"\1", name) for name in names}) == 1
    core = fabric.routers.name[fabric.routers.level == 2]
    assert all(name.startswith("SCORE") for name in core)
    assert (fabric.routers.group[fabric.routers.level == 2] == -1).all()


@pytest.mark.shared
def test_loopback_cables_of_a_real_switch_are_left_out_with_a_warning(shared: Path) -> None:
    fabric = read_fabric(shared / "data" / "infiniband" / "small_topo_file")
    assert [re.sub(r".*/", "", text).split(":")[1] for text in fabric.warnings] == ["28", "30"]


@pytest.mark.shared
def test_ibsim_file_of_quartz1_has_the_generators_links(shared: Path) -> None:
    real, made = read_fabric(shared / "samples" / "opensm" / "quartz1.topo"), build_quartz1()
    assert real.summary()["links_by_class"] == made.summary()["links_by_class"]
    for level in range(3):
        pods = [sorted(np.bincount(f.routers.group[f.routers.level == level] + 1).tolist()) for f in (real, made)]
        assert pods[0] == pods[1]
    assert set(real.endpoints.node) == set(made.endpoints.node)


def test_an_adapter_that_no_subnet_manager_brought_up_has_no_lid() -> None:
    """ibnetdiscover prints 65535 for it."""
    before = small()
    lid = before.attributes["lids"][0]
    fabric = small(re.sub(rf"\blid {lid}\b", "lid 65535", SMALL))
    assert lid and fabric.attributes["lids"] == [0, *before.attributes["lids"][1:]]
    assert [one for one in fabric.warnings if "has LID 65535, which is not valid" in one] and not before.warnings
    assert endpoint_table(fabric)[0]["lid"] is None


def discovered(cables: list[tuple[str, str]]) -> str:
    """What ibnetdiscover prints of switches (leaf, spine, core, mleaf, mspine, level and a number), hosts and aggregation units (unit-...)."""
    names = list(dict.fromkeys(name for cable in cables for name in cable))
    ports: dict[str, list[str]] = {name: [] for name in names}
    lines: dict[str, list[str]] = {name: [] for name in names}

    def guid(name: str) -> str:
        return f"{names.index(name) + 1:016x}"

    def device(name: str) -> str:
        return ("S-" if re.match("m?(leaf|spine|core|level)", name) else "H-") + guid(name)

    for a, b in cables:
        at = {one: len(ports[one]) + 1 for one in (a, b)}
        for one, other in ((a, b), (b, a)):
            ports[one].append(other)
            lines[one].append(f'[{at[one]}]\t"{device(other)}"[{at[other]}]')
    return "\n\n".join(
        "\n".join(
            [
                f'switchguid=0x{guid(name)}({guid(name)})\nSwitch\t8 "{device(name)}"\t\t# "{name}"'
                if device(name).startswith("S")
                else f'caguid=0x{guid(name)}\nCa\t1 "{device(name)}"\t\t# "'
                + ("Mellanox Technologies Aggregation Node" if name.startswith("unit") else f"{name} mlx5_0")
                + '"',
                *lines[name],
            ]
        )
        for name in names
    )


def test_leaves_of_management_are_leaves_and_parts_of_no_pod_above_them() -> None:
    """Few hosts or none, and spines of their own: only the cores join them to the other leaves."""
    cables = [
        *((f"leaf{number}", f"node{number}-{host}") for number in range(4) for host in range(4)),
        *((f"leaf{number}", f"spine{number // 2}") for number in range(4)),
        *((f"spine{number}", f"core{core}") for number in range(2) for core in range(2)),
        *(
            ("core0", "mspine0"),
            ("core1", "mspine1"),
            ("mspine0", "mleaf0"),
            ("mspine1", "mleaf1"),
            ("mleaf0", "login"),
        ),
        *((switch, f"unit-{switch}") for switch in ("spine0", "core0", "mspine0", "mleaf1")),
    ]
    fabric = small(discovered(cables))
    level = dict(zip(fabric.routers.name, fabric.routers.level.tolist(), strict=True))
    assert {re.sub("[0-9]", "", name): height for name, height in level.items()} == {
        "leaf": 0, "spine": 1, "core": 2, "mspine": 1, "mleaf": 0
    }  # fmt: skip
    assert set(level.values()) == {0, 1, 2} and len(fabric.groups) == 4
    assert fabric.summary()["links_by_class"]["up"] == 12


def test_five_levels_without_a_host_on_the_highest_are_five() -> None:
    """A core two levels up and two down from no leaf is a core."""
    cables = [(f"leaf{number}", f"node{number}-{host}") for number in range(2) for host in range(4)]
    for number in range(2):
        ways = [f"leaf{number}", f"level1-{number}", f"level2-{number}", f"level3-{number}", "core0"]
        cables += itertools.pairwise(ways)
    cables.append(("core0", "unit-core0"))
    fabric = small(discovered(cables))
    level = dict(zip(fabric.routers.name, fabric.routers.level.tolist(), strict=True))
    assert level == {"core0": 4} | {
        name: height
        for number in range(2)
        for height, name in enumerate((f"leaf{number}", *(f"level{up}-{number}" for up in (1, 2, 3))))
    }


def edited(old: str, new: str) -> str:
    assert old in SMALL
    return SMALL.replace(old, new, 1)


@pytest.mark.parametrize(
    ("text", "said", "line"),
    [
        (edited('[1]\t"S-0000000000000001"[31]', '[1]\t"S-0000000000000002"[31]'), "leads to port", 9),
        (SMALL + '\n[2](zz)\t"S-', "cannot read", 0),
        (SMALL + 'Switch\t41 "S-0000000000000001"\t# "again"\n', "described twice", 0),
        (SMALL + 'Ca\t1 "S-0000000000000009"\t# "x"\n', "is named", 0),
        (edited('[2]\t"H-00000000000000a2"[1](a2)', '[1]\t"H-00000000000000a2"[1](a2)'), "listed twice", 8),
        (edited('[31]\t"S-0000000000000003"[1]', '[99]\t"S-0000000000000003"[1]'), "port 99 of a device with 41", 9),
        ('[1] "S-0000000000000001"[2]\n' + SMALL, "before any switch", 1),
        ('Ca\t1 "H-00000000000000a1"\t# "n"\n', "lists no switch", 0),
        (edited("MF0;leaf1", "MF0;leaf1" * 100), "at most 255", 0),
        (edited("MF0;leaf1", "MF0\0leaf1"), "control character", 0),
    ],
)
def test_contradictions_name_file_and_line(text: str, said: str, line: int) -> None:
    with pytest.raises(BadInput, match=said) as caught:
        small(text)
    assert caught.value.where.startswith("ib.txt")
    if line:
        assert caught.value.where == f"ib.txt:{line}"


@pytest.mark.parametrize(
    ("speed", "bandwidth_bps"),
    [
        ("4xHDR", 200e9),
        ("4xHDR s=64 w=2", 200e9),
        ("4xHDR s=64 w=2 v=4 m=4", 200e9),
        ("2xNDR ", 200e9),
        ("4x25G", None),
        ("4x??", None),
        ("", 0),
    ],
)
def test_a_speed_is_read_or_reported(speed: str, bandwidth_bps: float | None) -> None:
    """`ibnetdiscover --full` prints numbers after the speed. A cable without a speed is not judged, and unknown words are reported."""
    text = f'Switch 4 "S-00000000000000a1" # "leaf" enhanced port 0 lid 31 lmc 0\n[1] "H-00000000000000b0"[1](b0) # "n1 2xGPU" lid 1 {speed}\n'
    fabric = parse_fabric(text, "f", "f")
    assert np.array_equal(fabric.links.bandwidth_bps, [bandwidth_bps or np.nan] * 2, equal_nan=True)
    assert any(speed and f"{speed!r}" in warning for warning in fabric.warnings) == (bandwidth_bps is None)


def test_a_router_between_subnets_is_no_compute_node() -> None:
    """Its description can be the name of a host."""
    text = """Switch 4 "S-00000000000000a1" # "leaf" enhanced port 0 lid 31 lmc 0
[1] "H-00000000000000b0"[1](b0) # "n1 mlx5_0" lid 1 4xHDR
[2] "R-00000000000000d1"[1](d1) # "n2" lid 2 4xHDR
"""
    section = 'Rt 2 "R-00000000000000d1" # "n2"\n[1](d1) "S-00000000000000a1"[2] # lid 2 lmc 0 "leaf" lid 31 4xHDR\n'
    for whole in (text, text + section):
        fabric = parse_fabric(whole, "f", "f")
        ends = zip(fabric.endpoints.node, fabric.endpoints.role_names, strict=True)
        assert list(ends) == [("n1", "compute"), ("router-00000000000000d1", "service")]


def test_survivable_doubts_are_warnings() -> None:
    one_end = edited('[2]\t"S-0000000000000002"[32]\t\t# "MF0;leaf2:MQM8700/U1" lid 2 4xHDR\n', "")
    fabric = small(one_end)
    assert fabric.summary()["links_by_class"] == small().summary()["links_by_class"]
    assert len(fabric.warnings) == 1 and "ib.txt:18: " in fabric.warnings[0]
    speeds = small(
        edited(
            '[1]\t"S-0000000000000001"[31]\t\t# "MF0;leaf1:MQM8700/U1" lid 1 4xHDR',
            '[1]\t"S-0000000000000001"[31]\t\t# "MF0;leaf1:MQM8700/U1" lid 1 2xHDR',
        )
    )
    assert any("lower" in text for text in speeds.warnings)
    assert speeds.links.bandwidth_bps.min() == 100e9
    cut = small(SMALL[: SMALL.rindex("Switch")])
    assert any("the file may be incomplete" in text for text in cut.warnings)
    unknown = small(SMALL.replace("4xHDR", "4xZDR"))
    assert any("4xZDR" in text for text in unknown.warnings)
    assert np.isnan(unknown.links.bandwidth_bps).any()


def ring(switches: int) -> str:
    """Switches in a ring with a host each: no tree."""
    lines = []
    for s in range(switches):
        lines.append(f'Switch 8 "S-{s + 1:016x}" # "sw{s}" base port 0 lid {s} lmc 0')
        lines.append(f'[1] "H-{s + 1000:016x}"[1] # "n{s}" lid 9 4xHDR')
        lines.append(f'[2] "S-{(s + 1) % switches + 1:016x}"[3] # "x" lid 9 4xHDR')
        lines.append(f'[3] "S-{(s - 1) % switches + 1:016x}"[2] # "x" lid 9 4xHDR')
    return "\n".join(lines)


def test_a_fabric_without_levels_is_a_graph() -> None:
    fabric = small(ring(6))
    assert fabric.kind is FabricKind.GRAPH
    assert set(fabric.routers.level.tolist()) == {-1}
    assert fabric.of_class(LinkClass.LINK).sum() == 12


@example(data='\x1b"', cut=212)
@given(data=st.text(max_size=200), cut=st.integers(0, 4000))
@settings(max_examples=150, deadline=None)
def test_damaged_files_raise_bad_input_only(data: str, cut: int) -> None:
    try:
        small(SMALL[:cut] + data)
    except BadInput as bad:
        assert bad.where.startswith("ib.txt")


def test_what_surrounds_the_output_is_skipped_and_counted() -> None:
    junk = [
        "Script started on 2026-03-01 12:00:00+01:00 [TERM=xterm]",
        "[root@admin ~]# ibnetdiscover",
        "ibwarn: [12345] mad_rpc: _do_madrpc failed; dport (DR path slid 0; dlid 0; 0,1,17)",
        "src/query_smp.c:195; umad (DR path slid 0; dlid 0; 0,1,17 Attr 0x11:0) bad status 110; Connection timed out",
        "\x1b]0;root@admin:~\x07\x1b[?2004h[root@admin ~]# \x1b[?2004l",
        "Script done on 2026-03-01 12:00:09+01:00",
    ]
    lines = SMALL.splitlines()
    noisy = "\n".join([*junk[:2], *lines[:9], *junk[2:4], "\x1b[1m" + lines[9] + "\x1b[0m", *lines[10:], *junk[4:]])
    clean, found = parse_fabric(SMALL, "f", "f"), parse_fabric(noisy, "f", "f")
    assert list(found.routers.name) == list(clean.routers.name) and list(found.endpoints.node) == list(
        clean.endpoints.node
    )
    assert found.summary()["links"] == clean.summary()["links"]
    skipped = [text for text in found.warnings if "skipped" in text or "not ibnetdiscover" in text]
    assert len(skipped) == 6 and "1 more of: lines that are not ibnetdiscover's output" in skipped[-1]


def test_grouping_prints_chassis_and_external_ports() -> None:
    """`ibnetdiscover -g` (infiniband-diags): comments behind the GUIDs, sections a chassis, external port numbers."""
    grouped = """
Chassis 1 (guid 0xa0)

# Spine Nodes

vendid=0x2c9
devid=0xbd36
sysimgguid=0xa0\t\t# Chassis 1
switchguid=0xa1(a1)\t# Voltaire-4036 sFB Spine 1 Chip 1
Switch\t4 "S-00000000000000a1"\t\t# "leaf-1" base port 0 lid 31 lmc 0
[1][ext 7]\t"H-00000000000000b0"[1](b0) \t\t# "n1 mlx5_0" lid 1 4xHDR

Chassis 2
 Line 1
caguid=0xb0
Ca\t1 "H-00000000000000b0"\t\t# "n1 mlx5_0"
[1](b0) \t"S-00000000000000a1"[1][ext 7]\t\t# lid 1 lmc 0 "leaf-1" lid 31 4xHDR
"""
    fabric = parse_fabric(grouped, "f", "f")
    assert fabric.warnings == () and fabric.attributes["switch_lids"] == [31] and list(fabric.endpoints.node) == ["n1"]


@pytest.mark.parametrize(
    ("description", "node", "adapter"),
    [
        ("SAT111092710053 ibp11s0f0", "SAT111092710053", "ibp11s0f0"),
        ("n1 mlx5_bond_0", "n1", "mlx5_bond_0"),
        ("n1 rocep1s0", "n1", "rocep1s0"),
        ("luna-0001 mlx5_2", "luna-0001", "mlx5_2"),
        ("n1.cluster.example HCA-2", "n1", "HCA-2"),
        ("'n1 HCA-1'", "n1", "HCA-1"),
        ("n1-mlx4_0", "n1", "mlx4_0"),
        ("n1", "n1", None),
        ("localhost mlx5_0", "H-00000000000000b0", "mlx5_0"),
        ("localhost.localdomain HCA-1", "H-00000000000000b0", "HCA-1"),
        ("mlx5_0", "H-00000000000000b0", "mlx5_0"),
        ("MT4123 ConnectX6   Mellanox Technologies", "H-00000000000000b0", None),
        ("", "H-00000000000000b0", None),
    ],
)
def test_descriptions_name_hosts_and_adapters(description: str, node: str, adapter: str | None) -> None:
    text = f"""Switch 4 "S-00000000000000a1"\t# "leaf-1" base port 0 lid 31 lmc 0
[1]\t"H-00000000000000b0"[1](b0)\t# "{description}" lid 1 4xHDR
Ca 1 "H-00000000000000b0"\t# "{description}"
[1](b0)\t"S-00000000000000a1"[1]\t# lid 1 lmc 0 "leaf-1" lid 31 4xHDR
"""
    fabric = parse_fabric(text, "f", "f")
    assert (list(fabric.endpoints.node), fabric.attributes["adapters"]) == ([node], [adapter])
    assert bool(fabric.warnings) == node.startswith("H-"), "a node that nobody named is said"


def test_domains_stay_where_two_hosts_would_become_one() -> None:
    text = """Switch 4 "S-00000000000000a1"\t# "leaf-1" base port 0 lid 31 lmc 0
[1]\t"H-00000000000000b0"[1](b0)\t# "n1.a.example mlx5_0" lid 1 4xHDR
[2]\t"H-00000000000000b1"[1](b1)\t# "n1.b.example mlx5_0" lid 2 4xHDR
"""
    assert list(parse_fabric(text, "f", "f").endpoints.node) == ["n1.a.example", "n1.b.example"]


def test_a_list_of_ports_is_named(tmp_path: Path) -> None:
    file = tmp_path / "ports"
    file.write_text(
        "CA   134  1 0x7cfe9003003b4bde 4x EDR - SW  1719 10 0x7cfe9003009ce5b0 ( 'o0001 HCA-1' - 'ib-i1l1s01' )\n"
    )
    with pytest.raises(BadInput, match="without --ports"):
        read_fabric(file)


@pytest.mark.parametrize(
    ("described", "nodes"),
    [
        (("node1 mlx5_0", "NODE1 mlx5_1"), ["NODE1", "NODE1"]),
        (("node1.hpc.example mlx5_0", "node1 mlx5_1"), ["node1", "node1"]),
        (("Node1.hpc.example mlx5_0", "node1.HPC.example mlx5_1"), ["Node1", "Node1"]),
        (("node1.a mlx5_0", "node1.b mlx5_1"), ["node1.a", "node1.b"]),
        (("node1-ib0 mlx5_0", "node1-ib1 mlx5_1"), ["node1-ib0", "node1-ib1"]),
    ],
)
def test_adapters_of_one_host_may_spell_it_differently(described: tuple[str, str], nodes: list[str]) -> None:
    text = SMALL.replace("node1 mlx5_0", described[0]).replace("node2 mlx5_0", described[1])
    assert parse_fabric(text, "f", "f").endpoints.node[:2].tolist() == nodes
