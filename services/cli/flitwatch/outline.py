"""Outline of the command line: every command's names and options, which answer `flitwatch --help` and TAB without Click.

The import of Click takes twice as long as the start of Python. `make reference` writes the file.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TypedDict

from flitwatch.catalogue import GROUPS, list_installed_commands, load_extensions

FILE = os.path.join(os.path.dirname(__file__), "outline.json")
COMPLETE = "_FLITWATCH_COMPLETE"
#: Line of a completion by shell, from name and help: what Click's completion scripts read.
LINES = {
    "bash_complete": lambda name, _: f"plain,{name}",
    "zsh_complete": lambda name, text: f"plain\n{name}\n{text}",
    "fish_complete": lambda name, text: f"plain,{name}\t{text}",
}


class Entry(TypedDict):
    """Outline of a command or group; the root's words are empty."""

    help: str
    #: Names, help, and whether the option can be repeated.
    options: list[tuple[list[str], str, bool]]
    #: An installed package adds the command.
    is_extension: bool
    #: Words after the first argument belong to another program.
    runs_program: bool


def answer_quickly(arguments: Sequence[str], variables: Mapping[str, str]) -> str | None:
    """Return the root's help or completed names; None if the answer needs Click: values, and help of commands."""
    if shell := variables.get(COMPLETE):
        items = _complete_words(*_split_words(shell, variables)) if shell in LINES else None
        return None if items is None else "\n".join(LINES[shell](*item) for item in items)
    if list(arguments) not in (["--help"], ["-h"]):
        return None
    import shutil

    return render_help(max(min(shutil.get_terminal_size().columns, 80) - 2, 50))


@contextmanager
def reader_may_leave() -> Iterator[None]:
    """Exit with 141 if the reader closes the pipe, like a program stopped by SIGPIPE."""
    try:
        yield
    except BrokenPipeError:
        # Discard buffered output, so that Python does not report an error at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)


def _read_outline() -> dict[str, Entry]:
    with open(FILE, encoding="utf-8") as opened:
        return json.load(opened)


def render_help(width: int) -> str:
    """Return the root's help in lines of at most `width` characters, as Click formats it."""
    import textwrap

    root, commands = _read_outline()[""], list_installed_commands()
    sections = {"Options": [(", ".join(names), text) for names, text, _ in root["options"]]}
    for title, names in GROUPS.items():
        sections[title] = [(name, commands[name][2]) for name in names if name in commands]
    about = textwrap.fill(root["help"], width, initial_indent="  ", subsequent_indent="  ")
    parts = [f"Usage: flitwatch [OPTIONS] COMMAND [ARGS]...\n\n{about}"]
    for title, rows in sections.items():
        if rows:
            indent = max(len(name) for name, _ in rows) + 4
            lines = [
                textwrap.fill(text, width, initial_indent=f"  {name}".ljust(indent), subsequent_indent=" " * indent)
                for name, text in rows
            ]
            parts.append("\n".join([f"{title}:", *lines]))
    return "\n\n".join(parts)


def _split_words(shell: str, variables: Mapping[str, str]) -> tuple[list[str], str]:
    """Return the complete words after `flitwatch`, and the incomplete one."""
    words, place = variables["COMP_WORDS"].split(), variables["COMP_CWORD"]
    if shell != "fish_complete":
        return words[1 : int(place)], "".join(words[int(place) : int(place) + 1])
    # Fish has the incomplete word in both variables.
    return words[1:-1] if place and words[-1] == place else words[1:], place


def _complete_words(words: list[str], incomplete: str) -> Iterable[tuple[str, str]] | None:
    """Return names with help; None if the incomplete word is a value, or the words need a shell's grammar."""
    if "--" in words or any(mark in word for mark in "'\"\\" for word in (*words, incomplete)) or "=" in incomplete:
        return None
    outline = _read_outline()
    path = ""
    while words and _is_installed(deeper := f"{path} {words[0]}".strip(), outline):
        path, words = deeper, words[1:]
    below = {name: entry for name, entry in outline.items() if name and name.rpartition(" ")[0] == path}
    if words and (below or outline[path]["runs_program"]):
        return None
    if incomplete[:1] == "-":
        given = {word.partition("=")[0] for word in words}
        options = [
            (names, text) for names, text, repeats in outline[path]["options"] if repeats or given.isdisjoint(names)
        ]
        return [(name, text) for names, text in options for name in names if name.startswith(incomplete)]
    if not path:
        return [(name, text) for name, (_, _, text) in list_installed_commands().items() if name.startswith(incomplete)]
    names = [(name.rpartition(" ")[2], entry["help"]) for name, entry in below.items() if _is_installed(name, outline)]
    return [item for item in names if item[0].startswith(incomplete)] if below else None


def _is_installed(command: str, outline: Mapping[str, Entry]) -> bool:
    if command not in outline:
        return False
    if " " not in command:
        return command in list_installed_commands()
    return not outline[command]["is_extension"] or command in load_extensions()
