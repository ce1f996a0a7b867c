"""Ethernet frames with IPv4 datagrams."""

from __future__ import annotations

import struct

DONT_FRAGMENT, MORE_FRAGMENTS = 0x4000, 0x2000


def checksum(header: bytes) -> int:
    """Return the RFC 1071 checksum of a header; 0 if its checksum field is set and right."""
    total = sum(struct.unpack(f"!{len(header) // 2}H", header))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def frame(ds=0, identification=0, flags=DONT_FRAGMENT, payload=b"payload", options=b"", tags=0) -> bytes:
    """Return an Ethernet frame with an IPv4 datagram with a valid checksum."""
    ihl = 5 + len(options) // 4
    total = ihl * 4 + len(payload)
    head = struct.pack(
        "!BBHHHBBH4s4s", 4 << 4 | ihl, ds, total, identification, flags, 64, 17, 0, b"\n\0\0\1", b"\n\0\0\2"
    )
    head += options
    head = head[:10] + struct.pack("!H", checksum(head)) + head[12:]
    return bytes(range(12)) + b"\x81\x00\x00\x07" * tags + b"\x08\x00" + head + payload


def header(of: bytes, tags: int = 0) -> bytes:
    at = 14 + 4 * tags
    return of[at : at + 4 * (of[at] & 15)]
