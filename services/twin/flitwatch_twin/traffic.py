"""Traffic of a job over time: bursts and checkpoints, drawn once from the job's own seed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from flitwatch_twin.users import Users

#: Fraction of a job's rate that remains between its bursts.
QUIET = 0.15


@dataclass(frozen=True)
class Bursts:
    """Stationary on/off process: its first state and its switching times from the job's start."""

    edges_s: NDArray[np.float64]
    begins_on: bool

    @classmethod
    def draw(cls, rng: np.random.Generator, duty: float, on_s: float, life_s: float) -> Bursts:
        """Draw exponential on times of mean `on_s`, and off times that give the on share `duty`, over `life_s` seconds."""
        begins_on = bool(rng.random() < duty)
        off_s = on_s * (1 - duty) / duty
        pairs = int(1.5 * life_s / (on_s + off_s)) + 16
        lengths = rng.exponential(1.0, 2 * pairs)
        lengths[0::2] *= on_s if begins_on else off_s
        lengths[1::2] *= off_s if begins_on else on_s
        edges = np.cumsum(lengths)
        return cls(edges[: int(np.searchsorted(edges, life_s)) + 1], begins_on)

    def at(self, since_start_s: ArrayLike) -> NDArray[np.float64]:
        """Return 1 while on, `QUIET` while off, in the input's shape."""
        odd = np.searchsorted(self.edges_s, np.asarray(since_start_s), side="right") % 2
        return np.where((odd == 0) == self.begins_on, 1.0, QUIET)


@dataclass(frozen=True)
class Checkpoints:
    """Periodic writes from the job's start, with a phase in [0, 1)."""

    every_s: float
    length_s: float
    phase: float

    def at(self, since_start_s: ArrayLike) -> NDArray[np.float64]:
        """Return 1 while writing, else 0, in the input's shape."""
        position = (np.asarray(since_start_s, np.float64) / self.every_s + self.phase) % 1.0
        return (position < self.length_s / self.every_s).astype(np.float64)


@dataclass(frozen=True)
class Behaviour:
    """Traffic of one job per node, as shares of injection bandwidth: exchange, I/O and incast over time."""

    exchange: int
    rate: float
    bursts: Bursts
    io_rate: float
    checkpoints: Checkpoints
    incast_rate: float
    incast_bursts: Bursts

    def rates_at(
        self, since_start_s: ArrayLike
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Return the (exchange, I/O, incast) rates at the given seconds since the job's start."""
        incast = (
            self.incast_rate * self.incast_bursts.at(since_start_s)
            if self.incast_rate
            else np.zeros_like(since_start_s, float)
        )
        return self.rate * self.bursts.at(since_start_s), self.io_rate * self.checkpoints.at(since_start_s), incast


def job_behaviour(users: Users, user: int, seed: tuple[int, ...], life_s: float) -> Behaviour:
    """Draw the behaviour of a user's job. The same seed gives the same job, independent of the rest of the simulation."""
    rng = np.random.default_rng(seed)
    vigour = float(rng.lognormal(0.0, 0.25))
    duty, burst_s = float(users.duty[user]), float(users.burst_s[user])
    checkpoints = Checkpoints(
        float(users.checkpoint_every_s[user]), float(users.checkpoint_s[user]), float(rng.random())
    )
    return Behaviour(
        exchange=int(users.exchange[user]),
        rate=float(users.rate[user]) * vigour,
        bursts=Bursts.draw(rng, duty, burst_s, life_s),
        io_rate=float(users.io_rate[user]),
        checkpoints=checkpoints,
        incast_rate=float(users.incast_rate[user]) * vigour,
        incast_bursts=Bursts.draw(rng, duty, burst_s, life_s),
    )
