"""Polling of exporters for their metrics, as Prometheus does."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit

import httpx

from flitwatch_domain.peer_answers import stream_answer
from flitwatch_ingest.exporters.intake import Intake, TakenSamples
from flitwatch_ingest.exporters.pages import BadPage, samples_of
from flitwatch_ingest.exporters.sample import Sample

#: Limit of one exporter's page: the ports of 900 switches take about 10 MB.
MOST_PAGE_BYTES = 256 << 20
TIMEOUT_S = 30.0
AT_A_TIME = 8
_ACCEPT = {"Accept": "text/plain;version=0.0.4"}


class Scraper:
    """Reader of pages in Prometheus' text format or UFM telemetry's rows; it passes the samples to an intake.

    An unreadable page becomes a dead letter, once per reason, and none of its samples are counted.

    Parameters
    ----------
    say : callable
        Called with a message when an exporter begins or ceases to fail.
    open_client : callable, optional
        Opens the HTTP client, with its credentials and trusted certificates.
    source : str
        Name of the records' source.
    """

    def __init__(
        self,
        urls: Sequence[str],
        intake: Intake,
        say: Callable[[str], None],
        open_client: Callable[[], httpx.Client] = lambda: httpx.Client(timeout=TIMEOUT_S, follow_redirects=False),
        source: str = "scrape",
    ) -> None:
        self._urls = list(dict.fromkeys(urls))
        self._intake = intake
        self._say = say
        self._open_client = open_client
        self._source = source
        self._failing: dict[str, str] = {}
        #: Scrapes by URL and outcome.
        self.scrapes: Counter[tuple[str, str]] = Counter()

    def look(self) -> TakenSamples:
        """Poll every exporter once. A failed one is counted, and the others are read."""
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
                    self._intake.keep_bad(self._source, url, why, page)
                if samples:
                    result = self._intake.take(self._source, samples)
                    total.results += result.results
                    total.first = total.first or result.first
        return total

    def _scrape_page(self, client: httpx.Client, url: str) -> tuple[list[Sample], str, bytes]:
        """Return the samples, the reason for an incomplete result, and the page in that case if there is one."""
        page = bytearray()
        try:
            with stream_answer(client, "GET", url, TIMEOUT_S, headers=_ACCEPT) as answer:
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
