"""Progress of the feeds, by their own clocks."""

from __future__ import annotations

import time
from collections.abc import Mapping

from flitwatch_ingest.writer.topic_feed import TopicFeed

#: A feed that is silent for longer does not delay the others.
QUIET_S = 15.0
#: Shorter pauses do not count as silence of the whole feed.
_PAUSE_S = 2.0
#: Share of the instances that may lag behind, so that wrong clocks do not delay everything.
_STRAGGLERS = 0.05


class FeedClocks:
    """Time of the last arrival of each topic."""

    def __init__(self) -> None:
        self._heard: dict[str, float] = {}

    def record_arrival(self, topic: str) -> None:
        """Record the arrival of records of a topic."""
        self._heard[topic] = time.monotonic()

    def reached_s(self, feeds: Mapping[str, TopicFeed]) -> float | None:
        """Return the epoch seconds that nearly all instances of all active feeds have passed."""
        now = time.monotonic()
        reached = []
        for topic, feed in feeds.items():
            clock_us = feed.feed.clock_us(_STRAGGLERS) if feed.counts else -1
            quiet = now - self._heard.get(topic, now)
            if clock_us >= 0:
                reached.append((quiet > QUIET_S, clock_us / 1e6 + max(0.0, quiet - _PAUSE_S)))
        heard = [clock for quiet, clock in reached if not quiet]
        return min(heard) if heard else max((clock for _, clock in reached), default=None)

    def now_us(self, topic: str, feed: TopicFeed) -> int | None:
        """Return the time of a feed's instances in microseconds: the median of their clocks plus the time since the last arrival."""
        clock_us = feed.feed.clock_us(0.5)
        if clock_us < 0:
            return None
        quiet = time.monotonic() - self._heard.get(topic, time.monotonic())
        return clock_us + int(max(0.0, quiet - _PAUSE_S) * 1e6)
