"""Records of a run: its slowdown, and counters of its routers, the I/O routers and the rest in every step."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from flitwatch_research.campaign.background import SERVES
from flitwatch_research.campaign.cause import Cause
from flitwatch_research.campaign.window import DT_S, PROCESSOR, ROUTER, View, Window
from flitwatch_twin.applications import combine_stalls
from flitwatch_twin.counters import CYCLES_PER_WAIT, FLITS_PER_PACKET, ROUTER_CLOCK_HZ
from flitwatch_twin.stall import waiting

#: Flits per second of one node-rate (5 GB/s at 20/3 bytes per flit).
FLITS = 7.5e8
#: Effect of a one-minute queue at the file system relative to waiting on its network side.
QUEUE_FELT = 1.0
#: Share of the blue tiles' stalls that is added to the network stalls of the run's routers.
BLUE_PART = 0.25
#: Utilisation assumed for counting a run's own waiting as stalls of responses and column buffers.
OWN_PART = 0.3
#: Spread of response stalls relative to request stalls.
RESPONSE_NOISE = 0.12

Float = NDArray[np.float64]


def compute_components(cause: Cause, view: View, window: Window, own_s: Float) -> Float:
    """Compute the contribution of each of `dataset.COMPONENTS` to F before saturation: float64[T, 6]; `own_s` is the run's own waiting (`Cause.own`)."""
    waiting = cause.waiting
    parts = [
        combine_stalls(waiting(window.router), view.weight),
        combine_stalls(waiting(window.processor), view.weight),
        combine_stalls(waiting(window.global_[:, view.groups]), view.weight),
        io_felt(window.io, window.queue_s),
        *own_s.T,
    ]
    return np.stack([np.asarray(part, np.float64) for part in parts], axis=1) * cause.sensitivity


def io_felt(io: Float, queue_s: Float) -> Float:
    """Return the waiting at the file system: on its network side now, and in its earlier queue."""
    return waiting(io) + QUEUE_FELT * np.sqrt(np.maximum(queue_s, 0.0) / 60)


@dataclass(frozen=True)
class Recorded:
    """Counters per step: float64[S, 13], float64[S, 4], float64[S, 4]."""

    own: Float
    io: Float
    rest: Float


def record_steps(
    rng: np.random.Generator,
    window: Window,
    view: View,
    own_flits: tuple[float, float],
    ends: Float,
    communicate_s: Float,
    cause: Cause,
    own_s: Float,
) -> Recorded:
    """Integrate the fabric's state over each step into counters, with measurement noise.

    `own_flits` are the run's own flits per second of communication over its routers' network and processor tiles: a fixed volume per step, regardless
    of the step's duration. `ends` are the step ends, float64[S].
    """
    edges = np.concatenate([[0.0], ends])
    grid = DT_S * np.arange(len(window.io) + 1)

    def per_step(values: NDArray[np.floating]) -> Float:
        total = np.concatenate([[0.0], np.cumsum(np.asarray(values, np.float64)) * DT_S])
        return np.diff(np.interp(edges, grid, total))

    def noisy(values: Float) -> Float:
        return values * rng.lognormal(0, cause.noise, len(values))

    wait_router, wait_processor = waiting(window.router), waiting(window.processor)
    blue = window.global_[:, view.groups]
    router_capacity, processor_capacity = ROUTER * FLITS, PROCESSOR * FLITS
    network = per_step(window.others_router.sum(axis=1)) * router_capacity + own_flits[0] * communicate_s
    processor = per_step(window.others_processor.sum(axis=1)) * processor_capacity + own_flits[1] * communicate_s
    stalled = (window.router * wait_router).sum(axis=1) + BLUE_PART * (blue * waiting(blue)).sum(axis=1)
    network_stall = per_step(stalled) * router_capacity * CYCLES_PER_WAIT
    request_stall = per_step((window.processor * wait_processor).sum(axis=1)) * processor_capacity * CYCLES_PER_WAIT
    column = (
        per_step(0.5 * np.minimum(window.processor, 1).sum(axis=1) + 0.3 * wait_processor.sum(axis=1))
        * processor_capacity
    )
    io_flits = per_step(window.io_served) * FLITS
    twice = 0.25 * ROUTER_CLOCK_HZ
    # Responses also stall for other reasons, so these two correlate less with the run's slowdown.
    apart = rng.lognormal(0, RESPONSE_NOISE, (2, len(network)))
    own_cycles = len(view.own) * processor_capacity * CYCLES_PER_WAIT
    responses, buffers = (own_cycles * OWN_PART * per_step(part) for part in own_s.T)
    own = [
        network,
        network / FLITS_PER_PACKET + 0.02 * io_flits,
        twice * per_step((window.router**2).sum(axis=1)),
        network_stall,
        column + buffers,
        apart[0] * (0.6 * column + 0.02 * network_stall),
        0.7 * processor,
        0.3 * processor + 0.02 * io_flits,
        processor,
        processor / FLITS_PER_PACKET,
        request_stall,
        apart[1] * 0.5 * request_stall + responses,
        twice * per_step((window.processor**2).sum(axis=1)),
    ]
    return Recorded(
        np.stack([noisy(values) for values in own], axis=1),
        np.stack([noisy(values) for values in _count_io(window, per_step)], axis=1),
        np.stack([noisy(view.rest_scale * values) for values in _count_rest(window, per_step)], axis=1),
    )


def _count_io(window: Window, per_step: Callable[[NDArray[np.floating]], Float]) -> list[Float]:
    served = window.io_served * SERVES * FLITS
    return [
        per_step(window.io_router.sum(axis=1)) * ROUTER * FLITS,
        per_step((window.io_router * waiting(window.io_router)).sum(axis=1)) * ROUTER * FLITS * CYCLES_PER_WAIT,
        per_step(served),
        per_step(served * io_felt(window.io, np.zeros_like(window.io))) * CYCLES_PER_WAIT,
    ]


def _count_rest(window: Window, per_step: Callable[[NDArray[np.floating]], Float]) -> list[Float]:
    return [
        per_step(window.rest_router.sum(axis=1)) * ROUTER * FLITS,
        per_step((window.rest_router * waiting(window.rest_router)).sum(axis=1)) * ROUTER * FLITS * CYCLES_PER_WAIT,
        per_step(window.rest_processor.sum(axis=1)) * PROCESSOR * FLITS,
        per_step((window.rest_processor * waiting(window.rest_processor)).sum(axis=1))
        * PROCESSOR
        * FLITS
        * CYCLES_PER_WAIT,
    ]
