"""An archive of jobs outside the database: Parquet in a folder, and back (docs/contracts/files.md, ADR 0007)."""

from flitwatch_db.archive.folder import Folder
from flitwatch_db.archive.restoring import restore
from flitwatch_db.archive.writing import archive

__all__ = ["Folder", "archive", "restore"]
