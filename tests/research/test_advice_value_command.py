"""`flitwatch study advice-value`: printed figures, the written page, and refusals."""

from __future__ import annotations

import os
from pathlib import Path

import orjson
import pytest
from click.testing import CliRunner

from flitwatch_research.advice_value.pieces import POLICIES
from flitwatch_research.commands.study import study

SHORT = ["advice-value", "--seeds", "1", "--days", "1", "--variant", "quiet", "--processes", "1"]


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("FLITWATCH_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "advice-value"


@pytest.mark.system("numeric")
def test_it_prints_every_figure_writes_both_files_and_goes_on_from_what_is_kept(kept: Path, tmp_path: Path) -> None:
    out = tmp_path / "docs" / "advice-value.md"
    first = CliRunner().invoke(study, [*SHORT, "--json", "--out", str(out)], catch_exceptions=False)
    assert first.exit_code == 0, first.output
    answer = orjson.loads(first.stdout)
    assert (
        answer["simulated"] and answer["command"] == "flitwatch study advice-value --seeds 1 --days 1 --variant quiet"
    )
    assert list(answer["variants"]["quiet"]) == list(POLICIES)
    for policy in POLICIES[1:]:
        one = answer["variants"]["quiet"][policy]
        assert set(one["node_hours_saved_share"]) == {"mean", "low", "high"}
        assert {
            "slowdown",
            "wait_change",
            "worst_user",
            "oracle_share",
            "regret",
            "decisions",
            "utilisation",
        } <= one.keys()
        assert one["verdict"] == "cannot tell", "one seed shows nothing"
    assert answer["command"] in out.read_text() and "**simulated**" in out.read_text()
    assert orjson.loads(out.with_suffix(".json").read_bytes())["points"]
    made = {path: os.stat(path).st_mtime_ns for path in kept.iterdir()}
    assert len(made) == len(POLICIES)
    again = CliRunner().invoke(study, [*SHORT, "--json"], catch_exceptions=False)
    assert orjson.loads(again.stdout)["variants"] == answer["variants"]
    assert {path: os.stat(path).st_mtime_ns for path in kept.iterdir()} == made


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["advice-value", "--variant", "nowhere"], "there is no variant"),
        (["advice-value", "--runs", "9"], "has no option --runs"),
        (["hoefler-example", "--first-seed", "3"], "has no option --first-seed"),
        (["advice-value", "--jobs", "no.swf"], "does not exist"),
        (["hoefler-example", "--seeds", "3"], "has no option --seeds"),
    ],
)
def test_what_it_does_not_have_is_refused(kept: Path, arguments: list[str], said: str) -> None:
    got = CliRunner().invoke(study, arguments)
    assert got.exit_code != 0 and said in got.output + str(got.exception)


def test_a_log_of_ones_own_and_other_seeds_are_named_in_what_is_written(kept: Path, tmp_path: Path) -> None:
    log = tmp_path / "site.swf"
    rows = [f"{n} {n * 600} 0 1800 {40 + n} -1 -1 {40 + n} 3600 -1 1 {n % 5} 1 -1 1 -1 -1 -1" for n in range(60)]
    log.write_text("; UnixStartTime: 1770100000\n; MaxNodes: 400\n; MaxProcs: 400\n" + "\n".join(rows) + "\n")
    out = tmp_path / "page.md"
    asked = [*SHORT, "--first-seed", "101", "--jobs", str(log), "--json", "--out", str(out)]
    answer = orjson.loads(CliRunner().invoke(study, asked, catch_exceptions=False).stdout)
    assert answer["jobs"]["file"] == "site.swf" and answer["first_seed"] == 101
    assert "--first-seed 101 --jobs site.swf" in answer["command"].replace("--days 1 ", "")
    page = out.read_text()
    assert "run times of site.swf" in page and "over 1 seeds from 101 on" in page and str(tmp_path) not in page
    bad = tmp_path / "bad.swf"
    bad.write_text("nothing\n")
    got = CliRunner().invoke(study, [*SHORT, "--jobs", str(bad)])
    assert got.exit_code != 0 and "UnixStartTime" in got.output + str(got.exception)
