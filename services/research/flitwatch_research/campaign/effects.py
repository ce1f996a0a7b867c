"""Counterfactuals of one run: its slowdown without one owner's flows. Used only for the truth."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from flitwatch_research.campaign.background import (
    BIN_S,
    QUEUE_LAG_S,
    SERVES,
    Background,
    checkpoint_load,
    simulate_queue,
)
from flitwatch_research.campaign.cause import Cause
from flitwatch_research.campaign.observe import io_felt
from flitwatch_research.campaign.window import DT_S, IO_SCALE, Linear, Rates, View, Window
from flitwatch_twin.applications import Application, combine_stalls, saturate_slowdown

#: Counterfactual loads are evaluated at every fourth point of the window; their difference is constant in between.
STRIDE = 4
#: The file system's queue is simulated from this long before the run.
QUEUE_HISTORY_S = 1800.0
#: A user whose flows change F by less than this everywhere has no effect.
LEAST = 1e-4

Float = NDArray[np.float64]


def slowdown_without(
    app: Application,
    cause: Cause,
    view: View,
    window: Window,
    linear: Linear,
    rates: Rates,
    raw: Float,
    flows_of: list[NDArray[np.int64]],
    io_relief: Float,
) -> Float:
    """Return F over the window's T times without each owner's flows: float64[owners, T].

    `raw` is the unsaturated F of the window (float64[T]), `flows_of` each owner's columns of `rates`, and `io_relief` the reduction of effective I/O
    without the owner (float64[owners, T]).
    """
    every = slice(None, None, STRIDE)
    thin = Rates(rates.exchange[every], rates.io[every], rates.incast[every])
    weight = view.weight.astype(np.float32)
    router, processor, global_ = window.router[every], window.processor[every], window.global_[every]
    base = _network_slowdown(router, processor, global_, view, weight, cause)
    result = np.empty((len(flows_of), len(raw)))
    for owner, flows in enumerate(flows_of):
        without = _network_slowdown(
            router - linear.router(thin, flows, view.own),
            processor - linear.processor(thin, flows, view.own),
            global_ - linear.global_(thin, flows),
            view,
            weight,
            cause,
        )
        relief = np.repeat(base - without, STRIDE)[: len(raw)] + cause.sensitivity[3] * io_relief[owner]
        result[owner] = saturate_slowdown(np.maximum(raw - relief, 0.0), app.most_slowdown)
    return result


def _network_slowdown(
    router: NDArray[np.float32],
    processor: NDArray[np.float32],
    global_: NDArray[np.float32],
    view: View,
    weight: NDArray[np.float32],
    cause: Cause,
) -> Float:
    waiting, s = cause.waiting, cause.sensitivity
    felt_router = combine_stalls(waiting(np.maximum(router, 0)), weight)
    felt_processor = combine_stalls(waiting(np.maximum(processor, 0)), weight)
    felt_global = combine_stalls(waiting(np.maximum(global_, 0)[:, view.groups]), weight)
    total: Float = (s[0] * felt_router + s[1] * felt_processor + s[2] * felt_global).astype(np.float64)
    return total


def io_relief(window: Window, background: Background, begin_s: float, writers: list[tuple[Float, ...]]) -> Float:
    """Compute the reduction of effective I/O without each owner's writers: float64[owners, T].

    `writers` are the arrays (start, end, rate, every, length, phase) of `checkpoint_load` of each owner's jobs.
    """
    points = len(window.io)
    if not writers:
        return np.zeros((0, points))
    first = max(begin_s - QUEUE_HISTORY_S, 0.0)
    from_bin = int(first / BIN_S)
    bins = int((begin_s - first + points * DT_S) / BIN_S) + 2
    written = np.stack([checkpoint_load(bins, from_bin * BIN_S, *owner) / SERVES for owner in writers])
    relief = np.zeros((len(writers), points))
    busy = np.flatnonzero(written.max(axis=1) > LEAST)
    if not len(busy):
        return relief
    time_s = begin_s + DT_S * (np.arange(points) + 0.5)
    actual = background.arrivals[from_bin : from_bin + bins].astype(np.float64)
    rest = np.maximum(actual - written[busy, : len(actual)], 0.0)
    backlog_s = float(background.queue_s[max(from_bin - 1, 0)])
    change = simulate_queue(np.concatenate([actual[None], rest]), backlog_s)
    now = np.clip(((time_s - from_bin * BIN_S) / BIN_S).astype(np.int64), 0, len(actual) - 1)
    before = np.maximum(now - round(QUEUE_LAG_S / BIN_S), 0)
    less_queue = np.maximum(window.queue_s - (change[0] - change[1:])[:, before], 0.0)
    less_io = np.maximum(window.io - IO_SCALE * written[busy][:, now], 0.0)
    relief[busy] = io_felt(window.io, window.queue_s) - io_felt(less_io, less_queue)
    return relief
