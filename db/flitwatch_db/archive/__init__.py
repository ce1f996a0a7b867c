"""Archive of jobs outside the database: Parquet in a folder, and its restore (docs/contracts/files.md, ADR 0007)."""

from flitwatch_db.archive.folder import Folder
from flitwatch_db.archive.restoring import restore_archive
from flitwatch_db.archive.writing import write_archive

__all__ = ["Folder", "restore_archive", "write_archive"]
