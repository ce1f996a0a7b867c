"""Realistic dumps of forwarding tables: without GUIDs, repeated, contradictory, with a byte order mark, with several LIDs per port."""

from __future__ import annotations

import csv
import gzip
import json
import re
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from routing.lft_dumps import dumped, keeping, numbered, without

from flitwatch.main import main
from flitwatch_domain.errors import BadInput
from flitwatch_domain.fabric import Fabric, endpoint_finder, endpoint_table
from flitwatch_domain.fabric.endpoint_names import number_finder
from flitwatch_domain.generators import build_quartz1, build_torus, build_xgft
from flitwatch_domain.importers import read_fabric
from flitwatch_domain.secret_file import LocalText
from flitwatch_routing import lft
from flitwatch_routing.baselines import ftree_tables, random_tables
from flitwatch_routing.difference import compare_tables
from flitwatch_routing.forwarding import check_routes, links_by_port
from flitwatch_routing.optimise import optimise_routes
from flitwatch_routing.patterns import load_traffic, read_csv
from flitwatch_routing.reconstruction.numbering import number_keys, places_among
from flitwatch_routing.reconstruction.study import build_study
from flitwatch_routing.switch_lids import find_unreached, repair_tables, towards_switches

TREE = "xgft:2;4,4;1,4"


def tree() -> Fabric:
    return build_xgft(2, [4, 4], [1, 4])


def test_lids_of_the_fabric_file_tell_what_bare_entries_are_for(tmp_path: Path) -> None:
    fabric, file = tree(), tmp_path / "r.lfts"
    ports = ftree_tables(fabric)
    dumped(file, fabric, ports, bare=True)
    assert (lft.read_ports(file, numbered(fabric)) == ports).all()
    with pytest.raises(BadInput, match=r"r\.lfts: the endpoint of an entry is unknown"):
        lft.read_ports(file, fabric)
    partly = numbered(fabric)
    partly.attributes["lids"][3] = 0
    assert np.flatnonzero(lft.read_dump(file, partly).unknown).tolist() == [3]
    shared = numbered(fabric)
    shared.attributes["lids"][3] = shared.attributes["lids"][4]
    assert np.flatnonzero(lft.read_dump(file, shared).unknown).tolist() == [3, 4]


def test_a_topology_that_has_adapters_guids_alone(shared: Path) -> None:
    """ibsim's files give no port GUIDs: n0's port has the GUID of n1's adapter. A real OpenSM dumped these tables."""
    samples = shared / "samples" / "opensm"
    fabric = read_fabric(samples / "xgft_2_12_6.topo")
    dump = lft.read_dump(samples / "xgft_ftree_lfts.dump", fabric)
    assert not dump.unknown.any() and check_routes(fabric, dump.ports).valid


def test_a_dump_of_another_machine_is_refused(tmp_path: Path) -> None:
    fabric, file = tree(), tmp_path / "r.lfts"
    text = "\n".join(lft.format_dump(fabric, ftree_tables(fabric)))
    file.write_text(re.sub(r"portguid 0x0{3}2", "portguid 0x0009", text))
    with pytest.raises(BadInput, match="the endpoint of an entry is unknown"):
        lft.read_ports(file, fabric)


def test_the_lowest_of_several_lids_counts(tmp_path: Path) -> None:
    fabric, file = tree(), tmp_path / "r.lfts"
    ports = ftree_tables(fabric)
    lines = []
    for line in lft.format_dump(fabric, ports):
        entry = re.match(r"0x(\w+) (\d+) (.*)", line)
        if entry is None:
            lines.append(line)
            continue
        lid = 64 + 4 * (int(entry[1], 16) - 9)
        lines += [f"0x{lid + k:04x} {1 + (int(entry[2]) - 1 + k) % 8:03d} {entry[3]}" for k in (3, 1, 0, 2)]
    file.write_text("\n".join(lines))
    assert (lft.read_ports(file, fabric) == ports).all()
    file.write_text("\n".join(line.split("#")[0] if line.startswith("0x") else line for line in lines))
    assert (lft.read_ports(file, numbered(fabric, 64, lmc=2)) == ports).all()


@pytest.mark.parametrize(
    ("extra", "words"),
    [
        (
            "{lid} 007 # Channel Adapter portguid {guid}: 'n'",
            r"r\.lfts: line 3: LID {lid} leaves by port 7, but by port \d",
        ),
        (
            "{lid} {port} # Channel Adapter portguid 0x00000000000000aa: 'n'",
            r"r\.lfts: line 3: LID {lid} belongs to port GUID 0x00000000000000aa, but to {guid}",
        ),
        (
            "0x0fff {port} # Channel Adapter portguid {guid}: 'n'",
            r"r\.lfts: line 3: port GUID {guid} has LID 0x0fff, but {lid}",
        ),
    ],
)
def test_lines_that_contradict_are_named(tmp_path: Path, extra: str, words: str) -> None:
    fabric, file = tree(), tmp_path / "r.lfts"
    lines = dumped(file, fabric, ftree_tables(fabric))
    found = re.match(r"(?P<lid>0x\w+) (?P<port>\d+) .*portguid (?P<guid>0x\w+)", lines[1])
    assert found
    file.write_text("\n".join([*lines[:2], extra.format(**found.groupdict()), *lines[2:]]))
    with pytest.raises(BadInput, match=words.format(**found.groupdict())):
        lft.read_ports(file, fabric)


def test_repeated_lines_and_marks_of_editors_change_nothing(tmp_path: Path) -> None:
    fabric, file = tree(), tmp_path / "r.lfts"
    ports = ftree_tables(fabric)
    lines = dumped(file, fabric, ports)
    for text in ("\ufeff" + "\n".join(lines), "\r\n".join(lines), "\n".join([*lines, *lines])):
        file.write_bytes(text.encode())
        assert (lft.read_ports(file, fabric) == ports).all()


def test_what_is_no_dump_is_named(tmp_path: Path) -> None:
    file = tmp_path / "r.lfts"
    for content, words in (
        (gzip.compress(b"Unicast lids"), "line 1: the switch has no guid"),  # read as what is inside
        (b"", "line 1: no switch"),
        (b"src,dst\n", "line 1: 'src,dst'"),
        # Cut within a character, the message would be no text.
        (b"x" * 39 + "é and more\n".encode(), f"line 1: '{'x' * 39}' is neither"),
        ("漢".encode() * 14, f"line 1: '{'漢' * 13}' is neither"),
    ):
        file.write_bytes(content)
        with pytest.raises(BadInput, match=rf"r\.lfts: {words}"):
            lft.read_ports(file, tree())
    with pytest.raises(BadInput, match="Is a directory"):
        lft.read_ports(tmp_path, tree())


def test_lids_come_with_ibnetdiscover(tmp_path: Path) -> None:
    file = tmp_path / "t.topo"
    file.write_text(
        '\ufeffSwitch\t4 "S-00000000000000a0"\t\t# "leaf0" base port 0 lid 3 lmc 0\n'
        '[1]\t"H-00000000000000b0"[1](b1) \t\t# "n0" lid 8 4xHDR\n[2]\t"H-00000000000000c0"[1](c1) \t\t# "n1" lid 12 4xHDR\n\n'
        'Ca\t1 "H-00000000000000b0"\t\t# "n0"\n[1](b1) \t"S-00000000000000a0"[1]\t\t# lid 8 lmc 2 "leaf0" lid 3 4xHDR\n\n'
        'Ca\t1 "H-00000000000000c0"\t\t# "n1"\n[1](c1) \t"S-00000000000000a0"[2]\n'
    )
    fabric = read_fabric(file)
    assert fabric.attributes["lids"] == [8, 12] and fabric.attributes["lmc"] == [2, 0]


def checked(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, dict]:
    with pytest.raises(SystemExit) as left:
        main(["routes", "check", *arguments, "--json"])
    return int(left.value.code or 0), json.loads(capsys.readouterr().out)


def test_a_port_without_a_cable_is_a_hole_that_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fabric, file, demand = tree(), tmp_path / "r.lfts", tmp_path / "t.csv"
    ports = ftree_tables(fabric)
    ports[0, 15] = 200
    lft.write_dump(file, fabric, ports)
    demand.write_text("src,dst,bytes\n0,15,5\n")
    status, found = checked(capsys, str(file), "--topology", TREE, "--traffic", str(demand))
    assert status == 1 and found["valid"] is False and found["holes"] == 1
    assert found["where"] == ["leaf0 sends endpoint 15 (n15) to port 200, which has no cable"]
    assert found["max_load"] is None and found["ar_gap"] is None
    demand.write_text("src,dst,bytes\n4,15,5\n")
    _, found = checked(capsys, str(file), "--topology", TREE, "--traffic", str(demand))
    assert found["max_load"] == 5 and found["ar_gap"] == pytest.approx(3)


# Numbers of keys are those of numpy.unique, by a table or without.


@pytest.mark.parametrize("bound", [50, 1 << 40])
def test_as_numpy_numbers_them(bound: int) -> None:
    key = np.random.default_rng(1).integers(0, 50, 30)
    distinct, of = number_keys(key, bound)
    expected, inverse = np.unique(key, return_inverse=True)
    assert (distinct == expected).all() and (of == inverse).all()


def test_what_is_not_there_has_the_place_behind_the_last() -> None:
    assert places_among(np.array([1, 3]), 5).tolist() == [2, 0, 2, 1, 2]


# Endpoints by number and by name, and traffic that is laid where its file says.


WIDE_TREE = "xgft:2;4,8;1,4"

#: A node of two adapters, one of one, and a node whose name is a number.
TOPOLOGY = """\
Switch\t8 "S-00a1"\t\t# "leaf" enhanced port 0 lid 1 lmc 0
[1]\t"H-00b1"[1](b2) \t\t# "n1 mlx5_0" lid 5 4xHDR
[2]\t"H-00c1"[1](c2) \t\t# "n1 mlx5_1" lid 6 4xHDR
[3]\t"H-00d1"[1](d2) \t\t# "n2 mlx5_0" lid 7 4xHDR
[4]\t"H-00e1"[1](e2) \t\t# "2 mlx5_0" lid 8 4xHDR

Ca\t1 "H-00b1"\t\t# "n1 mlx5_0"
[1](b2) \t"S-00a1"[1]\t\t# lid 5 lmc 0 "leaf" lid 1 4xHDR

Ca\t1 "H-00c1"\t\t# "n1 mlx5_1"
[1](c2) \t"S-00a1"[2]\t\t# lid 6 lmc 0 "leaf" lid 1 4xHDR

Ca\t1 "H-00d1"\t\t# "n2 mlx5_0"
[1](d2) \t"S-00a1"[3]\t\t# lid 7 lmc 0 "leaf" lid 1 4xHDR

Ca\t1 "H-00e1"\t\t# "2 mlx5_0"
[1](e2) \t"S-00a1"[4]\t\t# lid 8 lmc 0 "leaf" lid 1 4xHDR
"""


@pytest.fixture
def topology(tmp_path: Path) -> Path:
    (tmp_path / "small.topo").write_text(TOPOLOGY)
    return tmp_path / "small.topo"


def test_the_command_prints_every_endpoint(capfd: pytest.CaptureFixture[str], topology: Path) -> None:
    main(["topology", "endpoints", f"file:{topology}", "--json"])
    rows = json.loads(capfd.readouterr().out)["endpoints"]
    assert rows[1] == {
        "endpoint": 1,
        "node": "n1",
        "adapter": "mlx5_1",
        "guid": "c2",
        "lid": 6,
        "switch": "leaf",
        "port": 2,
    }
    assert [row["endpoint"] for row in rows] == [0, 1, 2, 3]
    main(["topology", "endpoints", f"file:{topology}"])
    assert capfd.readouterr().out.splitlines()[2].split("\t") == ["1", "n1", "mlx5_1", "c2", "6", "leaf", "2"]


def test_matrices_take_names_guids_and_numbers(tmp_path: Path, topology: Path) -> None:
    fabric = read_fabric(topology)
    (tmp_path / "t.csv").write_text("src,dst,bytes\nn1 mlx5_1,n2,8\n0xc2,2,8\n2 mlx5_0,H-00b2,4\n2,0,1\n")
    (src, dst, _), _ = read_csv(tmp_path / "t.csv", 4, endpoint_finder(fabric))
    assert src.tolist() == [1, 1, 3, 2]
    assert dst.tolist() == [2, 2, 0, 0]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("n1,n2,8", r"t\.csv:2: 'n1' has 2 endpoints \(0, 1\)"),
        ("n3,n2,8", r"t\.csv:2: no endpoint is called 'n3'"),
        ("4,n2,8", r"t\.csv:2: there is no endpoint 4"),
        ("0xff,n2,8", r"t\.csv:2: no endpoint is called"),
    ],
)
def test_a_name_that_stands_for_none_or_several_is_refused(
    tmp_path: Path, topology: Path, row: str, message: str
) -> None:
    (tmp_path / "t.csv").write_text(f"src,dst,bytes\n{row}\n")
    with pytest.raises(BadInput, match=message):
        read_csv(tmp_path / "t.csv", 4, endpoint_finder(read_fabric(topology)))


def test_a_file_is_measured_where_its_endpoints_are(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """The first ten nodes are left out for patterns alone: their ranks may lie anywhere, a file's endpoints may not."""
    main(["topology", "endpoints", WIDE_TREE, "--json"])
    nodes = [row["node"] for row in json.loads(capfd.readouterr().out)["endpoints"]]
    (tmp_path / "t.csv").write_text(f"src,dst,bytes\n{nodes[2]},{nodes[9]},1000\n")
    arguments = [
        "traffic",
        "counters",
        "--topology",
        WIDE_TREE,
        "--traffic",
        str(tmp_path / "t.csv"),
        "--out",
    ]
    main([*arguments, str(tmp_path / "out"), "--json"])
    with open(tmp_path / "out" / "counters.csv") as file:
        next(file)
        sending = {row["device"] for row in csv.DictReader(file) if float(row["bytes"])}
    assert nodes[2] in sending and not sending & set(nodes[10:])


def test_reconstruction_with_and_without_the_jobs_is_of_the_same_pairs(tmp_path: Path) -> None:
    from flitwatch_domain.topology_spec import fabric_of

    fabric = fabric_of(WIDE_TREE)
    (tmp_path / "t.csv").write_text("src,dst,bytes\n3,20,5\n20,7,9\n")
    ports = ftree_tables(fabric)
    alone = build_study(fabric, ports, LocalText(tmp_path / "t.csv"), 2, 2, 1, 1)
    jobs = [np.array([3, 7, 20])]
    given = build_study(fabric, ports, LocalText(tmp_path / "t.csv"), 2, 2, 1, 1, jobs=jobs)
    assert alone.measured.pairs.src.tolist() == given.measured.pairs.src.tolist()
    assert alone.size.tolist() == given.size.tolist()
    assert len(endpoint_table(fabric)) == 32


def test_a_number_among_separators_is_a_number() -> None:
    """strip() takes ASCII's separators for blanks, and int() does not."""
    find = number_finder(4)
    assert find("\x1d\x1d3 ", "here") == 3
    with pytest.raises(BadInput, match="from 0 to 3"):
        find("\x1c4", "here")


# Tables are complete for the LIDs of switches too: what a dump leaves out, a subnet manager gives no path.


def walk(fabric: Fabric, ports: np.ndarray, at: int, to: int) -> list[int]:
    """Switches passed from one to another, by following the tables one entry at a time; ends at a hole or after too many steps."""
    out, passed = links_by_port(fabric), [at]
    while at != to and ports[at, to] >= 0 and len(passed) <= len(fabric.routers):
        at = int(fabric.links.dst[out[at, ports[at, to]]])
        passed.append(at)
    return passed


def connected(fabric: Fabric, at: int) -> set[int]:
    seen, todo = {at}, [at]
    routers = len(fabric.routers)
    while todo:
        one = todo.pop()
        for other in fabric.links.dst[fabric.links.src == one].tolist():
            if other < routers and other not in seen:
                seen.add(other)
                todo.append(other)
    return seen


@settings(max_examples=25, deadline=None)
@given(
    st.sampled_from(
        [
            build_xgft(2, [3, 4], [1, 3]),
            build_xgft(3, [2, 3, 3], [1, 2, 2]),
            build_xgft(2, [2, 4], [1, 2], [1, 2]),
            build_torus((3, 4)),
        ]
    ),
    st.integers(0, 8),
    st.integers(0, 10_000),
)
def test_every_switch_reaches_every_switch_that_cables_join(whole: Fabric, broken: int, seed: int) -> None:
    fabric = without(whole, broken, seed)
    ports = towards_switches(fabric)
    for at in range(len(fabric.routers)):
        reach = connected(fabric, at)
        for to in range(len(fabric.routers)):
            assert (walk(fabric, ports, at, to)[-1] == to) == (to in reach)
    assert len(find_unreached(fabric, ports)) == 0


def test_ways_between_switches_of_a_tree_go_up_and_then_down() -> None:
    fabric = build_quartz1()
    ports, leaves = towards_switches(fabric), np.unique(fabric.endpoints.router)
    height = np.ones(len(fabric.routers))
    height[leaves] = 0
    touched = np.unique(fabric.links.dst[np.isin(fabric.links.src, leaves)])
    height[np.setdiff1d(np.arange(len(fabric.routers)), np.concatenate([leaves, touched]))] = 2
    rng = np.random.default_rng(1)
    for at, to in zip(rng.choice(leaves, 200), rng.integers(0, len(fabric.routers), 200), strict=True):
        steps = np.diff(height[walk(fabric, ports, int(at), int(to))])
        assert (np.diff(steps) <= 0).all(), "down, then up again"


def test_a_leaf_without_hosts_is_a_leaf() -> None:
    """Its table has no hole, and the tree keeps its levels."""
    whole = build_xgft(2, [4, 4], [1, 3])
    bare = int(whole.endpoints.router[0])
    fabric = unplugged(whole, bare)
    found = optimise_routes(fabric, load_traffic("bisection-shuffle", 12, 1), time_limit_s=0.3)
    assert (found.ports[bare] >= 0).all()
    assert len(find_unreached(fabric, towards_switches(fabric))) == 0


def unplugged(fabric: Fabric, leaf: int) -> Fabric:
    """The fabric without the endpoints of a leaf."""
    routers, ends, links = len(fabric.routers), fabric.endpoints, fabric.links
    stays = ends.router != leaf
    number = np.concatenate([np.arange(routers), np.where(stays, routers + np.cumsum(stays) - 1, -1)])
    whole = keeping(fabric, (number[links.src] >= 0) & (number[links.dst] >= 0)).links
    names = [one.name for one in fields(ends)]
    return replace(
        fabric,
        endpoints=replace(ends, **{name: np.asarray(getattr(ends, name))[stays] for name in names}),
        links=replace(whole, src=number[whole.src], dst=number[whole.dst]),
    )


def test_a_spine_that_lost_a_leaf_still_has_an_entry_for_its_hosts() -> None:
    fabric = build_xgft(3, [2, 2, 2], [1, 2, 2])
    links, leaf = fabric.links, 0
    spine = int(links.dst[np.flatnonzero((links.src == leaf) & (links.dst < len(fabric.routers)))[0]])
    broken = keeping(fabric, ~(np.isin(links.src, [leaf, spine]) & np.isin(links.dst, [leaf, spine])))
    assert (ftree_tables(broken)[spine, broken.endpoints.router == leaf] == -1).all()
    found = optimise_routes(broken, load_traffic("bisection-shuffle", 8, 1), time_limit_s=0.3)
    cabled = np.unique(broken.links.src[broken.links.src < len(broken.routers)])
    assert (found.ports[cabled] >= 0).all()


def test_dumps_without_switches_are_found(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tree, full, stripped = "xgft:2;4,4;1,4", tmp_path / "full", tmp_path / "stripped"
    lft.write_dump(full, build_xgft(2, [4, 4], [1, 4]), ftree_tables(build_xgft(2, [4, 4], [1, 4])))
    stripped.write_text("".join(line for line in full.open() if "Switch portguid" not in line))
    main(["routes", "check", str(full), "--topology", tree, "--json"])
    assert json.loads(capsys.readouterr().out)["switch_holes"] == 0
    with pytest.raises(SystemExit) as ended:
        main(["routes", "check", str(stripped), "--topology", tree, "--json"])
    assert ended.value.code == 1
    said = json.loads(capsys.readouterr().out)
    assert said["valid"] is False and said["switch_holes"] == 8 * 7 and "LID" in said["where"][0]
    main(["routes", "diff", str(full), str(stripped), "--topology", tree, "--json"])
    assert json.loads(capsys.readouterr().out)["removed"] == 8 * 8


def test_loaded_entries_for_switches_stay_unless_they_lead_astray() -> None:
    fabric = build_xgft(2, [4, 4], [1, 4])
    towards = towards_switches(fabric)
    loaded = towards.copy()
    spare = np.setdiff1d(ftree_tables(fabric)[0, fabric.endpoints.router != 0], towards[0, 1])[0]
    loaded[0, 1] = spare  # another way to the same switch
    loaded[2, 3] = -1
    kept = repair_tables(fabric, loaded, towards)
    assert kept[0, 1] == spare and kept[2, 3] == towards[2, 3] and len(find_unreached(fabric, kept)) == 0


# `routes diff`: what loading other tables would change, whoever numbered the LIDs.


def changes(capsys: pytest.CaptureFixture[str], before: Path, after: Path, topology: str = TREE) -> dict:
    main(["routes", "diff", str(before), str(after), "--topology", topology, "--json"])
    return json.loads(capsys.readouterr().out)


def test_entries_switches_and_destinations_are_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fabric = build_xgft(2, [4, 4], [1, 4])
    ports, files = ftree_tables(fabric), (tmp_path / "old.lfts", tmp_path / "new.lfts")
    lft.write_dump(files[0], fabric, ports)
    other = ports.copy()
    other[0, [8, 9, 15]] = ports[0, [9, 8, 14]]
    other[2, 15] = -1
    lft.write_dump(files[1], fabric, other)
    found = changes(capsys, *files)
    assert found == {
        "entries": 192,
        "entries_changed": 4,
        "added": 0,
        "removed": 1,
        "switches_changed": 2,
        "destinations_changed": 3,
        "unknown_endpoints": 0,
        "most_changed": [{"switch": "leaf0", "entries": 3}, {"switch": "leaf2", "entries": 1}],
    }
    back = changes(capsys, files[1], files[0])
    assert (back["entries_changed"], back["added"], back["removed"]) == (4, 1, 0)
    same = changes(capsys, files[0], files[0])
    assert same["entries_changed"] == same["switches_changed"] == 0 and same["most_changed"] == []
    main(["routes", "diff", *map(str, files), "--topology", TREE])
    assert re.search(r"^entries_changed +4$", capsys.readouterr().out, re.MULTILINE)


def test_tables_of_a_real_opensm_compare_with_ours(
    tmp_path: Path, shared: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its LIDs follow discovery; entries are matched by port GUID."""
    samples = shared / "samples" / "opensm"
    topology, loaded, ours = samples / "xgft_2_12_6.topo", samples / "xgft_ftree_lfts.dump", tmp_path / "ours.lfts"
    fabric = read_fabric(topology)
    held = lft.read_dump(loaded, fabric)
    lft.write_dump(ours, fabric, held.ports, switch_ports=held.switch_ports)
    assert changes(capsys, loaded, ours, f"file:{topology}")["entries_changed"] == 0
    mine = random_tables(fabric, 1)
    lft.write_dump(ours, fabric, mine, switch_ports=held.switch_ports)
    found = changes(capsys, loaded, ours, f"file:{topology}")
    assert found["entries_changed"] == int((lft.read_ports(loaded, fabric) != mine).sum()) > 0
    assert found["switches_changed"] == len(np.unique(fabric.endpoints.router))


def test_every_lid_of_an_endpoint_is_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With LMC 1 an endpoint has two columns; both changed are one destination."""
    fabric, files = build_xgft(2, [4, 4], [1, 4]), (tmp_path / "old.lfts", tmp_path / "new.lfts")
    ports = np.repeat(ftree_tables(fabric), 2, axis=1)
    lft.write_dump(files[0], fabric, ports, 1)
    ports[0, [30, 31]] = ports[0, [28, 28]]
    lft.write_dump(files[1], fabric, ports, 1)
    main(["routes", "diff", *map(str, files), "--topology", TREE, "--lmc", "1", "--json"])
    found = json.loads(capsys.readouterr().out)
    assert (found["entries"], found["entries_changed"], found["destinations_changed"]) == (320, 2, 1)
    main(["routes", "check", str(files[1]), "--topology", TREE, "--lmc", "1", "--json"])
    assert json.loads(capsys.readouterr().out)["deadlock_free"] is True


def test_port_0_is_a_port() -> None:
    """A switch's own LID leaves by port 0; where it is gone, an entry is removed and not merely absent."""
    fabric = build_xgft(2, [4, 4], [1, 4])
    routers, nothing = len(fabric.routers), np.zeros(len(fabric.endpoints), bool)
    ports = ftree_tables(fabric)
    own = np.where(np.eye(routers, dtype=bool), 0, -1)
    before = lft.Dump(ports, nothing, own)
    assert compare_tables(fabric, before, before).entries == (ports >= 0).sum() + routers
    found = compare_tables(fabric, before, lft.Dump(ports, nothing, np.full_like(own, -1)))
    assert (found.entries, found.changed, found.removed, found.added) == (
        (ports >= 0).sum() + routers,
        routers,
        routers,
        0,
    )
    back = compare_tables(fabric, lft.Dump(ports, nothing, np.full_like(own, -1)), before)
    assert (back.removed, back.added, back.switches, back.destinations) == (0, routers, routers, routers)


# Dumps that lack something: entries of an endpoint, of switches, of a whole switch; GUIDs that could be two endpoints'.


@pytest.fixture(scope="module")
def fabric() -> Fabric:
    return build_xgft(2, [4, 4], [1, 4])


def kept(fabric: Fabric, ports: np.ndarray, path: Path, without: str = "", bare: bool = False, lmc: int = 0) -> Path:
    """A dump less the entries that match `without`; `bare`: without the comments that name destinations."""
    lines = [line for line in lft.format_dump(fabric, ports, lmc) if not (without and re.search(without, line))]
    path.write_text("\n".join(line.split("#")[0] if bare and line.startswith("0x") else line for line in lines))
    return path


def with_gaps(fabric: Fabric, file: Path) -> Fabric:
    """The fabric with the LIDs that a dump gives its endpoints."""
    lid_of = {
        int(guid, 16): int(lid, 16)
        for lid, guid in re.findall(r"(0x\w+) \d+ # Channel Adapter portguid (0x\w+)", file.read_text())
    }
    lids = [lid_of[guid] for guid in lft.list_guids(fabric)[1]]
    return replace(fabric, attributes={**fabric.attributes, "lids": lids})


def test_entries_for_switches_are_read_and_where_nothing_tells_whose_they_are_they_are_not_known(
    fabric: Fabric, tmp_path: Path
) -> None:
    ports, file = ftree_tables(fabric), tmp_path / "r.lfts"
    read = lft.read_dump(kept(fabric, ports, file), fabric)
    expected = towards_switches(fabric)
    assert read.switch_ports is not None and (read.switch_ports[expected >= 0] == expected[expected >= 0]).all()
    with_lids = with_gaps(fabric, file)
    # Entries without names, of LIDs that no endpoint has, may be those of switches.
    assert lft.read_dump(kept(fabric, ports, file, bare=True), with_lids).switch_ports is None
    # Where every entry is an endpoint's, there are none of switches: that is known.
    for bare in (False, True):
        none = lft.read_dump(kept(fabric, ports, file, without="# Switch portguid", bare=bare), with_lids)
        assert none.switch_ports is not None and (none.switch_ports == -1).all() and (none.ports == ports).all()


def test_an_endpoint_without_entries_is_a_hole_and_not_unknown(fabric: Fabric, tmp_path: Path) -> None:
    ports = ftree_tables(fabric)
    file = kept(fabric, ports, tmp_path / "r.lfts", without=rf"portguid 0x{lft.list_guids(fabric)[1][5]:016x}")
    read = lft.read_dump(file, fabric)
    assert not read.unknown.any() and (read.ports[:, 5] == -1).all()
    assert (np.delete(read.ports, 5, axis=1) == np.delete(ports, 5, axis=1)).all()


def test_entries_of_the_first_endpoint_alone_are_its(fabric: Fabric, tmp_path: Path) -> None:
    ports, first = ftree_tables(fabric), lft.list_guids(fabric)[1][0]
    file = kept(fabric, ports, tmp_path / "r.lfts", without=rf"Adapter portguid 0x(?!{first:016x})")
    read = lft.read_dump(file, fabric)
    assert (read.ports[:, 0] == ports[:, 0]).all() and (read.ports[:, 1:] == -1).all() and not read.unknown.any()


def test_tables_without_any_entry_are_empty(fabric: Fabric, tmp_path: Path) -> None:
    read = lft.read_dump(kept(fabric, ftree_tables(fabric), tmp_path / "r.lfts", without="^0x"), fabric)
    assert (read.ports == -1).all() and read.switch_ports is not None and (read.switch_ports == -1).all()


def test_endpoints_that_have_no_lids_do_not_spoil_those_that_have_several(fabric: Fabric, tmp_path: Path) -> None:
    ports = np.repeat(ftree_tables(fabric), 2, axis=1)
    absent = "|".join(f"portguid 0x{lft.list_guids(fabric)[1][one]:016x}" for one in (2, 7))
    file = kept(fabric, ports, tmp_path / "r.lfts", without=absent, lmc=1)
    read = lft.read_dump(file, fabric, 1).ports.reshape(len(ports), -1, 2)
    there = np.setdiff1d(np.arange(read.shape[1]), [2, 7])
    assert (read[:, there] == ports.reshape(read.shape)[:, there]).all() and (read[:, [2, 7]] == -1).all()


def test_an_lmc_under_which_every_endpoint_has_one_lid_is_refused(fabric: Fabric, tmp_path: Path) -> None:
    """LIDs that are all even look like the first of two each; OpenSM fills in both."""
    ports = np.repeat(ftree_tables(fabric), 2, axis=1)
    assert (lft.read_dump(kept(fabric, ports, tmp_path / "both.lfts", lmc=1), fabric, 1).ports == ports).all()
    file = kept(fabric, ports, tmp_path / "first.lfts", without=r"^0x\w*[13579bdf] ", lmc=1)
    with pytest.raises(BadInput, match="with LMC 1, an endpoint has 2 LIDs"):
        lft.read_dump(file, fabric, 1)


def test_lids_that_none_or_several_claim_are_nobodys(fabric: Fabric) -> None:
    count = len(fabric.endpoints)
    lids = [4 + 2 * one for one in range(count)]
    lids[1] = lids[0] + 1
    given = replace(fabric, attributes={**fabric.attributes, "lids": lids, "lmc": [1, *[0] * (count - 1)]})
    owners = lft._find_lid_owners(given)
    assert owners[lids[0]] == 0 and owners[lids[1]] == -1, "the second LID of endpoint 0 is the first of endpoint 1"
    assert [int(owners[lid]) for lid in lids[2:]] == list(range(2, count)) and set(owners[:4].tolist()) == {-1}
    fewer = replace(fabric, attributes={**fabric.attributes, "lids": lids[:-1]})
    assert set(lft._find_lid_owners(fewer).tolist()) == {-1}
    from_one = replace(fabric, attributes={**fabric.attributes, "lids": list(range(count))})
    assert lft._find_lid_owners(from_one)[:count].tolist() == [-1, *range(1, count)], (
        "LID 0 is nobody's, LID 1 may be an endpoint's"
    )


def test_a_switch_with_cables_needs_a_table_and_one_without_needs_none(fabric: Fabric, tmp_path: Path) -> None:
    lines = list(lft.format_dump(fabric, ftree_tables(fabric)))
    last = max(at for at, line in enumerate(lines) if line.startswith("Unicast"))
    file = tmp_path / "r.lfts"
    file.write_text("\n".join(lines[:last]))
    with pytest.raises(BadInput, match="1 switches of the topology have no table"):
        lft.read_ports(file, fabric)
    cables, gone = fabric.links, len(fabric.routers) - 1
    left = np.flatnonzero((cables.src != gone) & (cables.dst != gone))
    columns = {name: value[left] for name, value in vars(cables).items() if isinstance(value, np.ndarray)}
    alone = replace(fabric, links=replace(cables, **columns))
    assert lft.read_ports(file, alone).shape == (len(fabric.routers), len(fabric.endpoints))


def test_a_port_guid_of_the_file_comes_before_an_adapters_plus_its_port(fabric: Fabric, tmp_path: Path) -> None:
    """n1's port GUID is n0's plus one: an entry that names it is n1's."""
    guid = np.array([f"0x{0x50 + one:016x}" for one in range(len(fabric.endpoints))], object)
    close = replace(fabric, endpoints=replace(fabric.endpoints, guid=guid))
    others = "|".join(f"portguid 0x{0x50 + one:016x}" for one in range(2, len(guid))) + "|portguid 0x0000000000000050"
    ports = ftree_tables(close)
    read = lft.read_ports(kept(close, ports, tmp_path / "r.lfts", without=others), close)
    assert (read[:, 1] == ports[:, 1]).all() and (read[:, 0] == -1).all()


def test_a_generated_ports_guid_is_its_adapters_plus_one(fabric: Fabric) -> None:
    switches, ports = lft.list_guids(fabric)
    assert [port - lft.FIRST_ADAPTER_GUID for port in ports[:2]] == [1, 1 + lft.ADAPTER_STEP]
    assert len({*switches, *ports}) == len(fabric.routers) + len(fabric.endpoints)
