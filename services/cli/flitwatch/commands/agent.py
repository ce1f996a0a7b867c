"""`flitwatch agent slurm`: advice in front of a scheduler."""

from __future__ import annotations

import logging
import signal
import sys
import threading
from pathlib import Path

import click

from flitwatch.console import FiniteRange, Group, exit_with_error, json_option, log_to_stderr, print_result
from flitwatch.metrics import metrics_option
from flitwatch_domain.secret_file import check_private
from flitwatch_domain.trials import RECORD
from flitwatch_ops.watched import own_heartbeat


@click.group(cls=Group)
def agent() -> None:
    """Keep a scheduler's side fresh with advice."""


@agent.command()
@click.option(
    "--api",
    "api_url",
    envvar="FLITWATCH_API",
    default="http://127.0.0.1:8765",
    show_default=True,
    help="Where the API answers.",
)
@click.option(
    "--token-file",
    type=click.Path(dir_okay=False, exists=True, path_type=Path),
    envvar="FLITWATCH_TOKEN_FILE",
    help="File with an API token (role service).",
)
@click.option(
    "--file",
    "path",
    type=click.Path(dir_okay=False, path_type=Path),
    default=Path("/var/lib/flitwatch/slurm/advice"),
    show_default=True,
    help="File that job_submit.lua reads.",
)
@click.option("--interval", type=FiniteRange(0.2, 600), default=15.0, show_default=True, help="Seconds between rounds.")
@click.option(
    "--limit",
    "limit_s",
    type=FiniteRange(5, 3600),
    default=120.0,
    show_default=True,
    help="Seconds that a file may be used.",
)
@click.option(
    "--act", is_flag=True, help="Also delay, release and place jobs that wait. Without it only the file is written."
)
@click.option(
    "--hold",
    is_flag=True,
    help="Delay by `scontrol hold` instead of a start time that passes automatically when the agent dies.",
)
@click.option(
    "--most-delay",
    type=FiniteRange(1, 86_400),
    default=1800.0,
    show_default=True,
    help="Seconds that a job is delayed in all.",
)
@click.option(
    "--most-jobs", type=click.IntRange(0, 100_000), default=50, show_default=True, help="Jobs that are delayed at once."
)
@click.option(
    "--exclude", is_flag=True, help="Exclude the worse nodes where groups have no features of their own to prefer."
)
@click.option("--accept-stale", is_flag=True, help="Also use answers from state that is not renewed.")
@click.option(
    "--trial",
    type=FiniteRange(0, 1, min_open=True, max_open=True),
    help="As --act, but only for this share of the jobs, drawn at random; the others are left alone, and no advice is given at submission.",
)
@click.option(
    "--trial-file",
    type=click.Path(dir_okay=False, path_type=Path),
    default=RECORD,
    show_default=True,
    help="Record of who was drawn; `flitwatch trial report` reads it.",
)
@click.option("--once", is_flag=True, help="One round, then end.")
@click.option("--release", is_flag=True, help="Only end every delay that advice began, then end.")
@json_option
@metrics_option
def slurm(
    api_url: str,
    token_file: Path | None,
    path: Path,
    interval: float,
    limit_s: float,
    act: bool,
    hold: bool,
    most_delay: float,
    most_jobs: int,
    exclude: bool,
    accept_stale: bool,
    trial: float | None,
    trial_file: Path,
    once: bool,
    release: bool,
    as_json: bool,
) -> None:
    """Write the advice file of job_submit.lua and, with --act, delay and place pending jobs. Run it as SlurmUser alongside slurmctld."""
    from flitwatch_domain.errors import FlitwatchError
    from flitwatch_slurm import advice_file
    from flitwatch_slurm.agent import Agent
    from flitwatch_slurm.pending_jobs import Limits
    from flitwatch_slurm.questions import Api
    from flitwatch_slurm.trial import Trial

    log_to_stderr(logging.INFO)
    if release:
        print_result({"released": Agent(Api(api_url), path.absolute()).release("an operator ended it")}, as_json)
        return
    advice_file.check_folder(path.absolute().parent)
    limits = Limits(hold, max(4 * interval, 60.0), most_delay, most_jobs, exclude) if act or trial is not None else None
    token = _read_token(token_file) if token_file else ""
    trial_record = None
    if trial is not None:
        advice_file.check_folder(trial_file.absolute().parent)
        trial_record = Trial.open(trial_file.absolute(), trial)
    slurm_agent = Agent(
        Api(api_url, token), path.absolute(), limit_s, limits, accept_stale, max(3 * interval, 10.0), trial_record
    )
    if once:
        print_result(slurm_agent.cycle(), as_json)
        return
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    try:
        while not stop.is_set():
            own_heartbeat().beat()
            try:
                logging.info("%s", ", ".join(f"{count} {name}" for name, count in slurm_agent.cycle().items()))
            except FlitwatchError as problem:
                logging.warning("no advice: %s", problem)
            own_heartbeat().wait(stop, interval)
    finally:
        slurm_agent.stop()


@agent.command()
@json_option
def unit(as_json: bool) -> None:
    """Print the agent's systemd unit with the path of this installation: /etc/systemd/system/flitwatch-slurm.service on slurmctld's host."""
    import flitwatch_slurm

    # Beside the interpreter that runs this: a unit's search path knows no virtual environment.
    program = Path(sys.executable).with_name("flitwatch")
    text = (
        Path(flitwatch_slurm.__path__[0], "flitwatch-slurm.service")
        .read_text(encoding="utf-8")
        .replace("=flitwatch ", f"={program} ")
    )
    if as_json:
        print_result({"unit": text, "program": str(program)}, True)
    else:
        click.echo(text, nl=False)


def _read_token(file: Path) -> str:
    """Read the token in the file: printable ASCII, as an HTTP header requires."""
    check_private(file)
    token = file.read_bytes().strip()
    if not token or not all(0x21 <= byte <= 0x7E for byte in token):
        exit_with_error(
            f"{file} holds no token: a token is one word of ASCII, fwt_... (flitwatch tokens create)", code=2
        )
    return token.decode("ascii")
