"""References made from the program itself: docs/commands.md and docs/settings.md (`make reference`)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

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


SETTINGS_HEAD = """# Settings

Made by `make reference` from the program. Every setting is an environment variable; a command's option wins over it.

## Everywhere

| variable | read by | meaning |
|---|---|---|
"""
#: Variables that no option and no settings model names.
OTHERS = {
    "FLITWATCH_HOME": (
        "`flitwatch up` and what it starts",
        "Folder of the database, logs and state. [default: .flitwatch of the checkout]",
    ),
    "FLITWATCH_CACHE": (
        "`scorecard`, `twin campaign`, set-up",
        "Folder for what can be made again. [default: .cache of the checkout]",
    ),
    "FLITWATCH_VIEWER_PASSWORD": (
        "`db viewer`",
        "The password of the database login for Grafana; without it one is asked for.",
    ),
    "FLITWATCH_ROUTING_LOG": ("the uGNI library", "File that the routing library writes its choices to."),
    "FLITWATCH_NIC_COUNTERS": ("the uGNI library", "File that the routing library reads the NIC's counters from."),
    "FLITWATCH_NO_APT": ("set-up", "Any value: set-up installs no system packages."),
}


def settings() -> str:
    """The text of docs/settings.md."""
    from flitwatch_api.settings import Settings

    read: dict[str, tuple[list[str], str]] = {name: ([where], said) for name, (where, said) in OTHERS.items()}
    for words, command in commands():
        for option in command.params:
            for name in [option.envvar] if isinstance(option.envvar, str) else option.envvar or []:
                where, _ = read.setdefault(name, ([], getattr(option, "help", "") or ""))
                where.append(f"`{words} {option.opts[0]}`")
    rows = [f"| `{name}` | {_few(where)} | {said} |\n" for name, (where, said) in sorted(read.items())]
    api = ["\n## The API\n\n| variable | default | meaning |\n|---|---|---|\n"]
    for name, field in Settings.model_fields.items():
        default = field.get_default(call_default_factory=True)
        # A path of this machine and a secret say nothing of the default.
        shown = (
            ""
            if default in (None, "", ()) or isinstance(default, Path) or hasattr(default, "get_secret_value")
            else f"`{default}`"
        )
        api.append(f"| `FLITWATCH_{name.upper()}` | {shown} | {field.description or ''} |\n")
    return SETTINGS_HEAD + "".join(rows) + "".join(api)


def _few(where: list[str]) -> str:
    return ", ".join(where[:3]) + (f" and {len(where) - 3} more" if len(where) > 3 else "")


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
    docs = Path(__file__).resolve().parents[3] / "docs"
    (docs / "commands.md").write_text(reference())
    (docs / "settings.md").write_text(settings())
