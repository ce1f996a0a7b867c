"""Gap notes of the feeds as rows to store and rows to delete."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime

import numpy as np

from flitwatch_core.codec import GAP_REASONS
from flitwatch_db.ingest.store import Gap, GapKey
from flitwatch_domain.counters import ENDPOINT_COLUMNS, ROUTER_COLUMNS
from flitwatch_ingest.schemas import RowKind
from flitwatch_ingest.writer.topic_feed import TopicFeed

#: Length of a device's name in an index; longer names of sets are truncated.
DEVICE_LETTERS = 500


def take_gaps(feeds: Iterable[TopicFeed]) -> tuple[list[Gap], list[GapKey]]:
    """Return (gaps to store, gaps to delete first), each gap at most once."""
    put: dict[GapKey, Gap] = {}
    gone: dict[GapKey, None] = {}
    for feed in feeds:
        for number, why, add, from_us, to_us, counts in zip(*feed.feed.take_gaps(), strict=True):
            instance = feed.instances[number]
            reason = GAP_REASONS[why]
            key = GapKey(
                _name_device(instance.identity, instance.place.device), feed.name, _to_datetime(from_us), reason
            )
            put.pop(key, None)
            # An open silence may already be stored, both if this note adds it and if it ends it.
            if not add or reason == "silence":
                gone[key] = None
            if add:
                schema = feed.plans[instance.plan].schema
                columns = ROUTER_COLUMNS if schema.kind is RowKind.ROUTER else ENDPOINT_COLUMNS
                known_counts = {
                    name: float(value) for name, value in zip(columns, counts, strict=False) if not np.isnan(value)
                }
                fabric = instance.place.fabric_id
                put[key] = Gap(
                    key.device,
                    key.schema,
                    key.from_ts,
                    _to_datetime(to_us),
                    reason,
                    fabric if fabric >= 0 else None,
                    known_counts or None,
                )
    return list(put.values()), list(gone)


def _name_device(identity: str, device: str) -> str:
    part = identity.strip("\x1f").replace("\x1f", " ")
    return f"{device} {part}".strip()[:DEVICE_LETTERS]


def _to_datetime(us: int) -> datetime:
    return datetime.fromtimestamp(int(us) / 1e6, UTC)
