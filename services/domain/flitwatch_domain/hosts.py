"""Identity of hosts: names are equal regardless of case, and with or without their domain."""

from __future__ import annotations

import re
from collections.abc import Iterable

_ADDRESS = re.compile(r"[0-9.]+|.*:.*")
_LOWER = {code: code + 32 for code in range(ord("A"), ord("Z") + 1)}


def host_key(name: str) -> str:
    """Return what the spellings of one host have in common: its name without domain, in lower case; an address stays whole.

    It matches the database function `host_of`.
    """
    whole = name if _ADDRESS.fullmatch(name) else name.partition(".")[0]
    return whole.translate(_LOWER)


def find_host(name: str, known: Iterable[str]) -> str | None:
    """Return the known host of a machine that a name means; None if it matches no host or several.

    A name that is written alike comes first, then one that differs in case alone, then the only one without its domain.
    """
    alike = list(dict.fromkeys(host for host in known if host_key(host) == host_key(name)))
    for chosen in (
        [host for host in alike if host == name],
        [host for host in alike if host.translate(_LOWER) == name.translate(_LOWER)],
        # c1.a is not c1.b.
        [host for host in alike if "." not in host or "." not in name],
    ):
        if len(chosen) == 1:
            return chosen[0]
        if chosen:
            return None
    return None
