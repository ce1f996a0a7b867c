"""Shared parts of all commands: one JSON object on standard output, messages for people on standard error."""

from __future__ import annotations

import functools
import importlib
import logging
import math
import os
import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from threading import Event
from types import FrameType
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar, cast

import click
import orjson

from flitwatch.catalogue import load_extensions
from flitwatch_domain.json_logs import JsonLines
from flitwatch_domain.secret_file import LocalText

if TYPE_CHECKING:
    import psycopg
    from rich.console import Console
    from rich.progress import Progress

    from flitwatch_db.core.connection import Role

F = TypeVar("F", bound=Callable[..., Any])
log = logging.getLogger(__name__)

#: Exit statuses of a finished import or --once collector: some records were refused; counters arrived but no fabric has a device for any of them.
SOME_REFUSED, NOTHING_PLACED = 3, 4


@functools.cache
def stderr_console() -> Console:
    """Return the console on standard error. All messages for people go there, so that `--json` output can be piped."""
    from rich.console import Console  # not loaded by commands that do not need it

    # Codes such as `:100:` are line numbers, not emoji. Lines in a file or pipe are not wrapped.
    return Console(stderr=True, emoji=False, width=None if sys.stderr.isatty() else 10_000)


def exit_with_error(message: str, code: int = 1) -> NoReturn:
    """Print one clear line on standard error and exit with `code`."""
    line = " ".join(str(message).split())
    if logs_json():
        log.critical(line)
    else:
        print(f"flitwatch: {line}", file=sys.stderr)
    sys.exit(code)


class FiniteRange(click.FloatRange):
    """Range of numbers that excludes nan, which compares as neither below nor above a bound."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the number. Raise a usage error outside the range."""
        number = float(super().convert(value, param, ctx))
        if not math.isfinite(number):
            self.fail(f"{value} is not in the range {self._describe_range()}.", param, ctx)
        return number


class Moment(click.ParamType):
    """Time in RFC 3339, epoch seconds, `now`, or relative to now: `-7d`, `-90m`."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        from flitwatch_domain.alerts import parse_duration_s

        if isinstance(value, float):
            return value
        # All times of a command use the same whole second, so that -31d to now is not longer than 31 days.
        now = float(int(datetime.now(UTC).timestamp()))
        if ctx is not None:
            now = ctx.meta.setdefault(__name__, now)
        if value.startswith("-"):
            try:
                return now - parse_duration_s(value[1:])
            except ValueError as problem:
                self.fail(str(problem), param, ctx)
        try:
            if value == "now":
                return now
            if value.isascii() and value.replace(".", "", 1).isdigit():
                return float(value)
            time = datetime.fromisoformat(value)
        except ValueError:
            self.fail("write 2026-11-21T14:05:00Z, epoch seconds, `now`, or `-7d`", param, ctx)
        return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()


class LocalParam(click.ParamType):
    """Text that may name a file of this machine, because it comes from the command line."""

    name = "text"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> LocalText:
        """Return the same text, marked as local."""
        return LocalText(value)


LOCAL = LocalParam()
#: Time limit of a search in seconds.
TIME_LIMIT_S = FiniteRange(0, 86400, min_open=True)


class OutPath(click.Path):
    """Path of a result file or (`folder`) folder. Missing folders are created, and unwritable paths are rejected before the work begins."""

    def __init__(self, folder: bool = False) -> None:
        super().__init__(file_okay=not folder, dir_okay=folder, writable=True, path_type=Path)
        self._folder = folder

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        """Return the path after creating its parent folders. Raise a usage error if it is not writable."""
        path = Path(super().convert(value, param, ctx))  # type: ignore[arg-type]
        folder = path if self._folder else path.parent
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as failure:
            self.fail(f"{folder}: {failure.strerror or failure}", param, ctx)
        if not self._folder and path.exists() and not path.is_file():
            # The finished file replaces the path, which would destroy a device or a pipe.
            self.fail(f"{path} is not a regular file.", param, ctx)
        if not os.access(folder, os.W_OK):
            self.fail(f"{folder} is not writable.", param, ctx)
        return path


@contextmanager
def stop_on_interrupt() -> Iterator[Callable[[], bool]]:
    """Yield a function that returns True after Ctrl-C, for work that ends with the best result so far. A second Ctrl-C stops at once."""
    stopped = False

    def note(number: int, frame: FrameType | None) -> None:
        nonlocal stopped
        stopped = True
        signal.signal(signal.SIGINT, before)

    before = signal.signal(signal.SIGINT, note)
    try:
        yield lambda: stopped
    finally:
        signal.signal(signal.SIGINT, before)


def stop_on_signal() -> Event:
    """Return an event that the first SIGINT or SIGTERM sets, so that a service ends cleanly."""
    stop = Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    return stop


class Group(click.Group):
    """Command group that includes commands of installed packages. Its help shows the whole first sentence of each command, which Click would cut off."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        prefix = f"{self.name} "
        return [
            *super().list_commands(ctx),
            *(name.removeprefix(prefix) for name in load_extensions() if name.startswith(prefix)),
        ]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if (command := super().get_command(ctx, cmd_name)) is not None:
            return command
        module, attribute, _ = load_extensions().get(f"{self.name} {cmd_name}", ("", "", ""))
        return getattr(importlib.import_module(module), attribute) if module else None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        commands = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        rows = [
            (name, command.get_short_help_str(10_000))
            for name, command in commands
            if command is not None and not command.hidden
        ]
        if rows:
            with formatter.section("Commands"):
                formatter.write_dl(rows)


def json_option(function: F) -> F:
    """Add `--json` (parameter `as_json`): one JSON object on standard output, logs on standard error."""
    return json_option_with("Print one JSON object on standard output.")(function)


def json_option_with(text: str) -> Callable[[F], F]:
    """Add `--json` of a command that prints its object elsewhere, with the help `text`."""
    return click.option("--json", "as_json", is_flag=True, help=text)


def mtu_option(function: F) -> F:
    """Add `--mtu` (parameter `mtu`): mixed weighting of packets and bytes."""
    return click.option(
        "--mtu",
        type=click.IntRange(1, 65536),
        help="Size of a full packet. Weighs MTU/2 x packets + bytes/2 instead of bytes, so that many small messages count. The "
        "traffic must contain packets.",
    )(function)


@dataclass(frozen=True)
class Database:
    """Database of a command; see `database_options`."""

    url: str | None
    ephemeral: bool

    def open(
        self, patience_s: float = 0.0, stop: Event | None = None, adds: bool = False
    ) -> AbstractContextManager[str]:
        """Yield its URL; see `flitwatch_ops.platform.open_database`."""
        from flitwatch_ops.platform import open_database

        return open_database(self.url, self.ephemeral, patience_s, stop, adds)

    @contextmanager
    def connect(
        self, role: Role | None = None, application: str = "flitwatch", autocommit: bool = False, adds: bool = False
    ) -> Iterator[psycopg.Connection[Any]]:
        """Yield a connection; see `flitwatch_db.connect`."""
        from flitwatch_db import connect

        with (
            self.open(adds=adds) as url,
            connect(url, role=role, application=application, autocommit=autocommit) as conn,
        ):
            yield conn


def database_options(function: F) -> F:
    """Add `--db URL` and `--ephemeral`, and pass the database as `database`."""

    @functools.wraps(function)
    def command(*, db_url: str | None, ephemeral: bool, **options: Any) -> Any:
        return function(database=Database(db_url, ephemeral), **options)

    ephemeral_option = click.option(
        "--ephemeral", is_flag=True, help="Use a temporary embedded database, which is deleted afterwards."
    )
    return click.option(
        "--db",
        "db_url",
        envvar="FLITWATCH_DB",
        help="PostgreSQL URL. By default, the embedded database is started and used.",
    )(ephemeral_option(cast(F, command)))


def seed_option(function: F) -> F:
    """Add `--seed` (parameter `seed`) of commands that draw random numbers."""
    return click.option("--seed", type=click.IntRange(0, 2**63 - 1), default=1, help="Random seed.")(function)


def lane_options(function: F) -> F:
    """Add `--sl` and `--vl` (parameters `sls`, `vls`): numbers of service levels and virtual lanes of routes."""
    function = click.option("--vl", "vls", type=click.IntRange(1, 15), default=5, help="Number of virtual lanes.")(
        function
    )
    return click.option("--sl", "sls", type=click.IntRange(1, 16), default=5, help="Number of service levels.")(
        function
    )


def print_result(result: Mapping[str, Any], as_json: bool) -> None:
    """Print a result: one JSON object, or aligned `key: value` lines for people."""
    if as_json:
        sys.stdout.buffer.write(orjson.dumps(result, option=orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_APPEND_NEWLINE))
        sys.stdout.flush()
        return
    width = max((len(key) for key in result), default=0)
    for key, value in result.items():
        shown = value if isinstance(value, str) else orjson.dumps(value, option=orjson.OPT_SERIALIZE_NUMPY).decode()
        print(f"{key:<{width}}  {shown}")


def make_progress(description: str = "") -> Progress:
    """Return a progress display on standard error. It is silent if standard error is not a terminal."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    return Progress(
        SpinnerColumn(),
        TextColumn(description or "{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=stderr_console(),
        transient=True,
        disable=not stderr_console().is_terminal,
    )


def logs_json() -> bool:
    """Return whether this process logs JSON, because it is a service without a reader at a terminal."""
    return any(isinstance(handler.formatter, JsonLines) for handler in logging.getLogger().handlers)


def log_to_stderr(level: int = logging.INFO) -> None:
    """Send log records to standard error, one line each: JSON, or text on a terminal. Request addresses are not logged."""
    logging.basicConfig(level=level, stream=sys.stderr, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    if not sys.stderr.isatty():
        for handler in logging.getLogger().handlers:
            handler.setFormatter(JsonLines())
        sys.excepthook = lambda kind, problem, trace: log.critical("it ended", exc_info=(kind, problem, trace))
    # These libraries log each request with its URL, which can be an alert receiver's secret.
    for name in ("httpx", "httpx2", "httpcore", "httpcore2"):
        logging.getLogger(name).setLevel(logging.WARNING)
