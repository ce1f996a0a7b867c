"""Network addresses, grouped for limits."""

from __future__ import annotations

from ipaddress import IPv4Address, ip_address, ip_network

#: Characters kept of a text that is not an address, as a proxy may send it.
MOST_LETTERS = 64


def to_network(address: str) -> str:
    """Return an IPv4 address, the /64 of an IPv6 address (one host owns all of it), or the first characters of any other text."""
    try:
        ip = ip_address(address)
    except ValueError:
        return address[:MOST_LETTERS]
    if isinstance(ip, IPv4Address):
        return str(ip)
    if ip.ipv4_mapped is not None:
        return str(ip.ipv4_mapped)
    return str(ip_network((int(ip) >> 64 << 64, 64)))
