"""Background traffic on endpoints without a job (Wang 2018, section IV-C)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from flitwatch_core.packet import Generator
from flitwatch_domain.errors import BadRequest
from flitwatch_simulation.packet.machine import Machine

_GIB = 2**30
KINDS = ("uniform", "bursty")
#: Default GiB/s per node.
DEFAULT_LOAD_GIB_PER_S = 1.0
_UNIFORM_MESSAGE_BYTES, _BURST_MESSAGE_BYTES = 16384, 4096
#: Table II's peak loads over the free nodes of 3,456: 38.38 and 27.00 MiB are 16 KiB per node; 92 GiB are 16 KiB from each
#: node to each other one; 5.75 and 2.85 GiB are 1 KiB.
TABLE_2_BURST_MESSAGE_BYTES = {"crystal-router": 16384, "fill-boundary": 1024, "amg": 1024}


def background_generators(
    machine: Machine,
    kind: str,
    load_gib_per_s: float | None,
    endpoints: NDArray[np.integer],
    job: int,
    burst_message_bytes: int = _BURST_MESSAGE_BYTES,
) -> list[Generator]:
    """Return generators that run until the jobs end.

    Parameters
    ----------
    kind : str
        `uniform`: 16 KiB messages to random endpoints at Poisson times; `bursty`: messages to all other endpoints at once, at long, equal
        intervals, simultaneously on all endpoints, beginning at the start of the run (with the same mean load).
    load_gib_per_s : float
        Mean load of one endpoint.
    burst_message_bytes : int
        Size of a burst's messages, which determines the interval together with the load.

    Raises
    ------
    BadRequest
        The kind is unknown, or there are fewer than two free endpoints.
    """
    if kind not in KINDS:
        raise BadRequest(f"unknown background {kind!r}", advice="Use none, uniform[:GIB_PER_S] or bursty[:GIB_PER_S].")
    if endpoints.size < 2:
        raise BadRequest("no two endpoints are left for background traffic", advice="Use fewer --ranks.")
    bytes_per_ns = (load_gib_per_s or DEFAULT_LOAD_GIB_PER_S) * _GIB / 1e9
    if kind == "uniform":
        interval = _UNIFORM_MESSAGE_BYTES / bytes_per_ns
        return [Generator(int(e), endpoints, _UNIFORM_MESSAGE_BYTES, 0, interval, job=job) for e in endpoints]
    # A burst to all peers, then a pause.
    interval = burst_message_bytes * (endpoints.size - 1) / bytes_per_ns
    return [
        Generator(int(e), np.roll(endpoints, -i), burst_message_bytes, 0, interval, poisson=False, burst=True, job=job)
        for i, e in enumerate(endpoints)
    ]


def peak_load_bytes(generators: list[Generator]) -> int:
    """Return the bytes sent if all generators begin a message, or a burst to every other endpoint, simultaneously."""
    return sum(
        generator.message_bytes
        * (int(np.count_nonzero(np.asarray(generator.peers) != generator.endpoint)) if generator.burst else 1)
        for generator in generators
    )
