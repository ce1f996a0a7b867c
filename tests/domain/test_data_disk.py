"""The mark below which nothing new is stored."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from flitwatch_domain.data_disk import LEAST_FREE, LOG_PART, MIB, DataDisk
from flitwatch_domain.errors import BadRequest, DiskFull


@pytest.fixture
def parameters(tmp_path: Path) -> dict[str, str | int | None]:
    """Of a connection to a server whose folder is `tmp_path`."""
    (tmp_path / "data").mkdir()
    return {"host": str(tmp_path / "run"), "passfile": str(tmp_path / "logins" / "writer" / "pgpass")}


def test_only_a_disk_of_this_machine_is_looked_at(tmp_path: Path, parameters: dict[str, str | int | None]) -> None:
    assert DataDisk.of(parameters).folder == tmp_path / "data"
    elsewhere = [
        parameters | {"host": "db.example.org"},
        parameters | {"host": None},
        parameters | {"passfile": None},
        parameters | {"passfile": "pgpass"},
        parameters | {"passfile": "/root/.pgpass"},
    ]
    assert [DataDisk.of(one).folder for one in elsewhere] == [None] * 5
    assert DataDisk(None).lack() is None
    assert DataDisk(tmp_path / "gone").lack() is None


def test_below_the_mark_there_is_no_room_and_below_half_of_it_none_for_the_log(
    tmp_path: Path, parameters: dict[str, str | int | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    disk, free = DataDisk.of(parameters), shutil.disk_usage(tmp_path).free
    monkeypatch.setenv(LEAST_FREE, f"{1.5 * free / MIB:.0f}")
    assert "less than the" in (disk.lack() or "") and disk.lack(LOG_PART) is None
    with pytest.raises(DiskFull, match="nothing new is stored"):
        disk.check()
    monkeypatch.setenv(LEAST_FREE, f"{3 * free / MIB:.0f}")
    with pytest.raises(DiskFull):
        disk.check(LOG_PART)
    monkeypatch.setenv(LEAST_FREE, "0")
    disk.check()


@pytest.mark.parametrize("text", ["much", "-1", "nan", "inf"])
def test_a_mark_that_is_no_size_is_refused(
    parameters: dict[str, str | int | None], monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.setenv(LEAST_FREE, text)
    with pytest.raises(BadRequest, match=LEAST_FREE):
        DataDisk.of(parameters).lack()
