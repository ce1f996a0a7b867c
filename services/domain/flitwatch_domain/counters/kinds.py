"""Entries of the counter catalogue."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from flitwatch_domain.fabric import Technology


class Scope(StrEnum):
    """Hardware unit to which a counter belongs."""

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
        The vendor's name, verbatim, with `{row}`, `{col}`, `{vc}`, `{nic}`, `{tile}`, `{tc}`, `{vl}`, `{sl}` or `{queue}` in place of a
        number.
    canonical : str
        The name in Flitwatch, ending in the unit.
    unit : str
        Unit of one count.
    cumulative : bool
        Whether it counts since the device started; otherwise it is an instantaneous value.
    router_column, endpoint_column : str or None
        Column of `ROUTER_COLUMNS` or `ENDPOINT_COLUMNS` to which the counter adds, if counted at a router or an endpoint.
    port_array : str or None
        Array of table port_10s to which it adds: flits, stall_cycles or packets.
    lane_array : str or None
        Array of the tables of lanes to which it adds, at its number: sl_flits, stall_cycles or packets.
    endpoint_scale : float
        Factor from counts to the endpoint column's unit.
    port_scale : float
        Factor from counts to the unit of the router's column, the port's array and the lane's.
    stall_units : int
        For a count of a port's stalled time, its unit: nanoseconds on Ethernet, ticks of the device on InfiniBand. 0: it does not count time, or all
        ports have the same tick. It is stored as the data that the port could have sent meanwhile (`counters.units.stall_worth`), so that stalls over
        data is the stalled time divided by sending time (ADR 0047).
    bits : int
        Bits of this kind's narrowest counter in known devices; 0 means 64. The counter stops at its largest value (`ceiling`).
    """

    name: str
    canonical: str
    unit: str
    description: str
    scope: Scope
    technology: Technology
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
        """Return the value at which the device's counter stops; later events are not counted. A wider counter passes it, and stops at 2^64 - 1."""
        return (1 << (self.bits or 64)) - 1

    @property
    def feeds(self) -> bool:
        """Return whether it adds to a column or an array; otherwise it is only validated."""
        return bool(self.router_column or self.endpoint_column or self.lane_array)


@dataclass(frozen=True, slots=True)
class CounterUse:
    """Parsed vendor's counter name.

    Attributes
    ----------
    port : int or None
        The tile's port number (0-47 on Aries).
    vc : int or None
        Virtual channel, virtual lane, service level, traffic class, priority or queue.
    router_columns : tuple of str
        Columns of `ROUTER_COLUMNS` to which the counter adds, if counted at a router: the kind's own, and a processor tile's columns for channels 0
        and 4.
    """

    kind: CounterKind
    port: int | None = None
    nic: int | None = None
    vc: int | None = None
    router_columns: tuple[str, ...] = ()
