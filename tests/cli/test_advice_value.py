"""`flitwatch study advice-value`: the figures that it prints, the page that it writes, and what it refuses."""

from __future__ import annotations

import os
from pathlib import Path

import orjson
import pytest
from click.testing import CliRunner

from flitwatch.commands.study import study
from flitwatch_research.advice_value.pieces import POLICIES

SHORT = ["advice-value", "--seeds", "1", "--days", "1", "--world", "quiet", "--processes", "1"]


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("FLITWATCH_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "advice-value"


def test_it_prints_every_figure_writes_both_files_and_goes_on_from_what_is_kept(kept: Path, tmp_path: Path) -> None:
    out = tmp_path / "docs" / "advice-value.md"
    first = CliRunner().invoke(study, [*SHORT, "--json", "--out", str(out)], catch_exceptions=False)
    assert first.exit_code == 0, first.output
    answer = orjson.loads(first.stdout)
    assert answer["simulated"] and answer["command"] == "flitwatch study advice-value --seeds 1 --days 1 --world quiet"
    assert list(answer["worlds"]["quiet"]) == list(POLICIES)
    for policy in POLICIES[1:]:
        one = answer["worlds"]["quiet"][policy]
        assert set(one["node_hours_saved_share"]) == {"mean", "low", "high"}
        assert {"slowdown", "wait_change", "worst_user", "oracle_share", "utilisation"} <= one.keys()
        assert one["verdict"] == "cannot tell", "one seed shows nothing"
    assert answer["command"] in out.read_text() and "**simulated**" in out.read_text()
    assert orjson.loads(out.with_suffix(".json").read_bytes())["points"]
    made = {path: os.stat(path).st_mtime_ns for path in kept.iterdir()}
    assert len(made) == len(POLICIES)
    again = CliRunner().invoke(study, [*SHORT, "--json"], catch_exceptions=False)
    assert orjson.loads(again.stdout)["worlds"] == answer["worlds"]
    assert {path: os.stat(path).st_mtime_ns for path in kept.iterdir()} == made


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["advice-value", "--world", "nowhere"], "there is no world"),
        (["advice-value", "--runs", "9"], "has no option --runs"),
        (["hoefler-example", "--seeds", "3"], "has no option --seeds"),
    ],
)
def test_what_it_does_not_have_is_refused(kept: Path, arguments: list[str], said: str) -> None:
    got = CliRunner().invoke(study, arguments)
    assert got.exit_code != 0 and said in got.output + str(got.exception)
