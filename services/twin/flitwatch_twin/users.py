"""Users of the machine, and their jobs' behaviour on the network."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum, StrEnum

import numpy as np
from numpy.typing import NDArray


class Schedule(IntEnum):
    """Schedule of a user's submissions."""

    ANY = 0
    WORKING_HOURS = 1
    NIGHTS = 2
    WEEKENDS = 3


class Exchange(IntEnum):
    """Communication partners of a job's nodes."""

    NEIGHBOUR = 0
    ALL_TO_ALL = 1
    REDUCE = 2


class Role(StrEnum):
    """Role of a planted user. Only truth and scoring may read it."""

    ORDINARY = "ordinary"
    BANDWIDTH = "bandwidth"
    IO = "io"
    INCAST = "incast"
    INNOCENT = "innocent"


MECHANISMS = (Role.BANDWIDTH, Role.IO, Role.INCAST)


@dataclass(frozen=True)
class Users:
    """Arrays over users. Rates are shares of a node's injection bandwidth.

    `nodes` and `duration_s` describe a user's typical job; `duty` and `burst_s` are the on share and mean on time of its traffic. Checkpoints of
    `checkpoint_s` seconds repeat every `checkpoint_every_s`.
    """

    names: tuple[str, ...]
    activity: NDArray[np.float64]
    nodes: NDArray[np.int64]
    duration_s: NDArray[np.float64]
    schedule: NDArray[np.int64]
    exchange: NDArray[np.int64]
    rate: NDArray[np.float64]
    duty: NDArray[np.float64]
    burst_s: NDArray[np.float64]
    io_rate: NDArray[np.float64]
    checkpoint_every_s: NDArray[np.float64]
    checkpoint_s: NDArray[np.float64]
    incast_rate: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.names)


@dataclass(frozen=True)
class Population:
    """Distributions from which users are drawn. Sizes in nodes, durations in seconds; sizes are log2-normal, durations log-normal."""

    count: int = 300
    log2_nodes: float = 8.0
    log2_nodes_sd: float = 0.9
    least_nodes: int = 128
    most_nodes: int = 2048
    median_duration_s: float = 2.5 * 3600
    least_duration_s: float = 1200.0
    most_duration_s: float = 24 * 3600.0
    aggressors: int = 10
    aggressor_nodes: tuple[int, int] = (384, 1900)
    innocents: int = 10


def draw_users(rng: np.random.Generator, population: Population) -> tuple[Users, tuple[Role, ...]]:
    """Draw users and their roles.

    Aggressors alternate between three mechanisms: bandwidth (all-to-all near the injection limit), I/O (heavy checkpoints) and
    incast (many nodes to few). Within each mechanism, the logarithms of their sizes are evenly spread, so that each has strong and weak ones.
    Innocents work during the day, when load is high anyway, and send almost no traffic.

    Returns
    -------
    users, roles : Users and one Role per user; only the truth may use the roles.
    """
    n = population.count
    activity = rng.lognormal(0.0, 1.0, n)
    nodes = np.clip(
        2 ** rng.normal(population.log2_nodes, population.log2_nodes_sd, n),
        population.least_nodes,
        population.most_nodes,
    )
    duration = np.clip(
        rng.lognormal(np.log(population.median_duration_s), 0.7, n),
        population.least_duration_s,
        population.most_duration_s,
    )
    users = Users(
        names=tuple(f"u{number:04d}" for number in range(1, n + 1)),
        activity=activity / activity.mean(),
        nodes=nodes.astype(np.int64),
        duration_s=duration,
        schedule=rng.choice(4, n, p=[0.5, 0.35, 0.1, 0.05]),
        exchange=rng.choice(3, n, p=[0.5, 0.3, 0.2]),
        rate=rng.lognormal(np.log(0.12), 0.5, n),
        duty=rng.uniform(0.5, 1.0, n),
        burst_s=rng.lognormal(np.log(60), 0.8, n),
        io_rate=rng.lognormal(np.log(0.02), 0.7, n),
        checkpoint_every_s=rng.uniform(600, 3000, n),
        checkpoint_s=rng.uniform(20, 90, n),
        incast_rate=np.zeros(n),
    )
    roles = [Role.ORDINARY] * n
    chosen = rng.permutation(n)[: population.aggressors + population.innocents]
    least, most = population.aggressor_nodes
    for turn, user in enumerate(chosen[: population.aggressors]):
        roles[user] = MECHANISMS[turn % len(MECHANISMS)]
        alike = len(range(turn % len(MECHANISMS), population.aggressors, len(MECHANISMS)))
        tier = (turn // len(MECHANISMS) + rng.random()) / alike
        users.nodes[user] = round(least * (most / least) ** tier)
        _make_aggressor(rng, users, int(user), roles[user])
    for user in chosen[population.aggressors :]:
        roles[user] = Role.INNOCENT
        _make_innocent(users, int(user))
    return users, tuple(roles)


def _make_aggressor(rng: np.random.Generator, users: Users, user: int, mechanism: Role) -> None:
    users.schedule[user] = rng.choice([Schedule.ANY, Schedule.ANY, Schedule.WORKING_HOURS])
    if mechanism is Role.BANDWIDTH:
        users.exchange[user] = Exchange.ALL_TO_ALL
        users.rate[user] = rng.uniform(1.1, 1.6)
        users.duty[user] = 0.85
        users.burst_s[user] = rng.uniform(120, 400)
    elif mechanism is Role.IO:
        users.rate[user] = 0.15
        users.io_rate[user] = rng.uniform(1.2, 2.0)
        users.checkpoint_every_s[user] = rng.uniform(240, 600)
        users.checkpoint_s[user] = users.checkpoint_every_s[user] * rng.uniform(0.35, 0.55)
    else:
        users.rate[user] = 0.35
        users.incast_rate[user] = rng.uniform(1.1, 1.6)
        users.duty[user] = 0.7
        users.burst_s[user] = rng.uniform(60, 200)


def _make_innocent(users: Users, user: int) -> None:
    users.schedule[user] = Schedule.WORKING_HOURS
    users.exchange[user] = Exchange.NEIGHBOUR
    users.rate[user] = 0.04
    users.io_rate[user] = 0.005
    users.activity[user] *= 2
