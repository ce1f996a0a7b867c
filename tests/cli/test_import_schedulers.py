"""`flitwatch import pbs|flux|swf|clustercockpit`: files through the log and the writer into the database."""

from __future__ import annotations

import gzip
import json
import lzma
from pathlib import Path

import pytest
import zstandard
from cli.commands import flitwatch, refused, scalar, succeed
from support.scheduler_logs import ENDED, FLUX, META, RAN, RPC, SWF, record

pytestmark = [pytest.mark.integration, pytest.mark.system("processes")]


def test_days_of_pbs_in_a_folder(embedded_db: str, tmp_path: Path) -> None:
    days = tmp_path / "accounting"
    days.mkdir()
    first = record("S", "1.pbs01", RAN) + record("S", "2[5].pbs01", RAN)
    second = (
        record("D", "1.pbs01", "requestor=eve@l") + record("E", "1.pbs01", ENDED) + record("E", "2[5].pbs01", ENDED)
    )
    (days / "20260203.gz").write_bytes(gzip.compress(first.encode()))
    (days / "20260204.xz").write_bytes(lzma.compress(second.encode()))
    for _ in range(2):
        report = succeed("import", "pbs", str(days), "--timezone", "UTC", "--db", embedded_db)
        assert (report["jobs"], report["rejected_total"]) == (2, 0)
    assert scalar(
        embedded_db, "SELECT array_agg(cluster || ' ' || job_id || ' ' || state ORDER BY job_id) FROM job"
    ) == [
        "pbs01 1 CANCELLED",
        "pbs01 2_5 COMPLETED",
    ]
    assert scalar(
        embedded_db, "SELECT array_agg(node ORDER BY node) FROM job_node JOIN job USING (job_pk) WHERE job_id = '1'"
    ) == [
        "x1000c0s0b0n0",
        "x1000c0s0b0n1",
    ]
    # A day that cannot be read is one rejected file among the others.
    (days / "20260205.zst").write_bytes(zstandard.compress(record("E", "3.pbs01", ENDED).encode())[:-3])
    (days / "notes").write_text("remember the milk\n")
    report = refused("import", "pbs", str(days), "--timezone", "UTC", "--db", embedded_db)
    assert (report["jobs"], [item["where"] for item in report["rejected"]]) == (
        2,
        [str(days / "20260205.zst"), str(days / "notes")],
    )


def test_a_run_of_pbs_that_is_known_without_its_count_keeps_its_row(embedded_db: str, tmp_path: Path) -> None:
    file = tmp_path / "20260203"
    file.write_text(record("S", "1.s", RAN))
    assert succeed("import", "pbs", str(file), "--timezone", "UTC", "--db", embedded_db)["jobs"] == 1
    file.write_text(record("E", "1.s", ENDED.replace("run_count=1", "run_count=4")))
    assert succeed("import", "pbs", str(file), "--timezone", "UTC", "--db", embedded_db)["jobs"] == 1
    assert scalar(embedded_db, "SELECT array_agg(restart || ' ' || state) FROM job") == ["3 COMPLETED"]


def test_a_start_in_an_old_log_of_pbs_is_no_job_that_runs_until_a_later_file_tells_its_end(
    embedded_db: str, tmp_path: Path
) -> None:
    day = tmp_path / "20260203"
    day.write_text(record("S", "1.s", RAN + " run_count=1"))
    held = "SELECT state || ' ' || coalesce(extract(epoch FROM end_ts)::bigint::text, 'no end') FROM job"
    for text, want in ((None, "UNKNOWN no end"), (record("E", "1.s", ENDED), "COMPLETED 1770113600")):
        if text is not None:
            day = tmp_path / "20260204"
            day.write_text(text)
        assert succeed("import", "pbs", str(day), "--timezone", "UTC", "--db", embedded_db)["jobs"] == 1
        assert scalar(embedded_db, held) == want


def test_flux_swf_and_clustercockpit(embedded_db: str, tmp_path: Path) -> None:
    file = tmp_path / "jobs.json.zst"
    file.write_bytes(zstandard.compress(json.dumps({"jobs": [FLUX, RPC, {"id": "?"}]}).encode()))
    report = refused("import", "flux", str(file), "--cluster", "tuolumne", "--db", embedded_db)
    assert (report["jobs"], [item["where"] for item in report["rejected"]]) == (2, [f"{file}: jobs[2]"])
    file = tmp_path / "log.swf"
    file.write_text(SWF)
    assert succeed("import", "swf", str(file), "--cluster", "archive", "--db", embedded_db)["jobs"] == 3
    folder = tmp_path / "archive" / "fritz" / "398" / "764" / "1770110000"
    folder.mkdir(parents=True)
    (folder / "meta.json").write_text(json.dumps(META))
    report = succeed("import", "clustercockpit", str(tmp_path / "archive"), "--db", embedded_db)
    assert (report["jobs"], report["users"]) == (1, 1)
    assert scalar(embedded_db, "SELECT array_agg(DISTINCT cluster ORDER BY cluster) FROM job") == [
        "archive",
        "fritz",
        "tuolumne",
    ]


@pytest.mark.parametrize("command", ["pbs", "flux", "swf"])
def test_a_file_of_another_kind_is_refused_before_a_database_is_started(tmp_path: Path, command: str) -> None:
    file = tmp_path / "file"
    file.write_text("remember the milk\n")
    code, out, err = flitwatch("import", command, str(file), "--json", "--ephemeral")
    assert (code, out, err.count("\n")) == (1, "", 1)
    assert str(file) in err


@pytest.mark.parametrize(
    ("command", "advice"),
    [
        ("pbs", "server_priv/accounting"),
        ("flux", "flux jobs -A -a --json"),
        ("swf", "18 numbers"),
        ("sacct", "--allusers"),
    ],
)
def test_an_empty_file_is_refused_before_a_database_is_started(tmp_path: Path, command: str, advice: str) -> None:
    for file in (tmp_path / "file", tmp_path / "file.gz"):
        file.write_bytes(gzip.compress(b"") if file.suffix else b"")
        code, out, err = flitwatch("import", command, str(file), "--json", "--ephemeral")
        assert (code, out, err.count("\n")) == (1, "", 1)
        assert f"{file}: is empty" in err and advice in err


def test_files_without_a_job_are_said(embedded_db: str, tmp_path: Path) -> None:
    """Nothing is wrong with them: the exit status is 0, and standard error says that nothing came and what to do."""
    for command, text, advice in (
        ("pbs", record("L", "license", "floating license hour:3"), "Give the days on which jobs ran"),
        ("flux", '{"jobs": []}', "flux jobs -A -a --json"),
        ("swf", "; UnixStartTime: 1770000000\n", "a line of 18 numbers"),
    ):
        file = tmp_path / command
        file.write_text(text)
        code, out, err = flitwatch("import", command, str(file), "--json", "--db", embedded_db)
        assert (code, json.loads(out)["jobs"]) == (0, 0)
        assert f"{file}: contains no job." in err and advice in err
    # Among days with jobs an empty one is nothing to speak of.
    days = tmp_path / "days"
    days.mkdir()
    (days / "20260202").write_text("")
    (days / "20260203").write_text(record("E", "1.s", ENDED))
    code, out, err = flitwatch("import", "pbs", str(days), "--json", "--db", embedded_db)
    assert (code, json.loads(out)["jobs"]) == (0, 1)
    assert "contains no job" not in err


def test_an_archive_without_jobs_is_refused(tmp_path: Path) -> None:
    code, out, err = flitwatch("import", "clustercockpit", str(tmp_path), "--json", "--ephemeral")
    assert (code, out) == (1, "") and "meta.json" in err
