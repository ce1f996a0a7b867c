"""Tables, figures and sparklines for people: drawn on a terminal, aligned plain text in a pipe or file."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

UNKNOWN = "–"
BARS = "▁▂▃▄▅▆▇█"


def remove_controls(value: object) -> str:
    """Remove control characters from external text: a job's name must not control the reader's terminal."""
    return "".join(char if char.isprintable() else "�" for char in str(value))


def text_or_unknown(value: object) -> str:
    return UNKNOWN if value is None or value == "" else remove_controls(value)


def format_number(value: float | None, digits: int = 3, signed: bool = False) -> str:
    """Format a number with this many significant digits and a prefix for thousands and above. Unknown values have a sign of their own."""
    if value is None:
        return UNKNOWN
    for factor, prefix in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e4, "k")):
        if abs(value) >= factor:
            unit = 1e3 if prefix == "k" else factor
            return f"{value / unit:{'+' if signed else ''}.{max(digits, len(str(int(abs(value) / unit))))}g} {prefix}"
    whole = len(str(int(abs(value))))
    return f"{value:{'+' if signed else ''}.{max(digits, whole)}g}"


def format_interval(value: float | None, low: float | None, high: float | None, unit: str) -> str:
    """Format a value with its interval, as far as known."""
    if value is None:
        return UNKNOWN
    around = (
        ""
        if low is None or high is None
        else f" ({format_number(low, signed=True)} to {format_number(high, signed=True)})"
    )
    return f"{format_number(value, signed=True)} {unit}{around}"


def draw_sparkline(values: Sequence[float | None]) -> str:
    """Draw a bar for each value between zero and the largest, and a dot for an unknown value."""
    numbers = [value for value in values if value is not None]
    top = max(numbers, default=0.0)
    return "".join(
        "·" if value is None else BARS[round(value / top * (len(BARS) - 1)) if top > 0 else 0] for value in values
    )


def is_on_terminal() -> bool:
    """Return whether standard output is a terminal."""
    return sys.stdout.isatty()


def build_table(title: str, heads: Sequence[str], rows: Sequence[Sequence[str]], left: Sequence[str] = ()) -> Any:
    """Build a table for a terminal (rich). Columns named in `left` are text, the others numbers."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    rich_table = Table(title=Text(title), title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    for head in heads:
        rich_table.add_column(
            Text(head), justify="left" if head in left else "right", overflow="ellipsis", no_wrap=True
        )
    for row in rows:
        rich_table.add_row(*map(Text, row))
    return rich_table


def format_plain(
    title: str, heads: Sequence[str], rows: Sequence[Sequence[str]], left: Sequence[str] = ()
) -> list[str]:
    """Return the table as aligned lines without truncation."""
    widths = [max(map(len, column)) for column in zip(heads, *rows, strict=True)]
    aligned = [
        "  ".join(
            cell.ljust(width) if head in left else cell.rjust(width)
            for cell, width, head in zip(row, widths, heads, strict=True)
        ).rstrip()
        for row in (heads, *rows)
    ]
    return [title, *aligned]


def print_table(title: str, heads: Sequence[str], rows: Sequence[Sequence[str]], left: Sequence[str] = ()) -> None:
    """Print a table in the form that suits standard output."""
    if is_on_terminal():
        from rich.console import Console

        Console().print(build_table(title, heads, rows, left))
    else:
        print(*format_plain(title, heads, rows, left), sep="\n")
