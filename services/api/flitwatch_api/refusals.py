"""Reasons and sources of refused records as who may not see names reads them: without the values, which may be names of people."""

from __future__ import annotations

from typing import Any

_QUOTES = frozenset("\"'`´‘’‚‛“”„‟«»‹›")
_OPENED_BY = {"’": "‘", "”": "“„", "»": "«", "›": "‹"}
CUT = "…"


def without_values(text: str) -> str:
    """A reason with everything from its first to its last quote cut, and without folders.

    Values hold quotes themselves and are cut short by who quotes them, so pairs cannot be distinguished: where the last quote may not close what
    the first opens, all that follows is cut too. Lines after the first (a database's details) go.
    """
    line = (text.splitlines() or [""])[0]
    at = [i for i, c in enumerate(line) if c in _QUOTES]
    if at:
        first, last, rest = line[at[0]], line[at[-1]], line[at[-1] + 1 :]
        closed = len(at) % 2 == 0 and (first == last or first in _OPENED_BY.get(last, "")) and not rest[:1].isalnum()
        line = line[: at[0]] + CUT + (rest if closed else "")
    begin, end = line.find("/"), line.rfind("/")
    # From the first folder to the last: folders hold blanks.
    return line if begin == end else line[:begin] + line[end + 1 :]


def without_folders(source: str) -> str:
    """Return the source of records without folders: `sacct:/home/alice/jobs.txt` as `sacct:jobs.txt`."""
    kind, colon, place = source.partition(":")
    if not (colon and kind.replace("_", "").isalnum()):
        kind, colon, place = "", "", source
    return kind + colon + place.rsplit("/", 1)[-1]


def redact_record(row: dict[str, Any]) -> dict[str, Any]:
    """A refused record, or an event about some, as everyone may read it."""
    shown = {field: without_values(row[field]) for field in ("reason", "where") if isinstance(row.get(field), str)}
    if isinstance(row.get("source"), str):
        shown["source"] = without_folders(row["source"])
    return row | shown
