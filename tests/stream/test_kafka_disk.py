"""The local broker keeps its topics despite a full disk and damaged files, or reports a remedy."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.databases import PLACE
from support.disks import fill, small_disk
from support.waiting import eventually

from flitwatch_domain.data_disk import LEAST_FREE
from flitwatch_domain.errors import DiskFull, MissingDependency, Unavailable
from flitwatch_ops.stack.kafka import Kafka, fetch_jars, find_java
from flitwatch_stream.backends import open_log

pytestmark = [pytest.mark.integration, pytest.mark.system("faults")]


@pytest.fixture
def broker() -> Iterator[Kafka]:
    try:
        find_java()
        fetch_jars()
    except MissingDependency as absent:
        pytest.skip(str(absent))
    one = Kafka(tempfile.mkdtemp(prefix="flitwatch-kafka-disk-", dir=PLACE), quick=True)
    try:
        yield one
    finally:
        one.destroy()


def append(broker: Kafka, value: bytes) -> None:
    with open_log(broker.url) as log, log.producer() as producer:
        producer.append("kept", value, partition=0)


def kept(broker: Kafka) -> int:
    with open_log(broker.url) as log:
        return log.end_offsets("kept")[0]


def test_a_broker_is_stopped_before_its_disk_is_full(broker: Kafka, monkeypatch: pytest.MonkeyPatch) -> None:
    broker.start()
    append(broker, b"before")
    monkeypatch.setenv(LEAST_FREE, "1e9")
    with pytest.raises(DiskFull, match="Kafka's disk has"):
        broker.start()
    assert broker.pid() is None
    monkeypatch.delenv(LEAST_FREE)
    broker.start()
    append(broker, b"after")
    assert kept(broker) == 2


def test_data_that_lost_their_name_get_it_back(broker: Kafka) -> None:
    broker.start()
    append(broker, b"kept")
    broker.stop()
    name = broker.folder / "data" / "meta.properties"
    lost = name.read_text()
    name.unlink()
    broker.start()
    assert kept(broker) == 1 and name.read_text() == lost


def test_data_without_a_name_are_not_thrown_away(tmp_path: Path) -> None:
    topics = tmp_path / "data" / "__cluster_metadata-0"
    topics.mkdir(parents=True)
    (tmp_path / "cluster").write_text("of before")
    with pytest.raises(Unavailable, match=r"lack meta\.properties"):
        Kafka(tmp_path).start()
    assert topics.exists()


def test_partitions_that_lost_their_topic_are_named(broker: Kafka, caplog: pytest.LogCaptureFixture) -> None:
    broker.start()
    append(broker, b"kept")
    broker.stop()
    # As Kafka renames what its metadata do not name after a full disk has cut them.
    lost = broker.folder / "data" / "kept-0"
    lost.rename(lost.with_name("kept-0.0123456789abcdef0123456789abcdef-stray"))
    broker.start()
    assert "no longer list: kept-0. Their records stay in" in caplog.text


def test_topics_outlive_a_disk_without_a_byte(tmp_path_factory: pytest.TempPathFactory, broker: Kafka) -> None:
    with small_disk(tmp_path_factory.mktemp("kafka") / "disk", "200m") as disk:
        full = Kafka(disk / "kafka", quick=True)
        try:
            full.start()
            append(full, b"before")
            fill(disk, 0)
            full.kill()
            with pytest.raises(DiskFull):
                full.start()
            (disk / "ballast").unlink()
            full.start()
            eventually(lambda: kept(full) == 1, what="the record")
        finally:
            full.destroy()
