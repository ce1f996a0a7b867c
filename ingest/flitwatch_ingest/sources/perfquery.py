"""Parser for the output of infiniband-diags' `perfquery`: counters of one or more ports of a device."""

from __future__ import annotations

import re
from functools import lru_cache

from flitwatch_domain import units
from flitwatch_domain.counters import identify_counter
from flitwatch_domain.fabric import Technology

_HEAD = re.compile(
    r"#\s*Port\w*( extended)? counters:.*\bport\s+([0-9]+)(?: \(CapMask: (0x[0-9a-fA-F]+)\))?", re.IGNORECASE
)
_VALUE = re.compile(r"(\w+):\.*(0x[0-9a-fA-F]+|[0-9]+)\s*$")
#: Fields that describe the query and are not counters.
_ASKED = frozenset({"PortSelect", "CounterSelect", "CounterSelect2"})
#: libibmad reads PortCounters' QP1Dropped from the position of VL15Dropped. Without the capability there are no waits, and perfquery prints 0.
_FALSE = _ASKED | {"QP1Dropped"}
_WAITS = 1 << 12
Counters = dict[str, int]


def parse_ports(text: str) -> dict[int, Counters]:
    """Return counters by port; lines without a counter are ignored."""
    by_port: dict[int, Counters] = {}
    port: Counters | None = None
    absent = _ASKED
    for line in text.splitlines():
        if head := _HEAD.match(line):
            port = by_port.setdefault(int(head.group(2)), {})
            waits = int(head.group(3) or "-1", 0) & _WAITS
            absent = _ASKED if head.group(1) else _FALSE if waits else _FALSE | {"PortXmitWait"}
        elif port is not None and (value := _VALUE.match(line)) and value.group(1) not in absent:
            count = units.whole_or_hexadecimal(value.group(2))
            if count is not None:
                port[value.group(1)] = count
    return by_port


def find_saturated(counters: Counters) -> set[str]:
    """Return the counters of PortCounters that are at their maximum and need clearing before they count again."""
    return {name for name, value in counters.items() if value == _ceiling(name)}


@lru_cache(1024)
def _ceiling(name: str) -> int | None:
    use = identify_counter(name, Technology.INFINIBAND)
    return None if use is None else use.kind.ceiling
