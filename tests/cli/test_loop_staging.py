"""`flitwatch loop run --fabric`, `apply` and `rollback`: refusals, which change nothing."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support import stored_loop as planted

from flitwatch.main import main
from flitwatch_db import connect
from flitwatch_db.estimates import recommendations
from flitwatch_db.estimates.recommendations import Recommendation
from flitwatch_routing import lft
from flitwatch_simulation.loop import stored

CONFIGURATION = b"routing_engine minhop\n"


@pytest.fixture
def made(embedded_db: str) -> Recommendation:
    """A recommendation from planted counters, its fabric stored."""
    turn = planted.looped(embedded_db, planted.load_of(planted.by_one_spine()))
    return stored.stored_recommendation(turn)


@pytest.fixture
def site(tmp_path: Path) -> Path:
    found = tmp_path / "opensm"
    found.mkdir()
    (found / "opensm.conf").write_bytes(CONFIGURATION)
    lft.write_dump(found / "opensm-lfts.dump", planted.TREE, planted.PORTS)
    return found


def saved(url: str, row: Recommendation) -> str:
    with connect(url) as conn:
        return str(recommendations.save_recommendation(conn, row))


def refused(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    with pytest.raises(SystemExit) as left:
        main(list(words))
    captured = capsys.readouterr()
    assert left.value.code and not captured.out
    return captured.err


def said(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    capsys.readouterr()
    main([*words, "--json"])
    return json.loads(capsys.readouterr().out)


def audited(url: str) -> list[str]:
    with connect(url) as conn:
        rows = conn.execute("SELECT action FROM audit WHERE action LIKE 'loop %' ORDER BY audit_id").fetchall()
    return [row[0] for row in rows]


def test_twice_is_refused_and_once_goes_back(
    embedded_db: str, made: Recommendation, site: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    number = saved(embedded_db, made)
    apply = ["loop", "apply", number, "--opensm", str(site), "--db", embedded_db]
    rollback = ["loop", "rollback", number, "--db", embedded_db]
    assert "was never applied" in refused(capsys, *rollback)
    assert "This change is not approved" in refused(capsys, *apply)
    assert "--dry-run changes nothing" in refused(capsys, *apply, "--dry-run", "--yes")
    assert audited(embedded_db) == [] and sorted(path.name for path in site.iterdir()) == ["opensm-lfts.dump", "opensm.conf"]  # fmt: skip
    assert said(capsys, *apply, "--yes")["staged"]
    staged = (site / "opensm.conf").read_bytes()
    assert "Roll it back first" in refused(capsys, *apply, "--yes")
    assert (site / "opensm.conf").read_bytes() == staged != CONFIGURATION
    assert said(capsys, *rollback)["restored"] and (site / "opensm.conf").read_bytes() == CONFIGURATION
    assert "was rolled back at" in refused(capsys, *rollback)
    assert audited(embedded_db) == ["loop apply", "loop rollback"]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"simulated": True}, "based on a simulation"),
        ({"authorised": False}, "what-if"),
        (
            {"state": "refused", "reason": "Cannot tell: several matrices explain the counters."},
            "was refused. Cannot tell: several matrices explain the counters. Correct the cause, or choose another window",
        ),
        (
            {"state": "refused", "reason": "New tables would not help: both carry 1 GiB."},
            "was refused. New tables would not help: both carry 1 GiB. The loaded tables are kept",
        ),
        ({"parts": {}}, "no tables"),
    ],
)
def test_what_may_not_be_loaded(
    embedded_db: str, made: Recommendation, site: Path, capsys: pytest.CaptureFixture[str], change: dict, words: str
) -> None:
    number = saved(embedded_db, replace(made, **change))
    message = refused(capsys, "loop", "apply", number, "--opensm", str(site), "--yes", "--db", embedded_db)
    assert words in " ".join(message.split())
    assert (site / "opensm.conf").read_bytes() == CONFIGURATION and audited(embedded_db) == []


def test_other_tables_than_it_was_made_from(
    embedded_db: str, made: Recommendation, site: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    number = saved(embedded_db, made)
    apply = ["loop", "apply", number, "--opensm", str(site), "--yes", "--db", embedded_db]
    dump = site / "opensm-lfts.dump"
    other = planted.PORTS.copy()
    leaf = int(planted.TREE.endpoints.router[0])
    other[leaf, 9] = 5 + (other[leaf, 9] == 5)
    lft.write_dump(dump, planted.TREE, other)
    assert "are not those that the recommendation is based on" in refused(capsys, *apply)
    dump.write_text("Unicast lids [0-9\n")
    assert "opensm-lfts.dump" in refused(capsys, *apply)
    dump.unlink()
    assert "the loaded tables are unknown" in refused(capsys, *apply)
    assert (site / "opensm.conf").read_bytes() == CONFIGURATION and audited(embedded_db) == []


def test_what_fails_half_way_is_not_noted_as_staged(
    embedded_db: str, made: Recommendation, site: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    number = saved(embedded_db, made)
    (site / f"flitwatch-{number}").write_text("in the way")
    apply = ["loop", "apply", number, "--opensm", str(site), "--yes", "--db", embedded_db]
    assert "Move it away" in refused(capsys, *apply)
    assert (site / "opensm.conf").read_bytes() == CONFIGURATION
    (site / f"flitwatch-{number}").unlink()
    assert said(capsys, *apply)["staged"]


def test_the_two_loops_are_not_mixed(embedded_db: str, capsys: pytest.CaptureFixture[str]) -> None:
    run = ["loop", "run", "--db", embedded_db]
    assert "Give --fabric" in refused(capsys, "loop", "run")
    assert "Give --fabric" in refused(capsys, "loop", "run", "--fabric", "a", "--pattern", "shift")
    assert "--megabytes cannot be combined with --fabric" in refused(capsys, *run, "--fabric", "a", "--megabytes", "3")
    assert "--window cannot be combined with --pattern" in refused(capsys, "loop", "run", "--pattern", "shift", "--window", "1m")  # fmt: skip
    assert "no-such" in refused(capsys, *run, "--fabric", "no-such")
    assert "--window" in refused(capsys, *run, "--fabric", "a", "--window", "soon")


def test_a_run_stores_what_it_says(embedded_db: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    with connect(embedded_db) as conn:
        planted.store(conn, planted.load_of(planted.by_one_spine()))
    words = ["loop", "run", "--fabric", "tree", "--to", str(planted.START_S + 10), "--window", "10s", "--time-limit", "0.5", "--reconstruct-limit", "5"]  # fmt: skip
    made = said(capsys, *words, "--out", str(tmp_path / "new.lfts"), "--db", embedded_db)
    assert made["verdict"] == "load" and made["simulated"] is False and made["levels"] == 1
    with connect(embedded_db) as conn:
        kept = recommendations.lock_staged_routes(conn, made["recommendation"])
    assert kept.lfts == (tmp_path / "new.lfts").read_bytes() and kept.staged_at is None
    none = refused(capsys, *words[:5], str(planted.START_S + 9000), *words[6:], "--db", embedded_db)
    assert re.search(r"no port of tree was counted.*newest counters end at", none)


def run_words(url: str, *more: str) -> list[str]:
    with connect(url) as conn:
        planted.store(conn, planted.load_of(planted.by_one_spine()))
    return ["loop", "run", "--fabric", "tree", "--to", str(planted.START_S + 10), "--window", "10s", "--time-limit", "0.5", "--reconstruct-limit", "5", *more, "--db", url]  # fmt: skip


def test_service_levels_and_lids_are_staged_held_against_the_dumps_and_taken_back(
    embedded_db: str, capsys: pytest.CaptureFixture[str], site: Path
) -> None:
    made = said(capsys, *run_words(embedded_db, "--sl", "4", "--vl", "2", "--lmc", "1"))
    assert made["verdict"] == "load" and (made["lmc"], made["sls"], made["vls"]) == (1, 4, 2)
    number = str(made["recommendation"])
    assert "is not staged" in refused(capsys, "loop", "verify", number, "--db", embedded_db)
    applied = said(capsys, "loop", "apply", number, "--opensm", str(site), "--yes", "--db", embedded_db)
    assert applied["lids_each"] == 2 and applied["service_levels"] == 4
    assert Path(applied["policy"]).read_text().count("qos-match-rule\n") == 2 * 16 and "lmc 1" in (site / "opensm.conf").read_text()  # fmt: skip
    # What OpenSM would dump, had it loaded all of it; then with one entry, and with one lane, that differ.
    (site / "opensm-lfts.dump").write_bytes(Path(applied["tables"]).read_bytes())
    lanes = dumped_lanes("01" * 8)
    (site / "opensm-sl2vl.dump").write_text(lanes)
    verify = ["loop", "verify", number, "--db", embedded_db]
    assert said(capsys, *verify)["loaded"] is True
    (site / "opensm-sl2vl.dump").write_text(lanes.replace("0 1 0 1", "0 0 0 1", 1))
    assert failed(capsys, *verify)["lanes_different"] == 1
    (site / "opensm-sl2vl.dump").write_text(dumped_lanes("0" * 16))
    assert failed(capsys, *verify)["lanes_different"] == len(planted.TREE.links)
    (site / "opensm-sl2vl.dump").write_text(lanes)
    tables = Path(applied["tables"]).read_text().splitlines(keepends=True)
    (site / "opensm-lfts.dump").write_text("".join(line for line in tables if "n15" not in line))
    assert failed(capsys, *verify)["loaded"] is False
    assert said(capsys, "loop", "rollback", number, "--db", embedded_db)["restored"]
    assert (site / "opensm.conf").read_bytes() == CONFIGURATION and not Path(applied["policy"]).exists()


def failed(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    capsys.readouterr()
    with pytest.raises(SystemExit) as left:
        main([*words, "--json"])
    assert left.value.code == 1
    return json.loads(capsys.readouterr().out)


def dumped_lanes(lanes: str) -> str:
    switches, ports = lft.list_guids(planted.TREE)
    row, links, routers = " ".join(lanes), planted.TREE.links, len(planted.TREE.routers)
    text = []
    for at, guid in enumerate(switches):
        text.append(f'Switch 0x{guid:016x}, base LID {at + 1}, "s{at}"')
        for port in links.src_port[links.src == at].tolist():
            text += [f"{into}   {port}   : {row} " for into in range(2)]
    for guid in ports:
        text += [f'Channel Adapter 0x{guid:016x}, base LID 9, "n"', f"0   0   : {row} "]
    assert len(links) == int((links.src < routers).sum()) + len(ports)
    return "\n".join(text) + "\n"


def test_groups_of_ports_are_a_file_with_the_figures(
    embedded_db: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    made = said(capsys, *run_words(embedded_db, "--groups", str(tmp_path / "groups.txt"), "--splits", "1"))
    loads = made["max_load_bytes"]
    assert made["groups"] == str(tmp_path / "groups.txt") and loads["groups"] <= loads["after"] < loads["before"]
    head = (tmp_path / "groups.txt").read_text().splitlines()[:5]
    assert "No program loads this file" in head[0] and head[3].endswith(f"groups {loads['groups']:.6g}")


def test_lanes_without_levels_are_refused(embedded_db: str, capsys: pytest.CaptureFixture[str]) -> None:
    words = run_words(embedded_db)
    assert "--vl sets the lanes of --sl" in refused(capsys, *words, "--vl", "2")
    assert "at most as many as levels" in refused(capsys, *words, "--sl", "2", "--vl", "4")
