"""Reasons and sources of refused records for callers who may not see names: without the values, which can be names of people."""

from __future__ import annotations

from typing import Any

_QUOTES = frozenset("\"'`´‘’‚‛“”„‟«»‹›")
_OPENED_BY = {"’": "‘", "”": "“„", "»": "«", "›": "‹"}
CUT = "…"


def without_values(text: str) -> str:
    """Return a reason without the text from its first to its last quote, and without folders.

    Values can contain quotes and can be truncated, so quote pairs cannot be matched. If the last quote may not close the first, the rest of the
    line is removed too. Lines after the first (a database's details) are removed.
    """
    line = (text.splitlines() or [""])[0]
    at = [i for i, c in enumerate(line) if c in _QUOTES]
    if at:
        first, last, rest = line[at[0]], line[at[-1]], line[at[-1] + 1 :]
        closed = len(at) % 2 == 0 and (first == last or first in _OPENED_BY.get(last, "")) and not rest[:1].isalnum()
        line = line[: at[0]] + CUT + (rest if closed else "")
    begin, end = line.find("/"), line.rfind("/")
    # From the first folder to the last, because folder names can contain blanks.
    return line if begin == end else line[:begin] + line[end + 1 :]


def without_folders(source: str) -> str:
    """Return the source of records without folders: `sacct:/home/alice/jobs.txt` as `sacct:jobs.txt`."""
    kind, colon, place = source.partition(":")
    if not (colon and kind.replace("_", "").isalnum()):
        kind, colon, place = "", "", source
    return kind + colon + place.rsplit("/", 1)[-1]


def redact_record(row: dict[str, Any]) -> dict[str, Any]:
    """Return a refused record, or an event about some, without its values."""
    shown = {field: without_values(row[field]) for field in ("reason", "where") if isinstance(row.get(field), str)}
    if isinstance(row.get("source"), str):
        shown["source"] = without_folders(row["source"])
    return row | shown
