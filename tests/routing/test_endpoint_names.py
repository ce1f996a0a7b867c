"""Endpoints by number and by name, and traffic that is laid where its file says."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from flitwatch.main import main
from flitwatch_domain.errors import BadInput
from flitwatch_domain.fabric import endpoint_finder, endpoint_table
from flitwatch_domain.fabric.endpoint_names import number_finder
from flitwatch_domain.importers import read_fabric
from flitwatch_domain.local_text import LocalText
from flitwatch_routing.baselines import ftree_tables
from flitwatch_routing.patterns import read_csv
from flitwatch_routing.reconstruction.study import build_study

TREE = "xgft:2;4,8;1,4"
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
    main(["topology", "endpoints", TREE, "--json"])
    nodes = [row["node"] for row in json.loads(capfd.readouterr().out)["endpoints"]]
    (tmp_path / "t.csv").write_text(f"src,dst,bytes\n{nodes[2]},{nodes[9]},1000\n")
    arguments = ["traffic", "counters", "--topology", TREE, "--traffic", str(tmp_path / "t.csv"), "--out"]
    main([*arguments, str(tmp_path / "out"), "--json"])
    with open(tmp_path / "out" / "counters.csv") as file:
        next(file)
        sending = {row["device"] for row in csv.DictReader(file) if float(row["bytes"])}
    assert nodes[2] in sending and not sending & set(nodes[10:])


def test_reconstruction_with_and_without_the_jobs_is_of_the_same_pairs(tmp_path: Path) -> None:
    from flitwatch_domain.topology_spec import fabric_of

    fabric = fabric_of(TREE)
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
