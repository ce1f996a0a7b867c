"""`flitwatch blame`: interfering users, from the platform's stored estimate or from measured runs."""

from __future__ import annotations

from pathlib import Path

import click

from flitwatch import stored
from flitwatch.commands.blame_measured import judge_measured, show_measured
from flitwatch.console import exit_with_error, json_option, print_result
from flitwatch.rest import ApiOptions, api_options, application_options, open_client


@click.command()
@application_options(required=False)
@click.option(
    "--by",
    type=click.Choice(["user", "application"]),
    default="user",
    help="Rank users, or jobs of one name (--application).",
)
@click.option(
    "--most",
    type=click.IntRange(1, 1000),
    default=20,
    help="Number of names to list (--application).",
)
@click.option("--seed", type=click.IntRange(0, 2**31 - 1), default=1, help="Random seed of shuffles (--runs).")
@click.option(
    "--runs",
    type=click.Path(path_type=Path),
    help="CSV of measured runs: run,start,time_s[,nodes][,application][,circumstances...].",
)
@click.option("--exposure", type=click.Path(path_type=Path), help="CSV run,user,amount for --runs.")
@click.option(
    "--shuffles",
    type=click.IntRange(0, 100_000),
    default=100,
    help="Number of sets with shuffled run times. At most a tenth of them may name a user (--runs).",
)
@api_options
@json_option
def blame(
    application: str | None,
    nodes: int | None,
    by: str,
    most: int,
    seed: int,
    runs: Path | None,
    exposure: Path | None,
    shuffles: int,
    api: ApiOptions,
    as_json: bool,
) -> None:
    """Rank users whose jobs coincide with slow runs: stored verdicts (--application) or verdicts on measured runs (--runs). With --application, the command
    asks the API of --url or the profile, or the platform of this checkout.
    """
    if (application is None) == (runs is None) or (runs is None) != (exposure is None):
        exit_with_error("give one of --application NAME, --runs FILE with --exposure FILE", code=2)
    if application is not None:
        with open_client(api.require()) as fw:
            answer = stored.load_blame(fw, application, nodes, by, most)
        print_result(answer, True) if as_json else stored.show_blame(answer)
    elif runs is not None and exposure is not None:
        verdicts = judge_measured(runs, exposure, shuffles, seed)
        print_result(verdicts, True) if as_json else show_measured(verdicts)
