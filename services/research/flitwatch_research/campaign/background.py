"""Background load not caused by a single user: the crowd's load by group and hour, and the file system's queue."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from flitwatch_twin.calendar import DAY_S, day_load

#: Knots of the slow moods, and bins of the file system.
MOOD_S, BIN_S = 30.0, 10.0
#: Mean background utilisation of routers by day, its spread between groups, and its spread over the whole machine.
LEVEL, GROUP_SPREAD, MACHINE_SPREAD = 0.16, 0.35, 0.25
#: Correlation times of the two moods.
GROUP_MEMORY_S, MACHINE_MEMORY_S = 200.0, 1700.0
#: Node-rates of I/O that the file system serves at once.
SERVES = 1100.0
#: I/O of the crowd: its share of the file system's capacity, its spread and memory.
CROWD_IO, CROWD_IO_SPREAD, CROWD_IO_MEMORY_S = 0.38, 0.5, 1500.0
#: The queue is bounded (clients block), and its effect is delayed by this much.
LONGEST_QUEUE_S, QUEUE_LAG_S = 240.0, 150.0

Float = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Background:
    """Series over the whole campaign.

    Attributes
    ----------
    group_mood : float32[K, G], machine_mood : float32[K]; unit-variance AR(1), a knot every `MOOD_S`.
    arrivals, queue_s : float32[B]; offered I/O over the capacity, and the file system's backlog, in bins of `BIN_S`.
    by_day : float64[days]; factor for the level of each day, 1 if days do not differ.
    """

    group_mood: NDArray[np.float32]
    machine_mood: NDArray[np.float32]
    arrivals: NDArray[np.float32]
    queue_s: NDArray[np.float32]
    by_day: Float

    @classmethod
    def draw(
        cls,
        rng: np.random.Generator,
        groups: int,
        span_s: float,
        start_s: Float,
        end_s: Float,
        rate: Float,
        every_s: Float,
        length_s: Float,
        phase: Float,
        by_day: Float,
    ) -> Background:
        """Draw the moods and sum the checkpoints of jobs with the given starts, ends, rates (node-rates), periods and phases."""
        knots = int(span_s / MOOD_S) + 400
        group = draw_autoregressive(rng, knots, groups, np.exp(-MOOD_S / GROUP_MEMORY_S))
        machine = draw_autoregressive(rng, knots, 1, np.exp(-MOOD_S / MACHINE_MEMORY_S))[:, 0]
        bins = int(span_s / BIN_S) + 1200
        crowd = draw_autoregressive(rng, bins, 1, np.exp(-BIN_S / CROWD_IO_MEMORY_S))[:, 0]
        arrivals = CROWD_IO * np.exp(CROWD_IO_SPREAD * crowd)
        arrivals += checkpoint_load(bins, 0.0, start_s, end_s, rate, every_s, length_s, phase) / SERVES
        return cls(group, machine, arrivals.astype(np.float32), long_queue(arrivals).astype(np.float32), by_day)

    def level(self, time_s: Float) -> NDArray[np.float32]:
        """Return the background utilisation of every group's routers: float32[T, G]."""
        place = time_s / MOOD_S
        knot = np.minimum(place.astype(np.int64), len(self.machine_mood) - 2)
        part = (place - knot).astype(np.float32)
        group = self.group_mood[knot] * (1 - part)[:, None] + self.group_mood[knot + 1] * part[:, None]
        machine = self.machine_mood[knot] * (1 - part) + self.machine_mood[knot + 1] * part
        mood = np.exp(GROUP_SPREAD * group + MACHINE_SPREAD * machine[:, None])
        today = self.by_day[np.clip((time_s // DAY_S).astype(np.int64), 0, len(self.by_day) - 1)]
        level: NDArray[np.float32] = (LEVEL * (day_load(time_s) * today)[:, None] * mood).astype(np.float32)
        return level

    def io(self, time_s: Float) -> tuple[Float, Float]:
        """Return (arrivals, effective queue) at simulated seconds: float64[T] each; the queue is delayed by `QUEUE_LAG_S`."""
        return at_bins(self.arrivals, time_s), at_bins(self.queue_s, time_s - QUEUE_LAG_S)


def at_bins(series: NDArray[np.floating], time_s: Float, first_s: float = 0.0) -> Float:
    """Return a binned series at the given times, constant within a bin."""
    return series[np.clip(((time_s - first_s) / BIN_S).astype(np.int64), 0, len(series) - 1)].astype(np.float64)


def draw_autoregressive(rng: np.random.Generator, length: int, width: int, memory: float) -> NDArray[np.float32]:
    """Return stationary unit-variance AR(1) series x <- memory x + noise: float32[length, width]."""
    from scipy.signal import lfilter

    noise = rng.standard_normal((length, width), np.float32)
    noise[1:] *= np.float32(np.sqrt(1 - memory**2))
    series: NDArray[np.float32] = lfilter([1.0], [1.0, -memory], noise, axis=0).astype(np.float32)
    return series


def simulate_queue(arrivals: Float, first: Float | float) -> Float:
    """Return the backlog in seconds, B <- min(max(0, B + (arrivals - 1) BIN_S), longest), starting from `first`; time is the last axis."""
    change = np.moveaxis((arrivals - 1) * BIN_S, -1, 0)
    backlog = np.empty_like(change)
    backlog_s: Float | float = first
    for k in range(len(change)):
        backlog_s = np.minimum(np.maximum(backlog_s + change[k], 0.0), LONGEST_QUEUE_S)
        backlog[k] = backlog_s
    return np.moveaxis(backlog, 0, -1)


def long_queue(arrivals: Float) -> Float:
    """Return `simulate_queue` of one long series from an empty queue, using plain numbers, which are faster than arrays of one."""
    backlog, backlog_s = [], 0.0
    for change in ((arrivals - 1) * BIN_S).tolist():
        backlog_s = min(max(0.0, backlog_s + change), LONGEST_QUEUE_S)
        backlog.append(backlog_s)
    return np.array(backlog)


def checkpoint_load(
    bins: int, first_s: float, start_s: Float, end_s: Float, rate: Float, every_s: Float, length_s: Float, phase: Float
) -> Float:
    """Return the sum of all jobs' checkpoint writes in bins from `first_s` on, in node-rates, with the pulses of `traffic.Checkpoints`."""
    count = np.ceil((end_s - start_s) / every_s + 1).astype(np.int64) + 1
    job = np.repeat(np.arange(len(start_s)), count)
    number = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
    begin = start_s[job] + (number - phase[job]) * every_s[job]
    stop = np.minimum(begin + length_s[job], end_s[job])
    begin = np.maximum(begin, start_s[job])
    inside = stop > begin
    begin, stop, weight = (begin[inside] - first_s) / BIN_S, (stop[inside] - first_s) / BIN_S, rate[job[inside]]
    # The integral of a pulse is a ramp; its bins are differences of ramps at bin edges.
    ramp = _sum_ramps(bins, begin, weight) - _sum_ramps(bins, stop, weight)
    return np.diff(ramp)


def _sum_ramps(bins: int, at: Float, weight: Float) -> Float:
    """Return the sum of weight x max(0, edge - at) at the edges 0 .. bins."""
    at = np.clip(at, -1e6, bins)
    whole = np.floor(at).astype(np.int64)
    early = whole < 0
    slope, offset = np.zeros(bins + 2), np.zeros(bins + 2)
    slope[0], offset[0] = weight[early].sum(), -(weight * at)[early].sum()
    place = np.minimum(whole[~early] + 1, bins + 1)
    np.add.at(slope, place, weight[~early])
    np.add.at(offset, place, -(weight * at)[~early])
    edges = np.arange(bins + 1)
    return np.cumsum(slope)[:-1] * edges + np.cumsum(offset)[:-1]
