"""`flitwatch import fabric` and `dragonview`: the contract's keys, the database content, one-line errors for misuse."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest
from cli.commands import flitwatch, succeed
from click.testing import CliRunner

from flitwatch.catalogue import COMMANDS
from flitwatch.command_line import cli
from flitwatch_db import connect
from flitwatch_db.fabrics import store as fabrics
from flitwatch_domain.fabric import CountedAt
from flitwatch_domain.schedulers import FORMATS
from flitwatch_routing import lft

NO_TOPOLOGY = str(Path(__file__).resolve().parents[1] / "conftest.py")

IB = """vendid=0x2c9
switchguid=0x1(1)
Switch\t36 "S-0000000000000001"\t\t# "MF0;leaf1:SX6036/U1" enhanced port 0 lid 1 lmc 0
[1]\t"H-00000000000000a1"[1](a1) \t\t# "node1 mlx4_0" lid 11 4xQDR
[2]\t"H-00000000000000a2"[1](a2) \t\t# "node2 mlx4_0" lid 12 4xQDR
"""


@pytest.mark.system("processes")
@pytest.mark.integration
@pytest.mark.shared
@pytest.mark.parametrize(
    ("file", "kind", "switches", "endpoints", "links", "groups"),
    [
        ("cray-wiring/links-edison.txt", "dragonfly", 1440, 5760, 59760, [*range(12), 13, 14, 15]),
        ("cray-wiring/theta.interconnect", "dragonfly", 864, 3456, 36288, [*range(9)]),
        ("infiniband/selene.storage.txt", "fat_tree", 160, 1247, 6572, [0, 1, 2, 3]),
    ],
)
def test_real_fabrics_end_in_the_database(
    embedded_db: str, shared: Path, file: str, kind: str, switches: int, endpoints: int, links: int, groups: list[int]
) -> None:
    path = shared / "data" / file
    result = succeed("import", "fabric", str(path), "--db", embedded_db)
    assert {key: result[key] for key in ("kind", "switches", "endpoints", "links", "groups")} == {
        "kind": kind,
        "switches": switches,
        "endpoints": endpoints,
        "links": links,
        "groups": groups,
    }
    # One adapter of Selene is described by its maker's words alone.
    assert ["does not name a node" in one for one in result["warnings"]] == ([True] if "selene" in file else [])
    with connect(embedded_db, role="reader") as conn:
        stored = fabrics.load_fabric(conn, result["fabric"])
    assert stored.summary() == {key: value for key, value in result.items() if key in stored.summary()}
    assert not stored.simulated


@pytest.mark.system("processes")
@pytest.mark.integration
def test_the_same_file_again_changes_nothing_another_needs_replace(embedded_db: str, tmp_path: Path) -> None:
    file = tmp_path / "lab-topo"
    file.write_text(IB)
    first = succeed("import", "fabric", str(file), "--db", embedded_db)
    assert (first["fabric"], first["switches"], first["endpoints"]) == ("lab", 1, 2)
    assert len(first["warnings"]) == 2, "both adapters are known as peers only"
    assert succeed("import", "fabric", str(file), "--db", embedded_db) == first
    file.write_text(IB.replace("[2]", "[3]"))
    code, out, err = flitwatch("import", "fabric", str(file), "--db", embedded_db, "--json")
    assert (code, out) == (1, "")
    assert "already exists" in err.splitlines()[-1]
    succeed("import", "fabric", str(file), "--db", embedded_db, "--replace")
    with connect(embedded_db, role="reader") as conn:
        assert [row.name for row in fabrics.list_all(conn)] == ["lab"]
        assert sorted(fabrics.load_fabric(conn, "lab").endpoints.port.tolist()) == [1, 3]


@pytest.mark.system("processes")
@pytest.mark.integration
def test_a_subnet_under_two_names_is_reported(embedded_db: str, tmp_path: Path) -> None:
    """Its counters would be booked to neither, and a collector that stores the second name said nothing."""
    file = tmp_path / "ib.topo"
    file.write_text(IB)
    said = []
    for name in ("ours", "again", "again"):
        code, _, err = flitwatch("import", "fabric", str(file), "--name", name, "--db", embedded_db)
        assert code == 0
        said.append(
            "switches of again are in ours too: counters that name them by GUID are assigned to no fabric" in err
        )
    assert said == [False, True, True]
    file.write_text(
        IB.replace("switchguid=0x1(1)", "switchguid=0x2(2)").replace("S-0000000000000001", "S-0000000000000002")
    )
    code, _, err = flitwatch("import", "fabric", str(file), "--name", "other", "--db", embedded_db)
    assert code == 0 and "are in" not in err


@pytest.mark.integration
def test_importing_again_adds_what_an_older_import_did_not_keep(embedded_db: str, tmp_path: Path) -> None:
    file = tmp_path / "lab-topo"
    file.write_text(IB)
    succeed("import", "fabric", str(file), "--db", embedded_db, "--cluster", "c1")
    with connect(embedded_db) as conn:
        conn.execute("UPDATE fabric SET attributes = attributes - 'adapter_guids'")
    succeed("import", "fabric", str(file), "--db", embedded_db)
    with connect(embedded_db, role="reader") as conn:
        attributes = fabrics.load_fabric(conn, "lab").attributes
    assert len(attributes["adapter_guids"]) == 2 and attributes["cluster"] == "c1"


@pytest.mark.system("processes")
@pytest.mark.integration
@pytest.mark.shared
def test_edisons_snapshot_without_being_given_the_machine(embedded_db: str, shared: Path) -> None:
    data = shared / "data"
    argv = [
        "import",
        "dragonview",
        "--links",
        str(data / "cray-wiring" / "links-edison.txt"),
        "--counters",
        str(data / "edison-dragonview" / "dnd_net_counters.21.csv"),
        "--jobs",
        str(data / "edison-dragonview" / "dnd_jobs.21.csv"),
        "--db",
        embedded_db,
    ]
    result = succeed(*argv)
    assert (result["routers"], len(result["groups"]), 12 in result["groups"]) == (1440, 15, False)
    assert (result["links_counted"], result["links_unmatched"], result["rejected"]) == (4694, 0, [])
    ratios = {key: round(value, 2) for key, value in result["stall_to_flit"].items()}
    assert ratios == {"all": 5.15, "green": 2.35, "black": 7.84, "blue": 6.45}
    assert (result["counted_routers"], result["counted_jobs"]) == (140, ["3609441"])
    job = next(job for job in result["job_places"] if job["job_id"] == "3609441")
    assert (job["routers"], job["groups"]) == (140, [5, 6, 7])
    assert (result["jobs"], result["placed"], result["unplaced_examples"]) == (len(result["job_places"]),) * 2 + ([],)
    assert succeed(*argv) == result, "Importing it again replaces it"
    with connect(embedded_db, role="reader") as conn:
        row = fabrics.get_fabric_row(conn, result["fabric"])
        assert row.snapshot
        fabric = fabrics.load_fabric(conn, row.fabric_id)
        assert fabric.counted_at is CountedAt.SENDER
        totals = conn.execute(
            "SELECT router, port, flits, stall_cycles FROM port_total WHERE fabric_id = %s", [row.fabric_id]
        ).fetchall()
        placed = conn.execute(
            "SELECT count(*), count(DISTINCT router) FROM job_node n JOIN job USING (job_pk) WHERE job_id = '3609441' AND fabric_id = %s",
            [row.fabric_id],
        ).fetchone()
    assert placed == (384, 140)
    assert len(totals) == 4694
    table = fabric.counted_links()
    links = np.array([table[router, port] for router, port, *_ in totals])
    assert (links >= 0).all(), "every counter stands at a port with a link"
    black = fabric.of_class("black")[links]
    flits, stalls = (np.array([row[column] for row in totals]) for column in (2, 3))
    assert round(stalls[black].sum() / flits[black].sum(), 2) == 7.84


@pytest.mark.system("processes")
@pytest.mark.integration
def test_a_dump_of_tables_is_a_mark_when_routes_change(embedded_db: str, tmp_path: Path) -> None:
    file, dump = tmp_path / "lab-topo", tmp_path / "opensm-lfts.dump"
    file.write_text(IB)
    succeed("import", "fabric", str(file), "--db", embedded_db)
    with connect(embedded_db, role="reader") as conn:
        fabric = fabrics.load_fabric(conn, "lab")
    command = ("import", "routes", str(dump), "--fabric", "lab", "--db", embedded_db)
    lft.write_dump(dump, fabric, np.array([[1, 2]]))
    os.utime(dump, (1_772_366_400, 1_772_366_400))
    first = succeed(*command)
    assert first == {"fabric": "lab", "at": "2026-03-01T12:00:00+00:00", "entries": 2, "changed": None, "new": True}
    assert succeed(*command) == {**first, "changed": 0, "new": False}
    lft.write_dump(dump, fabric, np.array([[1, 3]]))
    later = succeed(*command, "--at", "2026-03-01T15:00:00+01:00")
    assert later == {"fabric": "lab", "at": "2026-03-01T14:00:00+00:00", "entries": 2, "changed": 1, "new": True}
    dump.write_text(dump.read_text().replace("guid 0x0000000000000001", "guid 0x0000000000000009"))
    code, out, err = flitwatch(*command, "--json")
    assert (code, out) == (1, "") and "no switch 0x0000000000000009" in err


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["import", "fabric", "/absent/file.txt"], "does not exist"),
        (["import", "fabric"], "Missing argument"),
        (["import", "fabric", NO_TOPOLOGY], "is neither a Cray interconnect file nor ibnetdiscover output"),
        (["import", "fabric", NO_TOPOLOGY, "--format", "cray"], "conftest.py:1: cannot read"),
        (["import", "dragonview", "--links", NO_TOPOLOGY], "Missing option"),
        (["import", "routes", "--fabric", "lab"], "there is no description of the change"),
        (["import", "routes", "--fabric", "lab", "--note", "x", "--at", "14:05"], "is not a time with a zone"),
        (["import", "routes", "--fabric", "lab", "--note", "x\nERROR y"], "has more than one line"),
    ],
)
def test_bad_use_is_one_line_and_a_failing_exit(argv: list[str], said: str) -> None:
    code, out, err = flitwatch(*argv, "--json")
    assert code != 0
    assert out == ""
    assert len(err.strip().splitlines()) == 1
    assert said in err


# `flitwatch topology export`: a file, or standard output; from a SPEC or a fabric of the database.


SPEC = "xgft:2;4,3;1,2"


def test_the_command_offers_every_format() -> None:
    from flitwatch.commands import topology

    assert set(topology.FORMATS) == set(FORMATS)
    assert "topology" in COMMANDS


def test_to_a_file_and_to_standard_output(tmp_path: Path) -> None:
    file = tmp_path / "there" / "topology.conf"
    words = ["topology", "export", SPEC, "--format", "slurm-tree"]
    done = CliRunner().invoke(cli, [*words, "--out", str(file), "--json"])
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout) | {"file": None} == {
        "fabric": "xgft-2-4-3-1-2", "format": "slurm-tree", "nodes": 12, "leaves": 3, "switches": 4, "roots": 1, "left_out": 0, "file": None,
    }  # fmt: skip
    assert CliRunner().invoke(cli, words).stdout == file.read_text()
    assert json.loads(CliRunner().invoke(cli, [*words, "--json"]).stdout)["text"] == file.read_text()


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        ([], 2, "--fabric"),
        ([SPEC, "--fabric", "edison"], 2, "--fabric"),
        (["nonsense"], 1, "unknown topology"),
    ],
)
def test_wrong_use_is_said(words: list[str], status: int, said: str) -> None:
    done = CliRunner().invoke(cli, ["topology", "export", *words, "--format", "pbs"])
    assert done.exit_code == status
    assert said in done.stderr + str(done.exception)


@pytest.mark.integration
def test_a_fabric_of_the_database(embedded_db: str) -> None:
    from flitwatch_db import connect
    from flitwatch_db.fabrics import store
    from flitwatch_domain.topology_spec import fabric_of

    with connect(embedded_db) as conn:
        store.save_fabric(conn, fabric_of(SPEC))
    words = ["topology", "export", "--fabric", "xgft-2-4-3-1-2", "--db", embedded_db, "--format", "slurm-tree"]
    done = CliRunner().invoke(cli, words)
    assert done.exit_code == 0, done.output
    assert done.stdout == CliRunner().invoke(cli, ["topology", "export", SPEC, "--format", "slurm-tree"]).stdout
