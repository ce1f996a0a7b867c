"""Command line of Click: a group with lazy imports, so that `flitwatch job --help` never loads torch or the noise core."""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

import click
from click.shell_completion import CompletionItem

from flitwatch.catalogue import COMMANDS, GROUPS, list_installed_commands
from flitwatch.outline import reader_may_leave
from flitwatch_domain.build import build_name

#: Moved options, by their former command, with their current command. Scripts with the former spelling still work.
MOVED_OPTIONS: dict[tuple[str, ...], tuple[tuple[str, ...], frozenset[str]]] = {
    ("blame",): (("ranking",), frozenset({"--scenario", "--presence", "--paper", "--method", "--tau", "--rule"})),
    ("forecast",): (("backtest",), frozenset({"--scenario", "--steps", "--paper"})),
    ("routes", "optimise"): (("routes", "prove"), frozenset({"--engine"})),
}

#: Commands whose `--world` is now `--variant`. Scripts with the former name still work.
RENAMED_COMMANDS = frozenset({"scorecard", "study", "twin"})


def follow_moved_options(arguments: Sequence[str]) -> list[str]:
    """Return the arguments with the current names of the command and its options."""
    words = tuple(arguments)
    if RENAMED_COMMANDS & set(words[:1]):
        words = tuple(re.sub("^--world(?==|$)", "--variant", word) for word in words)
        words = ("twin", "variants", *words[2:]) if words[:2] == ("twin", "worlds") else words
    for command, (now, options) in MOVED_OPTIONS.items():
        rest = words[len(command) :]
        if words[: len(command)] == command and not options.isdisjoint(word.partition("=")[0] for word in rest):
            return [*now, *rest]
    return list(words)


class LazyGroup(click.Group):
    """Imports a command's module only when the command is named."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(list_installed_commands())

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        module, attribute, _ = list_installed_commands().get(cmd_name, ("", "", ""))
        return getattr(importlib.import_module(module), attribute) if module else None

    def make_context(self, *args: Any, **kwargs: Any) -> click.Context:
        """Extend Click's method: print help and versions here."""
        with reader_may_leave():
            return super().make_context(*args, **kwargs)

    def invoke(self, ctx: click.Context) -> Any:
        """Extend Click's method, which exits with 1 if the reader closed the pipe."""
        with reader_may_leave():
            return super().invoke(ctx)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Return command names without importing the commands, and the group's own options."""
        items = [
            CompletionItem(name, help=text)
            for name, (_, _, text) in list_installed_commands().items()
            if name.startswith(incomplete)
        ]
        return items + click.Command.shell_complete(self, ctx, incomplete)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        commands = list_installed_commands()
        for title, names in GROUPS.items():
            if rows := [(name, commands[name][2]) for name in names if name in commands]:
                with formatter.section(title):
                    formatter.write_dl(rows)


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "show_default": True})
@click.version_option(build_name(), prog_name="flitwatch")
def cli() -> None:
    """Flitwatch: find which jobs slow yours on the network, over which links, and what to do."""


def run_command(arguments: Sequence[str]) -> None:
    """Run a command. A known error becomes one clear line and a non-zero exit status."""
    from flitwatch import configuration
    from flitwatch_domain.errors import FlitwatchError, name_extra

    try:
        configuration.load_settings()
        # Outside its standalone mode, Click returns the command's exit status.
        status = cli.main(args=follow_moved_options(arguments), prog_name="flitwatch", standalone_mode=False)
        if isinstance(status, int) and status:
            sys.exit(status)
    except click.Abort:
        _exit("stopped by the user", code=130)
    except click.exceptions.NoArgsIsHelpError as asked_for_nothing:
        # Its message is the whole help.
        asked_for_nothing.show()
        sys.exit(asked_for_nothing.exit_code)
    except click.ClickException as bad_use:
        _exit(_format_usage_error(bad_use), code=bad_use.exit_code)
    except FlitwatchError as known:
        _exit(str(known))
    except ModuleNotFoundError as absent:
        if lacking := name_extra(absent):
            _exit(str(lacking))
        if not (absent.name or "").startswith("flitwatch"):
            raise
        _exit("this needs the server's package: pip install flitwatch. A collector does not need it with --log URL")
    except OSError as refused:
        _exit(f"{refused.filename or 'the system'}: {refused.strerror or refused}")
    except KeyboardInterrupt:
        _exit("stopped by the user", code=130)
    except Exception as unknown:
        # Only a command that loaded the driver can have a database error.
        driver = sys.modules.get("psycopg")
        if driver is None or not isinstance(unknown, driver.Error):
            raise
        _exit(f"the database refused it: {str(unknown).splitlines()[0] if str(unknown) else type(unknown).__name__}")


def _exit(message: str, code: int = 1) -> NoReturn:
    from flitwatch.console import exit_with_error  # not loaded by `--help` or completion

    exit_with_error(message, code)


def _format_usage_error(bad_use: click.ClickException) -> str:
    """Format Click's message. For an unknown command or option, add the help command that lists the known ones, or the package that has it."""
    message = bad_use.format_message()
    if not isinstance(bad_use, click.UsageError) or bad_use.ctx is None or not message.startswith("No such"):
        return message
    path = bad_use.ctx.command_path
    _, _, name = message.rstrip("'.").partition("No such command '")
    if package := _find_package(f"{path} {name}"):
        return f"{path} {name} is not installed here. Install it: pip install {package}"
    return f"{message.rstrip('.')}. See: {path} --help"


def _find_package(command: str) -> str | None:
    """Return the package of a command that is not installed; None if there is no such command."""
    program, _, name = command.partition(" ")
    if program == "flitwatch" and name in COMMANDS:
        return "flitwatch"
    in_research = name == "routes prove" or any(name in names for names in GROUPS.values())
    return "'flitwatch[sim]'" if program == "flitwatch" and in_research else None
