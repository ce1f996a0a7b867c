"""Identity of hosts: names are equal regardless of case, and with or without their domain or a network interface."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable

_ADDRESS = re.compile(r"[0-9.]+|.*:.*")
#: Suffix of a host's number that names its interface on the fast network: node01-ib0.
_INTERFACE = re.compile(r"(?<=[0-9])-(?:ib|ipoib|opa|hfi|hsn)[0-9]{0,2}\Z")
_LOWER = {code: code + 32 for code in range(ord("A"), ord("Z") + 1)}


def host_key(name: str) -> str:
    """Return what the spellings of one host have in common: its name without domain and interface, in lower case; an address stays whole.

    It matches the database function `host_of`.
    """
    return _INTERFACE.sub("", _strip_domain(name))


def read_host_names(text: str) -> list[list[str]]:
    """Read the names of each host: lines of /etc/hosts, of a node-name map (`0x0002c9 "node01"`), or of any words. Addresses are left out."""
    lines = (line.partition("#")[0].replace('"', " ").split() for line in text.splitlines())
    return [names for words in lines if len(names := [word for word in words if not _ADDRESS.fullmatch(word)]) > 1]


def shorten_hosts(names: Iterable[str]) -> dict[str, str]:
    """Return names without their domains, as schedulers write them, if different hosts stay different. The spellings of one host become one name."""
    by_host: dict[str, set[str]] = defaultdict(set)
    for name in names:
        by_host[_strip_domain(name)].add(name)
    short: dict[str, str] = {}
    for spellings in by_host.values():
        whole_names = [name.rstrip(".") for name in spellings]
        with_domain = {name.translate(_LOWER) for name in whole_names if _cut_domain(name) != name}
        if len(with_domain) <= 1:
            short |= dict.fromkeys(spellings, min(map(_cut_domain, spellings)))
    return short


def _strip_domain(name: str) -> str:
    return _cut_domain(name).translate(_LOWER)


def _cut_domain(name: str) -> str:
    return name if _ADDRESS.fullmatch(name) else name.partition(".")[0]


def find_host(name: str, known: Iterable[str]) -> str | None:
    """Return the known host with this name; None if the name matches no host or several.

    The order is: the same spelling, one that differs only in case, the only one without its domain, the only one without its interface.
    """
    alike = list(dict.fromkeys(host for host in known if host_key(host) == host_key(name)))
    # c1.a is not c1.b.
    possible = [host for host in alike if "." not in host or "." not in name]
    for chosen in (
        [host for host in alike if host == name],
        [host for host in alike if host.translate(_LOWER).rstrip(".") == name.translate(_LOWER).rstrip(".")],
        [host for host in possible if _strip_domain(host) == _strip_domain(name)],
        possible,
    ):
        if len(chosen) == 1:
            return chosen[0]
        if chosen:
            return None
    return None
