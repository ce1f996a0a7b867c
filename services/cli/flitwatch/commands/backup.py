"""`flitwatch db backup`, `restore` and `verify`: backups of the embedded database and point-in-time recovery."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from flitwatch.console import Moment, exit_with_error, json_option, make_progress, print_result, stop_on_interrupt

if TYPE_CHECKING:
    from rich.progress import Progress

    from flitwatch_ops.backup_files import OnStep

_FOLDER = click.Path(file_okay=False, path_type=Path)
_AT = click.option("--folder", type=_FOLDER, help="Folder of the backups. By default, the folder given last.")


@click.command()
@click.option("--folder", type=_FOLDER, help="Folder for backups and the log from now on, preferably on another disk.")
@click.option("--keep", type=click.IntRange(1, 1000), default=2, help="How many base backups to keep.")
@click.option(
    "--restart",
    is_flag=True,
    help="Restart the database first if it does not copy its log yet. Services reconnect within seconds.",
)
@click.option(
    "--off", is_flag=True, help="Stop copying the log when the database next starts. Existing copies are kept."
)
@json_option
def backup(folder: Path | None, keep: int, restart: bool, off: bool, as_json: bool) -> None:
    """Take a base backup of the embedded database. From the first backup on, the database's log is copied too, so that you can restore any second.
    Give the folder in the first call, and run the command once a day. The log since the oldest base backup is kept.
    """
    from flitwatch_ops import backups, kept_log
    from flitwatch_ops.embedded import Embedded
    from flitwatch_ops.platform import embedded_folder

    server = Embedded(embedded_folder())
    if off:
        if folder is not None:
            raise click.UsageError("--off and --folder cannot be combined")
        was = kept_log.stop_keeping(server.folder)
        print_result({"folder": None, "was": None if was is None else str(was)}, as_json)
        return
    if folder is not None:
        kept_log.keep_log(server.folder, folder)
    elif kept_log.archive_folder(server.folder) is None:
        raise click.UsageError("name the folder of the backups: --folder DIRECTORY, best on another disk")
    with server, make_progress("backup") as bar:
        if restart:
            backups.start_keeping(server)
        print_result(backups.take_backup(server, keep, _show_steps(bar)), as_json)


@click.command()
@_AT
@click.option("--to", "to_s", type=Moment(), help="Point in time to restore. By default, the newest.")
@click.option(
    "--yes",
    is_flag=True,
    help="Restore the database. Without this option, the points in time that can be restored are shown.",
)
@json_option
def restore(folder: Path | None, to_s: float | None, yes: bool, as_json: bool) -> None:
    """Restore the embedded database to a point in time. Stop Flitwatch first. The present data are kept in a folder next to the database."""
    from flitwatch_ops import backup_files, backups
    from flitwatch_ops.embedded import Embedded
    from flitwatch_ops.platform import embedded_folder

    server = Embedded(embedded_folder())
    place = _resolve_folder(folder)
    if not yes:
        print_result(
            {"folder": str(place), "restored": False, "restorable": backup_files.find_restorable(place)}, as_json
        )
        return
    with make_progress("restore") as bar, stop_on_interrupt() as stop:
        print_result({"restored": True} | backups.restore_backup(server, place, to_s, _show_steps(bar), stop), as_json)


@click.command()
@_AT
@json_option
def verify(folder: Path | None, as_json: bool) -> None:
    """Read every byte of the backups and of the copied log. The exit status is 1 if something is missing or damaged."""
    from flitwatch_ops import backup_files

    with make_progress("verify") as bar:
        report = backup_files.verify_backups(_resolve_folder(folder), _show_steps(bar))
    print_result(report, as_json)
    if not report["ok"]:
        exit_with_error("the backups are incomplete: create a new one with `flitwatch db backup`")


def _resolve_folder(folder: Path | None) -> Path:
    from flitwatch_ops import kept_log
    from flitwatch_ops.platform import embedded_folder

    place = folder or kept_log.archive_folder(embedded_folder())
    if place is None:
        raise click.UsageError("name the folder of the backups: --folder DIRECTORY")
    return place


def _show_steps(bar: Progress) -> OnStep:
    task = bar.add_task("")
    return lambda done, total, part: bar.update(task, completed=done, total=total, description=part[:60])
