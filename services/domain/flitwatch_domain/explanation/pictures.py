"""Time series as SVG, for a page that loads nothing and prints without changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from html import escape

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

WIDTH, LEFT, RIGHT, TOP, BOTTOM = 860, 52, 12, 22, 22


@dataclass(frozen=True)
class Line:
    """Values at epoch seconds, (n,), NaN if unknown; `low` and `high`, if given, are drawn as a band."""

    label: str
    at_s: Floats
    value: Floats
    low: Floats | None = None
    high: Floats | None = None
    ink: str = "#1a1c1f"


def draw_picture(lines: Sequence[Line], title: str, marks: Sequence[tuple[float, str]], height: int = 220) -> str:
    """Draw all lines with a common time axis and value axis, and a labelled line at each mark."""
    values = np.concatenate(
        [
            column[np.isfinite(column)]
            for line in lines
            for column in (line.value, line.low, line.high)
            if column is not None
        ]
    )
    at = np.concatenate([line.at_s for line in lines])
    if not len(values):
        return ""
    first, last = float(at.min()), max(float(at.max()), float(at.min()) + 1)
    most = max(float(values.max()) * 1.05, 1e-9)

    def x(moment: float) -> float:
        return LEFT + (moment - first) / (last - first) * (WIDTH - LEFT - RIGHT)

    def y(value: float) -> float:
        return height - BOTTOM - value / most * (height - TOP - BOTTOM)

    drawn = [f'<text x="{LEFT}" y="13" font-weight="600">{escape(title)}</text>']
    for tick in _choose_ticks(most):
        drawn.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y(tick):.1f}" y2="{y(tick):.1f}" stroke="#e4e4df"/>')
        drawn.append(f'<text x="{LEFT - 6}" y="{y(tick) + 4:.1f}" text-anchor="end">{tick:g}</text>')
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        moment = first + share * (last - first)
        anchor = "start" if share == 0 else "end" if share == 1 else "middle"
        clock = datetime.fromtimestamp(moment, UTC).strftime("%H:%M:%S")
        drawn.append(f'<text x="{x(moment):.1f}" y="{height - 6}" text-anchor="{anchor}">{clock}</text>')
    for line in lines:
        if line.low is not None and line.high is not None:
            both = np.isfinite(line.low) & np.isfinite(line.high)
            edge = [f"{x(a):.1f},{y(v):.1f}" for a, v in zip(line.at_s[both], line.high[both], strict=True)]
            edge += [f"{x(a):.1f},{y(v):.1f}" for a, v in zip(line.at_s[both][::-1], line.low[both][::-1], strict=True)]
            drawn.append(f'<polygon points="{" ".join(edge)}" fill="#e4e4df"/>')
        good = np.isfinite(line.value)
        points = " ".join(f"{x(a):.1f},{y(v):.1f}" for a, v in zip(line.at_s[good], line.value[good], strict=True))
        drawn.append(f'<polyline points="{points}" fill="none" stroke="{line.ink}" stroke-width="1.5"/>')
    for moment, label in marks:
        if first <= moment <= last:
            end = x(moment) > WIDTH / 2
            drawn.append(
                f'<line x1="{x(moment):.1f}" x2="{x(moment):.1f}" y1="{TOP}" y2="{height - BOTTOM}" stroke="#1f5fd6" stroke-dasharray="3 3"/>'
            )
            drawn.append(
                f'<text x="{x(moment) + (-5 if end else 5):.1f}" y="{TOP + 10}" fill="#1f5fd6" text-anchor="{"end" if end else "start"}">{escape(label)}</text>'
            )
    labels = ", ".join(escape(line.label) for line in lines)
    return (
        f'<svg viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" role="img" aria-label="{escape(title)}: {labels}"'
        f' font-family="system-ui, sans-serif" font-size="11" fill="#52565d">{"".join(drawn)}</svg>'
    )


def _choose_ticks(most: float) -> list[float]:
    size = 10.0 ** np.floor(np.log10(most / 3))
    step = next(size * multiple for multiple in (1, 2, 5, 10) if most / (size * multiple) <= 4)
    return [float(step * multiple) for multiple in range(int(most / step) + 1)]
