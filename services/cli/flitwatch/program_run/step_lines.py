"""Steps parsed from lines: those that a program writes to the file FLITWATCH_STEPS, and those that it prints."""

from __future__ import annotations

import contextlib
import math
import os
from dataclasses import dataclass
from typing import Any

from flitwatch_domain import units

#: Limits of the API.
MOST_STEP, MOST_SECONDS = 999_999, 366 * 86_400.0
#: Longer lines are skipped. At most AT_ONCE bytes of the file are read at once.
LONGEST_LINE, AT_ONCE = 4096, 1 << 20


@dataclass(frozen=True)
class Step:
    """Time step of a program."""

    number: int
    seconds: float


def step_of(number: str, seconds: str) -> Step | None:
    """Return the step, or None if the API would not accept it."""
    whole, took = units.parse_whole(number.strip()), units.parse_real(seconds.strip())
    if whole is None or took is None:
        return None
    step = Step(whole, took)
    right = 0 <= step.number <= MOST_STEP and math.isfinite(step.seconds) and 0 <= step.seconds <= MOST_SECONDS
    return step if right else None


class _Lines:
    """Joins pieces of bytes to whole lines. Lines longer than LONGEST_LINE are dropped."""

    def __init__(self) -> None:
        self._open, self._too_long = b"", False

    def of(self, piece: bytes) -> list[bytes]:
        *whole, self._open = (self._open + piece).split(b"\n")
        if whole and self._too_long:
            whole, self._too_long = whole[1:], False
        if len(self._open) > LONGEST_LINE:
            self._open, self._too_long = b"", True
        return [line for line in whole if len(line) <= LONGEST_LINE]


class StepFile:
    """Follows a file with appended steps, one line `STEP SECONDS` each.

    Attributes
    ----------
    refused : int
        Number of lines that are not steps.
    """

    def __init__(self, path: str) -> None:
        self._path, self._offset, self._lines = path, 0, _Lines()
        self.refused = 0

    def read(self) -> list[Step]:
        """Return the steps written since the last call; none if the file is gone."""
        steps: list[Step] = []
        try:
            with open(self._path, "rb") as file:
                file.seek(self._offset)
                while piece := file.read(AT_ONCE):
                    self._offset += len(piece)
                    for line in self._lines.of(piece):
                        words = line.decode("ascii", "replace").split()
                        step = step_of(*words) if len(words) == 2 else None
                        if step is None:
                            self.refused += 1
                        else:
                            steps.append(step)
        except OSError:
            pass
        return steps

    def remove(self) -> None:
        with contextlib.suppress(OSError):
            os.unlink(self._path)


class PatternSteps:
    """Steps from lines that match a pattern: each match ends a step that began at the previous match.

    The group `step` is the step's number (without it, steps are counted from 0), the group `time` its seconds. Without `time`, a step's duration is
    the time between two matches. If a program buffers its output, it prints several lines at once. Their durations are unknown, so they are only
    counted.

    Parameters
    ----------
    pattern : compiled by re2

    Attributes
    ----------
    unknown : int
        Number of steps whose time could not be determined.
    matched : int
        Number of matching lines.
    """

    def __init__(self, pattern: Any) -> None:
        self._pattern, self._lines = pattern, _Lines()
        self._next, self._since_s = 0, -1.0
        self.unknown = self.matched = 0

    def of(self, at_s: float, piece: bytes) -> list[Step]:
        """Return the steps of a piece of output that was printed at that monotonic time in seconds."""
        matches = [
            match for line in self._lines.of(piece) if (match := self._pattern.search(line.decode("utf-8", "replace")))
        ]
        self.matched += len(matches)
        steps: list[Step] = []
        for match in matches:
            groups = match.groupdict()
            number = groups.get("step") or str(self._next)
            seconds = groups.get("time")
            has_time = seconds is not None or (len(matches) == 1 and self._since_s >= 0)
            step = step_of(number, seconds if seconds is not None else str(at_s - self._since_s)) if has_time else None
            if step is not None:
                steps.append(step)
            elif seconds is not None or self._since_s >= 0 or len(matches) > 1:
                self.unknown += 1
            self._next = int(number) + 1 if units.parse_whole(number, most=10**8) is not None else self._next + 1
        if matches:
            self._since_s = at_s if len(matches) == 1 else -1.0
        return steps
