"""The program's own parsers accept every `flitwatch` command line in the documentation: code blocks completely, inline code by names."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from flitwatch.command_line import cli
from flitwatch.commands.collect import collect
from flitwatch.commands.import_ import import_

ROOT = Path(__file__).parents[2]
#: The reference is made from the commands, and changes and decisions name what was.
PAGES = sorted(
    page
    for pattern in ("*.md", "docs/**/*.md", "k8s/*.md", "services/*/README.md", "packaging/**/*.md")
    for page in ROOT.glob(pattern)
    if page.name not in ("commands.md", "CHANGELOG.md") and page.parent.name != "adr"
)
BLOCK = re.compile(r"^ *```(?:console|bash|sh)?\n(.*?)^ *```", re.MULTILINE | re.DOTALL)
INLINE = re.compile(r"(?<!`)`(flitwatch [^`\n]+)`(?!`)")
#: What stands for a value that the reader has.
PLACEHOLDER = re.compile(r"<?[A-Z][A-Z_0-9]*>?|\$.*")

#: What stands before a program's name.
BEFORE = re.compile(r"[;&|(]+|do|then|if|until|while|exec|sudo|[A-Z_]+=.*")


def read_lines(page: str) -> Iterator[tuple[str, bool]]:
    """Yield each line of a block, joined where it goes on, with True, and each inline command with False."""
    for block in BLOCK.findall(page):
        yield from ((line.removeprefix("$ "), True) for line in block.replace("\\\n", " ").splitlines())
    yield from ((text, False) for text in INLINE.findall(BLOCK.sub("", page)))


def read_commands(line: str) -> Iterator[list[str]]:
    """Yield the arguments of each `flitwatch` in a line of a shell."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    try:
        words = list(lexer)
    except ValueError:  # a quoted program goes on in the next line
        return
    while "flitwatch" in words:
        at = words.index("flitwatch")
        # Elsewhere it is another program's argument.
        starts = at == 0 or words[max(at - 3, 0) : at - 1] == ["sudo", "-u"] or BEFORE.fullmatch(words[at - 1])
        ends = next((place for place in range(at, len(words)) if re.fullmatch(r"[;&|()<>]+", words[place])), len(words))
        if starts:
            given = words[at + 1 : ends]
            # The number of a stream that is sent elsewhere: 2>/dev/null.
            yield given[:-1] if given and ends < len(words) and given[-1] == "2" else given
        words = words[ends:]


def is_value(value: object) -> bool:
    """Say if a parser found a value, and the page does not leave it to the reader."""
    return isinstance(value, str | tuple | list | bool | int) and not PLACEHOLDER.fullmatch(str(value))


def find_fault(given: list[str], whole: bool) -> str | None:
    """Say what the parsers refuse in a command; of one that is not whole only its names are looked at."""
    context, command = click.Context(cli, info_name="flitwatch"), cli
    while isinstance(command, click.Group) and given and not given[0].startswith("-"):
        found = command.get_command(context, given[0])
        if found is None:
            return f"{context.command_path} has no command {given[0]}"
        command, given = found, given[1:]
        context = click.Context(command, info_name=command.name, parent=context)
    if isinstance(command, click.Group):
        return None if not whole or given[:1] in ([], ["--help"], ["--version"]) else f"{command.name} takes a command"
    if "--help" in given:
        return None
    if not whole:
        known = {option for one in command.params for option in (*one.opts, *one.secondary_opts)} | {"-h"}
        return next(
            (f"no option {word}" for word in given if word.startswith("--") and word.split("=")[0] not in known), None
        )
    try:
        values, left, order = command.make_parser(context).parse_args(list(given))
        for parameter in order:
            value = values.get(parameter.name)
            if not isinstance(parameter.type, (click.Path, click.File)) and is_value(value):
                parameter.type_cast_value(context, value)
    except click.ClickException as refused:
        return refused.format_message()
    if left and not command.context_settings.get("ignore_unknown_options"):
        return f"too much: {left}"
    lacking = [one.name for one in command.params if one.required and not values.get(one.name)]
    return f"lacks {lacking}" if lacking else None


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_program_takes_what_the_page_shows(page: Path) -> None:
    faults = [
        f"flitwatch {' '.join(given)}: {fault}"
        for line, whole in read_lines(page.read_text())
        for given in read_commands(line)
        if not any(word in ("...", "…") or word.startswith("[") for word in given)
        if (fault := find_fault(given, whole))
    ]
    assert faults == []


@pytest.mark.parametrize(
    ("page", "fault"),
    [
        ("```\nflitwatch routes diff a b\n```\n", "lacks ['topology']"),
        ("```console\n$ x && flitwatch jop 5 | head\n5\n```\n", "flitwatch has no command jop"),
        ("```\nflitwatch job 5 --unknown\n```\n", "No such option '--unknown'."),
        ("Run `flitwatch job 5 --unknown`.\n", "no option --unknown"),
        ("```\nflitwatch routes diff a b --topology xgft:2;2,2;1,2  # good\n```\nSee `flitwatch alerts test`.\n", None),
    ],
)
def test_a_wrong_line_is_found(page: str, fault: str | None) -> None:
    found = [find_fault(given, whole) for line, whole in read_lines(page) for given in read_commands(line)]
    assert [one for one in found if one] == ([fault] if fault else [])


def test_every_import_and_collector_says_what_it_was_tried_with() -> None:
    """docs/sources.md: tested live with, public samples, and what is not read, of each command."""
    page = (ROOT / "docs/sources.md").read_text()
    header, *lines = page[page.index("| source | command | tested live") :].partition("\n\n")[0].splitlines()
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines[1:]]
    assert header.count("|") == 6 and all(len(row) == 5 and all(row) for row in rows)
    documented = {command for row in rows for command in re.findall(r"`(\w+ [\w-]+)`", row[1])}
    commands = {f"{group.name} {name}" for group in (import_, collect) for name in group.commands}
    assert documented == commands
