"""`flitwatch deviation`: relevance of counters for the deviation of step times."""

from __future__ import annotations

import time
from pathlib import Path

import click

from flitwatch.console import exit_with_error, json_option, print_result
from flitwatch_research.commands.options import refuse_with_paper, scenario_options


@click.command()
@scenario_options("the twin and of the folds")
@click.option(
    "--inputs",
    type=click.Choice(["rates", "deltas"]),
    default="rates",
    help="Use counters per second, or as counted over a step, which contains its duration.",
)
@click.option(
    "--learner",
    type=click.Choice(["lightgbm", "gbr"]),
    default="lightgbm",
    help="Learner: LightGBM, or the paper's gradient-boosted regression.",
)
@click.option("--folds", type=click.IntRange(2, 50), default=10, help="Number of folds over runs.")
@click.option(
    "--split",
    type=click.Choice(["run", "row"]),
    default="run",
    help="How to split the data. 'row' is the paper's choice and gives optimistic results.",
)
@click.option(
    "--paper",
    is_flag=True,
    help="Use all settings of the paper: deltas, gradient-boosted regression, random split of rows.",
)
@click.option("--steps", type=click.Path(path_type=Path), help="CSV run,step,time,counter... instead of a scenario.")
@json_option
def deviation(
    scenario: str | None,
    seed: int,
    users: int,
    inputs: str,
    learner: str,
    folds: int,
    split: str,
    paper: bool,
    steps: Path | None,
    as_json: bool,
) -> None:
    """Compute the relevance of each counter for the deviation of step times from their mean."""
    if (scenario is None) == (steps is None):
        exit_with_error("give --scenario NAME or --steps FILE", code=2)
    refuse_with_paper("inputs", "learner", "split")
    if paper:
        inputs, learner, split = "deltas", "gbr", "row"
    from flitwatch_domain.counters import feature_of
    from flitwatch_domain.counters.features import answer_in_words
    from flitwatch_ml.deviation import DeviationModel
    from flitwatch_ml.work.deviation import group_rows

    notes: list[str] = []
    if scenario is not None:
        from flitwatch_research.campaign import COUNTER_NAMES, generate_campaign

        campaign = generate_campaign(scenario, seed, users)
        names, counts, times = list(COUNTER_NAMES), campaign.counters, campaign.times_s
    else:
        from flitwatch_research.tables import read_steps

        table = read_steps(steps)  # type: ignore[arg-type]
        names, counts, times = table.counters, table.counts, table.time_s
        notes = table.notes
    begun = time.perf_counter()
    model = DeviationModel(inputs=inputs, learner=learner, folds=folds, split=split, seed=seed)
    model.fit(counts, times, groups=[feature_of(name).group for name in names])
    groups = group_rows(model, names)
    ranks = {name: float(value) for name, value in zip(names, model.rank_, strict=True)}
    result = {
        "relevance": {name: float(value) for name, value in zip(names, model.relevance_, strict=True)},
        "rank": ranks,
        "relevance_spread": {name: float(value) for name, value in zip(names, model.relevance_spread_, strict=True)},
        "rank_spread": {name: float(value) for name, value in zip(names, model.rank_spread_, strict=True)},
        "constant": [name for name, constant in zip(names, model.constant_, strict=True) if constant],
        "mape": model.mape_,
        "baseline_mape": model.baseline_mape_,
        "planted": None,
        "rank_of_planted": None,
        "wall_s": time.perf_counter() - begun,
        "runs": model.runs_,
        "inputs": inputs,
        "split": split,
        "learner": learner,
        "groups": groups,
        "answer": answer_in_words(groups),
        "notes": notes,
        "simulated": scenario is not None,
    }
    if scenario is not None:
        from flitwatch_research.scoring import DeviationEstimate, score_estimate

        ranked: DeviationEstimate = {"rank": ranks}
        result |= score_estimate("deviation", scenario, seed, users, ranked)
    print_result(result, as_json)
