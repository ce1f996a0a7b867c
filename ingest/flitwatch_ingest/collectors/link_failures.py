"""Link failures: counts of links going down and recovering, speeds and widths. They feed no column and are stored when they change (topic ldms.ib_link)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import orjson

from flitwatch_domain.fabric import Fabric
from flitwatch_domain.guids import plain_guid
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


def build_record(time_s: float, instance: str, value: int) -> dict[str, Any]:
    """Return the record of a count, a speed or a width."""
    return {"timestamp": time_s, "instance": instance, "value": value}


class LinkFailures:
    """Publisher of counts that have changed since the last reading; of a new port, all counts are published."""

    def __init__(self, publisher: Publisher) -> None:
        self._publisher = publisher
        self._last: dict[str, int] = {}

    def publish(self, source: str, time_s: float, guid: str, port: int, counters: Mapping[str, int]) -> None:
        """Publish one port's changed counters, by perfquery's names."""
        for name, counter in _COUNTERS.items():
            count = counters.get(name)
            instance = build_instance(guid, port, counter)
            if count is not None and self._last.get(instance) != count:
                self._publisher.publish(TOPIC, orjson.dumps(build_record(time_s, instance, count)), source, key=guid)
                self._last[instance] = count


class LinkRates:
    """Publishes changes of ports' speeds and widths, with the old and the new value."""

    def __init__(self, publisher: Publisher) -> None:
        self._publisher = publisher
        self._last: dict[str, tuple[float, int]] = {}

    def publish_fabric(self, source: str, time_s: float, fabric: Fabric) -> None:
        """Publish which ports of a fabric's switches run at another rate than before."""
        links = fabric.links
        for vertex, port, bits_per_s in zip(
            links.src.tolist(), links.src_port.tolist(), links.bandwidth_bps.tolist(), strict=True
        ):
            if vertex < len(fabric.routers) and port > 0 and math.isfinite(bits_per_s):
                instance = build_instance(str(fabric.routers.guid[vertex]), port, "link_rate")
                self.publish(source, time_s, instance, bits_per_s)

    def publish(self, source: str, time_s: float, instance: str, value: float) -> bool:
        """Publish a change of what a port runs at; return whether it is one."""
        # A speed of the lanes may be 53.125 Gb/s.
        before, self._last[instance] = self._last.get(instance), (time_s, round(1000 * value))
        if before is None or before[1] == self._last[instance][1]:
            return False
        for at_s, rate in (before, self._last[instance]):
            self._publisher.publish(TOPIC, orjson.dumps(build_record(at_s, instance, rate)), source, key=instance)
        return True
