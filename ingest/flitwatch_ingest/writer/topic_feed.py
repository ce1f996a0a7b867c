"""One LDMS topic: its row schemas, its instances, and the core's feed that contains them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from flitwatch_core.codec import Feed, Kind, Ledger, Need, Role, describe_error
from flitwatch_db.counters.store import Observation
from flitwatch_db.ingest.store import DeadLetter
from flitwatch_domain.errors import BadInput
from flitwatch_ingest.registry import Schemas
from flitwatch_ingest.schemas import Claims, Column, RowKind, RowSchema, chart_arrays, json_schema
from flitwatch_ingest.writer.pending_rows import FAULTS, PendingRows, rejection_reason
from flitwatch_ingest.writer.places import NOWHERE, Place, Places
from flitwatch_ingest.writer.ports import Owner, owner_of
from flitwatch_stream.log import Record
from flitwatch_stream.topics import LDMS_PREFIX

#: Limit of metric lists per topic; a topic with more is not LDMS.
MOST_PLANS = 64
_LATE = 18

#: Returns the id of a row schema in the database.
SchemaId = Callable[[RowSchema], int]


@dataclass
class Plan:
    """A row schema in the form of the core's feed."""

    schema: RowSchema
    schema_id: int
    avro_id: int | None


@dataclass
class Instance:
    """Sender of samples, as named in a gap row."""

    plan: int
    component: int | None
    identity: str
    hint: str
    place: Place


class TopicFeed:
    """Consumer of one topic's records.

    Parameters
    ----------
    ledger, claims, places, schemas : shared by all feeds of a writer
    """

    def __init__(
        self,
        topic: str,
        ledger: Ledger,
        claims: Claims,
        places: Places,
        schemas: Schemas,
        schema_id: SchemaId,
    ) -> None:
        self.topic = topic
        self.name = topic.removeprefix(LDMS_PREFIX)
        self.feed = Feed(ledger)
        self.plans: list[Plan] = []
        self.instances: list[Instance] = []
        self._ledger = ledger
        self._claims = claims
        self._places = places
        self._schemas = schemas
        self._schema_id = schema_id
        self._columns: dict[str, Column] = {}

    @property
    def counts(self) -> bool:
        """Return whether this topic has counters."""
        return any(plan.schema.kind is not RowKind.OTHER for plan in self.plans)

    def consume(self, records: Sequence[Record], pending_rows: PendingRows, replaying: bool) -> None:
        """Decode and count records in their order; their Avro schemas must have been fetched."""
        values = [record.value for record in records]
        n = len(values)
        partitions = np.fromiter((record.partition for record in records), np.int32, n)
        offsets = np.fromiter((record.offset for record in records), np.int64, n)
        chosen = np.arange(n, dtype=np.uint32)
        rates = pending_rows.rates[self.topic]
        # Every round adds a plan or an instance, or refuses a record, so the loop ends.
        while len(chosen):
            _, accepted, repeats, _, counted, _, pending, strangers, refused = self.feed.consume(
                values, partitions, offsets, chosen, replaying
            )
            if not replaying:
                rates.values += counted
                rates.duplicates += repeats
                for plan, record_count in zip(self.plans, accepted, strict=False):
                    if record_count:
                        pending_rows.schema_records[plan.schema_id] += record_count
                self._reject_records(records, refused, pending_rows)
            chosen = self._provide_plans(records, pending, strangers, pending_rows, replaying)
        if not replaying:
            self.collect(pending_rows)

    def _reject_records(self, records: Sequence[Record], refused: Sequence[tuple], pending_rows: PendingRows) -> None:
        for index, plan, code, field, byte, _ in refused:
            metric = self.plans[plan].schema.columns[field].name if plan >= 0 and field >= 0 else None
            pending_rows.letter(records[index], describe_error(code, metric, byte))
            if code == _LATE:
                pending_rows.rates[self.topic].late += 1

    def _provide_plans(
        self,
        records: Sequence[Record],
        pending: Sequence[tuple],
        strangers: Sequence[tuple],
        pending_rows: PendingRows,
        replaying: bool,
    ) -> Any:
        """Add the plans and instances that records need. Return the records to retry; the others have become dead letters."""
        again: list[int] = []
        fresh: set[tuple[int, int]] = set()
        for index, need, number in pending:
            # One new plan at a time: it usually fits all waiting records, and adding one takes milliseconds.
            if need == Need.INSTANCE or (need, number) in fresh:
                again.append(index)
                continue
            try:
                self._learn_plan(records[index].value, need, number)
                fresh.add((need, number))
                again.append(index)
            except (BadInput, *FAULTS) as bad:
                if not replaying:
                    pending_rows.letter(records[index], rejection_reason(records[index], bad))
        for plan, component, identity, hint in strangers:
            self._add_stranger(plan, component, identity, hint, pending_rows)
        return np.array(again, np.uint32)

    def _learn_plan(self, value: bytes, need: int, number: int) -> None:
        wires = None
        if need == Need.PLAN:
            schema = json_schema(self.name, value, self._columns)
        else:
            fields = self._schemas.fields(number)
            schema = fields.row_schema(self.name, value)
            wires = fields.wires_for(schema)
        avro_id = None if wires is None else number
        for index, plan in enumerate(self.plans):
            if plan.schema.digest == schema.digest and plan.avro_id == avro_id:
                # Its metrics match a plan that does not fit, for instance because one is listed twice.
                code, field, byte = self.feed.fault_of(index, value)
                raise BadInput(describe_error(code, schema.columns[field].name if field >= 0 else None, byte))
        if len(self.plans) >= MOST_PLANS:
            raise BadInput(f"more than {MOST_PLANS} different lists of metrics on one topic")
        self._add_plan(schema, avro_id, wires)

    def _add_plan(self, schema: RowSchema, avro_id: int | None, wires: Sequence[tuple] | None) -> None:
        fields = [(c.name, int(c.kind), int(c.role), c.use is not None, c.length) for c in schema.columns]
        index = self.feed.add_plan(fields, *chart_arrays(schema, self._claims), schema.hint, wires is None)
        if wires is not None and avro_id is not None:
            self.feed.add_avro(avro_id, index, [tuple(wire) for wire in wires])
        self.plans.append(Plan(schema, self._schema_id(schema), avro_id))
        if wires is None:
            self._columns |= {c.name: c for c in schema.columns if c.kind is Kind.REAL and c.role is Role.VALUE}

    def _add_stranger(
        self, plan: int, component: int | None, identity: bytes, hint: str, pending_rows: PendingRows
    ) -> None:
        text = identity.decode("utf-8", "replace")
        place = self._find_place(plan, component, text, hint)
        observed = self.plans[plan].schema.kind is RowKind.OTHER or bool(place.reason)
        self.feed.add_instance(
            self._ledger,
            plan,
            component,
            identity,
            place.fabric_id,
            place.router,
            list(place.endpoints),
            observed,
            place.port,
        )
        self.instances.append(Instance(plan, component, text, hint, place))
        if place.reason:
            pending_rows.unplaced[self.topic].add(place.reason)

    def _find_place(self, plan: int, component: int | None, identity: str, hint: str) -> Place:
        schema = self.plans[plan].schema
        if schema.kind is RowKind.OTHER:
            return Place(device=f"component {component}")
        owner = Owner() if schema.kind is RowKind.ROUTER else owner_of(schema, identity)
        return self._places.find(schema.kind, component, owner, hint)

    def replace(self) -> int:
        """Update every instance's place after a change of fabrics. Return the number of moved instances."""
        moved = 0
        for index, instance in enumerate(self.instances):
            place = self._find_place(instance.plan, instance.component, instance.identity, instance.hint)
            if place == instance.place:
                continue
            observed = self.plans[instance.plan].schema.kind is RowKind.OTHER or bool(place.reason)
            self.feed.retarget(
                self._ledger,
                index,
                place.fabric_id,
                place.router,
                list(place.endpoints or NOWHERE),
                observed,
                place.port,
            )
            instance.place = place
            moved += 1
        return moved

    def collect(self, pending_rows: PendingRows) -> None:
        """Add raw rows, and records that were withheld and then refused, to `pending_rows`."""
        for index, plan in enumerate(self.plans):
            self._take_observations(index, plan, pending_rows)
        for partition, offset, code, _, raw in self.feed.take_letters():
            pending_rows.letters.append(
                DeadLetter(
                    self.topic,
                    partition,
                    offset,
                    describe_error(code),
                    raw[: 64 << 10],
                    where=f"{self.topic}[{partition}] offset {offset}",
                    raw_bytes=len(raw),
                )
            )
            pending_rows.kept_bytes += len(raw)
            pending_rows.rates[self.topic].dead += 1
            pending_rows.rates[self.topic].late += code == _LATE

    def _take_observations(self, index: int, plan: Plan, pending_rows: PendingRows) -> None:
        component, has_component, identity, time_us, integers, unknown, reals, texts = self.feed.take_observations(
            index
        )
        if not len(component):
            return
        if plan.schema.kind is not RowKind.OTHER:
            pending_rows.rates[self.topic].unplaced += len(component)
        pending_rows.kept_bytes += 16 * (integers.size + reals.size + len(texts)) + 128 * len(component)
        width = len(texts) // len(component)
        for i in range(len(component)):
            whole = integers[i].tolist()
            if len(unknown) and unknown[i].any():
                whole = [None if lost else value for value, lost in zip(whole, unknown[i].tolist(), strict=True)]
            pending_rows.observations.append(
                Observation(
                    plan.schema_id,
                    int(component[i]) if has_component[i] else None,
                    identity[i].decode("utf-8", "replace").strip("\x1f").replace("\x1f", " ") or None,
                    int(time_us[i]) / 1e6,
                    whole or None,
                    reals[i].tolist() or None,
                    texts[i * width : (i + 1) * width] or None,
                )
            )
