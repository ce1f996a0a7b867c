"""`flitwatch db` where an argument is wrong: said before anything is changed."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from flitwatch.main import main
from flitwatch_db import connect
from flitwatch_db.jobs import store as jobs
from flitwatch_domain.jobs import Job

pytestmark = pytest.mark.integration


@pytest.fixture
def url(embedded_db: str) -> str:
    with connect(embedded_db) as conn:
        jobs.upsert_jobs(conn, [Job("c", "7", "COMPLETED", user="eve", end_s=1_700_000_000.0)])
    return embedded_db


def kept(url: str) -> int:
    with connect(url, autocommit=True) as conn:
        row = conn.execute("SELECT count(*) FROM job WHERE user_name = 'eve'").fetchone()
    assert row is not None
    return int(row[0])


def refused(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    with pytest.raises(SystemExit) as left:
        main(arguments)
    assert left.value.code not in (0, None)
    return capsys.readouterr().err


def test_an_archive_that_cannot_be_read_is_said_before_anything_is_erased(
    url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    erase = ["db", "erase", "eve", "--yes", "--db", url, "--archive"]
    assert "there is no folder" in refused([*erase, str(tmp_path / "nowhere")], capsys)
    assert kept(url) == 1
    archive = str(tmp_path / "kept")
    main(["db", "archive", "--out", archive, "--before", "2030-01-01", "--db", url])
    damaged = next((tmp_path / "kept").rglob("job.parquet"))
    whole = damaged.read_bytes()
    damaged.write_bytes(whole[:-1])
    assert "damaged" in refused([*erase, archive], capsys)
    assert kept(url) == 1
    damaged.write_bytes(whole)
    main([*erase, archive])
    assert kept(url) == 0 and not list((tmp_path / "kept").rglob("job.parquet"))


def test_evidence_takes_no_place_of_a_device(url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    assert "not a regular file" in refused(["db", "evidence", "7", "--out", str(pipe), "--db", url], capsys)
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_days_of_the_archive_need_its_folder(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert "--folder" in refused(["db", "archive-policy", "--drop-after-days", "400", "--db", url], capsys)
