"""Datagrams of InfiniBand performance management: questions to a device's agent, and counters from its answers by perfquery's names.

Layouts: InfiniBand specification 1.4, 13.4 (the header and ClassPortInfo) and 16.1.3 f. (the counters); names are those of libibmad.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

from flitwatch_domain.counters import LANES
from flitwatch_ingest.sources.perfquery import Counters

#: Size of a datagram, and offset of its attribute.
SIZE, _BEGIN = 256, 64
GET, SET = 1, 2
CLASS = 4
CLASS_PORT_INFO, PORT_COUNTERS, WAITS_BY_LANE, PORT_COUNTERS_EXTENDED, DATA_BY_LEVEL = 0x01, 0x12, 0x1C, 0x1D, 0x36
#: Attributes of a port's lanes.
LANE_ATTRIBUTES = (DATA_BY_LEVEL, WAITS_BY_LANE)
#: Status of an answer that redirects to another agent.
REDIRECT = 2
_HEADER = struct.Struct(">BBBBHxxQHxxI")
_REDIRECTION = struct.Struct(">25xBxxHxxII")
_MASKS = struct.Struct(">xxHI")
#: PortCounters without QP1Dropped, which is ignored in perfquery's output too; two 4-bit counters share a byte.
_NARROW = struct.Struct(">4xHBBHHHHBBxB2xH5I")
_TRAFFIC = ("PortXmitData", "PortRcvData", "PortXmitPkts", "PortRcvPkts")
_ERRORS = (
    "SymbolErrorCounter",
    "LinkErrorRecoveryCounter",
    "LinkDownedCounter",
    "PortRcvErrors",
    "PortRcvRemotePhysicalErrors",
    "PortRcvSwitchRelayErrors",
    "PortXmitDiscards",
    "PortXmitConstraintErrors",
    "PortRcvConstraintErrors",
)
_NIBBLES = ("LocalLinkIntegrityErrors", "ExcessiveBufferOverrunErrors")
#: PortCountersExtended: counters of every device, of devices with all widths, and of devices with bits in ClassPortInfo's second mask.
_WIDE = (
    (8, _TRAFFIC),
    (40, ("PortUnicastXmitPkts", "PortUnicastRcvPkts", "PortMulticastXmitPkts", "PortMulticastRcvPkts")),
    (72, (*_ERRORS, *_NIBBLES, "VL15Dropped", "PortXmitWait", "QP1Dropped")),
)
_LANES = {
    DATA_BY_LEVEL: (struct.Struct(f">4x{LANES}I"), tuple(f"XmtDataSL{level}" for level in range(LANES))),
    WAITS_BY_LANE: (struct.Struct(f">4x{LANES}H"), tuple(f"PortVLXmitWait{lane}" for lane in range(LANES))),
}


class Target(NamedTuple):
    """Address of an agent: LID, queue pair, its key, and service level."""

    lid: int
    queue_pair: int = 1
    queue_key: int = 0x80010000
    level: int = 0


class Question(NamedTuple):
    """An attribute of a port; with `SET`, its counters of `mask` are set to 0."""

    attribute: int
    port: int
    method: int = GET
    mask: int = 0


class Reply(NamedTuple):
    """Answer of a device: its status (0: no error) and the attribute."""

    status: int
    attribute: bytes


class Abilities(NamedTuple):
    """Optional counters of a device, from its ClassPortInfo."""

    waits: bool
    dropped: bool
    casts: bool
    errors: bool


def build_datagram(question: Question, transaction: int) -> bytes:
    """Return the datagram of a question, `SIZE` bytes."""
    head = _HEADER.pack(1, CLASS, 1, question.method, 0, transaction, question.attribute, 0)
    about = struct.pack(">xBH14xB", question.port, question.mask & 0xFFFF, question.mask >> 16)
    return (head.ljust(_BEGIN, b"\0") + about).ljust(SIZE, b"\0")


def parse_reply(mad: bytes) -> tuple[int, Reply]:
    """Return the transaction's low 32 bits (the kernel uses the others) and the reply in the datagram."""
    _, _, _, _, status, transaction, _, _ = _HEADER.unpack_from(mad)
    return transaction & 0xFFFFFFFF, Reply(status, mad[_BEGIN:SIZE])


def redirect_target(attribute: bytes) -> Target | None:
    """Return the target of an agent's redirection; None if it contains only a GID."""
    level, lid, queue_pair, queue_key = _REDIRECTION.unpack_from(attribute)
    return Target(lid, queue_pair & 0xFFFFFF, queue_key, level >> 4) if lid else None


def parse_abilities(attribute: bytes) -> Abilities:
    """Parse the optional counters of a device from ClassPortInfo."""
    mask, more = _MASKS.unpack_from(attribute)
    return Abilities(bool(mask & 1 << 12), bool(mask & 1 << 15), bool(mask & 1 << 9), bool(more >> 5 & 2))


def clear_mask(able: Abilities) -> int:
    """Return the mask that clears all PortCounters of a device."""
    return 0xFFFF | able.waits << 16 | able.dropped << 17


def parse_counters(number: int, attribute: bytes, able: Abilities) -> Counters:
    """Return the counters in an answer to attribute `number`, in the form of `perfquery.parse_ports`."""
    if number in _LANES:
        layout, names = _LANES[number]
        return dict(zip(names, layout.unpack_from(attribute), strict=True))
    if number == PORT_COUNTERS_EXTENDED:
        values: Counters = {}
        for (begin, names), has in zip(_WIDE, (True, able.casts, able.errors), strict=True):
            if has:
                values.update(zip(names, struct.unpack_from(f">{len(names)}Q", attribute, begin), strict=True))
        return values
    *errors, both, vl15, xmit, rcv, xmit_pkts, rcv_pkts, waits = _NARROW.unpack_from(attribute)
    values = dict(zip(_ERRORS, errors, strict=True))
    values |= dict(zip(_NIBBLES, (both >> 4, both & 15), strict=True))
    values["VL15Dropped"] = vl15
    values |= dict(zip(_TRAFFIC, (xmit, rcv, xmit_pkts, rcv_pkts), strict=True))
    if able.waits:
        values["PortXmitWait"] = waits
    return values
