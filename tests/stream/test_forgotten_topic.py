"""A broker that says for a moment that a topic is not there: what a producer holds of it is kept, in its order."""

from __future__ import annotations

import time

import pytest
from confluent_kafka.admin import AdminClient

from flitwatch_domain.errors import Unavailable
from flitwatch_stream.backends import open_log
from flitwatch_stream.kafka_client import brokers_of

pytestmark = [pytest.mark.integration, pytest.mark.kafka]

RECORDS = 200
LONGEST_S = 300.0


def test_records_of_a_topic_that_is_gone_for_a_moment_are_sent_when_it_is_back(kafka: str, topic: str) -> None:
    with open_log(kafka) as log, log.producer() as producer:
        log.create_topic(topic, 2)
        producer.append(topic, b"first", key=b"source")
        producer.flush()
        for gone in AdminClient({"bootstrap.servers": brokers_of(kafka)}).delete_topics([topic]).values():
            gone.result(LONGEST_S)
        # Records come until librdkafka has learnt that the topic is gone and gives them up.
        numbers = iter(range(10**9))
        deadline = time.monotonic() + LONGEST_S
        sent = []
        while not producer._given_up and time.monotonic() < deadline:
            sent.append(b"%d" % next(numbers))
            producer.append(topic, sent[-1], key=b"source")
            time.sleep(0.01)
        assert producer._given_up
        with pytest.raises(Unavailable):
            producer.flush(1.0)
        log.create_topic(topic, 2)
        for _ in range(RECORDS):
            sent.append(b"%d" % next(numbers))
            producer.append(topic, sent[-1], key=b"source")
        producer.flush(LONGEST_S)
        read = []
        with log.consumer(None, [topic]) as reader:
            while len(read) < len(sent) and time.monotonic() < deadline + LONGEST_S:
                read += [record.value for record in reader.poll(10_000, 1.0)]
    assert read == sent
