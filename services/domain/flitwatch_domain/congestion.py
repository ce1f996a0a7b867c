"""Kinds of congestion of a group from router counters, each named like the drivers' group of features."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class CongestionKind:
    """A quotient of sums of counters.

    Attributes
    ----------
    name : str                 the group of features (`drivers`) that it represents; empty for the usual kind
    above, below : columns of router_* in numerator and denominator; `seconds` in the denominator makes a rate
    unit : str                 in words
    """

    name: str
    above: tuple[str, ...]
    below: tuple[str, ...]
    unit: str


#: Kind that advice uses if no driver selects another.
USUAL = CongestionKind("", ("rt_stall_cycles",), ("rt_flits",), "stalls, in units of sending time")
DRIVEN = {
    kind.name: kind
    for kind in (
        CongestionKind(
            "stalls on the row bus",
            ("rt_stall_cycles", "pt_rq_stall_cycles", "pt_rs_stall_cycles"),
            ("rt_flits", "pt_flits"),
            "stall cycles on the row bus per flit",
        ),
        CongestionKind(
            "stalls in the column buffers",
            ("pt_cb_rq_stall_cycles", "pt_cb_rs_stall_cycles"),
            ("pt_flits",),
            "stall cycles in the column buffers per flit",
        ),
        CongestionKind("traffic at router tiles", ("rt_flits",), ("seconds",), "flits per second at router tiles"),
        CongestionKind(
            "traffic at processor tiles", ("pt_flits",), ("seconds",), "flits per second at processor tiles"
        ),
    )
}
