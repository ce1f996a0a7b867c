"""Manual pages made from the commands themselves (`make man`): flitwatch(1), and one page for each of its commands."""

from __future__ import annotations

import re
import sys
import textwrap
from collections.abc import Iterable
from pathlib import Path

import click

from flitwatch import reference
from flitwatch.examples import EXAMPLES
from flitwatch.main import COMMANDS, cli
from flitwatch_domain.build import VERSION

FILES = {
    "/etc/flitwatch/flitwatch.toml": "Settings of the services on this machine; FLITWATCH_CONFIG names another file.",
    "~/.config/flitwatch/config.toml": "Addresses of platforms: a table [profile.NAME] with url and token_file.",
}
ABOUT = """Flitwatch watches the network of a supercomputer. It says who slows a job, what in the network carries it, what comes next, what if, and what to do. Every \
command takes --json: one JSON object on standard output; everything for people goes to standard error."""


def pages() -> dict[str, str]:
    """The text (roff, macros `man`) of each page, by its file's name."""
    commands: dict[str, list[tuple[str, click.Command]]] = {}
    for words, command in reference.commands():
        commands.setdefault(words.partition(" ")[0], []).append((words, command))
    made = {"flitwatch.1": _whole(commands)}
    for name, below in commands.items():
        made[f"flitwatch-{name}.1"] = _page(name, below)
    return made


def _whole(names: Iterable[str]) -> str:
    rows = [_item(f"flitwatch-{name}(1)", COMMANDS[name][2]) for name in names]
    options = [_item(*record) for record in _options(cli, "flitwatch")]
    return "".join(
        [
            _head("flitwatch", (cli.help or "").rstrip(".")),
            f".SH SYNOPSIS\n.B flitwatch\n{_text('COMMAND [OPTIONS]')}\n",
            f".SH DESCRIPTION\n{_text(ABOUT)}\n",
            ".SH OPTIONS\n",
            *options,
            ".SH COMMANDS\n",
            *rows,
            ".SH FILES\n",
            *(_item(*file) for file in FILES.items()),
            _statuses(),
            _also("flitwatch-job(1), flitwatch-top(1), flitwatch-up(1)"),
        ]
    )


def _page(name: str, below: list[tuple[str, click.Command]]) -> str:
    usages = [
        f".B {_text('flitwatch ' + words)}\n{_text(' '.join(command.collect_usage_pieces(_context(command, words))))}\n"
        for words, command in below
    ]
    parts = [_head(f"flitwatch-{name}", COMMANDS[name][2].rstrip(".")), ".SH SYNOPSIS\n", ".br\n".join(usages)]
    if len(below) == 1 and below[0][0] == name:
        command = below[0][1]
        parts += [
            ".SH DESCRIPTION\n",
            _said(command),
            ".SH OPTIONS\n",
            *(_item(*one) for one in _options(command, name)),
        ]
    else:
        parts.append(f".SH DESCRIPTION\n{_text(COMMANDS[name][2])}\n")
        for words, command in below:
            parts += [
                f".SH {_text(words.upper())}\n",
                _said(command),
                *(_item(*one) for one in _options(command, words)),
            ]
    variables = sorted(
        {
            (option.envvar, option.opts[0])
            for _, command in below
            for option in command.params
            if isinstance(option.envvar, str)
        }
    )
    if variables:
        parts += [".SH ENVIRONMENT\n", *(_item(variable, f"Value of {option}.") for variable, option in variables)]
    parts += [".SH EXAMPLES\n.nf\n", *(f"{_text(EXAMPLES[words])}\n" for words, _ in below), ".fi\n"]
    return "".join([*parts, _statuses(), _also("flitwatch(1)")])


def _head(name: str, said: str) -> str:
    return f'.TH "{_text(name.upper())}" 1 "" "Flitwatch {VERSION}" "Flitwatch"\n.SH NAME\n{_text(name)} \\- {_text(said)}\n'


def _context(command: click.Command, words: str) -> click.Context:
    return click.Context(command, info_name=f"flitwatch {words}")


def _options(command: click.Command, words: str) -> list[tuple[str, str]]:
    context = _context(command, words)
    records = [
        option.get_help_record(context)
        for option in command.params
        if isinstance(option, click.Option) and not option.hidden
    ]
    return [record for record in records if record is not None]


def _said(command: click.Command) -> str:
    """A command's help by paragraphs; those that it lays out itself (`\\b`) keep their lines."""
    parts = []
    for paragraph in re.split(r"\n\s*\n", textwrap.dedent((command.help or "").split("\f")[0]).strip()):
        if paragraph.lstrip().startswith("\b"):
            lines = paragraph.replace("\b", "").strip("\n").splitlines()
            parts.append(".nf\n" + "".join(f"{_text(line, True)}\n" for line in lines) + ".fi\n")
        else:
            parts.append(f"{_text(paragraph)}\n")
    return ".PP\n".join(parts)


def _item(flags: str, said: str) -> str:
    return f".TP\n.B {_text(flags)}\n{_text(said)}\n"


def _statuses() -> str:
    return ".SH EXIT STATUS\n" + "".join(_item(str(status), said) for status, said in reference.STATUSES.items())


def _also(pages: str) -> str:
    return f".SH SEE ALSO\n{_text(pages)}\n.PP\n{_text('The documentation: /docs at the address of a platform.')}\n"


def _text(text: str, as_it_is: bool = False) -> str:
    """Text in which roff finds nothing to do: no escape, no request at the beginning of a line, hyphens that can be copied."""
    line = text.rstrip() if as_it_is else " ".join(text.split())
    line = line.replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{line}" if line.startswith((".", "'")) else line


def main(folder: Path) -> None:
    """Write every page into `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, page in pages().items():
        (folder / name).write_text(page)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
