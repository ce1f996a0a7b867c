"""Link failures: counts of links going down and recovering. They feed no column and are stored when they change (topic ldms.ib_link)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from flitwatch_domain.guids import plain_guid
from flitwatch_ingest.collectors.publisher import Publisher
from flitwatch_stream.topics import ldms_topic

TOPIC = ldms_topic("ib_link")
#: Counters of link failures, by perfquery's names.
_COUNTERS = {"LinkDownedCounter": "link_downed", "LinkErrorRecoveryCounter": "link_error_recovery"}
FAILURES = frozenset(_COUNTERS.values())


def build_instance(guid: str, port: int, counter: str) -> str:
    """Return the instance of a port's count: GUID without leading zeros, port number, and counter."""
    return f"{plain_guid(guid)}/{port}/{counter}"


def build_record(time_s: float, instance: str, count: int) -> dict[str, Any]:
    """Return the record of a count."""
    return {"timestamp": time_s, "instance": instance, "value": count}


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
