"""`flitwatch topology export`: a file, or standard output; from a SPEC or a fabric of the database."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from flitwatch.main import COMMANDS, cli
from flitwatch_domain.schedulers import FORMATS

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
