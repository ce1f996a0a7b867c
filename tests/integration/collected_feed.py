"""The small feed: a growing store_csv of a few routers, and a collector that follows it, locally or on the remote host."""

from __future__ import annotations

import contextlib
import time

from integration.feed import SECOND_0, Feed
from integration.hosts import Host
from integration.platform import Platform, totals
from integration.report import Report

from flitwatch_db import connect
from flitwatch_db.fabrics import store as fabrics
from flitwatch_domain.generators import build_dragonfly

ROUTERS = 24
SETTLE_LIMIT_S = 180.0


class CollectedFeed:
    """Up to twenty seconds of counters a second, as fast as `tick` is called."""

    def __init__(self) -> None:
        self.fabric = build_dragonfly(1, 6, 4, name="chaos")
        self._fabric_id = 0
        self._feed: Feed | None = None
        #: How often the collector was started again.
        self.restarted = 0

    @property
    def second(self) -> int:
        """The second that is written next."""
        assert self._feed is not None
        return self._feed.second

    def begin(self, platform: Platform, far: Host | None) -> None:
        """Store the fabric and write the headers; `platform` holds the far host already."""
        with connect(platform.state()["database"]) as connection:
            self._fabric_id = fabrics.save_fabric(connection, self.fabric)
        self._feed = Feed(platform.data, ROUTERS, self.fabric.endpoints.component_id.tolist())
        self._feed.begin()

    def tick(self, platform: Platform) -> None:
        """One more second; the collector is started again where it died."""
        assert self._feed is not None
        self._collect(platform)
        self._feed.tick()

    def _collect(self, platform: Platform) -> None:
        before = platform.collector
        # The platform's state is away for a moment while its supervisor writes it.
        with contextlib.suppress(AssertionError):
            platform.collect()
        if before is not None and platform.collector is not before:
            self.restarted += 1

    def finish(self, platform: Platform, report: Report) -> None:
        """Wait until all that was fed is there, or nothing comes any more, and compare."""
        feed = self._feed
        assert feed is not None
        feed.tick()
        expected = {r: (feed.second - SECOND_0 - 1, feed.flits[r], feed.stalls[r]) for r in range(ROUTERS)}
        deadline, found = time.monotonic() + SETTLE_LIMIT_S, {}
        while found != expected and time.monotonic() < deadline:
            self._collect(platform)
            time.sleep(0.5)
            with contextlib.suppress(Exception):
                found = totals(platform.state()["database"], self._fabric_id)
        report.compare(expected, found)

    def stop(self) -> None:
        """The collector is the platform's."""
