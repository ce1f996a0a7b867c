"""`flitwatch forecast`: the platform's stored forecasts of an application or a job."""

from __future__ import annotations

import click

from flitwatch import stored
from flitwatch.console import exit_with_error, json_option, print_result
from flitwatch.rest import ApiOptions, api_options, application_options, open_client


@click.command()
@application_options(required=False)
@click.option("--job", help="Id of a running job: forecast its total run time, with or without recorded steps.")
@api_options
@json_option
def forecast(application: str | None, nodes: int | None, job: str | None, api: ApiOptions, as_json: bool) -> None:
    """Forecast an application's running jobs (--application) or a job's run time (--job). The command asks the API of --url or the profile, or the
    platform of this checkout.
    """
    if (application is None) == (job is None):
        exit_with_error("give one of --application NAME, --job ID", code=2)
    with open_client(api.require()) as fw:
        if job is not None:
            run_time = stored.run_time(fw, job)
            print_result(run_time, True) if as_json else stored.show_run_time(run_time)
        elif application is not None:
            estimate = stored.load_forecast(fw, application, nodes)
            print_result(estimate, True) if as_json else stored.show_forecast(estimate)
