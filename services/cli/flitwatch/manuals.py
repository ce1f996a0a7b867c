"""Manual pages generated from the commands (`make man`): flitwatch(1), and one page for each command."""

from __future__ import annotations

import re
import sys
import textwrap
from collections.abc import Iterable
from pathlib import Path

import click

from flitwatch import reference
from flitwatch.catalogue import list_installed_commands
from flitwatch.command_line import cli
from flitwatch.examples import EXAMPLES
from flitwatch_domain.build import VERSION

FILES = {
    "/etc/flitwatch/flitwatch.toml": "Settings of the services on this machine; FLITWATCH_CONFIG names another file.",
    "~/.config/flitwatch/config.toml": "Addresses of platforms: a table [profile.NAME] with url and token_file.",
}
ABOUT = """Flitwatch monitors the network of a supercomputer. It shows which job slows which, over which links, what comes next, and what you can do
about it. Every \
command takes --json: one JSON object on standard output; text for people goes to standard error."""


def render_pages() -> dict[str, str]:
    """Return the text (roff, macros `man`) of each page, by file name."""
    commands: dict[str, list[tuple[str, click.Command]]] = {}
    for words, command in reference.walk_commands():
        commands.setdefault(words.partition(" ")[0], []).append((words, command))
    texts = {"flitwatch.1": _render_overview(commands)}
    for name, below in commands.items():
        texts[f"flitwatch-{name}.1"] = _render_page(name, below)
    return texts


def _render_overview(names: Iterable[str]) -> str:
    texts = list_installed_commands()
    rows = [_format_item(f"flitwatch-{name}(1)", texts[name][2]) for name in names]
    options = [_format_item(*record) for record in _list_options(cli, "flitwatch")]
    return "".join(
        [
            _format_head("flitwatch", (cli.help or "").rstrip(".")),
            f".SH SYNOPSIS\n.B flitwatch\n{_escape_text('COMMAND [OPTIONS]')}\n",
            f".SH DESCRIPTION\n{_escape_text(ABOUT)}\n",
            ".SH OPTIONS\n",
            *options,
            ".SH COMMANDS\n",
            *rows,
            ".SH FILES\n",
            *(_format_item(*file) for file in FILES.items()),
            _format_statuses(),
            _format_see_also("flitwatch-job(1), flitwatch-top(1), flitwatch-up(1)"),
        ]
    )


def _render_page(name: str, below: list[tuple[str, click.Command]]) -> str:
    usages = [
        f".B {_escape_text('flitwatch ' + words)}\n{_escape_text(' '.join(command.collect_usage_pieces(_make_context(command, words))))}\n"
        for words, command in below
    ]
    text = list_installed_commands()[name][2]
    parts = [_format_head(f"flitwatch-{name}", text.rstrip(".")), ".SH SYNOPSIS\n", ".br\n".join(usages)]
    if len(below) == 1 and below[0][0] == name:
        command = below[0][1]
        parts += [
            ".SH DESCRIPTION\n",
            _format_help(command),
            ".SH OPTIONS\n",
            *(_format_item(*record) for record in _list_options(command, name)),
        ]
    else:
        parts.append(f".SH DESCRIPTION\n{_escape_text(text)}\n")
        for words, command in below:
            parts += [
                f".SH {_escape_text(words.upper())}\n",
                _format_help(command),
                *(_format_item(*record) for record in _list_options(command, words)),
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
        parts += [
            ".SH ENVIRONMENT\n",
            *(_format_item(variable, f"Value of {option}.") for variable, option in variables),
        ]
    parts += [".SH EXAMPLES\n.nf\n", *(f"{_escape_text(EXAMPLES[words])}\n" for words, _ in below), ".fi\n"]
    return "".join([*parts, _format_statuses(), _format_see_also("flitwatch(1)")])


def _format_head(name: str, said: str) -> str:
    return f'.TH "{_escape_text(name.upper())}" 1 "" "Flitwatch {VERSION}" "Flitwatch"\n.SH NAME\n{_escape_text(name)} \\- {_escape_text(said)}\n'


def _make_context(command: click.Command, words: str) -> click.Context:
    return click.Context(command, info_name=f"flitwatch {words}", show_default=True)


def _list_options(command: click.Command, words: str) -> list[tuple[str, str]]:
    context = _make_context(command, words)
    records = [
        option.get_help_record(context)
        for option in command.params
        if isinstance(option, click.Option) and not option.hidden
    ]
    return [record for record in records if record is not None]


def _format_help(command: click.Command) -> str:
    """Return a command's help by paragraphs. Preformatted ones (`\\b`) keep their lines."""
    parts = []
    for paragraph in re.split(r"\n\s*\n", textwrap.dedent((command.help or "").split("\f")[0]).strip()):
        if paragraph.lstrip().startswith("\b"):
            lines = paragraph.replace("\b", "").strip("\n").splitlines()
            parts.append(".nf\n" + "".join(f"{_escape_text(line, True)}\n" for line in lines) + ".fi\n")
        else:
            parts.append(f"{_escape_text(paragraph)}\n")
    return ".PP\n".join(parts)


def _format_item(flags: str, said: str) -> str:
    return f".TP\n.B {_escape_text(flags)}\n{_escape_text(said)}\n"


def _format_statuses() -> str:
    return ".SH EXIT STATUS\n" + "".join(
        _format_item(str(status), meaning) for status, meaning in reference.STATUSES.items()
    )


def _format_see_also(pages: str) -> str:
    return f".SH SEE ALSO\n{_escape_text(pages)}\n.PP\n{_escape_text('The documentation: /docs at the address of a platform.')}\n"


def _escape_text(text: str, as_it_is: bool = False) -> str:
    """Escape text for roff: no escapes, no requests at the beginning of a line, hyphens that can be copied."""
    line = text.rstrip() if as_it_is else " ".join(text.split())
    line = line.replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{line}" if line.startswith((".", "'")) else line


def main(folder: Path) -> None:
    """Write all pages to `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, page in render_pages().items():
        (folder / name).write_text(page)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
