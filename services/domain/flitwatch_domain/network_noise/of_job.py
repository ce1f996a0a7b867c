"""Network noise of one job: how much longer its network cards took to send than in the job's own quiet times."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from flitwatch_domain.fabric import Technology
from flitwatch_domain.network_noise.observations import NIC_HZ, message_time_s, quartile_dispersion, transmission_time_s

Floats = NDArray[np.float64]

#: Minimum number of windows with traffic for a dispersion, and minimum share of network cards and windows that were counted.
LEAST_WINDOWS, LEAST_COUNTED = 4, 0.5
#: Size of the message whose modelled time is compared between windows.
MESSAGE_BYTES = 65_536
#: Counters by column of the tables endpoint_*.
COLUMNS = ("rq_flits", "rq_stall_cycles", "rq_packets", "latency_us_sum", "tx_packets", "tx_wait_cycles")


@dataclass(frozen=True)
class Measures:
    """Counters of latency and of waiting on a technology's network cards.

    Attributes
    ----------
    latency : (column, column) or None   latency in us, requests
    waits : (column, column)             cycles or ticks of waiting, and the units that waited
    no_latency, no_time : str            why latency, or time in seconds, cannot be determined; empty if it can
    """

    latency: tuple[str, str] | None
    waits: tuple[str, str]
    waits_unit: str
    no_latency: str = ""
    no_time: str = ""


_PORTS = Measures(
    None,
    ("tx_wait_cycles", "tx_packets"),
    "word times / packet",
    "Ports of this network do not count latency.",
    "The length of a tick of port_xmit_wait differs between devices, and no counter shows it.",
)
MEASURES = {
    Technology.CRAY_XC: Measures(("latency_us_sum", "rq_packets"), ("rq_stall_cycles", "rq_flits"), "cycles / flit"),
    Technology.SLINGSHOT: Measures(
        None,
        ("tx_wait_cycles", "tx_packets"),
        "cycles / packet",
        "Cassini NICs do not count a sum of latencies.",
        "The length of a cycle of hni_tx_paused is not published, and latency is not counted.",
    ),
    Technology.INFINIBAND: _PORTS,
    Technology.OPA: replace(_PORTS, waits_unit="flit times / packet"),
}


@dataclass(frozen=True, eq=False)
class NicCounts:
    """Counters of a job's network cards by window.

    Attributes
    ----------
    counts : {column of `COLUMNS`: float64 (windows, NICs)}   NaN: not counted
    """

    window_s: int
    counts: dict[str, Floats]


@dataclass(frozen=True)
class Figure:
    """Mean over the job, its quiet level (lower quartile over windows), and the quartile coefficient of dispersion over windows."""

    mean: float
    quiet: float
    dispersion: float


@dataclass(frozen=True)
class JobNoise:
    """Network noise of a job from its network cards. None: unknown, with the reason in `unknown`.

    Attributes
    ----------
    windows, NICs, cards_counted : int
    latency_us : Figure or None            time from a request to its response
    waits : Figure or None                 in `waits_unit`
    message_dispersion : float or None     dispersion of the modelled time of a message of `MESSAGE_BYTES`
    noise_s : float or None                modelled seconds of sending in excess of the quiet level, mean over the NICs
    worst_noise_s : float or None          the same for the NIC with the largest value
    counters : columns used
    unknown : {figure: reason}
    """

    windows: int
    cards: int
    cards_counted: int
    latency_us: Figure | None = None
    waits: Figure | None = None
    waits_unit: str | None = None
    message_dispersion: float | None = None
    noise_s: float | None = None
    worst_noise_s: float | None = None
    counters: tuple[str, ...] = ()
    unknown: dict[str, str] = field(default_factory=dict)


def job_noise(nics: NicCounts, technology: Technology, cards: int) -> JobNoise:
    """Estimate the network noise of a job (De Sensi 2019, sections 2.4 and 3).

    Each NIC is compared with its own lower quartile over the job's windows, so that allocations are not compared (guideline 1). Latency and waits are
    quotients of counters, so that a longer time has no effect (guideline 2), and do not include host delay (guideline 3). A window's traffic is treated
    as one message of equation 2. Seconds in excess of the quiet level come from the window of 1,024 packets and from stalled flits.
    Noise during more than three quarters of the job looks like its quiet level and is not detected.

    Parameters
    ----------
    technology : Technology
        Technology of the NICs' fabric.
    cards : int
        Number of the job's NICs there.
    """
    measures = MEASURES.get(technology)
    if measures is None:
        return _cannot_tell(0, cards, 0, "Flitwatch knows no counters of network cards for this technology.")
    above, below = (nics.counts[name] for name in measures.waits)
    used = list(measures.waits)
    waits_ratio = _safe_ratio(above, below)
    latency_ratio = None
    if measures.latency is not None:
        latency_ratio = _safe_ratio(*(nics.counts[name] for name in measures.latency))
        used += measures.latency
    mask = np.isfinite(waits_ratio) | (np.isfinite(latency_ratio) if latency_ratio is not None else False)
    windows, counted = int(mask.any(1).sum()), int(mask.any(0).sum())
    if not counted:
        return _cannot_tell(
            0, cards, 0, f"None of its network cards' counters ({', '.join(used)}) counted traffic while it ran."
        )
    if windows < LEAST_WINDOWS:
        return _cannot_tell(
            windows, cards, counted, f"Its network cards were counted in {windows} windows; {LEAST_WINDOWS} are needed."
        )
    if counted < LEAST_COUNTED * cards:
        return _cannot_tell(windows, cards, counted, f"Only {counted} of its {cards} network cards were counted.")
    unknown = {}
    waits = _make_figure(above, below, waits_ratio)
    if waits is None:
        unknown["waits"] = f"{measures.waits[0]} was not counted for these NICs."
    latency = None
    if measures.latency is None:
        unknown["latency_us"] = measures.no_latency
    else:
        assert latency_ratio is not None
        over, under = (nics.counts[name] for name in measures.latency)
        latency = _make_figure(over, under, latency_ratio)
        if latency is None:
            unknown["latency_us"] = f"{measures.latency[0]} was not counted for these NICs."
    dispersion = noise = worst = None
    if latency is None or waits is None or latency_ratio is None:
        why = measures.no_time or f"The model needs latency and stalls: {' '.join(unknown.values())}"
        unknown["noise_s"] = unknown["message_dispersion"] = why
    else:
        noise, worst = _beyond_quiet(nics, waits_ratio, latency_ratio)
        dispersion = quartile_dispersion(_message_times(nics))
    return JobNoise(
        windows,
        cards,
        counted,
        latency,
        waits,
        measures.waits_unit,
        dispersion,
        noise,
        worst,
        tuple(name for name in used if np.isfinite(nics.counts[name]).any()),
        unknown,
    )


def _cannot_tell(windows: int, cards: int, counted: int, why: str) -> JobNoise:
    figures = ("latency_us", "waits", "message_dispersion", "noise_s")
    return JobNoise(windows, cards, counted, unknown=dict.fromkeys(figures, why))


def _safe_ratio(above: Floats, below: Floats) -> Floats:
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(below > 0, above / below, np.nan)


def _make_figure(above: Floats, below: Floats, ratio: Floats) -> Figure | None:
    """Compute the values for the whole job from sums over the NICs by window."""
    both = np.isfinite(ratio)
    windows = both.any(1)
    if windows.sum() < LEAST_WINDOWS:
        return None
    over, under = (np.where(both, counts, 0.0)[windows].sum(1) for counts in (above, below))
    by_window = over / under
    return Figure(
        float(over.sum() / under.sum()), float(np.percentile(by_window, 25)), quartile_dispersion(by_window.tolist())
    )


def _beyond_quiet(nics: NicCounts, waits: Floats, latency_us: Floats) -> tuple[float, float]:
    """Return the seconds of sending in excess of each NIC's quiet level: mean over the counted NICs, and maximum."""
    both = np.isfinite(waits) & np.isfinite(latency_us)
    cards = both.sum(0) >= LEAST_WINDOWS
    if not cards.any():
        return 0.0, 0.0
    both = both[:, cards]
    packets, flits = (np.where(both, nics.counts[name][:, cards], 0.0) for name in ("rq_packets", "rq_flits"))
    latency = np.where(both, latency_us[:, cards], np.nan) * 1e-6 * NIC_HZ
    stalls = np.where(both, waits[:, cards], np.nan)
    quiet_latency, quiet_stalls = (
        np.broadcast_to(np.nanpercentile(quantity, 25, axis=0), both.shape) for quantity in (latency, stalls)
    )
    extra = transmission_time_s(packets, flits, latency, stalls) - transmission_time_s(
        packets, flits, quiet_latency, quiet_stalls
    )
    # A network card that was mostly below its quiet level had no noise.
    noise = np.maximum(np.nansum(extra, axis=0), 0.0)
    return float(noise.mean()), float(noise.max())


def _message_times(nics: NicCounts) -> list[float]:
    counts = nics.counts
    whole = np.isfinite([counts[name] for name in ("rq_flits", "rq_stall_cycles", "rq_packets", "latency_us_sum")]).all(
        0
    )
    flits, stalls, packets, latency = (
        np.where(whole, counts[name], 0.0).sum(1)
        for name in ("rq_flits", "rq_stall_cycles", "rq_packets", "latency_us_sum")
    )
    mask = (flits > 0) & (packets > 0)
    return [
        message_time_s(MESSAGE_BYTES, cycles, ratio)
        for cycles, ratio in zip(
            (latency[mask] / packets[mask] * 1e-6 * NIC_HZ).tolist(), (stalls[mask] / flits[mask]).tolist(), strict=True
        )
    ]
