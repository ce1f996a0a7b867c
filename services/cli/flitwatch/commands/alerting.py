"""`flitwatch alerting`: evaluate rules and notify receivers until stopped."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from flitwatch.console import Database, database_options, json_option, log_to_stderr, print_result, stop_on_signal
from flitwatch.metrics import add_figures, metrics_option
from flitwatch_ops.watched import own_heartbeat


@click.command()
@click.option(
    "--config",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    envvar="FLITWATCH_ALERTS",
    help="YAML file of rules and receivers (default: the built-in rules, without a receiver).",
)
@click.option(
    "--external-url",
    envvar="FLITWATCH_EXTERNAL_URL",
    help="Address of the page for links in notifications, if the file has none (default: http://127.0.0.1:8765).",
)
@click.option(
    "--job-webhook",
    metavar="URL",
    envvar="FLITWATCH_JOB_WEBHOOK",
    help="Receiver of a signed JSON message at the end of each job, with its verdict. By default, none is sent.",
)
@click.option(
    "--job-webhook-secret-file",
    type=click.Path(dir_okay=False, path_type=Path),
    envvar="FLITWATCH_JOB_WEBHOOK_SECRET_FILE",
    help="File with the secret that signs these messages: 24 to 64 bytes in Base64 (openssl rand -base64 32).",
)
@click.option("--check", is_flag=True, help="Check the file and the addresses in it, print its contents, and exit.")
@database_options
@json_option
@metrics_option
def alerting(
    config: Path | None,
    external_url: str | None,
    job_webhook: str | None,
    job_webhook_secret_file: Path | None,
    check: bool,
    database: Database,
    as_json: bool,
) -> None:
    """Evaluate alert rules and deliver alerts until stopped."""
    from flitwatch_alerting.config import read_config
    from flitwatch_alerting.engine import Engine
    from flitwatch_alerting.job_ends import read_webhook
    from flitwatch_ops.platform import SERVICE_PATIENCE_S

    chosen = read_config(config, external_url)
    webhook = read_webhook(job_webhook, job_webhook_secret_file, chosen.external_url)
    if check:
        chosen.check()
        print_result(
            {"rules": [rule.name for rule in chosen.rules], "receivers": [r.name for r in chosen.receivers]}, as_json
        )
        return
    log_to_stderr()
    stop = stop_on_signal()
    with database.open(SERVICE_PATIENCE_S, stop) as url:
        add_figures(url)
        engine = Engine(url, chosen, stop, heartbeat=own_heartbeat(), webhook=webhook)
        engine.run()
        print_result(asdict(engine.measures), as_json)
