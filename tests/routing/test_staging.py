"""Staging for OpenSM: byte for byte back, and after a crash at any step the old configuration or the new one, never half of a change."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from flitwatch_domain.errors import BadInput, Conflict, Forbidden
from flitwatch_domain.generators import build_xgft
from flitwatch_routing.service_levels import format_policy, levels_of
from flitwatch_routing.staging import Change, OpensmFolder

OLD = b"# the site's own\r\nrouting_engine minhop\n\nlfts_file (null)\nlmc 0\nlog_flags 0x43".replace(b"\r", b"")
TABLES = b"Unicast lids [0-9] of switch Lid 1 guid 0x1 ('s'):\n"
CHANGE = Change(TABLES)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    found = tmp_path / "opensm"
    found.mkdir()
    (found / "opensm.conf").write_bytes(OLD)
    (found / "opensm.conf").chmod(0o640)
    (found / "opensm-lfts.dump").write_text("")
    return found


def conf(folder: Path) -> bytes | None:
    at = folder / "opensm.conf"
    return at.read_bytes() if at.exists() else None


def test_there_and_back(folder: Path) -> None:
    opensm = OpensmFolder(folder)
    plan = opensm.plan(7, CHANGE)
    assert plan.removed == ("routing_engine minhop", "lfts_file (null)")
    assert conf(folder) == OLD and not plan.tables.exists()
    opensm.apply(7, CHANGE)
    lines = (folder / "opensm.conf").read_text().splitlines()
    assert [line for line in lines if not line.startswith(("routing_engine", "lfts_file"))] == ["# the site's own", "", "lmc 0", "log_flags 0x43"]  # fmt: skip
    assert "routing_engine file,no_fallback" in lines and f"lfts_file {folder}/flitwatch-7.lfts" in lines
    assert plan.tables.read_bytes() == TABLES and opensm.staged(7)
    assert (folder / "opensm.conf").stat().st_mode & 0o777 == 0o640
    with pytest.raises(Conflict, match="already"):
        opensm.apply(7, CHANGE)
    assert opensm.rollback(7) and conf(folder) == OLD and not plan.tables.exists()
    assert (folder / "opensm.conf").stat().st_mode & 0o777 == 0o640
    assert not opensm.rollback(7) and not opensm.staged(7)
    opensm.apply(7, CHANGE)
    assert opensm.staged(7)


def test_of_a_setting_that_stands_twice_none_wins_over_ours(folder: Path) -> None:
    (folder / "opensm.conf").write_text("routing_engine file,no_fallback\nlmc 0\nrouting_engine updn\nlmc 2\n")
    opensm = OpensmFolder(folder)
    opensm.apply(1, CHANGE)
    assert [line for line in (folder / "opensm.conf").read_text().splitlines() if not line.startswith("lfts_file")] == [
        "routing_engine file,no_fallback",
        "lmc 0",
    ]


def test_where_no_configuration_was_none_is_left(folder: Path) -> None:
    (folder / "opensm.conf").unlink()
    opensm = OpensmFolder(folder)
    opensm.apply(7, CHANGE)
    assert conf(folder)
    opensm.rollback(7)
    assert conf(folder) is None


def test_one_upon_the_other_goes_back_in_order(folder: Path) -> None:
    opensm = OpensmFolder(folder)
    opensm.apply(1, CHANGE)
    first = conf(folder)
    opensm.apply(2, CHANGE)
    with pytest.raises(Conflict, match="changed since"):
        opensm.rollback(1)
    opensm.rollback(2)
    assert conf(folder) == first
    opensm.rollback(1)
    assert conf(folder) == OLD


def died(work: Callable[[], object], step: int) -> bool:
    """Whether a process that ends without a word at its step-th sync or rename got there."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
    left, sync, rename = step, os.fsync, Path.replace

    def counted(real: Callable[..., object]) -> Callable[..., object]:
        def call(*arguments: object) -> object:
            nonlocal left
            left -= 1
            if left < 0:
                os._exit(9)
            return real(*arguments)

        return call

    os.fsync, Path.replace = counted(sync), counted(rename)  # type: ignore[assignment,method-assign]
    work()
    os._exit(0)


def test_a_crash_at_any_step_leaves_the_old_or_the_new(tmp_path: Path) -> None:
    step, crashed = 0, {"apply": 0, "rollback": 0}
    for what in ("apply", "rollback"):
        for step in range(40):
            folder = tmp_path / f"{what}-{step}"
            folder.mkdir()
            (folder / "opensm.conf").write_bytes(OLD)
            opensm = OpensmFolder(folder)
            new = opensm.plan(7, CHANGE).text.encode()
            if what == "rollback":
                opensm.apply(7, CHANGE)
            if not died(lambda: opensm.apply(7, CHANGE) if what == "apply" else opensm.rollback(7), step):  # noqa: B023
                break
            crashed[what] += 1
            assert conf(folder) in (OLD, new), (what, step)
            if conf(folder) == new and what == "apply":
                assert (folder / "flitwatch-7.lfts").read_bytes() == TABLES, "named by the configuration, so whole"
            if what == "apply":
                with suppress(Conflict):  # died behind its last step
                    opensm.apply(7, CHANGE)
                assert conf(folder) == new and opensm.staged(7)
            opensm.rollback(7)
            assert conf(folder) == OLD, (what, step)
    assert crashed["apply"] >= 8 and crashed["rollback"] >= 3


def test_folders_that_are_none(folder: Path, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(folder)
    with pytest.raises(BadInput, match="is a link"):
        OpensmFolder(link)
    with pytest.raises(BadInput, match="No such file"):
        OpensmFolder(tmp_path / "none")
    with pytest.raises(BadInput, match="is not a folder"):
        OpensmFolder(folder / "opensm.conf")
    blank = tmp_path / "with blank"
    blank.mkdir()
    with pytest.raises(BadInput, match="blanks"):
        OpensmFolder(blank).plan(1, CHANGE)
    (folder / "opensm-lfts.dump").unlink()
    with pytest.raises(BadInput, match="the loaded tables are unknown"):
        OpensmFolder(folder).loaded  # noqa: B018
    elsewhere = tmp_path / "elsewhere.conf"
    elsewhere.write_bytes(OLD)
    (folder / "opensm.conf").unlink()
    (folder / "opensm.conf").symlink_to(elsewhere)
    with pytest.raises(BadInput, match="is a link"):
        OpensmFolder(folder)
    assert elsewhere.read_bytes() == OLD


def test_links_that_were_laid_for_us_lead_nowhere(folder: Path, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    for name in ("flitwatch-7.lfts", ".flitwatch-7.lfts.part", ".opensm.conf.part"):
        (folder / name).symlink_to(victim)
    OpensmFolder(folder).apply(7, CHANGE)
    assert victim.read_text() == "precious" and not (folder / "flitwatch-7.lfts").is_symlink()
    (folder / "flitwatch-8").symlink_to(tmp_path)
    with pytest.raises(BadInput, match="is a link"):
        OpensmFolder(folder).apply(8, CHANGE)


def test_a_folder_that_cannot_be_written() -> None:
    """Of the kernel's own folders nobody can, not even root."""
    with pytest.raises(Forbidden, match="cannot be written"):
        OpensmFolder(Path("/sys/kernel")).apply(7, CHANGE)


@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b'{"recommendation": 7}'])
def test_a_damaged_journal_is_said_and_nothing_is_touched(folder: Path, damage: bytes) -> None:
    opensm = OpensmFolder(folder)
    opensm.apply(7, CHANGE)
    new = conf(folder)
    (folder / "flitwatch-7" / "journal.json").write_bytes(damage)
    for work in (lambda: opensm.rollback(7), lambda: opensm.apply(7, CHANGE)):
        with pytest.raises(BadInput, match="is damaged"):
            work()
    assert conf(folder) == new


def test_what_was_kept_is_held_against_its_digest(folder: Path) -> None:
    opensm = OpensmFolder(folder)
    opensm.apply(7, CHANGE)
    new = conf(folder)
    (folder / "flitwatch-7" / "opensm.conf.before").write_bytes(b"something else")
    with pytest.raises(BadInput, match="differs from the stored one"):
        opensm.rollback(7)
    assert conf(folder) == new
    assert json.loads((folder / "flitwatch-7" / "journal.json").read_bytes())["state"] == "staged"


def test_a_configuration_that_somebody_changed_since_stays(folder: Path) -> None:
    opensm = OpensmFolder(folder)
    opensm.apply(7, CHANGE)
    (folder / "opensm.conf").write_bytes(b"mine\n")
    with pytest.raises(Conflict, match="changed since"):
        opensm.rollback(7)
    assert conf(folder) == b"mine\n"


@pytest.mark.parametrize("text", [b"\xff\xfe", b"a\x00b", b"x" * (1 << 20) + b"y"])
def test_what_is_no_configuration_is_left_alone(folder: Path, text: bytes) -> None:
    (folder / "opensm.conf").write_bytes(text)
    with pytest.raises(BadInput, match=r"opensm\.conf"):
        OpensmFolder(folder).apply(7, CHANGE)
    assert conf(folder) == text


TREE = build_xgft(2, [4, 4], [1, 2])
LEVELS = levels_of(TREE, 4, 2, seed=1)
POLICY = "".join(line + "\n" for line in format_policy(TREE, LEVELS)).encode()
WITH_LEVELS = Change(TABLES, 1, LEVELS, POLICY)


def test_service_levels_and_lids_come_and_go_with_the_tables(folder: Path) -> None:
    (folder / "opensm.conf").write_bytes(OLD + b"\nqos FALSE\nqos_ca_sl2vl 0,0,0\n")
    before = conf(folder)
    opensm = OpensmFolder(folder)
    opensm.apply(7, WITH_LEVELS)
    lines = (folder / "opensm.conf").read_text().splitlines()
    lanes = ",".join("01" * 8)
    assert "lmc 1" in lines and "qos TRUE" in lines and "qos FALSE" not in lines
    assert [line for line in lines if "sl2vl" in line] == [f"{kind}_sl2vl {lanes}" for kind in ("qos", "qos_ca", "qos_sw0", "qos_swe", "qos_rtr")]  # fmt: skip
    assert f"qos_policy_file {folder}/flitwatch-7.qos-policy" in lines
    assert (folder / "flitwatch-7.qos-policy").read_bytes() == POLICY and opensm.staged(7)
    (folder / "flitwatch-7.qos-policy").write_bytes(b"")
    assert not opensm.staged(7), "an emptied policy is not what was staged"
    assert opensm.rollback(7) and conf(folder) == before
    assert not (folder / "flitwatch-7.qos-policy").exists() and not (folder / "flitwatch-7.lfts").exists()


def test_service_levels_of_the_site_are_not_replaced(folder: Path) -> None:
    (folder / "opensm.conf").write_bytes(b"qos FALSE\nqos TRUE\nqos_policy_file /etc/opensm/qos-policy.conf\n")
    opensm = OpensmFolder(folder)
    with pytest.raises(BadInput, match="the site's own service levels"):
        opensm.plan(7, WITH_LEVELS)
    opensm.apply(7, CHANGE)
    assert "qos_policy_file /etc/opensm/qos-policy.conf" in (folder / "opensm.conf").read_text(), "tables alone leave them"  # fmt: skip


def test_service_levels_of_an_earlier_recommendation_are_replaced(folder: Path) -> None:
    opensm = OpensmFolder(folder)
    opensm.apply(1, WITH_LEVELS)
    first = conf(folder)
    opensm.apply(2, WITH_LEVELS)
    assert opensm.rollback(2) and conf(folder) == first and opensm.staged(1)


def test_a_journal_from_before_service_levels_is_read(folder: Path) -> None:
    opensm = OpensmFolder(folder)
    opensm.apply(7, CHANGE)
    assert "policy" not in json.loads((folder / "flitwatch-7" / "journal.json").read_bytes())
    assert opensm.staged(7) and opensm.rollback(7)
