"""The unit of an exporter's metric is judged once for the exporter: one value that cannot be in the table's unit tells of all of them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.databases import Server

from flitwatch_ingest.collectors.publisher import Publisher
from flitwatch_ingest.exporters.intake import WRONG_UNIT_S, Intake
from flitwatch_ingest.exporters.pages import samples_of
from flitwatch_ingest.exporters.sample import Sample
from flitwatch_ingest.exporters.table import MetricTable
from flitwatch_stream.backends import open_log

BYTES = (
    "infiniband_switch_port_transmit_data_bytes_total",
    "infiniband_hca_port_receive_data_bytes_total",
    "node_infiniband_port_data_transmitted_bytes_total",
)
NOW_MS = 1_764_320_000_000


@pytest.fixture(scope="module")
def publisher(_embedded_template: Server) -> Iterator[Publisher]:
    url = _embedded_template.create()
    with open_log(url) as log, log.producer() as producer:
        yield Publisher(producer)
    _embedded_template.drop(url)


def sample(name: str, value: float, sender: str = "a:9315", port: int = 1) -> Sample:
    labels = {"guid": "0xa00100", "port": str(port), "device": "mlx5_0", "instance": sender}
    return Sample(name, tuple(sorted(labels.items())), value, NOW_MS)


@given(st.sampled_from(BYTES), st.lists(st.integers(0, 2**40), min_size=1, max_size=8))
def test_all_values_of_a_metric_count_or_none(publisher: Publisher, name: str, values: list[int]) -> None:
    held = Intake(MetricTable(), publisher)
    taken = held.take("scrape", [sample(name, float(value), port=port) for port, value in enumerate(values, 1)])
    wrong = any(value % 4 for value in values)
    assert taken.results == {"invalid" if wrong else "published": len(values)}
    assert ("a multiple of 4" in taken.first) == wrong
    # Nor does what it sends later; what another exporter sends does.
    assert held.take("scrape", [sample(name, 4e6)]).results == {"invalid" if wrong else "published": 1}
    assert held.take("scrape", [sample(name, 4e6, "b:9315")]).results == {"published": 1}


def test_a_mended_exporter_counts_again_and_one_without_an_address_is_judged_value_by_value(
    publisher: Publisher, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = Intake(MetricTable(), publisher)
    assert held.take("scrape", [sample(BYTES[0], 5.0)]).results == {"invalid": 1}
    assert held.take("scrape", [sample(BYTES[0], 8.0)]).results == {"invalid": 1}
    now = time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: now + WRONG_UNIT_S + 1)
    assert held.take("scrape", [sample(BYTES[0], 8.0)]).results == {"published": 1}
    assert held.take("otlp", [sample(BYTES[0], 5.0, ""), sample(BYTES[0], 8.0, "")]).results == {
        "invalid": 1,
        "published": 1,
    }


@pytest.mark.shared
def test_cases_of_exporters(shared: Path, publisher: Publisher) -> None:
    for number in (1, 2, 3):
        held = Intake(MetricTable(), publisher)
        page = (shared / f"cases/words-under-the-name-of-bytes/page{number}.txt").read_bytes()
        assert held.take("scrape", samples_of(page, "a:9315", NOW_MS, held.maps)).results == {"invalid": 3}
    held = Intake(MetricTable(), publisher)
    page = (shared / "cases/ibqueryerrors-exporter/page.txt").read_bytes()
    taken = held.take("scrape", samples_of(page, "a:9315", NOW_MS, held.maps))
    assert taken.results == {"published": 2, "unused": 4}, held.refused


def test_a_wait_at_32_bits_is_unknown_and_at_less_counts(publisher: Publisher) -> None:
    held = Intake(MetricTable(), publisher)
    for name in ("infiniband_portxmitwait_total", "infiniband_switch_port_transmit_wait_total"):
        labels = (("guid", "0xa00100"), ("local_guid", "0xa00100"), ("local_port", "1"), ("port", "1"))
        results = [
            dict(held.take("scrape", [Sample(name, labels, value, NOW_MS)]).results)
            for value in (2.0**32 - 2, 2.0**32 - 1)
        ]
        assert results == [{"published": 1}, {"saturated": 1}]
