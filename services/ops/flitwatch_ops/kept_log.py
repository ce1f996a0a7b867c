"""Folder in which the embedded database's write-ahead log is kept, and the server settings that keep it."""

from __future__ import annotations

from pathlib import Path

from flitwatch_domain.errors import BadInput
from flitwatch_ops import embedded_host

#: A segment is closed after so long, so that no more is lost with the disk.
SEGMENT_TIMEOUT_S = 60
#: In the embedded database's own folder: where its log goes.
_FOLDER_FILE = "backup-folder"


def archive_folder(server_folder: Path) -> Path | None:
    """Return the folder of the server's kept log, or None if the log is not kept."""
    try:
        text = (server_folder / _FOLDER_FILE).read_text()
    except FileNotFoundError:
        return None
    return Path(text.strip())


def log_settings(server_folder: Path) -> dict[str, str]:
    """Return the settings with which the server keeps its log; empty if the log is not kept."""
    folder = archive_folder(server_folder)
    if folder is None:
        return {}
    return {
        "wal_level": "replica",
        "max_wal_senders": "4",
        "archive_mode": "on",
        "archive_timeout": f"{SEGMENT_TIMEOUT_S}s",
        "archive_command": quote_setting(archive_command(folder)),
    }


def archive_command(folder: Path) -> str:
    """By which the server hands over each segment of its log."""
    wal = quote_path(str(folder / "wal"))
    target, part = f"{wal}/%f.gz", f"{wal}/.%f.part"
    # A crash may come between the copy and the server's own note of it: then the same segment comes again.
    return (
        f"if [ -e {target} ]; then gzip -dc {target} | cmp -s - %p;"
        f" else gzip -1 < %p > {part} && sync {part} && mv {part} {target}; fi"
    )


def keep_log(server_folder: Path, folder: Path) -> None:
    """Let the server's log be kept in `folder` from its next start on; make the folder.

    Raises
    ------
    BadInput
        The folder is in the database's own, or holds something else.
    """
    folder = folder.absolute()
    if folder == server_folder or server_folder in folder.parents:
        raise BadInput(
            f"{folder} is in the database's folder", advice="Choose another disk, preferably on another machine."
        )
    if "\n" in str(folder):
        raise BadInput("the folder's name contains a line break")
    if folder.exists() and (strange := sorted({p.name for p in folder.iterdir()} - {"base", "wal"})):
        raise BadInput(f"{folder} holds {strange[0]}, which is not a backup", advice="Choose an empty folder.")
    server_folder.mkdir(parents=True, exist_ok=True)
    folder.mkdir(parents=True, exist_ok=True)
    host = embedded_host.prepare_host(server_folder)
    if host.uid is not None:
        embedded_host.open_way(folder)
    (folder / "base").mkdir(mode=0o700, exist_ok=True)
    host.make_folder(folder / "wal")
    (server_folder / _FOLDER_FILE).write_text(f"{folder}\n")


def stop_keeping(server_folder: Path) -> Path | None:
    """Keep the log no longer, from the server's next start on; what was kept stays. Returns its folder."""
    folder = archive_folder(server_folder)
    (server_folder / _FOLDER_FILE).unlink(missing_ok=True)
    return folder


def quote_path(path: str) -> str:
    """A path for the shell within one of the server's commands, where % is doubled."""
    return "'" + path.replace("'", "'\\''").replace("%", "%%") + "'"


def quote_setting(text: str) -> str:
    """Text as a value of postgresql.conf."""
    return "'" + text.replace("\\", "\\\\").replace("'", "''") + "'"
