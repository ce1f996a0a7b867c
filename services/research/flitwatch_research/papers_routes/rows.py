"""Rows of a table, and the sizes of measurements."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from flitwatch_domain.secret_file import LocalText


@dataclass(frozen=True)
class Size:
    """Sizes of a measurement; `quick` is for tests: a small tree and short limits, not comparable with published figures."""

    topology: str = "quartz1"
    optimise_s: float = 60.0
    reconstruct_s: float = 60.0
    megabytes: float = 2.0
    device: str = "cpu"
    quick: bool = False
    traces: Path | None = None

    def source(self, pattern: str) -> str:
        """Return the trace with the pattern's name in the folder of traces if it exists; else the approximate pattern."""
        path = None if self.traces is None else self.traces / pattern
        return LocalText(path) if path is not None and path.exists() else pattern


FULL = Size()
QUICK = Size("xgft:3;4,4,4;1,2,2", 0.2, 0.7, 0.05, quick=True)


#: The figure of a separately measured column.
CELL = "figure"
#: Figures by column name.
Measure = Callable[[Size], dict[str, float]]


@dataclass(frozen=True)
class Row:
    """One row.

    Attributes
    ----------
    table : number in the dissertation, or a letter
    name : the measured case
    published : figures by column name, in the table's unit; columns without a published figure are omitted
    measure : Size -> figures by column name; None if all columns are measured separately
    cells : column -> its measuring function: the figure as `CELL`, and further values
    note : differences from the publication, empty if there are none
    """

    table: str
    name: str
    published: dict[str, float]
    measure: Measure | None = field(repr=False)
    note: str = ""
    cells: dict[str, Measure] = field(default_factory=dict, repr=False)

    @property
    def key(self) -> str:
        """Its name in the JSON file."""
        return f"{self.table} {self.name}"


#: Title and unit of each table.
TABLES = {
    "3.1": "Communicating pairs and mean hops of the synthetic patterns",
    "3.3": "Gap of the busiest link against adaptive routing's bound, %",
    "4.1": "Non-zeros a node in each basis",
    "4.2": "Error of the reconstruction without a limit of time, best basis, %",
    "4.3": "Error of the reconstruction, blind dictionary OD, %",
    "5.1": "The loop: time of routes relative to the loop's (above 1 is slower)",
    "5.2": "Cyclic stencil: time relative to ftree's (above 1 is slower)",
    "5.3": "Barrier alongside a bully, nodes at random, routes for a synthetic pattern: time relative to the barrier alone",
    "5.4": "Barrier alongside a bully, fewer bully nodes per leaf than it has up links, routes for its traffic: time relative to the barrier alone",
    "5.4.2": "Barrier alongside a bully on the changed allocation: error of the reconstruction, %",
    "5.5": "Gap of routes from a bad reconstruction, %",
    "A": "Not in the dissertation: the busiest link over the larger of z_AR (a linear program where cables failed) and what packing a leaf's entries into its ports forces, %",
}
