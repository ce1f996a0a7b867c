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
    Group,
    OutPath,
    database_options,
    json_option,
    log_to_stderr,
    make_progress,
    print_result,
    stderr_console,
)
from flitwatch_ops.platform import open_database

if TYPE_CHECKING:
    from rich.progress import Progress

_FOLDER = click.Path(file_okay=False, path_type=Path)
#: A petabyte: no disk of a database is larger.
_MOST_GB = 1e6


def _check_gigabytes(context: click.Context, option: click.Parameter, value: float | None) -> float | None:
    # Not a range of click's: that takes what is not a number for one within. Less than a byte would keep nothing.
    if value is not None and not 1e-9 <= value <= _MOST_GB:
        raise click.BadParameter(f"{value:g} is not a size from a byte to {_MOST_GB:,.0f} GB")
    return value


@click.group(cls=Group)
def db() -> None:
    """Migrate, inspect and maintain the database."""


@db.command()
@database_options
@json_option
def migrate(db_url: str | None, ephemeral: bool, as_json: bool) -> None:
    """Bring the database to this version (every command does so automatically; this one tells what it did)."""
    import contextlib

    from flitwatch_db import connect, detect_edition, migrations
    from flitwatch_ops.embedded import Embedded
    from flitwatch_ops.platform import embedded_folder

    with contextlib.ExitStack() as stack:
        if ephemeral:
            url = stack.enter_context(open_database(None, ephemeral=True))
        else:
            url = db_url or stack.enter_context(Embedded(embedded_folder())).url
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
def status(db_url: str | None, ephemeral: bool, as_json: bool) -> None:
    """Show edition, size, and how much each table of times holds and keeps."""
    from flitwatch_db import connect, migrations
    from flitwatch_db.core.maintenance import load_database_status as read_status

    with open_database(db_url, ephemeral) as url, connect(url, role="reader") as conn:
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
    help="Keep a table this many days ('forever' is allowed; 'log' is the embedded stack's log, 'audit' the audit log, 30 days at least, 'job' jobs with their runs); stays set.",
)
@click.option(
    "--log-gb",
    type=float,
    callback=_check_gigabytes,
    help="Keep so much of the embedded stack's log at most; stays set.",
)
@click.option(
    "--tables-gb",
    type=float,
    callback=_check_gigabytes,
    help="Keep so much of the tables of times at most, in plain PostgreSQL: the largest loses its oldest rows; stays set.",
)
@database_options
@json_option
def maintain(
    keeps: tuple[str, ...],
    log_gb: float | None,
    tables_gb: float | None,
    db_url: str | None,
    ephemeral: bool,
    as_json: bool,
) -> None:
    """Drop what is older than it is kept; the worker does so every ten minutes automatically."""
    from flitwatch_db import connect
    from flitwatch_db.core import log_keep
    from flitwatch_db.core.maintenance import maintain_database as run
    from flitwatch_db.core.maintenance import set_jobs_kept, set_keep, set_tables_kept
    from flitwatch_db.people import audit

    limits = [_parse_keep(keep) for keep in keeps]
    with open_database(db_url, ephemeral) as url:
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
    "--folder", type=_FOLDER, required=True, help="Where to keep the passwords: SERVICE/pgpass, readable by you only."
)
@click.option("--own", is_flag=True, help="Give the login of --db a random password too, kept in owner/pgpass.")
@click.option(
    "--draw", is_flag=True, help="Only draw the passwords, with no database: to put them where secrets are kept."
)
@click.option(
    "--wait",
    is_flag=True,
    help="Wait, rather than end, while the database does not answer or is of a newer version on which this one cannot run.",
)
@click.option(
    "--viewer",
    help="Also a login of this name that only reads; its password is FLITWATCH_VIEWER_PASSWORD, without which it is not made.",
)
@click.option("--db", "db_url", envvar="FLITWATCH_DB", help="PostgreSQL URL with a login that may create roles.")
@json_option
def logins(
    folder: Path, own: bool, draw: bool, wait: bool, viewer: str | None, db_url: str | None, as_json: bool
) -> None:
    """Migrate a server of yours and give each service a login of its own; prints the URL (without a password) that each service takes.

    The embedded database does so automatically. Run it again whenever you like: passwords that the folder holds stay.
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
@click.option("--cluster", help="Where several clusters use the same id; else the newest.")
@click.option("--out", type=OutPath(), help="The file; by default job-ID.zip in this folder.")
@database_options
@json_option
def evidence(
    job_id: str, cluster: str | None, out: Path | None, db_url: str | None, ephemeral: bool, as_json: bool
) -> None:
    """Write everything that is known about a job to one file, with its users' real names."""
    from flitwatch_db import connect
    from flitwatch_db.jobs.evidence import export_evidence

    path = out or Path(f"job-{job_id.replace('/', '_')}.zip")
    with (
        open_database(db_url, ephemeral) as url,
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
@click.option("--yes", is_flag=True, help="Delete; without it the rows are only counted.")
@click.option(
    "--archive", "archives", multiple=True, type=_FOLDER, help="Also from this archive (that of archive-policy always)."
)
@click.option("--account", is_flag=True, help="Also the account of that name, with its sessions and tokens.")
@database_options
@json_option
def erase(
    user: str, yes: bool, archives: tuple[Path, ...], account: bool, db_url: str | None, ephemeral: bool, as_json: bool
) -> None:
    """Delete a user's jobs, runs and every kept result that names the user, here and in archives; counters, the log, backups and the audit log stay."""
    from flitwatch_db import connect
    from flitwatch_db.archive.forgetting import forget_user
    from flitwatch_db.archive.policy import load_policy
    from flitwatch_db.people import accounts as people
    from flitwatch_db.people import audit
    from flitwatch_db.people.erasure import erase_user as run
    from flitwatch_db.people.erasure import list_remaining as rest

    with open_database(db_url, ephemeral) as url, connect(url, role="owner", autocommit=True) as conn:
        folders = _archives_of(load_policy(conn), archives)
        # Whatever an archive refuses is said before the first row goes.
        archive_rows = {str(folder): forget_user(folder, user, dry_run=True) for folder in folders}
        with conn.transaction():
            row_counts = run(conn, user, dry_run=not yes)
            stays = rest(conn, user)
            has_account = people.has_account(conn, user)
            if yes and account and has_account:
                people.remove_account(conn, user)
            if yes:
                # Without the name: the audit log is kept for good.
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
            stderr_console().print(f"the account {user} stays: --account deletes it too, with its sessions and tokens")
    if stays:
        details["left"] = stays
    if not as_json:
        details.pop("left", None)
        for line in stays:
            stderr_console().print(line, markup=False, soft_wrap=True)
    print_result({"deleted": yes, "rows": row_counts} | details, as_json)


@db.command()
@click.argument("name")
@click.option("--yes", is_flag=True, help="Remove; without it the rows are only counted.")
@database_options
@json_option
def remove_fabric(name: str, yes: bool, db_url: str | None, ephemeral: bool, as_json: bool) -> None:
    """Remove fabric NAME with its topology, counters, gaps, routes, alerts and recommendations, for instance one that was imported under a wrong name.

    Jobs that are on it find their place again, on another fabric that knows their nodes or on none. Refused while counters still come, while tables for it are
    staged for OpenSM, or while a task works on it. Archives, backups and the audit log stay, and so do alert rules and silences, which are named. Importing
    the name again begins with nothing. The audit log keeps who did it.
    """
    from flitwatch_db import connect
    from flitwatch_db.fabrics import removal, store
    from flitwatch_db.people import audit

    with open_database(db_url, ephemeral) as url, connect(url, role="owner", autocommit=True) as conn:
        fabric = store.get_fabric_row(conn, name).name
        contents = removal.count_stored(conn, fabric)
        if yes:
            # Before it begins: a removal that is interrupted has removed something too.
            audit.by_command(conn, "db remove-fabric", fabric, rows=contents.rows, jobs=contents.jobs)
            with make_progress() as bar:
                contents = removal.remove_fabric(conn, fabric, _show_steps(bar, "removing"))
    for line in contents.left:
        stderr_console().print(line, markup=False, soft_wrap=True)
    print_result(
        {"fabric": fabric, "removed": yes, "rows": contents.rows, "jobs": contents.jobs, "left": contents.left}, as_json
    )


def _archives_of(by_itself: Any, named: tuple[Path, ...]) -> list[Path]:
    """Archives to erase from: those named, and the one that is written automatically where it is on this machine."""
    folders = [folder.absolute() for folder in named]
    if by_itself is not None and Path(by_itself.folder).exists():
        folders.append(Path(by_itself.folder).absolute())
    elif by_itself is not None:
        stderr_console().print(
            f"the archive {by_itself.folder} is not on this machine: run the same with --archive where it is"
        )
    return list(dict.fromkeys(folders))


@db.command()
@click.option("--before", type=click.DateTime(["%Y-%m-%d", "%Y-%m-%dT%H:%M:%S"]), help="Jobs that ended before (UTC).")
@click.option("--jobs", multiple=True, metavar="ID", help="A job by its id as the scheduler prints it; may repeat.")
@click.option("--cluster", help="Where several clusters use the same ids.")
@click.option("--out", type=_FOLDER, required=True, help="An archive, or a new folder.")
@database_options
@json_option
def archive(
    before: datetime | None,
    jobs: tuple[str, ...],
    cluster: str | None,
    out: Path,
    db_url: str | None,
    ephemeral: bool,
    as_json: bool,
) -> None:
    """Write ended jobs, their runs and their routers' counters to Parquet; what the archive has is left out, so it can be cancelled and run again."""
    from flitwatch_db.archive import write_archive as run

    with open_database(db_url, ephemeral) as url, make_progress() as bar:
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
@click.option("--month", "months", multiple=True, metavar="YYYY-MM", help="Only this month; may repeat.")
@database_options
@json_option
def restore_archive(folder: Path, months: tuple[str, ...], db_url: str | None, ephemeral: bool, as_json: bool) -> None:
    """Bring an archive's jobs back: verified first, each once, without users who were erased."""
    from flitwatch_db.archive import restore_archive as run

    with open_database(db_url, ephemeral) as url, make_progress() as bar:
        _record_audit(url, "db restore-archive", str(folder.absolute()), months=list(months))
        print_result(run(url, folder, months=months, on_step=_show_steps(bar, "restoring")), as_json)


@db.command()
@click.option("--folder", type=_FOLDER, help="Absolute; every worker must see it. Without options the policy is shown.")
@click.option(
    "--after-days",
    type=float,
    default=1.0,
    show_default=True,
    help="Archive whole days that ended so long ago; below 2 with the counters by the second.",
)
@click.option(
    "--drop-after-days", type=float, help="Delete archived jobs that ended so long ago; without it they stay."
)
@click.option("--off", is_flag=True, help="Stop automatic archiving.")
@database_options
@json_option
def archive_policy(
    folder: Path | None,
    after_days: float,
    drop_after_days: float | None,
    off: bool,
    db_url: str | None,
    ephemeral: bool,
    as_json: bool,
) -> None:
    """Archive ended jobs once a day before retention drops their counters, and delete old archived jobs if wanted."""
    from flitwatch_db import connect
    from flitwatch_db.archive.policy import Policy, load_policy, set_policy
    from flitwatch_db.people import audit

    if off and folder is not None:
        raise click.UsageError("--off and --folder exclude each other")
    parameter_source = click.get_current_context().get_parameter_source
    if folder is None and any(
        parameter_source(name) is ParameterSource.COMMANDLINE for name in ("after_days", "drop_after_days")
    ):
        raise click.UsageError("days are set together with the folder: give --folder too")
    new_policy = None if folder is None else Policy(str(folder), after_days, drop_after_days)
    with open_database(db_url, ephemeral) as url, connect(url, role="owner", autocommit=True) as conn:
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
    """Write to the audit log, before it is done, what takes names out of the database or brings them back."""
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
