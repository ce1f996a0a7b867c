"""The reference of all commands, from the commands themselves: `python -m flitwatch.reference > docs/commands.md`."""

from __future__ import annotations

from collections.abc import Iterator

import click

from flitwatch.main import COMMANDS, cli

HEAD = """# Commands

Made by `make reference` from the commands themselves. Every command takes `--json`: one JSON object on standard output; everything for people goes to
standard error.

## Exit statuses

| status | meaning |
|---|---|
"""
#: What a command may end with; commands name no others.
STATUSES = {
    0: "done",
    1: "not done; one line on standard error says why and what to do",
    2: "wrong use: an option, an argument or a name that is not known",
    3: "imported, but some records were refused (the page Health lists them)",
    4: "counters came, and none of them has a place in a fabric",
    130: "stopped by Ctrl-C",
    141: "the reader of standard output went away",
    143: "stopped by SIGTERM",
}


def commands() -> Iterator[tuple[str, click.Command]]:
    """Every command that is not a group, by its words."""
    for name in COMMANDS:
        command = cli.get_command(click.Context(cli), name)
        if command is not None:
            yield from _below(name, command)


def _below(words: str, command: click.Command) -> Iterator[tuple[str, click.Command]]:
    if not isinstance(command, click.Group):
        yield words, command
        return
    context = click.Context(command)
    for name in command.list_commands(context):
        found = command.get_command(context, name)
        if found is not None:
            yield from _below(f"{words} {name}", found)


def reference() -> str:
    """The text of docs/commands.md."""
    parts = [HEAD + "".join(f"| {status} | {meaning} |\n" for status, meaning in STATUSES.items())]
    group = ""
    for words, command in commands():
        first = words.partition(" ")[0]
        if first != group:
            group = first
            parts.append(f"\n## flitwatch {group}\n\n{COMMANDS[group][2]}\n")
        parts.append(_section(words, command))
    return "".join(parts)


def _section(words: str, command: click.Command) -> str:
    context = click.Context(command, info_name=f"flitwatch {words}")
    usage = " ".join(command.collect_usage_pieces(context))
    said = " ".join((command.help or "").split("\f")[0].split()).replace("\b ", "")
    rows = [
        _row(option, context) for option in command.params if isinstance(option, click.Option) and not option.hidden
    ]
    return (
        f"\n### flitwatch {words}\n\n```\nflitwatch {words} {usage}\n```\n\n{said}\n\n| option | |\n|---|---|\n"
        + "".join(rows)
    )


def _row(option: click.Option, context: click.Context) -> str:
    record = option.get_help_record(context)
    assert record is not None
    flags, said = (" ".join(part.split()).replace("|", "\\|") for part in record)
    return f"| `{flags}` | {said.replace('<', '&lt;')} |\n"


if __name__ == "__main__":
    print(reference(), end="")
