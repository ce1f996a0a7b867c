"""`flitwatch drivers`: counters that predict an application's slow steps, from the stored estimate."""

from __future__ import annotations

import click

from flitwatch.console import json_option, print_result
from flitwatch.rest import ApiOptions, api_options, application_options, open_client


@click.command()
@application_options(required=True, without_nodes="all")
@click.option(
    "--inputs",
    type=click.Choice(["rates", "deltas"]),
    default="rates",
    help="Use counters per second, or as counted over a step. The latter is the paper's choice and contains the step's duration.",
)
@api_options
@json_option
def drivers(application: str, nodes: int | None, inputs: str, api: ApiOptions, as_json: bool) -> None:
    """Rank the counters that predict an application's slow steps, from the platform's newest estimate.

    Without --url or a profile, the command asks the platform of this checkout. `flitwatch deviation` computes the same from files.
    """
    from flitwatch import stored

    with open_client(api.require()) as fw:
        estimate = stored.load_drivers(fw, application, nodes, inputs)
    print_result(estimate, True) if as_json else stored.show_drivers(estimate)
