"""mpiP's reports: planted times are recovered by routine, and other files are refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from flitwatch_domain.errors import BadInput
from flitwatch_research.papers.mpip import main, parse_report

RULE = "-" * 75
REPORT = f"""@ mpiP
@ Command : ./milc in
@ Version : 3.4.1
{RULE}
@--- MPI Time (seconds) {"-" * 51}
{RULE}
Task    AppTime    MPITime     MPI%
   0        100         70    70.00
   1        100         50    50.00
   *        200        120    60.00
{RULE}
@--- Callsites: 3 {"-" * 57}
{RULE}
 ID Lev File/Address        Line Parent_Funct             MPI_Call
  1   0 comm.c               101 exchange                 Wait
{RULE}
@--- Aggregate Time (top twenty, descending, milliseconds) {"-" * 16}
{RULE}
Call                 Site       Time    App%    MPI%     COV
Wait                    1    6.5e+04   32.50   54.17    0.10
Allreduce               2    3.5e+04   17.50   29.17    0.20
Wait                    3    1.0e+04    5.00    8.33    0.20
{RULE}
@--- Aggregate Sent Message Size (top twenty, descending, bytes) {"-" * 10}
{RULE}
Call                 Site      Count      Total       Avrg  Sent%
Isend                   4        640   1.02e+06   1.6e+03  99.00
"""


def test_planted_times_are_read_by_routine_and_drawn(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one = parse_report(REPORT, "x")
    assert one.computation_s == 80 and one.mpi_percent == pytest.approx(60)
    assert one.routine_s == pytest.approx({"Wait": 75, "Allreduce": 35, "other": 10})
    assert list(one.routine_s) == ["Wait", "Allreduce", "other"]
    (tmp_path / "run.mpiP").write_text(REPORT)
    assert main([str(tmp_path / "run.mpiP"), "--out", str(tmp_path / "run.png")]) == 0
    assert json.loads(capsys.readouterr().out)["routine_s"]["Allreduce"] == 35
    assert (tmp_path / "run.png").stat().st_size > 1000


@pytest.mark.parametrize(
    "text",
    [
        "",
        REPORT.replace("   *  ", "   2  "),
        REPORT.split("@--- Aggregate Time")[0],
        REPORT.replace("6.5e+04", "6.5e+05"),
    ],
)
def test_what_is_no_report_or_contradicts_itself_is_refused(text: str) -> None:
    with pytest.raises(BadInput, match="x"):
        parse_report(text, "x")
