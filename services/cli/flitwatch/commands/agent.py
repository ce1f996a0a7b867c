"""`flitwatch agent slurm`: advice for a scheduler's jobs."""

from __future__ import annotations

import logging
import sys
from pathlib import Path

import click

from flitwatch.console import (
    FiniteRange,
    Group,
    exit_with_error,
    json_option,
    log_to_stderr,
    print_result,
    stop_on_signal,
)
from flitwatch.metrics import metrics_option
from flitwatch_domain.secret_file import check_private
from flitwatch_domain.trials import RECORD
from flitwatch_ops.watched import own_heartbeat


@click.group(cls=Group)
def agent() -> None:
    """Supply a scheduler with current advice."""


@agent.command()
@click.option(
    "--api",
    "api_url",
    envvar="FLITWATCH_API",
    default="http://127.0.0.1:8765",
    help="Address of the API.",
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
    help="Advice file that job_submit.lua reads.",
)
@click.option("--interval", type=FiniteRange(0.2, 600), default=15.0, help="Seconds between rounds.")
@click.option(
    "--limit",
    "limit_s",
    type=FiniteRange(5, 3600),
    default=120.0,
    help="Seconds after which job_submit.lua ignores the file.",
)
@click.option(
    "--act",
    is_flag=True,
    help="Also delay, release and place waiting jobs. Without this option, only the file is written.",
)
@click.option(
    "--hold",
    is_flag=True,
    help="Delay with `scontrol hold` instead of a start time. If the agent dies, a start time passes on its own, and a hold does not.",
)
@click.option(
    "--most-delay",
    type=FiniteRange(1, 86_400),
    default=1800.0,
    help="Longest total delay of a job in seconds.",
)
@click.option(
    "--most-jobs",
    type=click.IntRange(0, 100_000),
    default=50,
    help="Largest number of jobs delayed at the same time.",
)
@click.option("--exclude", is_flag=True, help="Exclude the worse nodes if groups have no node features.")
@click.option("--accept-stale", is_flag=True, help="Also use stale answers.")
@click.option(
    "--trial",
    type=FiniteRange(0, 1, min_open=True, max_open=True),
    help="Like --act, but only for this random share of the jobs. The other jobs are left alone, and no job gets advice at submission.",
)
@click.option(
    "--trial-file",
    type=click.Path(dir_okay=False, path_type=Path),
    default=RECORD,
    help="Record of the drawn jobs, which `flitwatch trial report` reads.",
)
@click.option("--once", is_flag=True, help="Run one round and exit.")
@click.option("--release", is_flag=True, help="Release every job that advice delayed, and exit.")
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
    """Write the advice file for job_submit.lua and, with --act, delay and place pending jobs. Run this as SlurmUser on slurmctld's host."""
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
    stop = stop_on_signal()
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
    """Print the agent's systemd unit for this installation. Save it as /etc/systemd/system/flitwatch-slurm.service on slurmctld's host."""
    import flitwatch_slurm

    # The program next to the current interpreter: a unit's search path does not include virtual environments.
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
            f"{file} contains no token: a token is one ASCII word, fwt_... (flitwatch tokens create)", code=2
        )
    return token.decode("ascii")
