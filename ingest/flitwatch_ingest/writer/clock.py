"""Progress of the feeds, by their own clocks."""

from __future__ import annotations

import time
from collections.abc import Mapping

from flitwatch_ingest.writer.topic_feed import TopicFeed

#: A feed that says nothing for longer does not hold the others up.
QUIET_S = 15.0
#: Pauses shorter than this are no silence of the whole feed.
_PAUSE_S = 2.0
#: So many of the instances may lag behind: broken clocks must not hold everything up.
_STRAGGLERS = 0.05


class FeedClocks:
    """Time of the last arrival of each topic."""

    def __init__(self) -> None:
        self._heard: dict[str, float] = {}

    def record_arrival(self, topic: str) -> None:
        """Records of the topic came."""
        self._heard[topic] = time.monotonic()

    def reached_s(self, feeds: Mapping[str, TopicFeed]) -> float | None:
        """Return the time, in seconds since 1970, that nearly all instances of all feeds that are heard have passed."""
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
        """Return the time in microseconds for the instances of a feed: the median of their clocks, plus the time since the last arrival."""
        clock_us = feed.feed.clock_us(0.5)
        if clock_us < 0:
            return None
        quiet = time.monotonic() - self._heard.get(topic, time.monotonic())
        return clock_us + int(max(0.0, quiet - _PAUSE_S) * 1e6)
