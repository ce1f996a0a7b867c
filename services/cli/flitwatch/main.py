"""Entry point: a command group with lazy imports, so that `flitwatch --help` never loads torch or the noise core."""

from __future__ import annotations

import importlib
import importlib.util
import os
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn

import click
from click.shell_completion import CompletionItem

from flitwatch_domain.build import build_name

#: command name -> (module under flitwatch.commands, attribute, short help). Entry points `flitwatch.commands` of other packages add theirs, with full
#: module names.
COMMANDS: dict[str, tuple[str, str, str]] = {
    "up": ("up", "up", "Start the platform: database, log, writer, worker, API and page."),
    "down": ("down", "down", "Stop the platform that `up` started."),
    "status": ("status", "status", "Show what is running."),
    "doctor": ("doctor", "doctor", "Check a site before you start Flitwatch."),
    "db": ("db", "db", "Migrate, inspect and maintain the database."),
    "import": ("import_", "import_", "Import fabrics, counters, accounting and runs from files."),
    "collect": ("collect", "collect", "Collect data from a source continuously and publish them to the log."),
    "sampler": ("sampler", "sampler", "Decode marked packets on a receiving host."),
    "writer": ("writer", "writer", "Write records from the log to the database."),
    "api": ("api", "api", "Serve the API and the page."),
    "users": ("users", "users", "Create, list and change accounts."),
    "tokens": ("tokens", "tokens", "Create, list and revoke API tokens."),
    "worker": ("worker", "worker", "Run tasks from the queue."),
    "run": ("run", "run", "Run a program and report its steps."),
    "job": ("job", "job", "Explain why a job is slow, since when, and what would help."),
    "noise": ("noise", "noise", "Compare the network noise of two sets of runs."),
    "incidents": (
        "incidents",
        "incidents",
        "List incidents, or show one: which job slowed which, for how long, and at what cost.",
    ),
    "top": ("top", "top", "Show a machine's hottest groups, links and jobs, live."),
    "open": ("open", "open_", "Print the address of a job's page."),
    "alerting": ("alerting", "alerting", "Evaluate alert rules and deliver alerts."),
    "project": ("project", "project", "Report what a project lost to congestion in a month."),
    "alerts": ("alerts", "alerts", "List alerts, and test rules on past data."),
    "agent": ("agent", "agent", "Give advice to a scheduler."),
    "mail": ("mail", "mail", "Send a mail when a Slurm job ends, and say what slowed it."),
    "trial": ("trial", "trial", "Show the results of a randomised trial of advice."),
    "task": ("task", "task", "Start, watch and cancel tasks."),
    "twin": ("twin", "twin", "Run the cluster twin: a simulated machine that writes the formats of real sources."),
    "topology": ("topology", "topology", "Describe a topology."),
    "blame": ("blame", "blame", "Rank users whose jobs coincide with slow runs."),
    "blamed": ("blamed", "blamed", "List names found in several applications."),
    "drivers": ("drivers", "drivers", "Show the drivers of an application: counters that predict slow steps."),
    "forecast": ("forecast", "forecast", "Forecast the next steps or the run time of jobs."),
    "routes": ("routes", "routes", "Optimise, check and exchange static routes."),
    "traffic": ("traffic", "traffic", "Reconstruct traffic matrices from switch counters."),
    "loop": ("loop", "loop", "Run the closed loop from counters to routes."),
    "completion": ("completion", "completion", "Print the completion script of a shell."),
}

#: Groups of commands in `flitwatch --help`.
GROUPS: dict[str, tuple[str, ...]] = {
    "Watch": ("top", "incidents", "project", "alerts", "status", "open"),
    "Ask": ("job", "blame", "blamed", "drivers", "ranking", "deviation", "forecast", "backtest", "noise", "trial"),
    "Route": ("routes", "traffic", "loop"),
    "Simulate": ("sim", "study", "twin", "topology", "task", "scorecard", "bench"),
    "Connect": ("import", "collect", "sampler", "run", "agent", "mail"),
    "Operate": ("up", "down", "doctor", "db", "writer", "api", "worker", "alerting", "users", "tokens", "completion"),
}

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


def list_installed_commands() -> dict[str, tuple[str, str, str]]:
    """Return module, attribute and short help of each installed command."""
    from flitwatch.console import load_extensions

    ours = {name: (f"flitwatch.commands.{module}", place, text) for name, (module, place, text) in COMMANDS.items()}
    installed = {name: entry for name, entry in ours.items() if importlib.util.find_spec(entry[0]) is not None}
    return installed | {name: entry for name, entry in load_extensions().items() if " " not in name}


@contextmanager
def _reader_may_leave() -> Iterator[None]:
    """Exit with 141 if the reader closes the pipe, like a program stopped by SIGPIPE."""
    try:
        yield
    except BrokenPipeError:
        # Discard buffered output, so that Python does not report an error at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)


class LazyGroup(click.Group):
    """Imports a command's module only when the command is named."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(list_installed_commands())

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        module, attribute, _ = list_installed_commands().get(cmd_name, ("", "", ""))
        return getattr(importlib.import_module(module), attribute) if module else None

    def make_context(self, *args: Any, **kwargs: Any) -> click.Context:
        """Extend Click's method: print help and versions here."""
        with _reader_may_leave():
            return super().make_context(*args, **kwargs)

    def invoke(self, ctx: click.Context) -> Any:
        """Extend Click's method, which exits with 1 if the reader closed the pipe."""
        with _reader_may_leave():
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


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(build_name(), prog_name="flitwatch")
def cli() -> None:
    """Flitwatch: find which jobs slow yours on the network, over which links, and what to do."""


def main(argv: Sequence[str] | None = None) -> None:
    """Run the command line. A known error becomes one clear line and a non-zero exit status."""
    from flitwatch import configuration
    from flitwatch_domain.errors import FlitwatchError, name_extra

    try:
        configuration.load_settings()
        # Outside its standalone mode, Click returns the command's exit status.
        arguments = follow_moved_options(sys.argv[1:] if argv is None else argv)
        status = cli.main(args=arguments, prog_name="flitwatch", standalone_mode=False)
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


def sampler(argv: Sequence[str] | None = None) -> None:
    """Run `flitwatch-sampler ...`, the name of the host service for `flitwatch sampler ...`."""
    main(["sampler", *(sys.argv[1:] if argv is None else argv)])


if __name__ == "__main__":
    main()
