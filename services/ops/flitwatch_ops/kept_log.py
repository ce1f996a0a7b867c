"""Archive folder of the embedded database's write-ahead log, and the server settings for archiving."""

from __future__ import annotations

from pathlib import Path

from flitwatch_domain.errors import BadInput
from flitwatch_ops import embedded_host

#: A segment is closed after this time, which limits the loss if the disk fails.
SEGMENT_TIMEOUT_S = 60
#: File in the embedded database's folder that contains the archive folder's path.
_FOLDER_FILE = "backup-folder"


def archive_folder(server_folder: Path) -> Path | None:
    """Return the folder of the server's archived log, or None if the log is not archived."""
    try:
        text = (server_folder / _FOLDER_FILE).read_text()
    except FileNotFoundError:
        return None
    return Path(text.strip())


def log_settings(server_folder: Path) -> dict[str, str]:
    """Return the server settings for archiving; empty if the log is not archived."""
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
    """Return the shell command with which the server archives a segment."""
    wal = quote_path(str(folder / "wal"))
    target, part = f"{wal}/%f.gz", f"{wal}/.%f.part"
    # A crash between the copy and the server's own record makes the server archive the same segment again.
    return (
        f"if [ -e {target} ]; then gzip -dc {target} | cmp -s - %p;"
        f" else gzip -1 < %p > {part} && sync {part} && mv {part} {target}; fi"
    )


def keep_log(server_folder: Path, folder: Path) -> None:
    """Configure the server to archive its log in `folder` from its next start on. Create the folder. Raise BadInput if the folder is inside the
    database's folder or contains other files."""
    folder = folder.absolute()
    if folder == server_folder or server_folder in folder.parents:
        raise BadInput(
            f"{folder} is in the database's folder", advice="Choose another disk, preferably on another machine."
        )
    if "\n" in str(folder):
        raise BadInput("the folder's name contains a line break")
    if folder.exists() and (strange := sorted({p.name for p in folder.iterdir()} - {"base", "wal"})):
        raise BadInput(f"{folder} contains {strange[0]}, which is not a backup", advice="Choose an empty folder.")
    server_folder.mkdir(parents=True, exist_ok=True)
    folder.mkdir(parents=True, exist_ok=True)
    host = embedded_host.prepare_host(server_folder)
    if host.uid is not None:
        embedded_host.open_way(folder)
    (folder / "base").mkdir(mode=0o700, exist_ok=True)
    host.make_folder(folder / "wal")
    (server_folder / _FOLDER_FILE).write_text(f"{folder}\n")


def stop_keeping(server_folder: Path) -> Path | None:
    """Stop archiving from the server's next start on, and keep archived files. Return their folder."""
    folder = archive_folder(server_folder)
    (server_folder / _FOLDER_FILE).unlink(missing_ok=True)
    return folder


def quote_path(path: str) -> str:
    """Quote a path for the shell within a server command, where % is doubled."""
    return "'" + path.replace("'", "'\\''").replace("%", "%%") + "'"


def quote_setting(text: str) -> str:
    """Quote text as a value of postgresql.conf."""
    return "'" + text.replace("\\", "\\\\").replace("'", "''") + "'"
