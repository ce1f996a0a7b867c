"""`flitwatch twin variants` and `twin campaign`: months of runs of one application, with the true causes of slow runs."""

from __future__ import annotations

from pathlib import Path

import click

from flitwatch.console import json_option, print_result


@click.command("variants")
@json_option
def variants(as_json: bool) -> None:
    """List the variants of campaigns, from easy to hard."""
    from flitwatch_research.campaign import VARIANTS

    print_result(
        {name: {"grade": variant.grade, "summary": variant.summary} for name, variant in VARIANTS.items()}, as_json
    )


@click.command("campaign")
@click.argument("application")
@click.option(
    "--variant",
    default="plain",
    help="Variant of the campaign; `flitwatch twin variants` lists them.",
)
@click.option("--seed", type=click.IntRange(0, 2**31 - 1), default=1, help="Random seed of the campaign.")
@click.option("--users", type=click.IntRange(40, 20000), default=300, help="Number of users on the machine.")
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), required=True, help="Output folder.")
@json_option
def campaign(application: str, variant: str, seed: int, users: int, out: Path, as_json: bool) -> None:
    """Simulate four months of runs of APPLICATION, for example amg-128, in a scenario. The command writes runs.csv, exposure.csv and steps.csv for `flitwatch
    deviation`, `forecast` and `blame`. truth.json has the true effect of each user and counter, computed without them.
    """
    from flitwatch_research.campaign import generate_campaign, generate_truth
    from flitwatch_research.campaign.dataset import write_campaign, write_truth

    scenario = application if variant == "plain" else f"{application}@{variant}"
    observed = generate_campaign(scenario, seed, users)
    write_campaign(out, observed)
    write_truth(out, generate_truth(scenario, seed, users), observed.user_names)
    print_result(
        {
            "scenario": scenario,
            "seed": seed,
            "runs": len(observed.run_key),
            "users": users,
            "simulated": True,
            "out": str(out),
        },
        as_json,
    )
