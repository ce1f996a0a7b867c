"""Running application: alternates compute and communication step by step, in continuous time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from flitwatch_twin.applications import Application, noisy_steps


@dataclass(frozen=True)
class StepDone:
    """Finished time step: its number, its duration, and its end within the advanced interval."""

    step: int
    time_s: float
    after_s: float


class Progress:
    """Advances through the steps of one run. The same generator state gives the same needs."""

    def __init__(self, application: Application, rng: np.random.Generator) -> None:
        self._compute_s, self._communicate_s = noisy_steps(rng, application)
        self._step = 0
        self._compute_left = float(self._compute_s[0])
        self._communicate_left = float(self._communicate_s[0])
        self._in_step_s = 0.0
        self.elapsed_s = 0.0

    @property
    def finished(self) -> bool:
        """Return whether every step is finished."""
        return self._step >= len(self._compute_s)

    def advance(self, dt_s: float, slowdown: float) -> tuple[list[StepDone], float]:
        """Run for `dt_s` while communication takes (1 + slowdown) times as long as without interference.

        Return the finished steps and the completed communication as a share of `dt_s`, in [0, 1].
        """
        left, moved = dt_s, 0.0
        done: list[StepDone] = []
        while left > 1e-9 and not self.finished:
            used = min(self._compute_left, left)
            self._compute_left -= used
            left -= used
            self._in_step_s += used
            if left <= 1e-9:
                break
            used = min(self._communicate_left * (1 + slowdown), left)
            self._communicate_left -= used / (1 + slowdown)
            moved += used / (1 + slowdown)
            left -= used
            self._in_step_s += used
            if self._communicate_left <= 1e-9:
                done.append(StepDone(self._step, self._in_step_s, dt_s - left))
                self._start_step()
        self.elapsed_s += dt_s - left
        return done, moved / dt_s

    def _start_step(self) -> None:
        self._step += 1
        self._in_step_s = 0.0
        if not self.finished:
            self._compute_left = float(self._compute_s[self._step])
            self._communicate_left = float(self._communicate_s[self._step])
