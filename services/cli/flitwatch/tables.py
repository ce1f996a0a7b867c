"""Tables, figures and sparklines for people: drawn on a terminal, aligned plain text in a pipe or a file."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

UNKNOWN = "–"
BARS = "▁▂▃▄▅▆▇█"


def remove_controls(value: object) -> str:
    """Text from outside without control characters: a job's name must not steer the reader's terminal."""
    return "".join(char if char.isprintable() else "�" for char in str(value))


def text_or_unknown(value: object) -> str:
    """A text, or the sign of what is not known."""
    return UNKNOWN if value is None or value == "" else remove_controls(value)


def format_number(value: float | None, digits: int = 3, signed: bool = False) -> str:
    """A number with this many significant digits, thousands and more by their prefix; what is not known by its sign."""
    if value is None:
        return UNKNOWN
    for factor, prefix in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e4, "k")):
        if abs(value) >= factor:
            unit = 1e3 if prefix == "k" else factor
            return f"{value / unit:{'+' if signed else ''}.{max(digits, len(str(int(abs(value) / unit))))}g} {prefix}"
    whole = len(str(int(abs(value))))
    return f"{value:{'+' if signed else ''}.{max(digits, whole)}g}"


def format_interval(value: float | None, low: float | None, high: float | None, unit: str) -> str:
    """A value with its interval, as far as they are known."""
    if value is None:
        return UNKNOWN
    around = (
        ""
        if low is None or high is None
        else f" ({format_number(low, signed=True)} to {format_number(high, signed=True)})"
    )
    return f"{format_number(value, signed=True)} {unit}{around}"


def draw_sparkline(values: Sequence[float | None]) -> str:
    """A bar for each value between zero and the largest; a dot where the value is not known."""
    numbers = [value for value in values if value is not None]
    top = max(numbers, default=0.0)
    return "".join(
        "·" if value is None else BARS[round(value / top * (len(BARS) - 1)) if top > 0 else 0] for value in values
    )


def is_on_terminal() -> bool:
    """Return whether a person reads standard output on a terminal."""
    return sys.stdout.isatty()


def build_table(title: str, heads: Sequence[str], rows: Sequence[Sequence[str]], left: Sequence[str] = ()) -> Any:
    """A table for a terminal (rich); columns named in `left` are text, the others numbers."""
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
    """The same as aligned lines; nothing is cut off."""
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
    """Print a table as its reader can use it."""
    if is_on_terminal():
        from rich.console import Console

        Console().print(build_table(title, heads, rows, left))
    else:
        print(*format_plain(title, heads, rows, left), sep="\n")
