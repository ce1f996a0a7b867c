"""Link failures: counts of links going down and recovering, speeds and widths. They feed no column and are stored when they change (topic ldms.ib_link)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import orjson

from flitwatch_domain.fabric import Fabric
from flitwatch_domain.fabric.endpoint_names import plain_guid
from flitwatch_ingest.collectors.publisher import Publisher
from flitwatch_stream.topics import ldms_topic

TOPIC = ldms_topic("ib_link")
#: Counters of link failures, by perfquery's names.
_COUNTERS = {"LinkDownedCounter": "link_downed", "LinkErrorRecoveryCounter": "link_error_recovery"}
FAILURES = frozenset(_COUNTERS.values())
#: What an active port runs at: as one rate, or as its lanes' speed and their number.
RATES = frozenset({"link_rate", "link_speed", "link_width"})


def build_instance(guid: str, port: int, counter: str) -> str:
    """Return the instance of a port's count: GUID without leading zeros, port number, and counter."""
    return f"{plain_guid(guid)}/{port}/{counter}"


def build_host_instance(host: str, adapter: str, port: int, counter: str) -> str:
    """Return the instance of a count of a host's adapter: host, adapter, port number, and counter."""
    return f"{host.replace('/', '_')}/{adapter.replace('/', '_')}/{port}/{counter}"


def build_record(time_s: float, instance: str, value: int) -> dict[str, Any]:
    """Return the record of a count, a speed or a width."""
    return {"timestamp": time_s, "instance": instance, "value": value}


class LinkChanges:
    """Publishes values of ports that change: the one before and the one after, each with its time, so that a day's changes need no older record."""

    def __init__(self, publisher: Publisher) -> None:
        self._publisher = publisher
        self._last: dict[str, tuple[float, int]] = {}
        self._published_s: dict[str, float] = {}

    def publish(self, source: str, time_s: float, instance: str, value: int, *, first: bool = False) -> bool:
        """Publish a changed value, and the first one of an instance if `first`; return whether it was published."""
        before, now = self._last.get(instance), (time_s, value)
        is_change = first if before is None else before[1] != value
        for at_s, reading in filter(None, (before, now)) if is_change else ():
            if at_s != self._published_s.get(instance):
                self._publisher.publish(
                    TOPIC, orjson.dumps(build_record(at_s, instance, reading)), source, key=instance
                )
                self._published_s[instance] = at_s
        # Only now: the same value comes again if the log did not take it.
        self._last[instance] = now
        return is_change

    def publish_failures(self, source: str, time_s: float, guid: str, port: int, counters: Mapping[str, int]) -> None:
        """Publish one port's counts of failures, by perfquery's names; of a new port, all of them."""
        for name, counter in _COUNTERS.items():
            if (count := counters.get(name)) is not None:
                self.publish(source, time_s, build_instance(guid, port, counter), count, first=True)

    def publish_fabric(self, source: str, time_s: float, fabric: Fabric) -> None:
        """Publish which ports of a fabric's switches run at another rate than before."""
        links = fabric.links
        for vertex, port, bits_per_s in zip(
            links.src.tolist(), links.src_port.tolist(), links.bandwidth_bps.tolist(), strict=True
        ):
            if vertex < len(fabric.routers) and port > 0 and math.isfinite(bits_per_s):
                instance = build_instance(str(fabric.routers.guid[vertex]), port, "link_rate")
                self.publish(source, time_s, instance, scale_rate(bits_per_s))


def scale_rate(value: float) -> int:
    """Return a speed or width in thousandths: a speed of the lanes may be 53.125 Gb/s."""
    return round(1000 * value)
