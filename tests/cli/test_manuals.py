"""The manual pages: one for each command, from the commands themselves, and man renders them without a complaint."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import click
import pytest

from flitwatch import manuals, reference
from flitwatch.main import list_installed_commands

PAGES = manuals.render_pages()


def rendered(page: Path) -> tuple[str, str]:
    """The page as a reader sees it, and what man complains about."""
    if shutil.which("man") is None:
        pytest.skip("needs man-db")
    environment = {**os.environ, "MANWIDTH": "1000", "LC_ALL": "C.UTF-8", "MANROFFOPT": "-ww"}
    done = subprocess.run(
        ["man", "--warnings=w", "-E", "UTF-8", "--no-hyphenation", "--no-justification", "-l", page],
        capture_output=True,
        text=True,
        env=environment,
    )
    return done.stdout, done.stderr


def test_there_is_a_page_for_the_program_and_for_each_command() -> None:
    assert set(PAGES) == {"flitwatch.1", *(f"flitwatch-{name}.1" for name in list_installed_commands())}


def test_man_renders_every_page_with_every_option_and_no_warning(tmp_path: Path) -> None:
    manuals.main(tmp_path)
    below: dict[str, list[click.Command]] = {}
    for words, command in reference.walk_commands():
        below.setdefault(words.partition(" ")[0], []).append(command)
    for name, commands in below.items():
        shown, warned = rendered(tmp_path / f"flitwatch-{name}.1")
        assert warned == "", name
        assert "NAME" in shown and "EXIT STATUS" in shown
        flags = {option.opts[0] for one in commands for option in one.params if isinstance(option, click.Option)}
        # A hyphen that roff made a dash of could not be copied into a shell.
        assert {flag for flag in flags if flag not in shown} == set(), name
        for one in commands:
            first = " ".join((one.help or "").split("\n\n")[0].split())
            assert first in " ".join(shown.split()), name
    shown, warned = rendered(tmp_path / "flitwatch.1")
    assert warned == "" and all(f"flitwatch-{name}(1)" in shown for name in list_installed_commands())


def test_man_does_complain_where_a_page_is_wrong(tmp_path: Path) -> None:
    """What the test above would see: a request and an escape that roff does not know."""
    page = tmp_path / "spoiled.1"
    page.write_text(PAGES["flitwatch-top.1"] + ".NOSUCHREQUEST\n")
    assert "NOSUCHREQUEST" in rendered(page)[1]


@pytest.mark.parametrize(
    ("text", "shown"), [(".SH like a request", ".SH like a request"), ("'quoted", "'quoted"), (r"a\b -x", r"a\b -x")]
)
def test_text_is_shown_as_it_is(tmp_path: Path, text: str, shown: str) -> None:
    page = tmp_path / "text.1"
    page.write_text(f'.TH "T" 1 "" "" ""\n.SH NAME\n{manuals._escape_text(text)}\n')
    assert shown in re.sub(r"[‘’]", "'", rendered(page)[0])
