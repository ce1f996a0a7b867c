"""Stored batches of the embedded log: packed records are read back, and no stored content stops a reader."""

from __future__ import annotations

import contextlib
from collections import defaultdict

import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.waiting import eventually

from flitwatch_domain.errors import BadInput, BadRequest, NotFound
from flitwatch_stream import frames
from flitwatch_stream.backends import open_log
from flitwatch_stream.log import MAX_RECORD_BYTES, Consumer, Log, Record, TopicPartition
from flitwatch_stream.topics import DAMAGED

RECORDS = st.tuples(
    st.none() | st.binary(max_size=40),
    st.binary(max_size=3000),
    st.lists(st.tuples(st.text(max_size=9), st.binary(max_size=30)), max_size=3),
)


@given(st.lists(RECORDS, min_size=1, max_size=20))
def test_what_was_packed_comes_back(given_records: list) -> None:
    encoded = b"".join(frames.encode_record(7, key, value, headers) for key, value, headers in given_records)
    found = frames.read_batch("t", 2, 100, len(given_records), *frames.pack_batch(encoded))
    assert [(one.key, one.value, list(one.headers)) for one in found] == given_records
    assert [one.offset for one in found] == list(range(100, 100 + len(given_records)))


@given(st.integers(0, 1), st.integers(1, 40), st.binary(max_size=400))
def test_whatever_stands_there_is_read_or_said_to_be_damaged(encoding: int, records: int, payload: bytes) -> None:
    found = frames.read_batch("t", 0, 5, records, encoding, payload)
    assert len(found) == records or (
        len(found) == 1 and found[0].headers[0][0] == DAMAGED and found[0].value == payload
    )


@given(st.lists(RECORDS, min_size=1, max_size=8), st.data())
def test_a_flipped_byte_never_ends_a_reader(given_records: list, data: st.DataObject) -> None:
    encoding, payload = frames.pack_batch(
        b"".join(frames.encode_record(7, key, value, headers) for key, value, headers in given_records)
    )
    at = data.draw(st.integers(0, len(payload) - 1))
    broken = payload[:at] + bytes([payload[at] ^ data.draw(st.integers(1, 255))]) + payload[at + 1 :]
    assert frames.read_batch("t", 0, 5, len(given_records), encoding, broken)


# Both backends keep the same promises.


PATIENCE_S = 60.0


def read(consumer: Consumer, records: int, quiet_s: float = 0.0) -> list[Record]:
    """Poll until so many records came, and `quiet_s` longer to see what is too much."""
    found: list[Record] = []

    def enough() -> bool:
        if len(found) < records:
            found.extend(consumer.poll(1000, 0.2))
        return len(found) >= records

    eventually(enough, PATIENCE_S, 0.0, what=f"{records} records", detail=lambda: f"{len(found)} records came")
    if quiet_s:
        found += consumer.poll(1000, quiet_s)
    return found


def settle(*consumers: Consumer, partitions: int) -> list[Record]:
    """Poll all members until they share all partitions."""
    found: list[Record] = []

    def shared() -> bool:
        for consumer in consumers:
            found.extend(consumer.poll(1000, 0.2))
        held = [consumer.assignment() for consumer in consumers]
        return sum(map(len, held)) == partitions and all(held)

    eventually(
        shared,
        PATIENCE_S,
        0.0,
        what=f"{partitions} partitions to be shared",
        detail=lambda: [consumer.assignment() for consumer in consumers],
    )
    return found


def by_partition(records: list[Record]) -> dict[int, list[int]]:
    offsets: dict[int, list[int]] = defaultdict(list)
    for record in records:
        offsets[record.partition].append(record.offset)
    return offsets


@pytest.mark.smoke
def test_a_record_comes_back_as_it_went(any_log: Log, topic: str) -> None:
    any_log.create_topic(topic, 1)
    with any_log.producer() as producer, any_log.consumer("reader", [topic]) as consumer:
        producer.append(
            topic,
            b"value",
            key=b"key",
            headers=[("source", b"a"), ("sequence", b"7"), ("empty", b"")],
            timestamp_ms=1_700_000_000_123,
        )
        producer.append(topic, b"")
        producer.append(topic, bytes(range(256)), key=b"")
        producer.flush()
        first, second, third = read(consumer, 3)
    assert first == Record(
        topic, 0, 0, 1_700_000_000_123, b"key", b"value", [("source", b"a"), ("sequence", b"7"), ("empty", b"")]
    )
    assert (second.key, second.value, list(second.headers)) == (None, b"", [])
    assert (third.key, third.value, third.offset) == (b"", bytes(range(256)), 2)


def test_offsets_have_no_gaps_and_keys_keep_their_order(any_log: Log, topic: str) -> None:
    any_log.create_topic(topic, 3)
    with any_log.producer() as one, any_log.producer() as two, any_log.consumer("reader", [topic]) as consumer:
        for number in range(600):
            producer = one if number % 2 else two
            producer.append(topic, b"%d" % number, key=b"source %d" % (number % 20))
            if number % 50 == 0:
                producer.flush()
        one.flush()
        two.flush()
        records = read(consumer, 600, quiet_s=0.5)
    assert len(records) == 600
    for offsets in by_partition(records).values():
        assert offsets == list(range(len(offsets)))
    for key in {record.key for record in records}:
        ours = [record for record in records if record.key == key]
        assert len({record.partition for record in ours}) == 1
        assert [int(record.value) for record in ours] == sorted(int(record.value) for record in ours)


def test_both_backends_send_a_key_to_the_same_partition(table_log: Log, kafka: str, topic: str) -> None:
    places = []
    with open_log(kafka) as kafka_log:
        for log in (table_log, kafka_log):
            log.create_topic(topic, 5)
            with log.producer() as producer, log.consumer("reader", [topic]) as consumer:
                for number in range(50):
                    producer.append(topic, b"", key=b"host/%d" % number)
                producer.flush()
                places.append({record.key: record.partition for record in read(consumer, 50)})
    assert places[0] == places[1]


def test_large_records_pass_and_larger_ones_are_refused(any_log: Log, topic: str) -> None:
    any_log.create_topic(topic, 1)
    large = bytes(10 << 20)
    with any_log.producer() as producer, any_log.consumer("reader", [topic]) as consumer:
        with pytest.raises(BadInput, match="exceeds"):
            producer.append(topic, bytes(MAX_RECORD_BYTES + 1))
        producer.append(topic, large)
        producer.append(topic, b"next")
        producer.flush(60)
        records = read(consumer, 2)
    assert [record.value for record in records] == [large, b"next"]


def test_counters_take_a_third_of_their_size_and_old_batches_are_read(
    table_log: Log, embedded_db: str, topic: str
) -> None:
    values = [b'{"router":%d,"flits":%d,"stalls":%d}' % (n % 96, 7_000_000_000 + n * n, n) for n in range(2000)]
    with table_log.producer("test") as producer:
        for value in values:
            producer.append(topic, value, partition=0)
    held = "FROM log.batch JOIN log.topic USING (topic_id) WHERE name = %s"
    with psycopg.connect(embedded_db, autocommit=True) as conn:
        stored = conn.execute(f"SELECT sum(length(payload)) {held}", [topic]).fetchone()
        # As a batch was stored before batches were compressed.
        plain = frames.encode_record(1, None, b"from before", [])
        conn.execute(f"INSERT INTO log.batch SELECT segment, topic_id, 1, 0, 1, %s {held} LIMIT 1", [plain, topic])
        conn.execute(
            "UPDATE log.partition SET next_offset = 1 WHERE partition = 1 AND topic_id = (SELECT topic_id FROM log.topic WHERE name = %s)",
            [topic],
        )
    assert stored is not None and stored[0] < sum(map(len, values)) / 3
    with table_log.consumer(f"g-{topic}", topics=[topic]) as consumer:
        records = read(consumer, 2001)
    assert sorted(record.value for record in records) == sorted([*values, b"from before"])


def test_a_reader_begins_where_it_says(any_log: Log, topic: str) -> None:
    any_log.create_topic(topic, 2)
    asked: list[list[TopicPartition]] = []

    def begin(places: list[TopicPartition]) -> dict[TopicPartition, int]:
        asked.append(places)
        return {TopicPartition(topic, 0): 30}

    with any_log.producer() as producer, any_log.consumer("reader", [topic], on_assign=begin) as consumer:
        for number in range(80):
            producer.append(topic, b"%d" % number, partition=number % 2)
        producer.flush()
        offsets = by_partition(read(consumer, 50, quiet_s=0.5))
        assert offsets == {0: list(range(30, 40)), 1: list(range(40))}
        assert sorted(at for places in asked for at in places) == [TopicPartition(topic, 0), TopicPartition(topic, 1)]
        assert consumer.position(topic, 0) == 40
        assert consumer.end_offsets() == {TopicPartition(topic, 0): 40, TopicPartition(topic, 1): 40}
        assert consumer.begin_offsets() == {TopicPartition(topic, 0): 0, TopicPartition(topic, 1): 0}
        consumer.seek(topic, 1, 35)
        assert by_partition(read(consumer, 5, quiet_s=0.5)) == {1: list(range(35, 40))}
        consumer.seek(topic, 0, 0)
        assert by_partition(read(consumer, 40, quiet_s=0.5)) == {0: list(range(40))}
        with pytest.raises(BadRequest, match="not assigned"):
            consumer.seek(topic, 7, 0)


def test_a_reader_that_does_not_know_where_to_begin_is_asked_again(any_log: Log, topic: str) -> None:
    any_log.create_topic(topic, 1)
    asked = 0

    def begin(places: list[TopicPartition]) -> dict[TopicPartition, int]:
        nonlocal asked
        asked += 1
        if asked < 3:
            raise NotFound("the positions are not there")
        return dict.fromkeys(places, 5)

    with any_log.producer() as producer, any_log.consumer("reader", [topic], on_assign=begin) as consumer:
        for number in range(10):
            producer.append(topic, b"%d" % number)
        producer.flush()
        raised = 0
        found: list[Record] = []

        def enough() -> bool:
            nonlocal raised
            try:
                found.extend(consumer.poll(100, 0.5))
            except NotFound:
                raised += 1
                assert consumer.assignment() == []
            return len(found) >= 5

        eventually(enough, PATIENCE_S, 0.0, what="5 records", detail=lambda: found)
    assert raised == 2
    assert [record.offset for record in found] == [5, 6, 7, 8, 9]


def test_what_is_read_while_another_topic_has_no_beginning_is_not_lost(any_log: Log, topic: str) -> None:
    any_log.create_topic(topic, 1)
    other, asked = f"{topic}_b", 0

    def begin(places: list[TopicPartition]) -> dict[TopicPartition, int]:
        nonlocal asked
        if any(place.topic == other for place in places):
            asked += 1
            if asked < 4:
                raise NotFound("the positions are not there")
        return {}

    found: list[Record] = []
    with any_log.producer() as producer, any_log.consumer("reader", pattern=f"^{topic}", on_assign=begin) as consumer:
        sent = 0

        def both_assigned() -> bool:
            nonlocal sent
            if len(consumer.assignment()) >= 2:
                return True
            if sent == 200:
                any_log.create_topic(other, 1)
            # There is always something to read, also in the call that hears of the other topic.
            for _ in range(20):
                producer.append(topic, b"%d" % sent)
                sent += 1
            producer.flush()
            with contextlib.suppress(NotFound):
                found.extend(consumer.poll(5, 0.1))
            return False

        eventually(both_assigned, PATIENCE_S, 0.0, what="the partitions of both topics")
        found += read(consumer, sent - len(found))
    assert asked == 4
    assert [record.offset for record in found] == list(range(sent))


def test_a_paused_partition_waits_and_loses_nothing(any_log: Log, topic: str) -> None:
    any_log.create_topic(topic, 3)
    with any_log.producer() as producer:
        for number in range(3000):
            producer.append(topic, b"%d" % number * 50, partition=number % 3)
        producer.flush()
    paused = {TopicPartition(topic, 0), TopicPartition(topic, 2)}
    with any_log.consumer("reader", [topic]) as consumer:
        found = read(consumer, 1)
        consumer.pause(paused)
        while len(by_partition(found)[1]) < 1000:
            found += read(consumer, 1)
        found += consumer.poll(5000, 0.5)
        assert consumer.poll(5000, 0.5) == []
        consumer.pause({TopicPartition(topic, 0)})
        found += read(consumer, 1000 - len(by_partition(found)[2]))
        assert by_partition(found)[2] == list(range(1000))
        consumer.pause(())
        found += read(consumer, 3000 - len(found), quiet_s=0.5)
    assert by_partition(found) == {p: list(range(1000)) for p in range(3)}


def test_what_was_paused_when_it_was_taken_away_is_read_when_it_comes_back(any_log: Log, topic: str) -> None:
    any_log.create_topic(topic, 2)
    with any_log.producer() as producer, any_log.consumer("shared", [topic]) as first:
        settle(first, partitions=2)
        first.pause({TopicPartition(topic, 0), TopicPartition(topic, 1)})
        with any_log.consumer("shared", [topic]) as second:
            settle(first, second, partitions=2)
            (taken,) = second.assignment()
        settle(first, partitions=2)
        for number in range(10):
            producer.append(topic, b"%d" % number, partition=taken.partition)
        producer.flush()
        assert [int(record.value) for record in read(first, 10)] == list(range(10))


def test_latest_sees_only_what_comes_after(any_log: Log, topic: str) -> None:
    any_log.create_topic(topic, 1)
    with any_log.producer() as producer, any_log.consumer("reader", [topic], start="latest") as consumer:
        producer.append(topic, b"before")
        producer.flush()
        settle(consumer, partitions=1)
        assert consumer.position(topic, 0) == 1
        producer.append(topic, b"after")
        producer.flush()
        assert [record.value for record in read(consumer, 1, quiet_s=0.3)] == [b"after"]


def test_groups_read_alone_and_members_share(any_log: Log, topic: str) -> None:
    any_log.create_topic(topic, 4)
    gone: list[TopicPartition] = []
    with any_log.producer() as producer, any_log.consumer("other", [topic]) as other:
        first = any_log.consumer("shared", [topic], on_revoke=gone.extend)
        settle(first, partitions=4)
        second = any_log.consumer("shared", [topic])
        settle(first, second, partitions=4)
        assert len(first.assignment()) == len(second.assignment()) == 2
        assert len(gone) == 2
        for number in range(100):
            producer.append(topic, b"%d" % number, partition=number % 4)
        producer.flush()
        seen = []

        def all_seen() -> bool:
            seen.extend(first.poll(1000, 0.2) + second.poll(1000, 0.2))
            return len(seen) >= 100

        eventually(all_seen, PATIENCE_S, 0.0, what="100 records", detail=lambda: f"{len(seen)} records came")
        assert sorted(int(record.value) for record in seen) == list(range(100))
        second.close()
        settle(first, partitions=4)
        first.close()
        assert len(gone) == 6
        assert sorted(int(record.value) for record in read(other, 100)) == list(range(100))


def test_topics_that_appear_later_are_found_by_pattern(any_log: Log, topic: str) -> None:
    with any_log.producer() as producer, any_log.consumer("reader", pattern=f"^{topic}\\..*") as consumer:
        assert consumer.poll(10, 0.5) == []
        for name in ("a", "b"):
            producer.append(f"{topic}.{name}", name.encode())
        producer.append(f"{topic}x", b"not ours")
        producer.flush()
        assert sorted(record.value for record in read(consumer, 2, quiet_s=0.5)) == [b"a", b"b"]


def test_topics_and_their_ends(any_log: Log, topic: str) -> None:
    any_log.create_topic(topic, 2)
    any_log.create_topic(topic, 5)
    assert any_log.topics()[topic] == 2
    with any_log.producer() as producer:
        for _ in range(3):
            producer.append(topic, b"x", partition=1)
        with pytest.raises(BadRequest, match="partitions 0 to 1"):
            producer.append(topic, b"x", partition=2)
        producer.flush()
    assert any_log.end_offsets(topic) == [0, 3]
    with pytest.raises(NotFound):
        any_log.end_offsets(f"{topic}.absent")


def test_a_subscription_says_what_it_wants(any_log: Log) -> None:
    with pytest.raises(BadRequest):
        any_log.consumer("reader")
    with pytest.raises(BadRequest, match="begin with"):
        any_log.consumer("reader", pattern="ldms")


@pytest.mark.parametrize("url", ["mysql://host/x", "kafka://", "kafka://user@host/topic", "not a url"])
def test_other_urls_are_refused(url: str) -> None:
    with pytest.raises(BadRequest):
        open_log(url)
