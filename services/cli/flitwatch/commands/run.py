"""`flitwatch run`: run a program and report its steps."""

from __future__ import annotations

import os
import shutil
import socket
import sys
import tempfile
import uuid
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

import click

from flitwatch.console import exit_with_error, json_option_with, print_result
from flitwatch.program_run import monitor, program
from flitwatch.program_run.reports import Head, Report, list_kept, of_job, send_kept
from flitwatch.program_run.step_lines import PatternSteps, StepFile
from flitwatch.rest import ApiOptions, Place, api_options
from flitwatch_domain.errors import FlitwatchError

#: The API's limits for a run.
MOST_NODES, LONGEST_NAME, LONGEST_JOB = 20_000, 400, 60


class Pattern(click.ParamType):
    """Regular expression compiled by RE2, whose time is linear in the line's length."""

    name = "regex"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the pattern. Raise a usage error if it is invalid."""
        import re2

        quiet = re2.Options()
        quiet.log_errors = False
        try:
            return re2.compile(value, quiet)
        except re2.error as problem:
            reason = problem.args[0].decode() if problem.args and isinstance(problem.args[0], bytes) else str(problem)
            self.fail(f"it is not a regular expression of RE2: {reason}", param, ctx)


@click.command(context_settings={"allow_interspersed_args": False})
@click.option("--application", metavar="NAME", help="Name of the application. [default: the program's file name]")
@click.option(
    "--step-pattern",
    type=Pattern(),
    metavar="REGEX",
    help="Regular expression for an output line that ends a step. The groups (?P<step>…) and (?P<time>…) match its number and "
    "its seconds, if the program prints them.",
)
@click.option(
    "--send-kept",
    is_flag=True,
    help="Send reports that could not be sent earlier, and run nothing. A token given here is used only for its own platform.",
)
@click.option("--header", is_flag=True, help="Print the path of the C header that reports steps, and run nothing.")
# A missing token file must not stop the program, so it is read later than in other commands.
@partial(api_options, token_exists=False)
@json_option_with(
    "Print one JSON object on standard output. With COMMAND, print it as the last line of standard error."
)
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
def run(
    application: str | None,
    step_pattern: Any | None,
    send_kept: bool,
    header: bool,
    api: ApiOptions,
    as_json: bool,
    command: tuple[str, ...],
) -> None:
    """Run COMMAND unchanged, and report its steps to the platform: flitwatch run -- ./app --its-option

    COMMAND keeps its terminal, its signals and its exit status. Steps are read from lines `STEP SECONDS` that COMMAND appends to the file FLITWATCH_STEPS (the
    C header and `flitwatch_client.steps` do that), or, with --step-pattern, from its standard output. If reports cannot be sent, they are kept, and
    one message states this. Standard output is COMMAND's. With --json, the last line of standard error is an object with the result of the report, after COMMAND has
    ended. It is missing if the run cannot be reported at all.
    """
    if header:
        path = _locate_header()
        print_result({"header": path}, True) if as_json else click.echo(path)
    elif send_kept:
        _send_kept(api.require() if api.url or api.token_file or api.profile else None, as_json)
    elif not command:
        raise click.UsageError("name the program to run: flitwatch run -- ./app")
    else:
        _run_reported(command, application, step_pattern, api, as_json)


def _locate_header() -> str:
    import flitwatch_client

    return str(Path(flitwatch_client.__file__).with_name("flitwatch_steps.h"))


def _locate_run_folder() -> Path:
    return Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state", "flitwatch", "runs")


def _send_kept(place: Place | None, as_json: bool) -> None:
    files = list_kept(_locate_run_folder())
    problems = {file.name: problem for file in files if (problem := send_kept(file, place)) is not None}
    done = {"sent": len(files) - len(problems), "left": problems}
    if as_json:
        print_result(done, True)
    else:
        click.echo(f"sent {done['sent']} of {len(files)} runs")
    if problems:
        name, problem = next(iter(problems.items()))
        unsent_text = "1 run is" if len(problems) == 1 else f"{len(problems)} runs are"
        exit_with_error(f"{unsent_text} not sent; {_locate_run_folder() / name}: {problem}")


def _run_reported(
    command: tuple[str, ...], application: str | None, pattern: Any | None, api: ApiOptions, as_json: bool
) -> NoReturn:
    if shutil.which(command[0]) is None:
        program.exec_program(command)  # prints a message and exits as a shell would: there is no run to report
    ours = theirs = None
    try:
        place = api.require()
        token = place.token_file
        report = _make_report(command, application, Place(place.url, token.absolute() if token else None))
        handle, path = tempfile.mkstemp(prefix="flitwatch-steps-")
        os.close(handle)
        os.environ["FLITWATCH_STEPS"] = path
        steps, pattern_steps = StepFile(path), PatternSteps(pattern) if pattern else None
        if pattern_steps:
            ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        monitor.start_monitor(
            lambda ended: monitor.watch_program(ended, report, steps, pattern_steps, theirs, as_json),
            (theirs.fileno(),) if theirs else (),
        )
    except (FlitwatchError, click.ClickException, OSError, RuntimeError) as problem:
        message = problem.format_message() if isinstance(problem, click.ClickException) else str(problem)
        print(f"flitwatch: this run is not reported: {' '.join(message.split())}", file=sys.stderr)
        program.exec_program(command)
    if ours is None or theirs is None:
        program.exec_program(command)
    theirs.close()
    program.run_copying(command, ours)


def _make_report(command: tuple[str, ...], application: str | None, place: Place) -> Report:
    job, nodes = of_job(os.environ)
    name = "".join(c if c.isprintable() else "?" for c in application or Path(command[0]).name).strip()
    key = uuid.uuid4().hex
    head = Head(
        key,
        name[:LONGEST_NAME] or "unnamed",
        job[:LONGEST_JOB] if job else None,
        datetime.now(UTC).isoformat(),
        nodes[:MOST_NODES],
    )
    return Report(head, place, _locate_run_folder() / f"{key}.json")
