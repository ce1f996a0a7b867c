"""`flitwatch doctor`: check whether this site is ready."""

from __future__ import annotations

import sys

import click

from flitwatch.console import FiniteRange, json_option, print_result, stderr_console
from flitwatch_ops.home import home_folder

MARKS = {
    "ok": "[green]ok[/green]",
    "warning": "[yellow]look[/yellow]",
    "failed": "[red]failed[/red]",
    "skipped": "[dim]-[/dim]",
}


@click.command()
@click.option("--db", "db_url", envvar="FLITWATCH_DB", help="PostgreSQL URL of your database.")
@click.option("--log", "log_url", envvar="FLITWATCH_LOG", help="kafka://host:port of your broker, or a PostgreSQL URL.")
@click.option(
    "--listen",
    "listen_s",
    type=FiniteRange(0, 600),
    default=5.0,
    help="Seconds to listen on the log.",
)
@click.option(
    "--size",
    "size_of",
    help="Only estimate what a site needs: routers=N,ports=N,nics=N,hz=X [,port_counters=X,nic_counters=X].",
)
@json_option
def doctor(db_url: str | None, log_url: str | None, listen_s: float, size_of: str | None, as_json: bool) -> None:
    """Check connections, clocks, topics, schemas, rates and disk use per day before you start the platform. With --size, estimate the disk (TB),
    cores and memory of a planned site from measured costs per row and record.
    """
    if size_of is not None:
        _say_size(size_of, as_json)
        return
    from flitwatch_ops import site
    from flitwatch_ops.log_limits import log_limits
    from flitwatch_ops.supervisor import read_running_state

    state = read_running_state(home_folder()) or {}
    db_url, log_url = db_url or state.get("database"), log_url or state.get("log")
    rates: dict[str, site.TopicRate] = {}
    partitions: dict[str, int] = {}
    checks = [*site.check_machine(home_folder()), site.check_estimators(), *site.check_slurm()]
    if db_url:
        checks += site.check_database(db_url)
    else:
        checks.append(
            site.Check("database", "skipped", "no URL given", "--db URL checks a database; `make up` has its own")
        )
    if log_url:
        with stderr_console().status(f"listening for {listen_s:.0f} s"):
            checks += site.check_log(log_url, listen_s, rates, partitions)
    else:
        checks.append(site.Check("log", "skipped", "no URL given", "--log kafka://HOST:PORT checks a broker"))
    failed = any(check.state == "failed" for check in checks)
    limits = log_limits(log_url, partitions) if log_url and partitions else None
    disk = site.disk_a_day(rates, listen_s, limits) if rates else None
    if as_json:
        print_result({"healthy": not failed, "checks": [check.as_dict() for check in checks], "disk": disk}, True)
    else:
        for check in checks:
            stderr_console().print(
                f"{MARKS[check.state]:>6}  [bold]{check.name}[/bold]  {check.detail}", highlight=False
            )
            if check.advice:
                stderr_console().print(f"        {check.advice}", highlight=False, style="dim")
        if disk is not None:
            stderr_console().print(
                f"        about {disk['database_bytes_a_day'] / 1e9:.2f} GB a day of rows; "
                f"{disk['log_bytes_a_day_uncompressed'] / 1e9:.2f} GB a day arrive in the log"
                f" before compression{'' if limits is None else f', and {limits}'}",
                highlight=False,
            )
    if failed:
        sys.exit(1)


def _say_size(text: str, as_json: bool) -> None:
    from flitwatch_ops import sizing

    estimate = sizing.size_site(sizing.site_of(text))
    if as_json:
        print_result(estimate, True)
        return
    disk, cores, memory = estimate["disk_tb"], estimate["cores"], estimate["memory_gb"]
    lines = [
        f"rate     {estimate['values_per_s']:,} values/s, {estimate['records_per_s']:,.0f} records/s, {estimate['rows_per_s']:,.0f} rows/s",
        f"disk     {disk['plain']:.2f} TB on plain PostgreSQL, {disk['compressed']:.2f} TB compressed by TimescaleDB's full "
        f"edition; {disk['a_day'] * 1000:.0f} GB a day before compression",
        f"log      {disk['log_a_day_avro']:.2f} TB a day as Avro, {disk['log_a_day_json']:.2f} TB as JSON",
        *(
            f"{what:<8} {used['sum']:.1f} {unit}: writer {used['writer']:.2f}, database {used['database']:.2f}, log {used['log']:.2f}"
            for what, used, unit in (("cores", cores, "cores"), ("memory", memory, "GB"))
        ),
    ]
    lines += [
        f"{name:<12} {table['tb']:>8.3f} TB  "
        f"{'no limit, counted for a year' if table['keep_days'] is None else 'kept {:g} days'.format(table['keep_days'])}"
        for name, table in estimate["tables"].items()
    ]
    if not estimate["one_writer"]["fits"]:
        lines.append(
            f"More rows than one writer's connection can carry ({estimate['one_writer']['rows_per_s']:,} a second): send the "
            f"devices in several topics, and start a writer for each."
        )
    for line in lines:
        stderr_console().print(line, highlight=False, markup=False)
