"""Network addresses as they are counted where something is limited."""

from __future__ import annotations

from ipaddress import IPv4Address, ip_address, ip_network

#: Of a text in place of an address, as a proxy may send it, so much counts.
MOST_LETTERS = 64


def to_network(address: str) -> str:
    """The /64 of an IPv6 address, which one host has all of; an IPv4 address; or the beginning of what is neither."""
    try:
        ip = ip_address(address)
    except ValueError:
        return address[:MOST_LETTERS]
    if isinstance(ip, IPv4Address):
        return str(ip)
    if ip.ipv4_mapped is not None:
        return str(ip.ipv4_mapped)
    return str(ip_network((int(ip) >> 64 << 64, 64)))
