"""Fair division of a fixed amount among addresses, so that none can use all of it; and the networks that count as one address."""

from __future__ import annotations

from collections import Counter
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


#: Each address may use at most this multiple of the free amount: one gets two thirds, n get 2 / (2 n + 1) each, and some is always free for the next.
FACTOR = 2


class Shares:
    """Shares by the dynamic thresholds of Choudhury and Hahne (1998, https://doi.org/10.1109/90.664262).

    Parameters
    ----------
    most : int    total amount
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._held: Counter[str] = Counter()
        self._total = 0

    def take(self, of: str, count: int = 1) -> bool:
        """Take more; return False and take nothing if the limit would be exceeded."""
        if self._held[of] + count > FACTOR * (self._most - self._total - count):
            return False
        self._held[of] += count
        self._total += count
        return True

    def give_back(self, of: str, count: int = 1) -> None:
        """Release an amount that was taken."""
        self._total -= count
        self._held[of] -= count
        if not self._held[of]:
            del self._held[of]
