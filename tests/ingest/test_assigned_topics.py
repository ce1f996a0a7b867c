"""A writer that lost its topics for a while forgets what it had read of them, also where it learns of that in two steps."""

from __future__ import annotations

from collections.abc import Collection

import pytest

from flitwatch_db.ingest.topic_leases import TopicLeases
from flitwatch_domain.errors import Conflict, Unavailable
from flitwatch_ingest.writer import assigned_topics
from flitwatch_ingest.writer.assigned_topics import AssignedTopics
from flitwatch_stream.backends import open_log

TOPICS = ("ldms.a", "ldms.b")


class BreakingLeases(TopicLeases):
    """Leases whose connection breaks after the first of several topics was taken, while `breaks`."""

    breaks = False

    def take(self, names: Collection[str]) -> set[str]:
        if not self.breaks:
            return super().take(names)
        super().take(sorted(names)[:1])
        self.close()
        self.held.clear()
        raise Unavailable("the connection broke")


def test_a_takeover_is_noticed_although_the_first_look_after_it_failed(
    embedded_db: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(assigned_topics, "LOOK_S", 0.0)
    with open_log(embedded_db) as log, log.producer() as producer:
        for topic in TOPICS:
            producer.append(topic, b"{}")
        producer.flush()
        leases = BreakingLeases(embedded_db, "g log")
        mine = AssignedTopics(
            log, lambda: leases, "g", "ldms[.].*", lambda places: dict.fromkeys(places, 0), lambda names: None
        )
        mine.poll(10, 0.0)
        assert mine.mine >= set(TOPICS) and set(mine.epochs(TOPICS)) == set(TOPICS)
        leases.close()
        leases.held.clear()
        other = TopicLeases(embedded_db, "g log")
        assert other.take(TOPICS[:1]) == set(TOPICS[:1])
        other.close()
        leases.breaks = True
        with pytest.raises(Unavailable):
            mine.poll(10, 0.0)
        leases.breaks = False
        with pytest.raises(Conflict, match="another writer had"):
            mine.poll(10, 0.0)
        mine.poll(10, 0.0)
        mine.close()
