"""`flitwatch loop run --fabric`, `apply` and `rollback`: what is refused, and that nothing happens then."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from simulation import test_loop_stored as planted

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
    return stored.recommendation(turn)


@pytest.fixture
def site(tmp_path: Path) -> Path:
    found = tmp_path / "opensm"
    found.mkdir()
    (found / "opensm.conf").write_bytes(CONFIGURATION)
    lft.write(found / "opensm-lfts.dump", planted.TREE, planted.PORTS)
    return found


def saved(url: str, row: Recommendation) -> str:
    with connect(url) as conn:
        return str(recommendations.save(conn, row))


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
    assert "Nobody approved this" in refused(capsys, *apply)
    assert "--dry-run changes nothing" in refused(capsys, *apply, "--dry-run", "--yes")
    assert audited(embedded_db) == [] and sorted(path.name for path in site.iterdir()) == ["opensm-lfts.dump", "opensm.conf"]  # fmt: skip
    assert said(capsys, *apply, "--yes")["staged"]
    staged = (site / "opensm.conf").read_bytes()
    assert "Take it back first" in refused(capsys, *apply, "--yes")
    assert (site / "opensm.conf").read_bytes() == staged != CONFIGURATION
    assert said(capsys, *rollback)["restored"] and (site / "opensm.conf").read_bytes() == CONFIGURATION
    assert "was rolled back at" in refused(capsys, *rollback)
    assert audited(embedded_db) == ["loop apply", "loop rollback"]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"simulated": True}, "made from a simulation"),
        ({"authorised": False}, "what-if"),
        ({"state": "refused"}, "was refused"),
        ({"parts": {}}, "no tables"),
    ],
)
def test_what_may_not_be_loaded(
    embedded_db: str, made: Recommendation, site: Path, capsys: pytest.CaptureFixture[str], change: dict, words: str
) -> None:
    number = saved(embedded_db, replace(made, **change))
    assert words in refused(capsys, "loop", "apply", number, "--opensm", str(site), "--yes", "--db", embedded_db)
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
    lft.write(dump, planted.TREE, other)
    assert "are not those that the recommendation was made from" in refused(capsys, *apply)
    dump.write_text("Unicast lids [0-9\n")
    assert "opensm-lfts.dump" in refused(capsys, *apply)
    dump.unlink()
    assert "what is loaded is not known" in refused(capsys, *apply)
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
    assert "--megabytes does not go with --fabric" in refused(capsys, *run, "--fabric", "a", "--megabytes", "3")
    assert "--window does not go with --pattern" in refused(capsys, "loop", "run", "--pattern", "shift", "--window", "1m")  # fmt: skip
    assert "no-such" in refused(capsys, *run, "--fabric", "no-such")
    assert "--window" in refused(capsys, *run, "--fabric", "a", "--window", "soon")


def test_a_run_stores_what_it_says(embedded_db: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    with connect(embedded_db) as conn:
        planted.store(conn, planted.load_of(planted.by_one_spine()))
    words = ["loop", "run", "--fabric", "tree", "--to", str(planted.START_S + 10), "--window", "10s", "--time-limit", "0.5", "--reconstruct-limit", "5"]  # fmt: skip
    made = said(capsys, *words, "--out", str(tmp_path / "new.lfts"), "--db", embedded_db)
    assert made["verdict"] == "load" and made["simulated"] is False and made["levels"] == 1
    with connect(embedded_db) as conn:
        kept = recommendations.staging(conn, made["recommendation"])
    assert kept.lfts == (tmp_path / "new.lfts").read_bytes() and kept.staged_at is None
    none = refused(capsys, *words[:5], str(planted.START_S + 9000), *words[6:], "--db", embedded_db)
    assert re.search(r"no port of tree was counted.*newest counters end at", none)
