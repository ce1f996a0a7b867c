"""An independent plain-Python implementation of docs/contracts/deltas.md, and a feed of the noise core for comparison."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from flitwatch_core.codec import GAP_REASONS, Feed, Ledger
from flitwatch_domain.counters import ROUTER_COLUMNS
from flitwatch_ingest.schemas import Claims, chart_arrays, json_schema

SECOND_US = 1_000_000
PORTS = 48
#: Link class codes of router 0 and 1: green, black, blue, none in turn.
LINK_CLASS = np.tile(np.array([1, 2, 3, 0], np.uint8), (2, PORTS // 4))
CLASSES = {1: "green", 2: "black", 3: "blue"}
METRICS = (
    "AR_RTR_0_0_INQ_PRF_INCOMING_FLIT_VC0",
    "AR_RTR_0_0_INQ_PRF_INCOMING_FLIT_VC4",
    "AR_RTR_0_0_INQ_PRF_ROWBUS_STALL_CNT",
    "AR_RTR_0_1_INQ_PRF_INCOMING_FLIT_VC0",
    "AR_RTR_0_1_INQ_PRF_ROWBUS_STALL_CNT",
    "AR_RTR_PT_5_2_INQ_PRF_INCOMING_FLIT_VC0",
    "AR_RTR_PT_5_2_INQ_PRF_REQ_ROWBUS_STALL_CNT",
)
#: (router columns, port, array of port_10s) of each metric, by hand.
MEANING = (
    (("rt_flits", "green_flits"), 0, 0),
    (("rt_flits", "green_flits"), 0, 0),
    (("rt_stall_cycles", "green_stall_cycles"), 0, 1),
    (("rt_flits", "black_flits"), 1, 0),
    (("rt_stall_cycles", "black_stall_cycles"), 1, 1),
    (("pt_flits", "pt_vc0_flits"), 42, 0),
    (("pt_rq_stall_cycles",), 42, 1),
)
TILES = 3


@dataclass(frozen=True, order=True)
class Sample:
    """One sample of the one instance; values are u64."""

    time_us: int
    values: tuple[int, ...]

    def json(self, component: int = 0, metrics: Sequence[str] = METRICS, signed: bool = False) -> bytes:
        shown = [v - 2**64 if signed and v >= 2**63 else v for v in self.values]
        pairs = "".join(f',"{name}":{value}' for name, value in zip(metrics, shown, strict=True))
        return f'{{"timestamp":{self.time_us // SECOND_US}.{self.time_us % SECOND_US:06d},"component_id":{component}{pairs}}}'.encode()


@dataclass
class Account:
    """Sums by second (with samples and seconds), by ten seconds and port, and gaps as (from, to, reason, flits)."""

    seconds: dict[int, dict[str, int]] = field(default_factory=lambda: defaultdict(lambda: defaultdict(int)))
    ports: dict[int, dict[tuple[int, int], int]] = field(default_factory=lambda: defaultdict(lambda: defaultdict(int)))
    gaps: set[tuple[int, int, str, int | None]] = field(default_factory=set)

    def plain(self) -> tuple[dict, dict, set]:
        return {k: dict(v) for k, v in self.seconds.items()}, {k: dict(v) for k, v in self.ports.items()}, self.gaps


def expected(samples: Sequence[Sample]) -> Account:
    """What a set of samples comes to, whatever the order in which they arrived."""
    account = Account()
    line = sorted({s.time_us: s for s in samples}.values())
    implausible = False
    for i in range(1, len(line)):
        a, b = line[i - 1], line[i]
        deltas = [(after - before) % 2**64 for before, after in zip(a.values, b.values, strict=True)]
        before = [line[k].time_us - line[k - 1].time_us for k in range(max(1, i - 3), i)]
        limit = max(5 * SECOND_US, 3 * min(before)) if before else 180 * SECOND_US
        flits = sum(d for d, (columns, _, _) in zip(deltas, MEANING, strict=True) if "rt_flits" in columns)
        odd_before, implausible = implausible, sum(deltas) >= 2**53
        wraps = any(after < before for before, after in zip(a.values, b.values, strict=True))
        if implausible or (odd_before and wraps):
            account.gaps.add((a.time_us, b.time_us, "reset", None))
        elif b.time_us - a.time_us > limit:
            account.gaps.add((a.time_us, b.time_us, "silence", flits))
        else:
            second = b.time_us // SECOND_US
            row = account.seconds[second]
            row["samples"] += 1
            row["tile_us"] += (b.time_us - a.time_us) * TILES
            for delta, (columns, port, array) in zip(deltas, MEANING, strict=True):
                for column in columns:
                    row[column] += delta
                account.ports[second - second % 10][port, array] += delta
    return account


class Bench:
    """A ledger, one feed and two routers; instances are made as they come (component 0 to 3: router 0, 4 to 7: router 1)."""

    def __init__(self, metrics: Sequence[str] = METRICS) -> None:
        self.ledger = Ledger()
        self.ledger.wire(1, LINK_CLASS, 8)
        self.claims = Claims()
        self.feed = Feed(self.ledger)
        self.metrics = metrics
        self.offset = 0
        self.counts: dict[str, int] = defaultdict(int)
        self.refused: list[tuple] = []
        self.letters: list[tuple] = []
        self.account = Account()
        self._gaps: dict[tuple[int, int], tuple[int, int, str, int | None]] = {}
        self._learn(Sample(0, (0,) * len(metrics)).json(metrics=metrics))

    def _learn(self, record: bytes) -> None:
        schema = json_schema("aries_rtr_mmr", record)
        fields = [(c.name, c.kind, c.role, c.use is not None, c.length) for c in schema.columns]
        self.feed.add_plan(fields, *chart_arrays(schema, self.claims), schema.hint, True)

    def give(self, records: Sequence[bytes], replaying: bool = False) -> None:
        """Consume records as one batch."""
        batch = list(records)
        offsets = np.arange(self.offset, self.offset + len(batch), dtype=np.int64)
        self.offset += len(batch)
        chosen = np.arange(len(batch), dtype=np.uint32)
        for _ in range(3):
            first, accepted, repeats, held, _, _, pending, strangers, refused = self.feed.consume(
                batch, np.zeros(len(batch), np.int32), offsets, chosen, replaying
            )
            for key, value in (("first", first), ("accepted", sum(accepted)), ("repeats", repeats), ("held", held)):
                self.counts[key] += value
            self.refused += refused
            if not pending:
                break
            for need in pending:
                if need[1] == 0:
                    self._learn(batch[need[0]])
            for plan, component, identity, _ in strangers:
                router = component // 4
                nics = [4 * router + k for k in range(4)]
                self.feed.add_instance(self.ledger, plan, component, identity, 1, router, [*nics, -1], False)
            chosen = np.array([need[0] for need in pending], np.uint32)
        else:
            raise AssertionError("records are still pending")
        self.letters += self.feed.take_letters()

    def settle(self) -> Account:
        """Everything that was booked so far, added up."""
        for fabric, device, second, samples, seconds, values in zip(*self.ledger.take_routers(), strict=True):
            row = self.account.seconds[int(second)]
            assert (fabric, device) == (1, 0)
            row["samples"] += int(samples)
            row["tile_us"] += round(seconds * SECOND_US)
            for column, value in zip(ROUTER_COLUMNS, values, strict=True):
                if not np.isnan(value):
                    row[column] += int(value)
        for _, _, bucket, _, _, values in zip(*self.ledger.take_ports(1, 2**40), strict=True):
            for place in np.flatnonzero(~np.isnan(values)):
                self.account.ports[int(bucket)][int(place) % PORTS, int(place) // PORTS] += int(values[place])
        for instance, reason, put, begin, end, counts in zip(*self.feed.take_gaps(), strict=True):
            key = (int(instance), int(begin), int(reason))
            self._gaps.pop(key, None)
            if put:
                flits = None if np.isnan(counts[0]) else int(counts[0])
                self._gaps[key] = (int(begin), int(end), GAP_REASONS[reason], flits)
        self.account.gaps = set(self._gaps.values())
        for second in [s for s, row in self.account.seconds.items() if not any(row.values())]:
            del self.account.seconds[second]
        for bucket, row in list(self.account.ports.items()):
            if not any(row.values()):
                del self.account.ports[bucket]
        return self.account
