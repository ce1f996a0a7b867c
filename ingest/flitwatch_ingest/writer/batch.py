"""One transaction: all records since the last one, and their end positions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import numpy as np
import psycopg

from flitwatch_core.codec import LANE_ARRAYS, LANES, Ledger
from flitwatch_db.core import events
from flitwatch_db.core.events import DeadLetterEvent, GapEvent
from flitwatch_db.counters import store as counters
from flitwatch_db.fabrics import store as fabrics
from flitwatch_db.ingest import store as ingest
from flitwatch_db.ingest.arrivals import add_arrivals
from flitwatch_db.ingest.store import DeadLetter, Gap, GapKey, Position, Reader
from flitwatch_db.ingest.topic_leases import check_epochs
from flitwatch_domain.errors import Conflict
from flitwatch_ingest.writer.accounts import write_jobs, write_runs, write_samples
from flitwatch_ingest.writer.pending_rows import PendingRows, letter_of
from flitwatch_stream.log import Record, TopicPartition

#: Limit of events of one kind per transaction; the rest is only in the tables.
MOST_EVENTS = 20


@dataclass
class Batch:
    """Content of a transaction, and the epochs of its topic leases. Writing it again after a failure has the same result."""

    counters: counters.Batch
    pending_rows: PendingRows
    gaps: list[Gap]
    gone: list[GapKey]
    new: dict[TopicPartition, Position]
    before: dict[TopicPartition, Position | None]
    epochs: Mapping[str, int] = field(default_factory=dict)
    happened: list[tuple[str, Mapping[str, Any]]] = field(default_factory=list)

    @property
    def empty(self) -> bool:
        """Return whether there is nothing to write."""
        rows = self.counters
        counted = rows.routers is not None or rows.ports is not None or rows.endpoints is not None
        counted = counted or bool(rows.router_lanes or rows.endpoint_lanes)
        return not (self.new or counted or self.gaps or self.gone or self.pending_rows.letters)

    def write(self, conn: psycopg.Connection[Any], reader: Reader) -> None:
        """Write everything within the caller's transaction. Raise Conflict if another writer has advanced."""
        pending = self.pending_rows
        new = {(topic, partition): position for (topic, partition), position in self.new.items()}
        expected = {(topic, partition): _position_of(old) for (topic, partition), old in self.before.items()}
        check_epochs(conn, " ".join(reader), self.epochs)
        ingest.advance_positions(conn, reader, new, expected)
        self._leave_out_removed(conn)
        counters.write_batch(conn, self.counters)
        letters = list(pending.letters)

        def refuse(record: Record, reason: str) -> None:
            letters.append(letter_of(record, reason))

        happened: list[tuple[str, Mapping[str, Any]]] = [
            ("job", payload) for payload in write_jobs(conn, pending, refuse)
        ]
        happened += [("run", payload) for payload in write_runs(conn, pending, refuse)]
        write_samples(conn, pending, refuse)
        self._write_observations(conn, letters)
        ingest.remove_gaps(conn, self.gone)
        if self.gaps:
            ingest.add_gaps(conn, self.gaps)
        if letters:
            ingest.add_dead_letters(conn, letters)
        if pending.sequences:
            ingest.save_source_positions(conn, pending.sequences)
        if pending.schema_records:
            ingest.count_records(conn, pending.schema_records)
        now = datetime.now(UTC)
        ingest.add_rates(conn, now, pending.rates)
        add_arrivals(conn, pending.arrived)
        for kind, payload in [*self.happened, *happened[-MOST_EVENTS:], *self._gap_events(), *_letter_events(letters)]:
            events.emit_event(conn, kind, payload)

    def _leave_out_removed(self, conn: psycopg.Connection[Any]) -> None:
        """Drop counts of fabrics that were removed since they were read, and lock the others until the transaction ends."""
        fabric_ids = counters.fabrics_of(self.counters) | {
            gap.fabric_id for gap in self.gaps if gap.fabric_id is not None
        }
        gone = fabric_ids - fabrics.held_fast(conn, fabric_ids)
        if gone:
            self.counters = counters.drop_fabrics(self.counters, gone)
            self.gaps = [gap for gap in self.gaps if gap.fabric_id not in gone]
            self.happened = [event for event in self.happened if event[1].get("fabric_id") not in gone]

    def _write_observations(self, conn: psycopg.Connection[Any], letters: list[DeadLetter]) -> None:
        rows = self.pending_rows.observations
        if not rows:
            return
        try:
            with conn.transaction():
                counters.write_observations(conn, rows)
        except psycopg.DataError:
            for row in rows:
                try:
                    with conn.transaction():
                        counters.write_observations(conn, [row])
                except psycopg.DataError as problem:
                    letters.append(
                        DeadLetter("", 0, 0, f"the database refuses this row: {problem}", repr(row).encode())
                    )

    def _gap_events(self) -> list[tuple[str, GapEvent]]:
        return [
            ("gap", {"device": g.device, "from": g.from_ts.isoformat(), "to": g.to_ts.isoformat(), "reason": g.reason})
            for g in self.gaps[-MOST_EVENTS:]
        ]

    def already_written(self, stored: Mapping[tuple[str, int], Position]) -> bool:
        """Return whether the database is at the end of this batch, because the commit arrived but the answer was lost. Raise Conflict if the database
        is neither at the end nor at the beginning of this batch."""
        standing = {place: stored.get((place.topic, place.partition)) for place in self.new}
        if standing == self.new and self.new != self.before:
            return True
        if any(_position_of(standing[place]) != _position_of(self.before[place]) for place in self.new):
            raise Conflict("another writer has moved on", advice="Read the positions again.")
        return False


def _position_of(stored: Position | None) -> int | None:
    return None if stored is None else stored.position


def _letter_events(letters: Sequence[DeadLetter]) -> list[tuple[str, DeadLetterEvent]]:
    reasons = Counter(letter.reason.partition(" (")[0][:200] for letter in letters)
    return [("dead_letter", {"count": count, "reason": reason}) for reason, count in reasons.most_common(MOST_EVENTS)]


def counter_rows(ledger: Ledger, fabric_ids: Sequence[int], closed_s: int) -> counters.Batch:
    """Take the sums of all routers and endpoints, and of ports up to bucket `closed_s`."""
    ports = [part for fabric in fabric_ids if (part := _take_ports(ledger, fabric, closed_s)) is not None]
    return counters.Batch(
        routers=_to_rows(ledger.take_routers()),
        ports=_join_ports(ports),
        endpoints=_to_rows(ledger.take_endpoints()),
        router_lanes=_to_lane_rows(ledger.take_port_lanes(fabric, closed_s) for fabric in fabric_ids),
        endpoint_lanes=_to_lane_rows(ledger.take_endpoint_lanes(fabric, closed_s) for fabric in fabric_ids),
    )


def _to_rows(taken: tuple[Any, ...]) -> counters.Rows | None:
    fabric, device, ts_s, samples, seconds, values = taken
    return counters.Rows(fabric, device, ts_s, samples, seconds, values) if len(device) else None


def _take_ports(ledger: Ledger, fabric_id: int, closed_s: int) -> counters.PortRows | None:
    fabric, router, ts_s, _, seconds, values = ledger.take_ports(fabric_id, closed_s)
    if not len(router):
        return None
    ports = values.shape[1] // 3
    packets = values[:, 2 * ports :]
    return counters.PortRows(
        fabric,
        router,
        ts_s,
        seconds,
        values[:, :ports],
        values[:, ports : 2 * ports],
        packets if not np.isnan(packets).all() else None,
    )


def _to_lane_rows(taken: Iterable[tuple[Any, ...]]) -> list[counters.LaneRows]:
    lane_rows = []
    for fabric, device, ts_s, _, seconds, values in taken:
        if len(device):
            by_lane = values.reshape(len(device), LANE_ARRAYS, -1, LANES)
            lane_rows.append(counters.LaneRows(fabric, device, ts_s, seconds, by_lane))
    return lane_rows


def _join_ports(parts: Sequence[counters.PortRows]) -> counters.PortRows | None:
    """Return all rows joined; fabrics differ in their number of ports."""
    if len(parts) < 2:
        return parts[0] if parts else None
    width = max(p.flits.shape[1] for p in parts)

    def wide(values: Any, n: int) -> Any:
        out = np.full((n, width), np.nan)
        if values is not None:
            out[:, : values.shape[1]] = values
        return out

    def all_of(name: str) -> Any:
        return np.concatenate([getattr(p, name) for p in parts])

    packets = None
    if any(p.packets is not None for p in parts):
        packets = np.concatenate([wide(p.packets, len(p.router)) for p in parts])
    return counters.PortRows(
        all_of("fabric_id"),
        all_of("router"),
        all_of("ts_s"),
        all_of("seconds"),
        np.concatenate([wide(p.flits, len(p.router)) for p in parts]),
        np.concatenate([wide(p.stall_cycles, len(p.router)) for p in parts]),
        packets,
    )
