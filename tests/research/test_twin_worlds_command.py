"""`flitwatch twin worlds` and `campaign`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from flitwatch.main import main


def test_worlds_are_listed_from_easy_to_hard(capfd: pytest.CaptureFixture[str]) -> None:
    main(["twin", "worlds", "--json"])
    worlds = json.loads(capfd.readouterr().out)
    grades = [world["grade"] for world in worlds.values()]
    assert grades == sorted(grades) and next(iter(worlds)) == "plain" and {"drift", "pairs", "law"} < worlds.keys()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["amg-128", "--world", "mars"], "there is no world 'mars'"),
        (["hpl-1"], "there is no scenario 'hpl-1'"),
    ],
)
def test_an_unknown_world_or_application_gets_one_line(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], arguments: list[str], words: str
) -> None:
    with pytest.raises(SystemExit):
        main(["twin", "campaign", *arguments, "--out", str(tmp_path / "out")])
    told = capfd.readouterr().err
    assert words in told and "Choose one of" in told and "Traceback" not in told
    assert not (tmp_path / "out").exists()
