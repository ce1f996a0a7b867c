"""mpiP's text reports in the form of figures 4 and 5 of Bhatele 2020: computation, and MPI time by routine.

    python -m flitwatch_research.papers.mpip RUN.mpiP... --out FILE.png

Each report covers one run. It lists the twenty most expensive call sites; the rest of the MPI time is `other`.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from dataclasses import dataclass
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

from flitwatch_domain.errors import BadInput
from flitwatch_domain.importers.text import read_text

_NUMBER = r"([0-9.]+(?:[eE][+-]?[0-9]+)?)"
_ALL_TASKS = re.compile(rf"^ *\* +{_NUMBER} +{_NUMBER} +{_NUMBER} *$", re.M)
_AGGREGATE = re.compile(r"^@--- Aggregate Time \(top[^\n]*, milliseconds\) -*$(.*?)(?=^@---|\Z)", re.M | re.S)
_SITE = re.compile(rf"^(\w+) +([0-9]+) +{_NUMBER} +{_NUMBER} +{_NUMBER}", re.M)


@dataclass(frozen=True)
class Profile:
    """Seconds over all tasks for computation and for MPI by routine, most expensive first, with `other` at the end."""

    computation_s: float
    routine_s: dict[str, float]

    @property
    def mpi_percent(self) -> float:
        """MPI's share of the time in percent."""
        mpi_s = sum(self.routine_s.values())
        return 100 * mpi_s / (self.computation_s + mpi_s)


def parse_report(text: str, where: str) -> Profile:
    """Read one report.

    Raises
    ------
    BadInput
        The times of all tasks or the table of call sites are missing or inconsistent.
    """
    total, sites = _ALL_TASKS.search(text), _AGGREGATE.search(text)
    if total is None or sites is None:
        raise BadInput(
            "is no mpiP report with times of all tasks and of call sites", where=where, advice="Give mpiP's .mpiP file."
        )
    app_s, mpi_s = float(total[1]), float(total[2])
    routine_s: dict[str, float] = {}
    for routine, _, time_ms, *_ in _SITE.findall(sites[1]):
        routine_s[routine] = routine_s.get(routine, 0.0) + float(time_ms) / 1e3
    left_s = mpi_s - sum(routine_s.values())
    if app_s <= 0 or not 0 <= mpi_s <= app_s or left_s < -0.01 * mpi_s:
        raise BadInput(f"{mpi_s:g} s of MPI do not fit its call sites or {app_s:g} s of all", where=where)
    ordered = dict(sorted(routine_s.items(), key=lambda one: -one[1]))
    return Profile(app_s - mpi_s, ordered | {"other": max(left_s, 0.0)})


def draw(profiles: dict[str, Profile], path: Path) -> None:
    """Draw a bar for each run: computation below, then its routines."""
    routines = list(dict.fromkeys(name for one in profiles.values() for name in one.routine_s))
    with plt.rc_context({"font.size": 8}):
        figure, axes = plt.subplots(figsize=(2.5 + 0.6 * len(profiles), 3.5), layout="constrained")
        below = [one.computation_s for one in profiles.values()]
        axes.bar(list(profiles), below, label="computation", color="#bbbbbb")
        for routine in routines:
            high = [one.routine_s.get(routine, 0.0) for one in profiles.values()]
            axes.bar(list(profiles), high, bottom=below, label=routine)
            below = [a + b for a, b in zip(below, high, strict=True)]
        axes.set_ylabel("time over all tasks, s")
        axes.legend(fontsize=7)
        figure.savefig(path, dpi=110, metadata={"Software": None})
        plt.close(figure)


def main(argv: list[str] | None = None) -> int:
    """Print each report's times as JSON, and draw them."""
    parser = argparse.ArgumentParser(prog="mpip", description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("reports", nargs="+", type=Path, help="mpiP text reports, one of each run")
    parser.add_argument("--out", type=Path, help="picture to draw")
    chosen = parser.parse_args(argv)
    profiles = {path.stem: parse_report(read_text(path), str(path)) for path in chosen.reports}
    for name, one in profiles.items():
        print(
            json.dumps(
                {
                    "run": name,
                    "computation_s": one.computation_s,
                    "mpi_percent": one.mpi_percent,
                    "routine_s": one.routine_s,
                }
            )
        )
    if chosen.out is not None:
        draw(profiles, chosen.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
