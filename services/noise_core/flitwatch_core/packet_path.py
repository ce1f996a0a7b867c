"""Reservoir sampling in real packets (Taffet 2021, section 2.6): marks in IPv4 headers, a software switch that writes them, and a capture that sums
them on the receiving host.

Linux only. `run` of a switch or capture blocks and releases the interpreter lock; make other calls from other threads. Ports can be in network
namespaces (paths such as /run/netns/s1); opening them needs CAP_NET_RAW, CAP_NET_ADMIN for TAP devices, CAP_SYS_ADMIN for namespaces.
The encoding is in docs/adr/0038-packet-sampling.md. An error of the operating system raises a RuntimeError that names the interface.
"""

from __future__ import annotations

from flitwatch_core._packet_path import (
    MOST_HOPS,
    Capture,
    CaptureSpec,
    Kind,
    PortSpec,
    Switch,
    Variant,
    begin,
    forward,
    kind_of,
    read_mark,
)

__all__ = [
    "MOST_HOPS",
    "Capture",
    "CaptureSpec",
    "Kind",
    "PortSpec",
    "Switch",
    "Variant",
    "begin",
    "forward",
    "kind_of",
    "read_mark",
]
