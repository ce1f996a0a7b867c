"""CSV tables with a header: typed rows with line numbers; bad rows are rejected with a reason."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from flitwatch_domain.errors import BadInput
from flitwatch_domain.importers.text import read_text

#: A count; some programs print it as 12.0.
_WHOLE = re.compile(r"([0-9]{1,20})(?:\.0{1,6})?")


@dataclass(frozen=True, slots=True)
class Rejected:
    """Rejected piece of input."""

    where: str
    reason: str


class Row:
    """One line of a table, by column name; errors include file and line."""

    __slots__ = ("_cells", "_columns", "where")

    def __init__(self, columns: dict[str, int], cells: list[str], where: str) -> None:
        self._columns = columns
        self._cells = cells
        self.where = where

    def text(self, column: str) -> str:
        """Return the cell's text without surrounding blanks; empty if the table does not have the column."""
        at = self._columns.get(column)
        return "" if at is None else self._cells[at].strip()

    def count(self, column: str) -> int:
        """Return the cell as an integer from 0 to 2^64 - 1."""
        text = self.text(column)
        match = _WHOLE.fullmatch(text)
        if match is None or int(match.group(1)) >= 2**64:
            raise BadInput(f"{column} is {text[:40]!r}, expected a whole number of at least 0", where=self.where)
        return int(match.group(1))


def read_table(path: str | Path, required: Sequence[str], rejected: list[Rejected]) -> tuple[list[str], Iterator[Row]]:
    """Return the header and the rows of a CSV file; rows of a different length are added to `rejected`. Raise BadInput if the file is empty, or one
    of the `required` columns is missing or repeated."""
    lines = enumerate(io.StringIO(read_text(path), newline=None), start=1)
    try:
        header = [cell.strip().lstrip("\ufeff").lower() for cell in _split_cells(next(lines, (1, ""))[1])]
    except csv.Error as bad:
        raise BadInput(str(bad), where=f"{path}:1") from bad
    absent = [column for column in required if column not in header]
    if absent:
        raise BadInput(
            f"has no column {', '.join(absent)}",
            where=f"{path}:1",
            advice=f"Expected a header with {', '.join(required)}.",
        )
    twice = next((name for at, name in enumerate(header) if name and name in header[:at]), None)
    if twice is not None:
        raise BadInput(f"has column {twice} twice", where=f"{path}:1", advice="Leave one of them out.")
    return header, _read_rows(lines, header, str(path), rejected)


def _split_cells(line: str) -> list[str]:
    # Line by line: cells of these tables have one line, and an unclosed quote must not include the following rows.
    return next(csv.reader([line], strict=True), [])


def _read_rows(
    lines: Iterator[tuple[int, str]], header: list[str], path: str, rejected: list[Rejected]
) -> Iterator[Row]:
    width, columns = len(header), {name: at for at, name in enumerate(header)}
    for number, line in lines:
        where = f"{path}:{number}"
        try:
            cells = _split_cells(line)
        except csv.Error as bad:
            reason = "a quote is not closed" if "unexpected end" in str(bad) else str(bad)
            rejected.append(Rejected(where, reason))
            continue
        if not any(cell.strip() for cell in cells):
            continue
        if len(cells) != width:
            rejected.append(Rejected(where, f"has {len(cells)} fields, the header {width}"))
            continue
        yield Row(columns, cells, where)
