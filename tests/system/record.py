"""Results of a shard by test, with the sources for which they are valid.

The file contains JSON lines and is append-only, so that an interrupted run loses nothing.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from system.sources import Sources

#: Which report of a test says more than the ones before it.
_RANK = {"passed": 0, "skipped": 1, "failed": 2}


class Record:
    """The results of one shard.

    Parameters
    ----------
    path : the file; made where it is absent
    root : the checkout
    """

    def __init__(self, path: Path, root: Path) -> None:
        self.path = path
        self.expected: list[str] = []
        self.results: dict[str, dict[str, Any]] = {}
        self._sources = Sources(root)
        if path.exists():
            for line in path.read_text().splitlines():
                self._take(json.loads(line))

    def _take(self, line: dict[str, Any]) -> None:
        if "expected" in line:
            self.expected = line["expected"]
            return
        before = self.results.get(line["test"])
        if before is not None and before["run"] == line["run"]:
            line = {
                **(line if _RANK[line["outcome"]] >= _RANK[before["outcome"]] else before),
                "seconds": before["seconds"] + line["seconds"],
            }
        self.results[line["test"]] = line

    def _append(self, line: dict[str, Any]) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a") as file:
            file.write(json.dumps(line) + "\n")
        self._take(line)

    def expect(self, tests: Iterable[str]) -> None:
        """Note which tests the shard has now."""
        self._append({"expected": sorted(tests)})

    def has_passed(self, test: str) -> bool:
        """Whether the test passed with its file and what that imports as they are now."""
        result = self.results.get(test)
        return result is not None and result["outcome"] == "passed" and result["sources"] == self._sources.digest(test)

    def add(self, report: pytest.TestReport, run: str) -> None:
        """Add the report of a test's set-up, call or tear-down; `run` names the run that it belongs to."""
        reason = ""
        if report.skipped and isinstance(report.longrepr, tuple):
            reason = report.longrepr[2].removeprefix("Skipped: ")
        self._append(
            {
                "test": report.nodeid,
                "outcome": report.outcome,
                "seconds": report.duration,
                "reason": reason,
                "sources": self._sources.digest(report.nodeid),
                "run": run,
            }
        )
