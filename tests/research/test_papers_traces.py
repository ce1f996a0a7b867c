"""Traces instead of patterns: with the papers' files, the published columns are measured."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from flitwatch.command_line import cli
from flitwatch_domain.errors import BadRequest
from flitwatch_domain.secret_file import LocalText
from flitwatch_research.papers_routes.__main__ import main
from flitwatch_research.papers_routes.routes_and_bases import ROWS
from flitwatch_research.papers_routes.rows import QUICK
from flitwatch_research.studies import wang

RANKS, DOUBLES = 8, 4000


def dumpi_of_a_ring(folder: Path) -> Path:
    """Each of eight ranks sends 4,000 doubles to the next, in DUMPI text."""
    folder.mkdir(parents=True)
    at = "at walltime {0}.0, cputime 0 seconds in thread 0."
    for rank in range(RANKS):
        calls = []
        for number, (name, peer) in enumerate(
            (("Isend", f"dest={(rank + 1) % RANKS}"), ("Recv", f"source={(rank - 1) % RANKS}"))
        ):
            fields = [f"int count={DOUBLES}", "MPI_Datatype datatype=11 (MPI_DOUBLE)", f"int {peer}", "int tag=0"]
            fields += ["MPI_Comm comm=2 (MPI_COMM_WORLD)", *(["MPI_Request request=[7]"] if name == "Isend" else [])]
            where = at.format(number + 1)
            calls += [f"MPI_{name} entering {where}", *fields, f"MPI_{name} returning {where}"]
        where = at.format(3)
        calls += [f"MPI_Wait entering {where}", "MPI_Request request=[7]", f"MPI_Wait returning {where}", ""]
        (folder / f"dumpi-{rank:04}.txt").write_text("\n".join(calls))
    return folder


def test_a_trace_takes_the_place_of_wangs_pattern(tmp_path: Path) -> None:
    folder = dumpi_of_a_ring(tmp_path / "ring")
    chosen = ["--trace", str(folder), "--topology", "dragonfly:4,2,4,4", "--set", 'applications=["amg"]', "--json"]
    done = CliRunner().invoke(cli, ["study", "wang-fig2", *chosen])
    assert done.exit_code == 0, done.output
    (matrix,) = json.loads(done.stdout)["matrices"]
    sent = np.zeros((RANKS, RANKS))
    sent[np.arange(RANKS), (np.arange(RANKS) + 1) % RANKS] = 8 * DOUBLES / 1e6
    assert matrix["ranks"] == RANKS and np.allclose(matrix["sent_mb"], sent)
    assert CliRunner().invoke(cli, ["study", "hoefler-table1", "--trace", str(folder)]).exit_code != 0


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"trace": "/etc"}, "only the command line"),
        ({"trace": LocalText("/etc"), "ranks": 8, "applications": ["amg"]}, "with its own ranks"),
        ({"trace": LocalText("/etc")}, "one application's"),
    ],
)
def test_a_trace_is_named_at_the_command_line_for_one_application(given: dict[str, Any], says: str) -> None:
    with pytest.raises(BadRequest, match=says):
        wang.run_fig2(given, lambda *_: None, lambda: False)


def test_a_folder_of_traces_gives_the_tables_their_matrices(tmp_path: Path) -> None:
    dumpi_of_a_ring(tmp_path / "traces" / "partisn-168")
    assert (
        main(
            [
                "--quick",
                "--traces",
                str(tmp_path / "traces"),
                "--only",
                "4.1",
                "--name",
                "PARTISN",
                "--out",
                str(tmp_path),
            ]
        )
        == 0
    )
    ours = json.loads((tmp_path / "papers-routes.json").read_text())["rows"]["4.1 PARTISN 168"]["ours"]
    assert ours["i"] == pytest.approx(RANKS / 168) and ours["s"] == pytest.approx(2 * RANKS / 168)
    assert QUICK.source("partisn-168") == "partisn-168"
    assert {row.table for row in ROWS if row.name == "Trace LULESH"} == {"3.1", "3.3"}
