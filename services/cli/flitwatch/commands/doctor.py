"""`flitwatch doctor`: is this site ready?"""

from __future__ import annotations

import sys

import click

from flitwatch.console import FiniteRange, emit, json_option, stderr
from flitwatch_ops.home import home

MARKS = {
    "ok": "[green]ok[/green]",
    "warning": "[yellow]look[/yellow]",
    "failed": "[red]failed[/red]",
    "skipped": "[dim]-[/dim]",
}


@click.command()
@click.option("--db", "db_url", envvar="FLITWATCH_DB", help="PostgreSQL URL of the site's database.")
@click.option(
    "--log", "log_url", envvar="FLITWATCH_LOG", help="kafka://host:port of the site's broker, or a PostgreSQL URL."
)
@click.option(
    "--listen",
    "listen_s",
    type=FiniteRange(0, 600),
    default=5.0,
    show_default=True,
    help="Seconds to listen on the log.",
)
@json_option
def doctor(db_url: str | None, log_url: str | None, listen_s: float, as_json: bool) -> None:
    """Check reachability, clocks, topics, schemas seen, rates, and disk a day, before the platform is started."""
    from flitwatch_ops import site
    from flitwatch_ops.log_limits import log_limits
    from flitwatch_ops.supervisor import running

    state = running(home()) or {}
    db_url, log_url = db_url or state.get("database"), log_url or state.get("log")
    rates: dict[str, site.TopicRate] = {}
    partitions: dict[str, int] = {}
    checks = [*site.check_machine(home()), *site.check_slurm()]
    if db_url:
        checks += site.check_database(db_url)
    else:
        checks.append(
            site.Check(
                "database", "skipped", "no URL given", "--db URL checks a database; without, `make up` brings its own"
            )
        )
    if log_url:
        with stderr.status(f"listening for {listen_s:.0f} s"):
            checks += site.check_log(log_url, listen_s, rates, partitions)
    else:
        checks.append(site.Check("log", "skipped", "no URL given", "--log kafka://HOST:PORT checks a broker"))
    failed = any(check.state == "failed" for check in checks)
    limits = log_limits(log_url, partitions) if log_url and partitions else None
    disk = site.disk_a_day(rates, listen_s, limits) if rates else None
    if as_json:
        emit({"healthy": not failed, "checks": [check.as_dict() for check in checks], "disk": disk}, True)
    else:
        for check in checks:
            stderr.print(f"{MARKS[check.state]:>6}  [bold]{check.name}[/bold]  {check.detail}", highlight=False)
            if check.advice:
                stderr.print(f"        {check.advice}", highlight=False, style="dim")
        if disk is not None:
            stderr.print(
                f"        about {disk['database_bytes_a_day'] / 1e9:.2f} GB a day of rows; {disk['log_bytes_a_day_uncompressed'] / 1e9:.2f} GB a day come to the log"
                f" before compression{'' if limits is None else f', and {limits}'}",
                highlight=False,
            )
    if failed:
        sys.exit(1)
