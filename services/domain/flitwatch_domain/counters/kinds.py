"""Entries of the counter catalogue."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from flitwatch_domain.fabric import Technology


class Scope(StrEnum):
    """The thing that counts."""

    ROUTER_TILE = "router_tile"
    PROCESSOR_TILE = "processor_tile"
    NIC = "nic"
    PORT = "port"


@dataclass(frozen=True, slots=True)
class CounterKind:
    """One kind of vendor counter.

    Attributes
    ----------
    name : str
        The vendor's name, verbatim, with `{row}`, `{col}`, `{vc}`, `{nic}`, `{tile}`, `{tc}`, `{vl}`, `{sl}` or `{queue}` where the vendor puts a
        number.
    canonical : str
        Our name, unit at its end.
    unit : str
        What one count is.
    scope : Scope
    technology : Technology
    description : str
    cumulative : bool
        Counts since the device started (else: an instantaneous value).
    router_column, endpoint_column : str or None
        Column of `ROUTER_COLUMNS` or `ENDPOINT_COLUMNS` that the counter adds to, when counted at a router or at an endpoint.
    port_array : str or None
        Array of table port_10s it adds to: flits, stall_cycles or packets.
    lane_array : str or None
        Array of the tables of lanes that it adds to, at its number: sl_flits, stall_cycles or packets.
    endpoint_scale : float
        Factor from counts to the endpoint column's unit.
    port_scale : float
        Factor from counts to the unit of the router's column, the port's array and the lane's.
    stall_units : int
        Of a count that tells how long a port was stalled: nanoseconds on Ethernet, ticks of the device on InfiniBand; 0: it tells no time, or every
        port's are alike. It is booked as the data that the port could have sent meanwhile (`counters.units.stall_worth`), so that stalls over data is
        the stalled time divided by sending time (ADR 0047).
    bits : int
        Bits of the narrowest counter that devices have of this kind; 0: 64. It stops at its largest value (`ceiling`).
    """

    name: str
    canonical: str
    unit: str
    scope: Scope
    technology: Technology
    description: str
    cumulative: bool = True
    router_column: str | None = None
    endpoint_column: str | None = None
    port_array: str | None = None
    endpoint_scale: float = 1.0
    lane_array: str | None = None
    port_scale: float = 1.0
    stall_units: int = 0
    bits: int = 0

    @property
    def ceiling(self) -> int:
        """The value at which the device's counter stops: what it counts from then on is unknown. A wider one passes it, and stops at 2^64 - 1."""
        return (1 << (self.bits or 64)) - 1

    @property
    def feeds(self) -> bool:
        """Return whether it adds to a column or an array; otherwise it is only checked."""
        return bool(self.router_column or self.endpoint_column or self.lane_array)


@dataclass(frozen=True, slots=True)
class CounterUse:
    """A vendor's counter name, read.

    Attributes
    ----------
    kind : CounterKind
    port : int or None
        The tile's port number (0-47 on Aries).
    nic : int or None
    vc : int or None
        Virtual channel, virtual lane, service level, traffic class, priority or queue.
    router_columns : tuple of str
        Columns of `ROUTER_COLUMNS` that the counter adds to when counted at a router: the kind's own, and a processor tile's columns for channels 0
        and 4.
    """

    kind: CounterKind
    port: int | None = None
    nic: int | None = None
    vc: int | None = None
    router_columns: tuple[str, ...] = ()
