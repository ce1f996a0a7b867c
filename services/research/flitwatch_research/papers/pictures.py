"""Pictures of docs/papers.md: our form of a published figure, beside what the paper's text says of its shape."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from flitwatch_research.papers.measured import wang
from flitwatch_research.studies import published, registry


@dataclass(frozen=True)
class Picture:
    """One picture.

    Attributes
    ----------
    paper : key of `studies.published.PAPERS`
    figures : of the paper, whose statements stand beside it
    name : file in docs/papers, without its ending
    ours : how to read it
    """

    paper: str
    figures: tuple[str, ...]
    name: str
    ours: str


_EXTREMES = "Solid: minimal, dashed: adaptive; contiguous and random nodes."
_BOXES = "Boxes hold the ranks of five draws: extremes, quartiles, median; the cross is a draw's slowest rank, mean and 95 %."
PICTURES = (
    Picture(
        "wang2018",
        ("figure 2",),
        "wang-fig2",
        "Bytes from rank to rank, and the load of a rank while the exchange lasts.",
    ),
    Picture("wang2018", ("figure 3",), "wang-fig3", _BOXES),
    Picture(
        "wang2018",
        ("figure 4", "figure 5", "figure 6"),
        "wang-fig3-channels",
        f"Share of ranks or of channels that stay at or below a value. {_EXTREMES}",
    ),
    Picture("wang2018", ("figure 7",), "wang-fig7", f"Mean over five draws with its 95 % interval. {_EXTREMES}"),
    Picture("wang2018", ("figure 8", "figure 9", "figure 10"), "wang-fig8-10-uniform", f"Uniform background. {_BOXES}"),
    Picture("wang2018", ("figure 8", "figure 9", "figure 10"), "wang-fig8-10-bursty", f"Bursts. {_BOXES}"),
    Picture(
        "wang2018",
        ("figure 8", "figure 9", "figure 10"),
        "wang-fig8-10-channels",
        f"Channels of the routers that serve the application. {_EXTREMES}",
    ),
)
#: Studies whose answers are drawn.
_DRAWN = ("wang-fig2", "wang-fig3", "wang-fig7", "wang-fig8-10")


def draw(folder: Path) -> list[Path]:
    """Draw every picture into `folder` from the answers of `measured`."""
    folder.mkdir(parents=True, exist_ok=True)
    return [path for name in _DRAWN if (study := registry.find(name)).draw for path in study.draw(wang(name), folder)]


def section(paper: str) -> str:
    """The pictures of a paper with what its text says; empty where it has none."""
    own = [one for one in PICTURES if one.paper == paper]
    if not own:
        return ""
    parts = ["\n### Pictures\n\n| published, in the text's words | ours, simulated |\n|---|---|"]
    parts += [
        f"| {', '.join(one.figures)}: {_said(one)} | ![{', '.join(one.figures)}](papers/{one.name}.svg) {one.ours} |"
        for one in own
    ]
    return "\n".join(parts)


def _said(one: Picture) -> str:
    quotes: Mapping[str, None] = dict.fromkeys(
        f"“{figure.quote}” ({figure.row}, line {figure.line})"
        for figure in published.figures()
        if figure.paper == one.paper and figure.place in one.figures
    )
    return "<br>".join(quotes) or "no figures in the text"
