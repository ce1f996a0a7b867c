"""`flitwatch ranking`: ranking of users by exposure or by the paper's mutual information, from a scenario of the twin or from tables."""

from __future__ import annotations

import math
import time
from pathlib import Path
from typing import Any, TypedDict

import click

from flitwatch.console import (
    FiniteRange,
    exit_with_error,
    json_option,
    print_result,
    stderr_console,
)
from flitwatch_research.commands.options import list_given_options, refuse_with_paper, scenario_options

CAVEAT = "Dependence between presence and slow runs; not proof of cause."


@click.command()
@scenario_options("the twin and of permutations")
@click.option(
    "--method",
    type=click.Choice(["exposure", "mi"]),
    default="exposure",
    help="Method: exposure (ours), or the paper's mutual information (mi).",
)
@click.option(
    "--rule",
    type=click.Choice(["throughout", "any"]),
    default="any",
    help="When a user counts as present (mi).",
)
@click.option(
    "--tau",
    type=FiniteRange(min=0, min_open=True),
    default=1.0,
    help="A run counts as optimal below tau times the mean time.",
)
@click.option(
    "--paper",
    is_flag=True,
    help="Use all settings of the paper: mi, tau 1, presence throughout, more than 128 nodes (--runs: nodes in any part of a run).",
)
@click.option(
    "--runs",
    type=click.Path(path_type=Path),
    help="CSV of measured runs: run,start,time_s[,nodes][,application][,circumstances...].",
)
@click.option("--exposure", type=click.Path(path_type=Path), help="CSV run,user,amount for --runs.")
@click.option("--presence", type=click.Path(path_type=Path), help="CSV run,user,overlap instead of a scenario.")
@click.option("--times", type=click.Path(path_type=Path), help="CSV run,time for --presence.")
@json_option
def ranking(
    scenario: str | None,
    seed: int,
    users: int,
    method: str,
    rule: str,
    tau: float,
    paper: bool,
    runs: Path | None,
    exposure: Path | None,
    presence: Path | None,
    times: Path | None,
    as_json: bool,
) -> None:
    """Rank users whose jobs coincide with slow runs. The input is a scenario of the twin, tables of presence and times, or measured runs (--method mi)."""
    sources = [scenario is not None, presence is not None, runs is not None]
    if sum(sources) != 1 or (presence is None) != (times is None) or (runs is None) != (exposure is None):
        exit_with_error(
            "give one of --scenario NAME, --presence FILE with --times FILE, --runs FILE with --exposure FILE", code=2
        )
    refuse_with_paper("method", "rule", "tau")
    if runs is not None and "rule" in list_given_options("rule"):
        exit_with_error("--runs has amounts, not shares of a run: --rule needs --presence", code=2)
    if paper:
        method, tau, rule = "mi", 1.0, "any" if runs is not None else "throughout"
    if runs is not None and method == "exposure":
        exit_with_error("--runs needs --paper or --method mi; `flitwatch blame --runs` gives the verdicts", code=2)
    user_ranking: _Ranking = (
        _of_scenario(scenario, seed, users, method, rule, tau)
        if scenario is not None
        else _of_runs(runs, exposure, tau, paper)
        if runs is not None and exposure is not None
        else _of_tables(presence, times, method, rule, tau)  # type: ignore[arg-type]
    )
    result: dict[str, Any] = (
        {"notes": []} | dict(user_ranking) | {"method": method, "caveat": CAVEAT, "simulated": scenario is not None}
    )
    if scenario is not None:
        from flitwatch_research.scoring import BlameEstimate, score_estimate

        estimate: BlameEstimate = {
            "ranking": user_ranking["ranking"],
            "q": [user["q"] for user in user_ranking["users"]],
        }
        result |= score_estimate("blame", scenario, seed, users, estimate)
    ranking = result.pop("ranking")
    result["users"] = [result["users"][index] for index in ranking]
    if as_json:
        print_result(result, True)
    else:
        _print_ranking(result)


class _RankedUser(TypedDict):
    """A user's score, mutual information in bits, sign, p-value, false discovery rate (None: not testable), and number of exposed runs."""

    user: str
    score: float
    mi_bits: float
    sign: int
    p: float | None
    q: float | None
    testable: bool
    exposed_runs: int


class _Ranking(TypedDict):
    """Users, and their indices in order of rank."""

    users: list[_RankedUser]
    ranking: list[int]
    runs: int
    wall_s: float


class _TableRanking(_Ranking):
    """A ranking from measured runs, whose truth is unknown."""

    truth: None
    precision_at_10: None
    false_share: None
    notes: list[str]


def _of_scenario(scenario: str, seed: int, users: int, method: str, rule: str, tau: float) -> _Ranking:
    from flitwatch_ml.blame.strata import hour_and_weekend
    from flitwatch_research.campaign import generate_campaign

    campaign = generate_campaign(scenario, seed, users)
    names = list(campaign.user_names)
    strata = hour_and_weekend(campaign.run_start_s)
    return _estimate_blame(names, campaign.exposure, campaign.overlap, campaign.run_time_s, strata, method, rule, tau)


def _of_tables(presence: Path, times: Path, method: str, rule: str, tau: float) -> _TableRanking:
    from flitwatch_research.tables import read_presence

    table = read_presence(presence, times)
    if rule == "throughout" and table.overlap.max() > 1:
        exit_with_error(
            "'throughout' needs overlaps that are shares of the run, 0 to 1: divide the seconds by the run's time"
        )
    result = _estimate_blame(table.users, table.overlap, table.overlap, table.time_s, None, method, rule, tau)
    return {**result, "truth": None, "precision_at_10": None, "false_share": None, "notes": table.notes}


def _of_runs(runs: Path, exposure: Path, tau: float, paper: bool) -> _TableRanking:
    """Return mutual information from measured runs; the paper's jobs of more than 128 nodes correspond to amounts above 128."""
    from flitwatch_domain.neighbourhood import LARGE_JOB_NODES
    from flitwatch_ml.measured import read_measured

    data = read_measured(runs, exposure)
    there = (data.exposure >= LARGE_JOB_NODES if paper else data.exposure > 0).astype(float)
    result = _estimate_blame(data.users, there, there, data.time_s, None, "mi", "any", tau)
    return {**result, "truth": None, "precision_at_10": None, "false_share": None, "notes": data.notes}


def _estimate_blame(
    names: list[str], exposure: Any, overlap: Any, time_s: Any, strata: Any, method: str, rule: str, tau: float
) -> _Ranking:
    from flitwatch_ml.blame import ExposureBlame, PresenceBlame

    begun = time.perf_counter()
    paper = PresenceBlame(tau=tau, rule=rule).fit(overlap, time_s)
    chosen = paper if method == "mi" else ExposureBlame().fit(exposure, time_s, strata)
    wall_s = time.perf_counter() - begun
    rows: list[_RankedUser] = [
        {
            "user": name,
            "score": float(chosen.score_[index]),
            "mi_bits": float(paper.mi_bits_[index]),
            "sign": int(chosen.sign_[index]),
            "p": _none_if_nan(chosen.p_value_[index]),
            "q": _none_if_nan(chosen.q_value_[index]),
            "testable": bool(chosen.testable_[index]),
            "exposed_runs": int(chosen.exposed_runs_[index]),
        }
        for index, name in enumerate(names)
    ]
    return {"users": rows, "ranking": [int(index) for index in chosen.ranking_], "runs": len(time_s), "wall_s": wall_s}


def _none_if_nan(value: float) -> float | None:
    return None if math.isnan(value) else float(value)


def _print_ranking(result: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(title=f"{result['runs']} runs{', simulated' if result['simulated'] else ''}", caption=CAVEAT)
    for heading in ("user", "score", "MI, bits", "q", "exposed runs"):
        table.add_column(heading, justify="left" if heading == "user" else "right")
    for user in result["users"][:15]:
        q = "not testable" if not user["testable"] else f"{user['q']:.3g}"
        table.add_row(user["user"], f"{user['score']:.2f}", f"{user['mi_bits']:.4f}", q, str(user["exposed_runs"]))
    Console().print(table)
    for note in result.get("notes", ()):
        stderr_console().print(note, highlight=False)
