"""Asks exporters for their metrics, as Prometheus does."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit

import httpx

from flitwatch_ingest.exporters.intake import Intake, TakenSamples
from flitwatch_ingest.exporters.pages import BadPage, samples_of
from flitwatch_ingest.exporters.sample import Sample

#: Of one exporter's page: 900 switches' ports are some 10 MB.
MOST_PAGE_BYTES = 256 << 20
TIMEOUT_S = 30.0
AT_A_TIME = 8
_ACCEPT = {"Accept": "text/plain;version=0.0.4"}


class Scraper:
    """Reads pages, in Prometheus' text format or UFM telemetry's rows, and hands their samples on.

    A page that cannot be read is a dead letter, once for each reason, and nothing of it counts.

    Parameters
    ----------
    urls : sequence of str
    intake : Intake
    say : callable
        Called with when an exporter begins or ceases to fail.
    open_client : callable, optional
        Makes the client that asks, with what it must show and whom it trusts.
    door : str
        What the records' source is called.
    """

    def __init__(
        self,
        urls: Sequence[str],
        intake: Intake,
        say: Callable[[str], None],
        open_client: Callable[[], httpx.Client] = lambda: httpx.Client(timeout=TIMEOUT_S, follow_redirects=False),
        door: str = "scrape",
    ) -> None:
        self._urls = list(dict.fromkeys(urls))
        self._intake = intake
        self._say = say
        self._open_client = open_client
        self._door = door
        self._failing: dict[str, str] = {}
        #: Scrapes by URL and what became of them.
        self.scrapes: Counter[tuple[str, str]] = Counter()

    def look(self) -> TakenSamples:
        """Ask every exporter once; one that fails is counted, and the others are read."""
        total = TakenSamples()
        with self._open_client() as client, ThreadPoolExecutor(AT_A_TIME) as pool:
            for url, (samples, why, page) in zip(
                self._urls, pool.map(lambda url: self._scrape_page(client, url), self._urls), strict=True
            ):
                self.scrapes[url, "failed" if why else "read"] += 1
                if self._failing.get(url, "") != why:
                    self._say(f"{url}: {why or 'answers again'}")
                    self._failing[url] = why
                if page:
                    self._intake.keep_bad(self._door, url, why, page)
                if samples:
                    result = self._intake.take(self._door, samples)
                    total.results += result.results
                    total.first = total.first or result.first
        return total

    def _scrape_page(self, client: httpx.Client, url: str) -> tuple[list[Sample], str, bytes]:
        """Return the samples; why there are no more of them, and then the page, if there is one."""
        page = bytearray()
        try:
            with client.stream("GET", url, headers=_ACCEPT) as answer:
                if answer.status_code != 200:
                    return [], f"answered {answer.status_code}", b""
                for part in answer.iter_bytes():
                    page += part
                    if len(page) > MOST_PAGE_BYTES:
                        return [], f"its page has more than {MOST_PAGE_BYTES >> 20} MiB", b""
        except httpx.HTTPError as problem:
            return [], f"does not answer: {type(problem).__name__}", b""
        try:
            now_ms = int(time.time() * 1000)
            return list(samples_of(bytes(page), urlsplit(url).netloc, now_ms, self._intake.maps)), "", b""
        except BadPage as bad:
            return [], f"its page {bad}", bytes(page)
