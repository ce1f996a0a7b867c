"""Instrumented applications: the cost of a time step without interference, and its stretch by congestion.

Shapes of the step curves and shares of communication follow Bhatele 2020 (figures 3 to 5); absolute seconds have the same order of magnitude.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flitwatch_domain.errors import BadRequest
from flitwatch_twin.users import Exchange

#: Weight of the slowest tenth of the routers relative to the mean: one late rank delays the others.
TAIL_WEIGHT = 0.4


@dataclass(frozen=True)
class Sensitivity:
    """Sensitivity of communication to waiting at each place, per unit of the stall curve."""

    router: float
    processor: float
    global_: float
    io: float

    def vector(self) -> NDArray[np.float64]:
        """Return the four coefficients in the order router, processor, global, I/O."""
        return np.array([self.router, self.processor, self.global_, self.io])


@dataclass(frozen=True)
class Application:
    """Executable at one size. Step arrays have length S and unit s, without interference.

    `demand` is its nodes' traffic during communication, as a share of injection bandwidth. The slowdown of communication saturates at
    `most_slowdown`, beyond which the application waits for itself.
    """

    name: str
    executable: str
    nodes: int
    compute_s: NDArray[np.float64]
    communicate_s: NDArray[np.float64]
    sensitivity: Sensitivity
    demand: float
    exchange: Exchange
    most_slowdown: float = 4.0

    @property
    def steps(self) -> int:
        """Return the number of time steps."""
        return len(self.compute_s)

    @property
    def alone_s(self) -> float:
        """Return the run time without congestion or noise."""
        return float(self.compute_s.sum() + self.communicate_s.sum())


def _make_application(
    name: str, executable: str, nodes: int, curve: NDArray[np.float64], share: float, *rest: Any
) -> Application:
    """Make an application from the curve of its step times, and the share of communication in it; `rest` as in `Application`."""
    return Application(name, executable, nodes, curve * (1 - share), curve * share, *rest)


def _make_catalogue() -> dict[str, Application]:
    steps = np.arange(20)
    amg = 9 + 5 * np.exp(-steps / 4) + 3 * np.sin(steps / 3) + 0.35 * steps
    milc = np.concatenate([np.full(20, 1.6), 5.2 + 0.25 * np.sin(np.arange(60) / 9)])
    long_milc = np.concatenate([milc, 5.2 + 0.25 * np.sin(np.arange(60, 600) / 9)])
    minivite = np.array([52.0, 50, 50, 50, 50, 49])
    umt = np.array([62.0, 55, 54, 54, 54, 54, 56])
    near, far = Exchange.NEIGHBOUR, Exchange.ALL_TO_ALL
    milc_at_128 = Sensitivity(1.8, 0.3, 0.8, 0.45), 0.4, near
    applications = [
        _make_application("amg-128", "amg", 128, amg, 0.76, Sensitivity(1.2, 2.2, 0.5, 0.05), 0.30, near),
        _make_application("amg-512", "amg", 512, amg * 1.15, 0.82, Sensitivity(2.4, 1.2, 0.8, 0.05), 0.30, near),
        _make_application("milc-128", "su3_rmd", 128, milc, 0.89, *milc_at_128),
        _make_application("milc-512", "su3_rmd", 512, milc * 1.1, 0.89, Sensitivity(1.9, 0.3, 1.0, 0.45), 0.4, near),
        _make_application("minivite-128", "miniVite", 128, minivite, 0.98, Sensitivity(2.6, 1.6, 1.0, 0.1), 0.45, far),
        _make_application("umt-128", "umt", 128, umt, 0.30, Sensitivity(0.8, 16.0, 0.6, 0.05), 0.20, near, 10.0),
        _make_application("long-milc", "su3_rmd", 128, long_milc, 0.89, *milc_at_128),
    ]
    return {application.name: application for application in applications}


APPLICATIONS = _make_catalogue()


def find_application(name: str) -> Application:
    """Return an application by name. Raise BadRequest that lists the valid names."""
    if name not in APPLICATIONS:
        raise BadRequest(f"there is no application {name!r}", advice=f"Choose one of {', '.join(APPLICATIONS)}.")
    return APPLICATIONS[name]


def combine_stalls(stalls: NDArray[np.floating], weight: NDArray[np.floating]) -> NDArray[np.floating]:
    """Combine the stalls on an application's routers: 0.6 of the node-weighted mean and 0.4 of the worst tenth.

    `stalls` has shape [..., routers], `weight` [routers] sums to 1; the result has shape [...].
    """
    worst = max(1, stalls.shape[-1] // 10)
    tail = np.partition(stalls, -worst, axis=-1)[..., -worst:].mean(axis=-1)
    return (1 - TAIL_WEIGHT) * (stalls @ weight) + TAIL_WEIGHT * tail


def saturate_slowdown(raw: NDArray[np.floating] | float, most: float) -> NDArray[np.float64]:
    """Saturate the summed effect: F <- most (1 - exp(-F / most)); communication then advances at 1 / (1 + F)."""
    return most * (1 - np.exp(-np.asarray(raw, np.float64) / most))


def noisy_steps(rng: np.random.Generator, app: Application) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return one run's compute and communication needs per step, with operating-system noise that is not network noise.

    Compute is multiplied by (1 + |N(0, 0.01)|), and 2 % of the steps have a spike of 8 % on average. A whole run is up to about 1 % slower on slow
    nodes. Communication volume varies by 0.6 %.
    """
    spikes = np.where(rng.random(app.steps) < 0.02, rng.exponential(0.08, app.steps), 0.0)
    whole_run = 1 + abs(rng.normal(0, 0.004))
    compute = app.compute_s * whole_run * (1 + np.abs(rng.normal(0, 0.01, app.steps)) + spikes)
    return compute, app.communicate_s * (1 + rng.normal(0, 0.006, app.steps))
