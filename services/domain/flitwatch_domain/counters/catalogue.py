"""Find a vendor's counter by the name that a sampler writes."""

from __future__ import annotations

import re
from functools import lru_cache

from flitwatch_domain import cray
from flitwatch_domain.counters.aries import ARIES
from flitwatch_domain.counters.columns import LANES
from flitwatch_domain.counters.ethernet import ETHERNET
from flitwatch_domain.counters.kinds import CounterKind, CounterUse, Scope
from flitwatch_domain.counters.modern import INFINIBAND, OMNI_PATH, SLINGSHOT
from flitwatch_domain.fabric import Technology

#: All known counters. Names are unique within a technology.
CATALOGUE: tuple[CounterKind, ...] = (*ARIES, *INFINIBAND, *OMNI_PATH, *SLINGSHOT, *ETHERNET)

_NUMBERS = {
    "row": r"[0-9]",
    "col": r"[0-9]",
    "vc": r"[0-9]",
    "nic": r"[0-9]",
    "tile": r"[0-9]",
    "tc": r"[0-9]",
    "vl": r"[0-9][0-9]?",
    "sl": r"[0-9][0-9]?",
    "queue": r"[0-9][0-9]?",
}
#: Placeholders for a port's channels: eight priorities, or InfiniBand's lanes and a switch's queues.
_BY_LANE = frozenset({"vl", "sl", "queue"})
_CHANNELS = _BY_LANE | {"vc", "tc"}
#: Port counters' names in perfquery and opa2, after `_to_snake_case`, if they differ from the catalogue.
_ALIASES = {
    "port_xmit_pkts": "port_xmit_packets",
    "port_rcv_pkts": "port_rcv_packets",
    "port_unicast_xmit_pkts": "port_unicast_xmit_packets",
    "port_unicast_rcv_pkts": "port_unicast_rcv_packets",
    "port_multicast_xmit_pkts": "port_multicast_xmit_packets",
    "port_multicast_rcv_pkts": "port_multicast_rcv_packets",
    "port_xmit_time_cong": "xmit_time_cong",
    "port_xmit_wasted_bw": "xmit_wasted_bw",
    "port_xmit_wait_data": "xmit_wait_data",
    "port_rcv_fecn": "rcv_fecn",
    "port_rcv_becn": "rcv_becn",
    "port_mark_fecn": "mark_fecn",
    "port_rcv_bubble": "rcv_bubble",
    "symbol_error_counter": "symbol_error",
    "link_error_recovery_counter": "link_error_recovery",
    "link_downed_counter": "link_downed",
}


def _compile_name(name: str) -> re.Pattern[str]:
    """Compile a catalogue name to a regular expression: a repeated placeholder must match the same number."""
    keys: set[str] = set()

    def number(match: re.Match[str]) -> str:
        key = match.group(1)
        if key in keys:
            return f"(?P={key})"
        keys.add(key)
        return f"(?P<{key}>{_NUMBERS[key]})"

    escaped = re.sub(r"\\\{(\w+)\\\}", r"{\1}", re.escape(name))
    return re.compile(re.sub(r"\{(\w+)\}", number, escaped))


_PLAIN: dict[tuple[Technology, str], CounterKind] = {
    (entry.technology, entry.name): entry for entry in CATALOGUE if "{" not in entry.name
}
_PATTERNS: tuple[tuple[CounterKind, re.Pattern[str]], ...] = tuple(
    (entry, _compile_name(entry.name)) for entry in CATALOGUE if "{" in entry.name
)


@lru_cache(maxsize=65536)
def identify_counter(name: str, technology: Technology | None = None) -> CounterUse | None:
    """Return the meaning of a vendor's counter name, or None if the catalogue does not contain it.

    Parameters
    ----------
    name : str
        The name as the sampler writes it; a list prefix (`nics.`, `ib_nics.`) and a port suffix (`#mlx5_0.1`) are allowed.
    technology : Technology, optional
        Distinguishes Omni-Path from InfiniBand, which share names (default: InfiniBand). Required for the names of OpenConfig.
    """
    name = name.removeprefix("cray_npu:::")
    if name.startswith("AR_"):
        return _match_name(name, Technology.CRAY_XC)
    base = name.rsplit(".", 1)[-1] if "#" not in name else name.split("#", 1)[0].rsplit(".", 1)[-1]
    if technology in (None, Technology.SLINGSHOT):
        use = _match_name(base, Technology.SLINGSHOT)
        if use is not None or technology is Technology.SLINGSHOT:
            return use
    if technology is Technology.ETHERNET or base.startswith("SAI_"):
        return _match_name(base, Technology.ETHERNET)
    plain = _to_snake_case(base)
    plain = _ALIASES.get(plain, plain)
    technologies = (technology,) if technology else (Technology.INFINIBAND, Technology.OPA)
    for candidate in technologies:
        if (use := _match_name(plain, candidate)) is not None:
            return use
    return None


def _match_name(name: str, technology: Technology) -> CounterUse | None:
    plain = _PLAIN.get((technology, name))
    if plain is not None:
        return _build_use(plain, {})
    for kind, pattern in _PATTERNS:
        if kind.technology is technology and (match := pattern.fullmatch(name)):
            return _build_use(kind, {key: int(value) for key, value in match.groupdict().items()})
    return None


def _build_use(kind: CounterKind, numbers: dict[str, int]) -> CounterUse | None:
    """Return the entry with its numbers; None for a tile, NIC or channel number that devices do not have."""
    channel = next((number for key, number in numbers.items() if key in _CHANNELS), None)
    port, nic = None, numbers.get("nic")
    if "row" in numbers:
        network = numbers["row"] < cray.NETWORK_TILES // cray.TILE_COLUMNS
        if numbers["row"] > 5 or numbers["col"] > 7 or network != (kind.scope is Scope.ROUTER_TILE):
            return None
        port = cray.tile_number(numbers["row"], numbers["col"])
    if "tile" in numbers:
        if numbers["tile"] >= cray.TILE_COLUMNS:
            return None
        port = cray.NETWORK_TILES + numbers["tile"]
    if port is not None and port >= cray.NETWORK_TILES:
        nic = cray.nic_of_tile(port)
    if (nic or 0) >= cray.NODES_PER_ROUTER or (channel or 0) >= (LANES if numbers.keys() & _BY_LANE else 8):
        return None
    columns = (kind.router_column,) if kind.router_column else ()
    if kind.canonical in ("ptile_vc_flits", "ptiles_vc_flits") and channel in (0, 4):
        columns = (*columns, f"pt_vc{channel}_flits")
    return CounterUse(kind, port, nic, channel, columns)


def _to_snake_case(name: str) -> str:
    """Convert PortXmitData to port_xmit_data; names in snake case stay unchanged."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name)
    return re.sub(r"(?<=[A-Z])(?=[A-Z][a-z])", "_", spaced).lower()
