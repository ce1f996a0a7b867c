"""Asks exporters for their metrics, as Prometheus does."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit

import httpx
from prometheus_client.parser import text_string_to_metric_families

from flitwatch_ingest.exporters.intake import Intake, TakenSamples
from flitwatch_ingest.exporters.limits import NAME, Refused, labels_of
from flitwatch_ingest.exporters.sample import Sample

#: Of one exporter's page: 900 switches' ports are some 10 MB.
MOST_PAGE_BYTES = 256 << 20
TIMEOUT_S = 30.0
AT_A_TIME = 8
_ACCEPT = {"Accept": "text/plain;version=0.0.4"}


class Scraper:
    """Reads pages in Prometheus' text format and hands their samples on.

    Parameters
    ----------
    urls : sequence of str
    intake : Intake
    say : callable
        Told when an exporter begins or ceases to fail.
    """

    def __init__(self, urls: Sequence[str], intake: Intake, say: Callable[[str], None]) -> None:
        self._urls = list(dict.fromkeys(urls))
        self._intake = intake
        self._say = say
        self._failing: dict[str, str] = {}
        #: Scrapes by URL and what became of them.
        self.scrapes: Counter[tuple[str, str]] = Counter()

    def look(self) -> TakenSamples:
        """Ask every exporter once; one that fails is counted, and the others are read."""
        found = TakenSamples()
        with httpx.Client(timeout=TIMEOUT_S, follow_redirects=False) as client, ThreadPoolExecutor(AT_A_TIME) as pool:
            for url, (samples, why) in zip(
                self._urls, pool.map(lambda url: self._ask(client, url), self._urls), strict=True
            ):
                self.scrapes[url, "failed" if why else "read"] += 1
                if self._failing.get(url, "") != why:
                    self._say(f"{url}: {why or 'answers again'}")
                    self._failing[url] = why
                if not why:
                    taken = self._intake.take("scrape", samples)
                    found.results += taken.results
                    found.first = found.first or taken.first
        return found

    def _ask(self, client: httpx.Client, url: str) -> tuple[list[Sample], str]:
        try:
            with client.stream("GET", url, headers=_ACCEPT) as answer:
                if answer.status_code != 200:
                    return [], f"answered {answer.status_code}"
                page = bytearray()
                for part in answer.iter_bytes():
                    page += part
                    if len(page) > MOST_PAGE_BYTES:
                        return [], f"its page has more than {MOST_PAGE_BYTES >> 20} MiB"
        except httpx.HTTPError as problem:
            return [], f"does not answer: {type(problem).__name__}"
        try:
            return list(_samples(page.decode(), urlsplit(url).netloc, int(time.time() * 1000))), ""
        except (ValueError, KeyError, IndexError, Refused) as problem:
            return [], f"its page is not in Prometheus' text format: {problem}"


def _samples(page: str, instance: str, now_ms: int) -> Iterator[Sample]:
    # Types are left out: the parser would give a counter the ending that its exporter did not.
    untyped = "".join(line for line in page.splitlines(keepends=True) if not line.startswith("# TYPE"))
    for family in text_string_to_metric_families(untyped):
        for sample in family.samples:
            pairs = {"instance": instance, **sample.labels, NAME: sample.name}
            name, labels = labels_of(list(pairs.items()))
            time_ms = now_ms if sample.timestamp is None else int(float(sample.timestamp) * 1000)
            yield Sample(name, labels, sample.value, time_ms)
