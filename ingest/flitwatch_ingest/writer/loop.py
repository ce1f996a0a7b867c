"""The writer: it moves each record from the log to the database exactly once."""

from __future__ import annotations

import logging
import math
import threading
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cached_property

from flitwatch_db import connect
from flitwatch_db.core.log_keep import disk_of
from flitwatch_db.ingest import store as ingest
from flitwatch_db.ingest.topic_leases import TopicLeases
from flitwatch_domain.data_sources import DIRECT
from flitwatch_domain.errors import Cancelled, Conflict, Unavailable
from flitwatch_domain.heartbeat import Heartbeat
from flitwatch_ingest.registry import Schemas, open_registry
from flitwatch_ingest.schemas import RowSchema
from flitwatch_ingest.writer import accounts
from flitwatch_ingest.writer.assigned_topics import OURS, AssignedTopics
from flitwatch_ingest.writer.batch import Batch
from flitwatch_ingest.writer.commit_pipeline import CommitPipeline
from flitwatch_ingest.writer.database import AWAY, LONGEST_PAUSE_S, Database, first_line
from flitwatch_ingest.writer.marks import Mark
from flitwatch_ingest.writer.measures import Measures
from flitwatch_ingest.writer.memory import Memory
from flitwatch_ingest.writer.pending_rows import header_text, letter_of, source_of
from flitwatch_ingest.writer.settings import WriterSettings
from flitwatch_ingest.writer.topic_feed import TopicFeed
from flitwatch_stream import topics
from flitwatch_stream.log import Log, Record, TopicPartition

log = logging.getLogger(__name__)

_LONGEST_POLL_S = 0.25
#: Delay between tries to read a log that does not answer.
AWAY_S = 0.5
#: Writing resumes when the free disk space reaches this multiple of the limit at which it stopped.
ENOUGH_PART = 1.2
#: Interval of checks for new or changed fabrics.
_FABRICS_S = 2.0


class Writer:
    """Main loop of a writer: one transaction at a time is written while the records of the next one are decoded.

    Parameters
    ----------
    url : str
        The database.
    stop : threading.Event
        Set it to end waiting for an unresponsive database or log.
    opportunistic : bool
        Take only topics that no running writer holds.
    heartbeat : Heartbeat
        Beats at each step, and while waiting for the database or the log.
    """

    def __init__(
        self,
        url: str,
        source: Log,
        settings: WriterSettings | None = None,
        stop: threading.Event | None = None,
        opportunistic: bool = False,
        heartbeat: Heartbeat | None = None,
    ) -> None:
        self.settings = settings or WriterSettings()
        self.heartbeat = heartbeat or Heartbeat()
        self.measures = Measures()
        self.stop = stop or threading.Event()
        self._database = Database(url, lambda: self.reader, self.stop, self.measures)
        self._pipeline = CommitPipeline(
            Database(url, lambda: self.reader, self.stop, self.measures), self.measures, self.heartbeat
        )
        self._memory = Memory(self.settings)
        self._schemas = Schemas(open_registry(self.settings.registry))
        self._source = source
        self.disk = disk_of(url)
        self._url, self._opportunistic = url, opportunistic
        self.assigned = AssignedTopics(
            source, self._open_leases, self.settings.group, self.settings.pattern, self._begin, self._let_go
        )
        self._committed_at = time.monotonic()
        self._fabrics_at = self._silence_at = -math.inf

    @cached_property
    def reader(self) -> ingest.Reader:
        """Return the owner of the positions, once the log has identified itself. Raise Unavailable if the log or the database does not answer."""
        reader = ingest.Reader(self.settings.group, self._source.identity())
        with connect(self._url, role="writer", autocommit=True) as conn:
            ingest.adopt_positions(conn, reader)
        return reader

    def _open_leases(self) -> TopicLeases:
        # Topics of the same name in two logs are unrelated.
        return TopicLeases(self._url, " ".join(self.reader), self._opportunistic)

    # --- one step ----------------------------------------------------------------------------------------------------

    def run(self) -> None:
        """Work until `stop` is set, then write the pending rows."""
        pause_s = 0.2
        while not self.stop.is_set():
            self.heartbeat.beat()
            try:
                self.step()
                pause_s = 0.2
            except Cancelled as ended:
                # The content of the last transaction is no longer in memory; the positions are before it.
                log.warning("uncommitted records will be re-read: %s", ended)
                self.close()
                return
            except Conflict as moved:
                log.warning("%s", moved)
                self._start_over()
            except AWAY as away:
                # Records may have been processed partially: only the database is reliable.
                log.warning("restarting from committed offsets: %s", first_line(away))
                self._start_over()
                self.heartbeat.wait(self.stop, pause_s)
                pause_s = min(2 * pause_s, LONGEST_PAUSE_S)
        self.finish()

    def step(self) -> int:
        """Read new records, and commit a transaction if one is due. Return the number of records."""
        if self._waits_for_space():
            return 0
        due_in = self._committed_at + self.settings.interval_s - time.monotonic()
        records = self._poll_records(min(max(due_in, 0.0), _LONGEST_POLL_S))
        if records:
            self.take(records)
        # If the database is slower than the interval, transactions become fewer and larger.
        if (due_in <= 0 and not self._pipeline.busy) or self._memory.full:
            self._look_around()
            self.commit()
        return len(records)

    def _waits_for_space(self) -> bool:
        """Return whether records must stay in the log for now, because the database's disk has no space for their rows."""
        waits = self.measures.lack is not None
        # Resuming needs more space than stopping, because the database's temporary space varies.
        lack = self.disk.lack(ENOUGH_PART if waits else 1.0)
        if (lack is not None) != waits:
            log.warning("%s", "writing new records again" if lack is None else f"{lack}: new records wait in the log")
        self.measures.lack = lack
        if lack is None:
            return False
        if not waits:
            # A broker drops a reader that does not poll for minutes.
            self.assigned.reopen()
        self.heartbeat.wait(self.stop, AWAY_S)
        return True

    def _poll_records(self, timeout_s: float) -> list[Record]:
        try:
            with self.measures.stage("poll"):
                return self.assigned.poll(self.settings.most_records, timeout_s)
        except AWAY as away:
            # Nothing was processed: reading continues at the same position, and pending rows can be written meanwhile.
            log.warning("the log cannot be read: %s", first_line(away))
            self.stop.wait(AWAY_S)
            return []

    def finish(self) -> None:
        """Write the pending rows, including unfinished port buckets, and release the topics."""
        try:
            self.commit(everything=True)
        except (Conflict, Cancelled, Unavailable) as problem:
            log.warning("uncommitted records will be re-read: %s", problem)
        self.close()

    def close(self) -> None:
        """Close the log and the database without writing."""
        self.assigned.close()
        self._pipeline.close()
        self._database.close()

    # --- records in --------------------------------------------------------------------------------------------------

    def take(self, records: Sequence[Record]) -> None:
        """Decode records into memory."""
        self._refresh_fabrics()
        by_topic: dict[str, list[Record]] = defaultdict(list)
        for record in records:
            by_topic[record.topic].append(record)
        with self.measures.stage("decode"):
            for topic, topic_records in by_topic.items():
                self._take_topic(topic, topic_records)

    def _take_topic(self, topic: str, records: list[Record]) -> None:
        if topic not in OURS:
            try:
                self._schemas.prepare(record.value for record in records if not header_text(record, topics.DAMAGED))
            except Unavailable as away:
                # Positions stay before these records, so that they are read again later.
                log.warning("%s waits: %s", topic, away)
                self.assigned.block(topic)
                return
        replays, new = self._split_unread(topic, records)
        new = self._drop_duplicates(new)
        if topic in OURS:
            for record in new:
                accounts.decode_own_record(record, self._memory.pending_rows)
        else:
            feed = self._feed(topic)
            if replays:
                feed.feed.replay(True, self._memory.marks.closed_s(topic))
                feed.consume(replays, self._memory.pending_rows, replaying=True)
            # Even if nothing follows yet: new findings about its devices count from here on.
            feed.feed.replay(False, -1)
            if new:
                feed.consume(new, self._memory.pending_rows, replaying=False)
            self._memory.clocks.record_arrival(topic)
        self._count_records(topic, new)
        self._turn_back()

    def _turn_back(self) -> None:
        """Reread records that were skipped while the state before them was rebuilt."""
        if self._memory.marks.turn_back():
            self.assigned.reopen()

    def _split_unread(self, topic: str, records: Sequence[Record]) -> tuple[list[Record], list[Record]]:
        """Return the unprocessed records: those that rebuild memory, and those to write. Move the marks past them."""
        marks = self._marks_of(topic, records)
        replays = self._select_replays(records, marks) if self._memory.marks.replaying(topic) else []
        replaying = self._memory.marks.replaying(topic)
        new: list[Record] = []
        for record in records:
            mark = marks[record.partition]
            if mark.passed or record.offset < mark.position:
                continue
            if replaying:
                # A written sample in another partition may follow this one: their difference would wrongly count as written.
                mark.passed = True
                continue
            if mark.fresh:
                self._record_trimmed(record, mark)
            mark.position = record.offset + 1
            if damage := header_text(record, topics.DAMAGED):
                self._memory.pending_rows.letter(record, damage)
                log.error("%s[%d]: %s", topic, record.partition, damage)
            else:
                new.append(record)
        return replays, new

    def _select_replays(self, records: Sequence[Record], marks: Mapping[int, Mark]) -> list[Record]:
        """Return records that are in the database and rebuild memory. Move the marks past them."""
        replays: list[Record] = []
        for record in records:
            mark = marks[record.partition]
            if not mark.replaying or record.offset < mark.position:
                continue
            if mark.fresh and record.offset > mark.position:
                log.warning(
                    "%s[%d]: the log was trimmed to %d; the writer's memory is rebuilt from the rest",
                    record.topic,
                    record.partition,
                    record.offset,
                )
            # The log may have a gap at the end of the replay.
            mark.position = min(record.offset + 1, mark.replay_until)
            if record.offset < mark.replay_until:
                mark.fresh = False
                if not header_text(record, topics.DAMAGED):
                    replays.append(record)
        return replays

    def _marks_of(self, topic: str, records: Sequence[Record]) -> dict[int, Mark]:
        """Return the marks of the partitions of `records`."""
        marks: dict[int, Mark] = {}
        for record in records:
            if record.partition not in marks:
                place = TopicPartition(topic, record.partition)
                marks[record.partition] = self._memory.marks.setdefault(place, Mark(record.offset, None, -1))
        return marks

    def _record_trimmed(self, record: Record, mark: Mark) -> None:
        """Record the gap before the first record after an assignment: the missing records were trimmed from the log."""
        mark.fresh = False
        if mark.committed is None or record.offset <= mark.committed.position:
            return
        lost = record.offset - mark.committed.position
        reason = f"{lost} earlier records were deleted from the log before they were written"
        self._memory.pending_rows.letters.append(
            letter_of(record._replace(value=b"", offset=mark.committed.position), reason)
        )
        log.error("%s[%d]: %s", record.topic, record.partition, reason)

    def _drop_duplicates(self, records: list[Record]) -> list[Record]:
        if not any(record.headers for record in records):
            return records
        self._memory.sequences.learn(self._database.conn, records)
        unique = []
        for record in records:
            if record.headers and self._memory.sequences.repeats(record, self._memory.pending_rows.sequences):
                self._memory.pending_rows.rates[record.topic].duplicates += 1
            else:
                unique.append(record)
        return unique

    def _count_records(self, topic: str, records: Sequence[Record]) -> None:
        if not records:
            return
        pending = self._memory.pending_rows
        rates = pending.rates[topic]
        rates.records += len(records)
        rates.bytes += sum(len(record.value) for record in records)
        if topic != topics.REJECTED:
            # Most records have no headers: they are counted without checking each one.
            sourced = [source_of(record) for record in records if record.headers]
            pending.arrived[DIRECT, topic] += len(records) - len(sourced)
            pending.arrived.update((source, topic) for source in sourced)
        times = [record.timestamp_ms for record in (records[0], records[-1]) if record.timestamp_ms > 0]
        if times:
            pending.oldest_ms = min(pending.oldest_ms or times[0], *times)
            pending.newest_ms = max(pending.newest_ms, *times)

    def _feed(self, topic: str) -> TopicFeed:
        feed = self._memory.feeds.get(topic)
        if feed is None:
            memory = self._memory
            feed = TopicFeed(topic, memory.ledger, memory.claims, memory.places, self._schemas, self._schema_id)
            memory.feeds[topic] = feed
        feed.feed.latest_us = int((time.time() + self.settings.most_future_s) * 1e6)
        return feed

    def _schema_id(self, schema: RowSchema) -> int:
        # Outside the batch's transaction: an id without rows is harmless.
        conn = self._database.conn
        with conn.transaction():
            return ingest.register_schema(conn, schema.name, schema.digest, schema.described(), schema.kind.value)

    # --- the transaction -----------------------------------------------------------------------------------------------

    def commit(self, everything: bool = False) -> None:
        """Begin to write the pending rows in one transaction, once the previous one is committed.

        `everything`: include unfinished port buckets, and return after the commit.

        Raises
        ------
        Conflict
            Another writer has these partitions: drop all state and restart.
        Cancelled
            `stop` was set while the database did not answer.
        """
        self._finish_commit()
        self._committed_at = time.monotonic()
        if self._memory.half_rebuilt:
            if self._memory.full:
                # The awaited records do not come: read other records again rather than keeping them indefinitely.
                self._start_over()
            return
        with self.measures.stage("prepare"):
            batch = self._memory.take(everything)
            batch.epochs = self.assigned.epochs(self._memory.topics)
        if batch.empty:
            return
        self._pipeline.send(batch)
        if everything:
            self._finish_commit()

    def _finish_commit(self) -> None:
        landed = self._pipeline.wait()
        if landed is not None:
            self._record_commit(*landed)

    def _record_commit(self, batch: Batch, at: float) -> None:
        for place, position in batch.new.items():
            if place in self._memory.marks:
                self._memory.marks[place].committed = position
        pending, measures = batch.pending_rows, self.measures
        measures.commits += 1
        for rates in pending.rates.values():
            for name, count in vars(rates).items():
                setattr(measures, name, getattr(measures, name) + count)
        if pending.oldest_ms:
            measures.lagged(max(0.0, at - pending.oldest_ms / 1000))

    # --- partitions that come and go -----------------------------------------------------------------------------------

    def _begin(self, places: list[TopicPartition]) -> dict[TopicPartition, int]:
        starts = self._memory.marks.begin(places, self._database.positions())
        # A completely written bucket stays closed, even if the feed's clock has not reached it again.
        closed_s = [self._memory.marks.closed_s(topic) for topic in {place.topic for place in places}]
        self._memory.ledger.ports_closed_s = max([self._memory.ledger.ports_closed_s, *closed_s])
        return starts

    def _let_go(self, names: set[str]) -> None:
        """Write the pending rows of topics that another writer takes over, and drop their state."""
        own_topics = names & self._memory.topics
        if not own_topics:
            return
        if self.replaying:
            # Partially rebuilt port buckets can be neither written nor kept; the positions are before them.
            self._start_over()
            return
        try:
            self.commit(everything=True)
        except Conflict:
            self._start_over()
            return
        self._memory.forget(own_topics)

    def _start_over(self) -> None:
        self._pipeline.abandon()
        self._database.close()
        self._memory = Memory(self.settings)
        self._fabrics_at = -math.inf
        self.assigned.reopen()

    # --- now and then --------------------------------------------------------------------------------------------------

    def _refresh_fabrics(self) -> None:
        now = time.monotonic()
        if now - self._fabrics_at < _FABRICS_S:
            return
        self._fabrics_at = now
        conn = self._database.conn
        if (self._memory.feeds and self.replaying) or not self._memory.places.changed(conn):
            return
        if self._memory.feeds:
            self.commit(everything=True)
        with conn.transaction():
            self._memory.places.refresh(conn)
        moved = sum(feed.replace() for feed in self._memory.feeds.values())
        log.info(
            "fabrics: %s; %d sets were assigned",
            ", ".join(map(self._memory.places.name, self._memory.places.fabric_ids)) or "none",
            moved,
        )

    def _look_around(self) -> None:
        """Look for stopped instances while the writer is at the end of the log."""
        now = time.monotonic()
        if now - self._silence_at < self.settings.silence_every_s:
            return
        self._silence_at = now
        if not self._memory.feeds or not self.assigned.caught_up():
            return
        # Trimmed records cannot be replayed. A waiting topic is not read now, but will be.
        places = self.assigned.places
        for place, mark in self._memory.marks.items():
            if place in places:
                mark.position = max(mark.position, mark.replay_until)
        self._turn_back()
        for topic, feed in self._memory.feeds.items():
            # A waiting topic was not read to its end, and skipped records are read again.
            if topic not in self.assigned.reading:
                continue
            if feed.counts and (clock_us := self._memory.clocks.now_us(topic, feed)) is not None:
                feed.feed.check_silence(clock_us)

    def has_read(self, until: Mapping[tuple[str, int], int]) -> bool:
        """Return whether every record before these offsets was processed and no replay is active."""
        marks = self._memory.marks
        return not self.replaying and all(
            not end or ((mark := marks.get(TopicPartition(*place))) is not None and mark.position >= end)
            for place, end in until.items()
        )

    def give_up_held(self) -> None:
        """Turn withheld samples into dead letters, because no more records will come."""
        for feed in self._memory.feeds.values():
            feed.feed.give_up_held()
            feed.collect(self._memory.pending_rows)

    @property
    def replaying(self) -> bool:
        """Return whether memory is still being rebuilt."""
        return self._memory.marks.replaying()
