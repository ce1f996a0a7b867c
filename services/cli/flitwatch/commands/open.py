"""`flitwatch open`: address of a job's page."""

from __future__ import annotations

import webbrowser
from urllib.parse import quote

import click

from flitwatch.console import exit_with_error, json_option, print_result
from flitwatch.rest import ApiOptions, api_options, open_client


@click.command("open")
@click.argument("job_id")
@click.option("--cluster", help="The job's cluster. By default, the newest job with this id is used.")
@click.option("--browser", is_flag=True, help="Also open the page in a browser.")
@api_options
@json_option
def open_(job_id: str, cluster: str | None, browser: bool, api: ApiOptions, as_json: bool) -> None:
    """Print the address of JOB_ID's page.

    Without --url or a profile, the command asks the platform of this checkout. Without --cluster, the page shows the newest job with that id.
    """
    at = api.require()
    with open_client(at) as fw:
        full_id = fw.api.job(job_id, cluster=cluster)["job_id"]
    page = f"{at.url}/jobs/{quote(full_id, safe='')}" + (f"?cluster={quote(cluster, safe='')}" if cluster else "")
    print_result({"page": page}, True) if as_json else click.echo(page)
    if browser and not webbrowser.open(page):
        exit_with_error("no browser was found: open the address above elsewhere, or set BROWSER")
