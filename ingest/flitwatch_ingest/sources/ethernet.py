"""Counters of an Ethernet switch's ports as records of the log: counters for the tables, raw values, and ignored values."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from flitwatch_domain import units
from flitwatch_domain.counters import identify_counter
from flitwatch_domain.fabric import Technology
from flitwatch_stream.topics import ldms_topic

#: A record per port: bytes, packets, errors, and the pauses of its priorities.
PORT_TOPIC = ldms_topic("ethernet_port")
#: A record per port: its queues.
QUEUE_TOPIC = ldms_topic("ethernet_queue")
#: A record per port: counters without a column, such as congestion marks and pause frames.
OTHER_TOPIC = ldms_topic("ethernet_other")
#: Values of a switch that are not stored: packet sizes, error correction, buffer levels, and the watchdog's settings.
_UNUSED = re.compile(
    r"SAI_PORT_STAT_(ETHER|IP|IPV6|LLR|IF_(IN|OUT)_(BROADCAST|MULTICAST|UNKNOWN|VLAN|FEC|FABRIC)|TRIM|TX_TRIM|EEE|OIF)_?.*"
    r"|EST_PORT_STAT_PFC_[0-9]_(ON2OFF_RX_PKTS|RECENT_PAUSE_TIMESTAMP|RECENT_PAUSE_TIME_US)"
    r"|.*(WATERMARK|OCCUPANCY|CURR_|_ATTR_|_last|CREDIT_WD|TRIM).*|PFC_WD_.*|DEBUG_.*|SAI_QUEUE_STAT_(GREEN|YELLOW|RED)_.*"
    r"|(in|out)-(unicast|broadcast|multicast)-pkts|last-clear|carrier-transitions|(max|avg)-queue-len-[0-9]+|resets|interface-transitions|link-transitions"
    r"|(in|out)-(maximum-size|oversize|undersize|jabber|fragment|8021q|distribution|mac-control|crc|block|carrier)[a-z0-9-]*|in-(fcs-errors|unknown-protos)"
)

_LONGEST_NAME = 200

Counted = Mapping[str, int]
Record = dict[str, float | int | str]


@dataclass
class Reading:
    """Counters of a switch by port; the name of a queue's counter ends with the queue's number.

    Attributes
    ----------
    at_s : float                 Unix time
    ports : {port: {name: count}}
    bad : {name: value}          counters whose value is not a count
    broken : list of (reason, body)   unreadable messages of a streaming switch
    breaks : int                 number of interrupted streams before this reading
    """

    at_s: float
    ports: dict[str, dict[str, int]] = field(default_factory=dict)
    bad: dict[str, str] = field(default_factory=dict)
    broken: list[tuple[str, bytes]] = field(default_factory=list)
    breaks: int = 0

    def add(self, port: str, name: str, value: object) -> None:
        """Add one counter of a port. Values that are not counts are kept separately."""
        count = units.parse_whole(str(value))
        if count is None or max(len(port), len(name)) > _LONGEST_NAME:
            self.bad[name[:_LONGEST_NAME]] = str(value)[:200]
            return
        self.ports.setdefault(port, {})[name] = count


@dataclass
class Tally:
    """Results for the counters of a reading: numbers of stored and of ignored counters, and counters in no catalogue with their first values."""

    placed: int = 0
    kept: int = 0
    unused: int = 0
    unknown: Counter[str] = field(default_factory=Counter)
    first: dict[str, int] = field(default_factory=dict)


def records_of(reading: Reading, switch: str, found: Tally) -> Iterator[tuple[str, str, Record]]:
    """Yield (topic, port, record) of each port of a switch; results are added to `found`."""
    for port, counted in reading.ports.items():
        port_counts, queue_counts, others = _sort_counters(counted, found)
        owner: Record = {"timestamp": reading.at_s, "node_name": switch, "interface": port}
        if port_counts:
            yield PORT_TOPIC, port, owner | port_counts
        if queue_counts:
            yield QUEUE_TOPIC, port, owner | queue_counts
        if others:
            yield OTHER_TOPIC, port, owner | {"instance": f"{switch} {port}"} | others


def _sort_counters(counted: Counted, found: Tally) -> tuple[dict[str, int], dict[str, int], dict[str, int]]:
    ports: dict[str, int] = {}
    queues: dict[str, int] = {}
    others: dict[str, int] = {}
    for name in sorted(counted):
        use = identify_counter(name, Technology.ETHERNET)
        if use is not None and use.kind.feeds:
            measured = name.replace("EST_", "SAI_", 1)
            if measured != name and measured in counted:
                found.unused += 1
                continue
            (ports if use.kind.router_column or use.kind.endpoint_column else queues)[name] = counted[name]
            found.placed += 1
        elif use is not None:
            others[name] = counted[name]
            found.kept += 1
        elif _UNUSED.fullmatch(name):
            found.unused += 1
        else:
            found.unknown[name] += 1
            found.first.setdefault(name, counted[name])
    return ports, queues, others
