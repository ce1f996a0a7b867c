"""Table files (CSV) that are safe to open in a spreadsheet."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

#: A spreadsheet evaluates a text that begins with one of these; a quote before it prevents that.
FORMULA = ("=", "+", "-", "@", "'", "\t", "\r")


def render_table(columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> str:
    """Render rows as CSV with a header: None is empty, times are in ISO 8601, and texts that look like a formula get a leading quote."""
    file = io.StringIO()
    table = csv.writer(file, lineterminator="\n")
    table.writerow(columns)
    table.writerows([_format_cell(row[column]) for column in columns] for row in rows)
    return file.getvalue()


def _format_cell(value: Any) -> Any:
    if isinstance(value, str) and value.startswith(FORMULA):
        return f"'{value}"
    return value.isoformat() if isinstance(value, datetime) else "" if value is None else value
