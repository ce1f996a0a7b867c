"""The outline answers the root's help and completion of names exactly as Click does, and leaves values to it."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.shell_completion import get_completion_class

from flitwatch import catalogue, outline, reference
from flitwatch.command_line import cli

TREE = dict(reference.walk_tree("", cli))


@pytest.fixture(autouse=True)
def _new_help_options(monkeypatch: pytest.MonkeyPatch) -> None:
    """Click keeps a command's help option as its first context made it, which another test may have done without the root's settings."""
    for command in TREE.values():
        monkeypatch.setattr(command, "_help_option", None)


def complete(shell: str, *words: str, monkeypatch: pytest.MonkeyPatch) -> tuple[str | None, str]:
    """Answers of the outline and of Click for the last word."""
    place = words[-1] if shell == "fish" else str(len(words))
    variables = {"COMP_WORDS": " ".join(("flitwatch", *words)), "COMP_CWORD": place}
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    kind = get_completion_class(shell)
    assert kind is not None
    variables[outline.COMPLETE] = f"{shell}_complete"
    return outline.answer_quickly([], variables), kind(cli, {}, "flitwatch", outline.COMPLETE).complete()


def test_the_committed_outline_is_that_of_the_commands() -> None:
    assert Path(outline.FILE).read_text() == reference.render_outline(), "run `make reference`"


@pytest.mark.parametrize("columns", [40, 60, 80, 120])
def test_the_help_is_clicks(columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    width = max(min(shutil.get_terminal_size().columns, 80) - 2, 50)
    context = cli.make_context("flitwatch", [], resilient_parsing=True, terminal_width=width)
    expected = cli.get_help(context)
    assert [outline.answer_quickly([flag], {}) for flag in ("-h", "--help")] == [expected, expected]


def test_names_are_completed_as_click_completes_them(monkeypatch: pytest.MonkeyPatch) -> None:
    for words, command in TREE.items():
        for ending in ("-", "") if isinstance(command, click.Group) else ("-",):
            quick, slow = complete("bash", *words.split(), ending, monkeypatch=monkeypatch)
            assert quick == slow, f"{words} {ending}"


@pytest.mark.parametrize("line", ["jo", "-", "import s", "job --h", "job --no-such"])
@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_has_its_lines(shell: str, line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    quick, slow = complete(shell, *line.split(), monkeypatch=monkeypatch)
    assert quick == slow


@pytest.mark.parametrize(
    "line", ["job 101 --json --", "job --json 101 -", "up --allow-host a --allow-host=b --", "job --url=x --u"]
)
def test_given_options_are_completed_again_only_if_they_repeat(line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    quick, slow = complete("bash", *line.split(), monkeypatch=monkeypatch)
    assert quick == slow


@pytest.mark.parametrize(
    "line", ["top --sort f", "job 1", "run ls --h", "run -- ls --h", "top --sort=f", "no-such -", "db no-such -"]
)
def test_values_are_left_to_click(line: str) -> None:
    words = line.split()
    variables = {"COMP_WORDS": f"flitwatch {line}", "COMP_CWORD": str(len(words)), outline.COMPLETE: "bash_complete"}
    assert outline.answer_quickly([], variables) is None


def test_a_host_without_the_server_is_offered_its_own_commands(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        outline, "list_installed_commands", lambda: {"collect": ("", "", "Collect."), "twin": ("", "", "T.")}
    )
    monkeypatch.setattr(outline, "load_extensions", dict)
    shown = outline.answer_quickly(["--help"], {})
    assert shown is not None and "collect  Collect." in shown and "blame" not in shown and "Watch:" not in shown
    at = {"COMP_WORDS": "flitwatch", "COMP_CWORD": "1", outline.COMPLETE: "bash_complete"}
    assert outline.answer_quickly([], at) == "plain,collect\nplain,twin"
    twin = outline.answer_quickly([], at | {"COMP_WORDS": "flitwatch twin", "COMP_CWORD": "2"})
    assert twin is not None and "plain,campaign" not in twin
    assert outline.answer_quickly([], at | {"COMP_WORDS": "flitwatch blame -", "COMP_CWORD": "2"}) is None


def test_names_are_answered_without_click() -> None:
    code = (
        "import sys; from flitwatch.outline import answer_quickly; assert answer_quickly(['--help'], {}); "
        "assert answer_quickly([], dict(COMP_WORDS='flitwatch job -', COMP_CWORD='2', _FLITWATCH_COMPLETE='bash_complete')); "
        "assert 'click' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_entry_points_of_other_packages_are_read_and_unreadable_places_are_skipped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    points = "[console_scripts]\nx = a:b\n\n[flitwatch.commands]\nmine = planted_commands:TABLE\n\n[other]\ny = c:d\n"
    for name, text in (("flitwatch_planted-1.dist-info", points), ("flitwatch_bare-1.dist-info", None)):
        (tmp_path / name).mkdir()
        if text is not None:
            (tmp_path / name / "entry_points.txt").write_text(text)
    (tmp_path / "planted_commands.py").write_text('TABLE = {"mine": ("planted_commands", "run", "Mine.")}\n')
    (tmp_path / "file").write_text("")
    monkeypatch.setattr(sys, "path", ["", str(tmp_path / "none"), str(tmp_path / "file"), str(tmp_path)])
    assert catalogue.load_extensions.__wrapped__() == {"mine": ("planted_commands", "run", "Mine.")}
