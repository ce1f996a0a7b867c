"""`flitwatch db`: migrate, inspect and maintain the database."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from flitwatch.commands.backup import backup, restore, verify
from flitwatch.console import (
    Database,
    Group,
    OutPath,
    database_options,
    json_option,
    log_to_stderr,
    make_progress,
    print_result,
    stderr_console,
)

if TYPE_CHECKING:
    from rich.progress import Progress

_FOLDER = click.Path(file_okay=False, path_type=Path)
#: One petabyte: larger than any database disk.
_MOST_GB = 1e6


def _check_gigabytes(context: click.Context, option: click.Parameter, value: float | None) -> float | None:
    # Click's own range would accept nan. Less than one byte would keep no data.
    if value is not None and not 1e-9 <= value <= _MOST_GB:
        raise click.BadParameter(f"{value:g} must be between one byte and {_MOST_GB:,.0f} GB")
    return value


@click.group(cls=Group)
def db() -> None:
    """Migrate, inspect and maintain the database."""


@db.command()
@database_options
@json_option
def migrate(database: Database, as_json: bool) -> None:
    """Migrate the database to this version and list the applied migrations. Other commands migrate it automatically."""
    import contextlib

    from flitwatch_db import connect, detect_edition, migrations
    from flitwatch_ops.embedded import Embedded
    from flitwatch_ops.platform import embedded_folder

    with contextlib.ExitStack() as stack:
        if database.ephemeral:
            url = stack.enter_context(database.open())
        else:
            url = database.url or stack.enter_context(Embedded(embedded_folder())).url
        applied = migrations.migrate_database(url)
        with connect(url, role="reader") as conn:
            print_result(
                {
                    "applied": applied,
                    "edition": detect_edition(conn),
                    "pending": migrations.list_pending_migrations(conn),
                },
                as_json,
            )


@db.command()
@database_options
@json_option
def status(database: Database, as_json: bool) -> None:
    """Show the edition and size of the database, and the size and retention of each time table."""
    from flitwatch_db import migrations
    from flitwatch_db.core.maintenance import load_database_status as read_status

    with database.connect(role="reader") as conn:
        report: dict[str, Any] = read_status(conn) | {"pending": migrations.list_pending_migrations(conn)}
    if as_json:
        print_result(report, as_json)
        return
    print_result({key: value for key, value in report.items() if key not in ("tables", "log")}, as_json)
    print(f"\n{'table':<14} {'chunks':>6} {'MB':>10}  {'kept':<10} newest")
    for name, table in report["tables"].items():
        retention = "no limit" if table["keep_days"] is None else f"{table['keep_days']:g} days"
        newest = table["newest"].isoformat() if table["newest"] else "-"
        print(f"{name:<14} {table['chunks']:>6} {table['bytes'] / 1e6:>10.1f}  {retention:<10} {newest}")
    log = report["log"]
    retention = f"{log['keep_days']:g} days, at most {log['keep_bytes'] / 1e9:.1f} GB"
    print(f"{'log':<14} {log['segments']:>6} {log['bytes'] / 1e6:>10.1f}  {retention}")


@db.command()
@click.option(
    "--keep",
    "keeps",
    multiple=True,
    metavar="TABLE=DAYS",
    help="Keep a table this many days, from now on ('forever' is allowed). 'log' is the embedded log, 'audit' the audit log (at "
    "least 30 days), and 'job' jobs with their runs.",
)
@click.option(
    "--log-gb",
    type=float,
    callback=_check_gigabytes,
    help="Keep at most this much of the embedded log, from now on.",
)
@click.option(
    "--tables-gb",
    type=float,
    callback=_check_gigabytes,
    help="Keep at most this much in the time tables, from now on (plain PostgreSQL). Above the limit, the largest table loses its oldest rows.",
)
@database_options
@json_option
def maintain(
    keeps: tuple[str, ...], log_gb: float | None, tables_gb: float | None, database: Database, as_json: bool
) -> None:
    """Delete data older than its retention. The worker does this automatically every ten minutes."""
    from flitwatch_db import connect
    from flitwatch_db.core import log_keep
    from flitwatch_db.core.maintenance import maintain_database as run
    from flitwatch_db.core.maintenance import set_jobs_kept, set_keep, set_tables_kept
    from flitwatch_db.people import audit

    limits = [_parse_keep(keep) for keep in keeps]
    with database.open() as url:
        with connect(url, role="owner") as conn:
            for table, days in limits:
                if table == "log":
                    log_keep.set_kept(conn, days=math.inf if days is None else days)
                elif table == "audit":
                    audit.set_kept(conn, days)
                elif table == "job":
                    set_jobs_kept(conn, days)
                else:
                    set_keep(conn, table, days)
                audit.by_command(conn, "db maintain", table, keep_days=days)
            if log_gb is not None:
                log_keep.set_kept(conn, size_bytes=int(log_gb * 1e9))
                audit.by_command(conn, "db maintain", "log", keep_gb=log_gb)
            if tables_gb is not None:
                set_tables_kept(conn, int(tables_gb * 1e9))
                audit.by_command(conn, "db maintain", "tables", keep_gb=tables_gb)
        with make_progress("maintaining") as bar:
            task = bar.add_task("maintaining")
            print_result(run(url, lambda done, total, what: bar.update(task, completed=done, total=total)), as_json)


@db.command()
@click.option(
    "--folder", type=_FOLDER, required=True, help="Folder for the passwords: SERVICE/pgpass, readable only by you."
)
@click.option(
    "--own", is_flag=True, help="Also set a random password for the login of --db, and write it to owner/pgpass."
)
@click.option(
    "--draw", is_flag=True, help="Only generate the passwords, without a database, for example for a secret store."
)
@click.option(
    "--wait",
    is_flag=True,
    help="Wait while the database does not answer, or has a newer schema that this version cannot use. By default, the command exits.",
)
@click.option(
    "--viewer",
    help="Also create a read-only login of this name, if FLITWATCH_VIEWER_PASSWORD sets its password.",
)
@click.option("--db", "db_url", envvar="FLITWATCH_DB", help="PostgreSQL URL with a login that can create roles.")
@json_option
def logins(
    folder: Path, own: bool, draw: bool, wait: bool, viewer: str | None, db_url: str | None, as_json: bool
) -> None:
    """Migrate your own server and create a login for each service. The command prints the URL (without a password) for each service. The embedded
    database needs no such step. You can run the command again: existing passwords in the folder are kept.
    """
    from flitwatch_db import migrations
    from flitwatch_db.core import logins as ours
    from flitwatch_ops.platform import wait_until_migrated

    if draw:
        ours.write_password_files(folder, ours.draw_passwords(folder, ours.LOGINS))
        print_result({service: str(ours.file_of(folder, service)) for service in (*ours.SERVICES, ours.OWNER)}, as_json)
        return
    if db_url is None:
        raise click.UsageError("name the server: --db URL (the embedded database has its services' logins already)")
    password = os.environ.get("FLITWATCH_VIEWER_PASSWORD")
    if wait:
        log_to_stderr()
        wait_until_migrated(db_url)
    else:
        migrations.migrate_database(db_url)
    print_result(dict(ours.set_up(db_url, folder, own, (viewer, password) if viewer and password else None)), as_json)


@db.command()
@click.argument("job_id")
@click.option("--cluster", help="The job's cluster. By default, the newest job with this id is used.")
@click.option("--out", type=OutPath(), help="Output file. By default, job-ID.zip in the current folder.")
@database_options
@json_option
def evidence(job_id: str, cluster: str | None, out: Path | None, database: Database, as_json: bool) -> None:
    """Write all data about a job to one file, with the real names of users."""
    from flitwatch_db import connect
    from flitwatch_db.jobs.evidence import export_evidence

    path = out or Path(f"job-{job_id.replace('/', '_')}.zip")
    with (
        database.open() as url,
        connect(url, role="reader", autocommit=True) as conn,
        make_progress("exporting") as bar,
    ):
        _record_audit(url, "db evidence", job_id, cluster=cluster, file=str(path.absolute()))
        task = bar.add_task("exporting")
        summary = export_evidence(
            conn, job_id, path, cluster, lambda done, total, what: bar.update(task, completed=done, total=total)
        )
    print_result(
        {"file": str(path), "bytes": path.stat().st_size, "simulated": summary["simulated"], "rows": summary["rows"]},
        as_json,
    )


@db.command()
@click.argument("user")
@click.option("--yes", is_flag=True, help="Delete the rows. Without this option, they are only counted.")
@click.option(
    "--archive",
    "archives",
    multiple=True,
    type=_FOLDER,
    help="Also delete from this archive. The archive of the policy is always included.",
)
@click.option("--account", is_flag=True, help="Also delete the account of that name, with its sessions and tokens.")
@database_options
@json_option
def erase(user: str, yes: bool, archives: tuple[Path, ...], account: bool, database: Database, as_json: bool) -> None:
    """Delete a user's jobs, runs and all results that name the user, from the database and from archives. Counters, the log, backups and the audit
    log are kept."""
    from flitwatch_db.archive.policy import forget_user, load_policy
    from flitwatch_db.people import accounts as people
    from flitwatch_db.people import audit
    from flitwatch_db.people.erasure import erase_user as run
    from flitwatch_db.people.erasure import list_remaining as rest

    with database.connect(role="owner", autocommit=True) as conn:
        folders = _archives_of(load_policy(conn), archives)
        # Report an archive's refusal before the first row is deleted.
        archive_rows = {str(folder): forget_user(folder, user, dry_run=True) for folder in folders}
        with conn.transaction():
            row_counts = run(conn, user, dry_run=not yes)
            stays = rest(conn, user)
            has_account = people.has_account(conn, user)
            if yes and account and has_account:
                people.remove_account(conn, user)
            if yes:
                # Without the user's name: the audit log is permanent.
                audit.by_command(
                    conn,
                    "db erase",
                    rows=row_counts,
                    archives=[str(folder) for folder in archives],
                    account=account and has_account,
                )
    if yes:
        archive_rows = {str(folder): forget_user(folder, user) for folder in folders}
    details: dict[str, Any] = {"archives": archive_rows} if archive_rows else {}
    if has_account:
        details["account"] = "stays" if not account else "deleted" if yes else "counted"
        if not account:
            stderr_console().print(
                f"the account {user} is kept: --account deletes it too, with its sessions and tokens"
            )
    if stays:
        details["left"] = stays
    if not as_json:
        details.pop("left", None)
        for line in stays:
            stderr_console().print(line, markup=False, soft_wrap=True)
    print_result({"deleted": yes, "rows": row_counts} | details, as_json)


@db.command()
@click.argument("name")
@click.option("--yes", is_flag=True, help="Remove the fabric. Without this option, the rows are only counted.")
@database_options
@json_option
def remove_fabric(name: str, yes: bool, database: Database, as_json: bool) -> None:
    """Remove the fabric NAME with its topology, counters, gaps, routes, alerts and recommendations, for example after an import under a wrong name.

    Its jobs move to another fabric that knows their nodes, if there is one. The command refuses while counters still arrive, while tables for the
    fabric are staged for OpenSM, or while a task uses it. Archives, backups, the audit log, alert rules and silences are kept; the command lists the
    rules and silences. A later import under this name starts empty. The removal is recorded in the audit log.
    """
    from flitwatch_db.fabrics import removal, store
    from flitwatch_db.people import audit

    with database.connect(role="owner", autocommit=True) as conn:
        fabric = store.get_fabric_row(conn, name).name
        contents = removal.count_stored(conn, fabric)
        if yes:
            # Before the start: an interrupted removal has also removed data.
            audit.by_command(conn, "db remove-fabric", fabric, rows=contents.rows, jobs=contents.jobs)
            with make_progress() as bar:
                contents = removal.remove_fabric(conn, fabric, _show_steps(bar, "removing"))
    for line in contents.left:
        stderr_console().print(line, markup=False, soft_wrap=True)
    print_result(
        {"fabric": fabric, "removed": yes, "rows": contents.rows, "jobs": contents.jobs, "left": contents.left}, as_json
    )


def _archives_of(by_itself: Any, named: tuple[Path, ...]) -> list[Path]:
    """Return the archives to erase from: the named ones, and the automatic one if it is on this machine."""
    folders = [folder.absolute() for folder in named]
    if by_itself is not None and Path(by_itself.folder).exists():
        folders.append(Path(by_itself.folder).absolute())
    elif by_itself is not None:
        stderr_console().print(
            f"the archive {by_itself.folder} is not on this machine: run the same command with --archive on the machine that has it"
        )
    return list(dict.fromkeys(folders))


@db.command()
@click.option(
    "--before",
    type=click.DateTime(["%Y-%m-%d", "%Y-%m-%dT%H:%M:%S"]),
    help="Archive jobs that ended before this time (UTC).",
)
@click.option(
    "--jobs", multiple=True, metavar="ID", help="Id of a job to archive, as the scheduler prints it (repeatable)."
)
@click.option("--cluster", help="The job's cluster, if several clusters use the same ids.")
@click.option("--out", type=_FOLDER, required=True, help="Folder of the archive. A new one is created.")
@database_options
@json_option
def archive(
    before: datetime | None, jobs: tuple[str, ...], cluster: str | None, out: Path, database: Database, as_json: bool
) -> None:
    """Write ended jobs, their runs and their routers' counters to Parquet. Jobs that are already in the archive are skipped, so you can cancel this
    command and run it again."""
    from flitwatch_db.archive import write_archive as run

    with database.open() as url, make_progress() as bar:
        _record_audit(
            url,
            "db archive",
            str(out.absolute()),
            before=before and before.isoformat(),
            jobs=list(jobs),
            cluster=cluster,
        )
        summary = run(
            url,
            out,
            before=None if before is None else before.replace(tzinfo=UTC),
            jobs=jobs,
            cluster=cluster,
            on_step=_show_steps(bar, "archiving"),
        )
    summary["rows"] = {table: rows for table, rows in summary["rows"].items() if rows}
    print_result(summary if as_json else summary | {"parts": len(summary["parts"])}, as_json)


@db.command()
@click.argument("folder", type=_FOLDER)
@click.option("--month", "months", multiple=True, metavar="YYYY-MM", help="Restore only this month (repeatable).")
@database_options
@json_option
def restore_archive(folder: Path, months: tuple[str, ...], database: Database, as_json: bool) -> None:
    """Verify an archive and restore its jobs to the database, each once. Jobs of erased users are not restored."""
    from flitwatch_db.archive import restore_archive as run

    with database.open() as url, make_progress() as bar:
        _record_audit(url, "db restore-archive", str(folder.absolute()), months=list(months))
        print_result(run(url, folder, months=months, on_step=_show_steps(bar, "restoring")), as_json)


@db.command()
@click.option(
    "--folder",
    type=_FOLDER,
    help="Absolute path of a folder that every worker can reach. Without options, the current policy is shown.",
)
@click.option(
    "--after-days",
    type=float,
    default=1.0,
    help="Archive each day this many days after it ends. Below 2, the archive includes the counters for each second.",
)
@click.option(
    "--drop-after-days",
    type=float,
    help="Delete archived jobs this many days after they end. By default, jobs are kept.",
)
@click.option("--off", is_flag=True, help="Stop automatic archiving.")
@database_options
@json_option
def archive_policy(
    folder: Path | None, after_days: float, drop_after_days: float | None, off: bool, database: Database, as_json: bool
) -> None:
    """Archive ended jobs once a day, before retention deletes their counters. Optionally delete old jobs once they are archived."""
    from flitwatch_db.archive.policy import Policy, load_policy, set_policy
    from flitwatch_db.people import audit

    if off and folder is not None:
        raise click.UsageError("--off and --folder cannot be combined")
    parameter_source = click.get_current_context().get_parameter_source
    if folder is None and any(
        parameter_source(name) is ParameterSource.COMMANDLINE for name in ("after_days", "drop_after_days")
    ):
        raise click.UsageError("--after-days and --drop-after-days need the folder: give --folder too")
    new_policy = None if folder is None else Policy(str(folder), after_days, drop_after_days)
    with database.connect(role="owner", autocommit=True) as conn:
        if off or new_policy is not None:
            set_policy(conn, new_policy)
            audit.by_command(
                conn,
                "db archive-policy",
                None if new_policy is None else new_policy.folder,
                off=off,
                after_days=after_days,
                drop_after_days=drop_after_days,
            )
        stored_policy = load_policy(conn)
    print_result({"policy": None if stored_policy is None else asdict(stored_policy)}, as_json)


def _record_audit(url: str, action: str, target: str, **details: Any) -> None:
    """Record, before it happens, an action that removes names from the database or restores them."""
    from flitwatch_db import connect
    from flitwatch_db.people import audit

    with connect(url, role="gate", application="flitwatch audit") as conn:
        audit.by_command(conn, action, target, **details)


def _show_steps(bar: Progress, what: str) -> Callable[[int, int, str], None]:
    task = bar.add_task(what)
    return lambda done, total, part: bar.update(task, completed=done, total=total, description=f"{what} {part}"[:60])


def _parse_keep(text: str) -> tuple[str, float | None]:
    table, _, days = text.partition("=")
    if days == "forever":
        return table, None
    try:
        number = float(days)
    except ValueError:
        number = -1.0
    if not 0 < number < 1e6:
        raise click.BadParameter(f"{text!r} is not TABLE=DAYS", param_hint="--keep")
    return table, number


for _command in (backup, restore, verify):
    db.add_command(_command)
