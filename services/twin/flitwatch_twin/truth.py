"""Counterfactual truth of a second-by-second scenario: each run's time without each user.

Every run has shadows, one for each user with flows. A shadow advances through the same steps while that user's flows are left out of the fabric. When
the run ends, the difference of the two times is the user's effect. Only this module and `cluster` know the owner of a flow, and only scoring reads
this module's output.
"""

from __future__ import annotations

import copy
import json
import math
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypedDict

import numpy as np

from flitwatch_twin.cluster import Cluster, Tick
from flitwatch_twin.flows import Flows
from flitwatch_twin.progress import Progress
from flitwatch_twin.runs import InstrumentedRun

#: Number of runs kept in the file, so that it stays small in long simulations. Per-user sums cover all runs.
KEPT_RUNS = 2000
HOW = (
    "effect_s = time of the run - time of the same run while the user's flows are left out (same seed, placement and noise); "
    "effect_log = log of the ratio of the two"
)


class UserEffect(TypedDict):
    """Additional time of a run because of a user: seconds, and the log of the ratio."""

    effect_s: float
    effect_log: float


class TruthRun(TypedDict):
    """Ended run, in seconds of the twin, with the effect of each user."""

    run_key: str
    application: str
    start_s: float
    time_s: float
    effects: dict[str, UserEffect]


class UserTruth(TypedDict):
    """A user's mean effect on runs that overlapped with their jobs."""

    runs: int
    mean_effect_s: float
    mean_effect_log: float


class TruthSummary(TypedDict):
    """Contents of `truth.json`; `planted` contains the roles of planted users."""

    simulated: bool
    scenario: str
    seed: int
    how: str
    evaluated_every_s: int
    planted: dict[str, str]
    users: dict[str, UserTruth]
    runs: list[TruthRun]


@dataclass
class _Shadow:
    progress: Progress
    relief: float = 0.0


@dataclass
class _Sum:
    runs: int = 0
    effect_s: float = 0.0
    effect_log: float = 0.0


@dataclass
class Truth:
    """Observes a cluster. `every_s` is the interval between evaluations of the effects on the fabric (0: never)."""

    cluster: Cluster
    every_s: int
    runs: list[TruthRun] = field(default_factory=list)
    users: dict[str, _Sum] = field(default_factory=dict)
    _shadows: dict[InstrumentedRun, dict[str, _Shadow]] = field(default_factory=dict)

    def observe(self, second: Tick) -> None:
        """Process one second, after the cluster has advanced by it."""
        if not self.every_s:
            return
        for run, shadows in self._shadows.items():
            actual = run.run_view.slowdown(second.state)
            for shadow in shadows.values():
                if not shadow.progress.finished:
                    shadow.progress.advance(1.0, max(actual - shadow.relief, 0.0))
        for run in second.finished:
            self._close_run(run)
        running = [job.run for job in self.cluster.running.values() if job.run is not None]
        live = [run for run in running if not run.progress.finished]
        if live and second.time_s % self.every_s == 0:
            self._observe_effects(second, live)

    def _observe_effects(self, second: Tick, runs: list[InstrumentedRun]) -> None:
        """Compute the current contribution of every user's flows to every run's slowdown."""
        owners = np.array(second.owners)
        actual = {run: run.run_view.slowdown(second.state) for run in runs}
        for user in np.unique(owners[(owners != "") & (owners != self.cluster.owner)]):
            rest = Flows(second.flows.patterns, np.where(owners == user, 0.0, second.flows.rate))
            without = self.cluster.model.step(rest, 1.0)
            for run in runs:
                shadows = self._shadows.setdefault(run, {})
                if user not in shadows:
                    shadows[user] = _Shadow(copy.deepcopy(run.progress))
                shadows[user].relief = actual[run] - run.run_view.slowdown(without)
        for run in runs:
            for user, shadow in self._shadows.get(run, {}).items():
                if user not in owners:
                    shadow.relief = 0.0

    def _close_run(self, run: InstrumentedRun) -> None:
        effects: dict[str, UserEffect] = {}
        time_s = run.progress.elapsed_s
        for user, shadow in self._shadows.pop(run, {}).items():
            while not shadow.progress.finished:
                shadow.progress.advance(60.0, 0.0)
            without = shadow.progress.elapsed_s
            effects[str(user)] = {
                "effect_s": round(time_s - without, 4),
                "effect_log": round(math.log(time_s / without), 6),
            }
            total = self.users.setdefault(str(user), _Sum())
            total.runs += 1
            total.effect_s += time_s - without
            total.effect_log += math.log(time_s / without)
        self.runs.append(
            {
                "run_key": run.key,
                "application": run.application.name,
                "start_s": run.start_s,
                "time_s": round(time_s, 4),
                "effects": effects,
            }
        )
        del self.runs[:-KEPT_RUNS]

    def summary(self) -> TruthSummary:
        """Return the contents of `truth.json`."""
        cluster = self.cluster
        roles = {name: str(role) for name, role in zip(cluster.users.names, cluster.roles, strict=True)}
        users: dict[str, UserTruth] = {
            user: {
                "runs": s.runs,
                "mean_effect_s": round(s.effect_s / s.runs, 4),
                "mean_effect_log": round(s.effect_log / s.runs, 6),
            }
            for user, s in sorted(self.users.items())
        }
        return {
            "simulated": True,
            "scenario": cluster.spec.name,
            "seed": cluster.seed,
            "how": HOW,
            "evaluated_every_s": self.every_s,
            "planted": {user: role for user, role in roles.items() if role != "ordinary"},
            "users": users,
            "runs": self.runs,
        }

    def write(self, path: Path) -> None:
        """Write the file atomically."""
        part = path.with_suffix(".part")
        part.write_text(json.dumps(self.summary(), indent=1) + "\n", encoding="utf-8")
        os.replace(part, path)
