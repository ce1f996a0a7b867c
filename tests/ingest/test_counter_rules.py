"""The one judge of counters: each rule (scale and unit, width, saturation, reset) for each counter of each source that feeds a table.

What a count is worth is said here anew, from the vendors' documents.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest
import yaml
from support.databases import Server

import flitwatch_ingest
from flitwatch_core.codec import GAP_REASONS, Feed, Ledger
from flitwatch_domain.counters import (
    CATALOGUE,
    ENDPOINT_COLUMNS,
    LANES,
    ROUTER_COLUMNS,
    CounterKind,
    Scope,
    identify_counter,
)
from flitwatch_domain.fabric import Technology
from flitwatch_ingest.collectors.publisher import Publisher
from flitwatch_ingest.exporters.intake import Intake
from flitwatch_ingest.exporters.pages import BadPage, samples_of
from flitwatch_ingest.exporters.sample import Sample
from flitwatch_ingest.exporters.table import MetricTable
from flitwatch_ingest.schemas import Claims, chart_arrays, json_schema, rows
from flitwatch_ingest.schemas.rows import technology_of
from flitwatch_stream.backends import open_log

START_S, STEP_S = 1_700_000_000, 10
PORT, LANE, PORTS = 2, 3, 48
NAN = math.nan
#: Of the ports here: counts of data that go out in a nanosecond, so that a nanosecond of pause is two counts and a tick of 8 bytes too.
RATE = 2.0

#: Row schemas of the sources, by what counts in them: Cray's tiles, ports of switches, adapters, and lanes of either.
SOURCES: dict[str, tuple[str, ...]] = {
    "aries_rtr_mmr": ("tile", "router", "adapter of a router"),
    "aries_nic_mmr": ("adapter",),
    "ibmad": ("port", "adapter"),
    "ibnet": ("port", "adapter"),
    "sysclassib": ("adapter",),
    "ib_port": ("port", "adapter"),
    "ib_prometheus": ("port", "adapter"),
    "ib_lane": ("lane of a port", "lane of an adapter"),
    "opa2": ("port", "adapter", "lane of a port", "lane of an adapter"),
    "opa_prometheus": ("port", "adapter", "lane of a port", "lane of an adapter"),
    "slingshot_port": ("port",),
    "slingshot_metrics": ("adapter", "lane of an adapter"),
    "cxi_sampler": ("adapter", "lane of an adapter"),
    "cxi_prometheus": ("adapter", "lane of an adapter"),
    "ethernet_port": ("port", "adapter"),
    "ethernet_queue": ("lane of a port", "lane of an adapter"),
}
TECHNOLOGIES = {"aries": Technology.CRAY_XC, "ib": Technology.INFINIBAND, "sysclassib": Technology.INFINIBAND, "opa": Technology.OPA,
                "slingshot": Technology.SLINGSHOT, "cxi": Technology.SLINGSHOT, "ethernet": Technology.ETHERNET}  # fmt: skip

#: Bytes of a count of data where a table holds bytes. IBTA, PortCounters: 4. Omni-Path's port counters: a flit of 8.
BYTES = {"4 bytes": 4.0, "8 bytes": 8.0, "bytes": 1.0}
#: Bits of IBTA's PortCounters (InfiniBand specification 1.4, 16.1.3.5) that feed a table; all others of any vendor have 64.
BITS = {
    "port_xmit_data": 32,
    "port_rcv_data": 32,
    "port_xmit_packets": 32,
    "port_rcv_packets": 32,
    "port_xmit_wait": 32,
    "symbol_error": 16,
    "port_rcv_errors": 16,
    "port_xmit_discards": 16,
    "xmt_data_sl{sl}": 32,
    "port_vl_xmit_wait{vl}": 16,
}


@dataclass(frozen=True)
class Case:
    """A counter of a source, and where it is booked."""

    source: str
    place: str
    kind: CounterKind

    def __str__(self) -> str:
        return f"{self.source}, {self.place}: {self.kind.name}"

    @property
    def name(self) -> str:
        row = 5 if "AR_RTR_PT" in self.kind.name else 0
        return self.kind.name.format(row=row, col=PORT, vc=0, nic=0, tile=0, tc=LANE, vl=LANE, sl=LANE, queue=LANE)

    @property
    def ceiling(self) -> int:
        bits = BITS.get(self.kind.name, 64) if self.kind.technology is Technology.INFINIBAND else 64
        return (1 << bits) - 1

    @property
    def worth(self) -> float:
        """What one count adds to its table."""
        if self.place == "adapter" and self.kind.endpoint_column in ("tx_bytes", "rx_bytes"):
            return BYTES[self.kind.unit]
        nanoseconds = {"us": 1000.0, "ns": 1.0}.get(self.kind.unit)
        if self.kind.technology is Technology.ETHERNET and nanoseconds is not None:
            return nanoseconds * RATE
        return RATE if self.kind.unit == "ticks" and self.kind.technology is Technology.INFINIBAND else 1.0


def cases() -> Iterator[Case]:
    for source, places in SOURCES.items():
        technology = next(known for beginning, known in TECHNOLOGIES.items() if source.startswith(beginning))
        for kind in CATALOGUE:
            if kind.technology is not technology or not kind.cumulative:
                continue
            for place in places:
                if is_booked(kind, place):
                    yield Case(source, place, kind)


def is_booked(kind: CounterKind, place: str) -> bool:
    of_tiles = kind.scope in (Scope.ROUTER_TILE, Scope.PROCESSOR_TILE)
    return {
        "tile": of_tiles and bool(kind.port_array),
        "router": of_tiles and bool(kind.router_column),
        "port": kind.scope is Scope.PORT and bool(kind.port_array),
        "adapter": bool(kind.endpoint_column) and "{nic}" not in kind.name,
        "adapter of a router": bool(kind.endpoint_column) and "{nic}" in kind.name,
    }.get(place, bool(kind.lane_array))


CASES = list(cases())


class Booking:
    """A ledger with one port of one device, and a feed of one source."""

    def __init__(self, case: Case) -> None:
        self._case, self._own = case, case.place in ("adapter", "lane of an adapter")
        self._ledger = Ledger()
        self._ledger.wire(1, np.zeros((1, PORTS), np.uint8), 1, np.full((1, PORTS), RATE), np.full(1, RATE))
        self._feed = Feed(self._ledger)

    def take(self, counters: dict[str, list[int]]) -> list[dict[str, float]]:
        """Book counters that are read every ten seconds; return what each interval adds to the tables, NaN unknown, by counter."""
        owner = {"component_id": 1, "guid": "b0", "lport": PORT, "node_name": "leaf1", "port": "Ethernet8"}
        if self._case.place == "adapter of a router":
            # A router's set is known by its tiles.
            owner["AR_RTR_0_2_INQ_PRF_INCOMING_FLIT_VC0"] = 1
        length = len(next(iter(counters.values())))
        records = [
            json.dumps(
                {"timestamp": START_S + STEP_S * t, **owner, **{name: values[t] for name, values in counters.items()}}
            ).encode()
            for t in range(length)
        ]
        schema = json_schema(self._case.source, records[0])
        fields = [(c.name, c.kind, c.role, c.use is not None, c.length) for c in schema.columns]
        self._feed.add_plan(fields, *chart_arrays(schema, Claims()), schema.hint, True)
        at = (np.zeros(length, np.int32), np.arange(length, dtype=np.int64))
        *_, pending, strangers, refused = self._feed.consume(records, *at, np.arange(length, dtype=np.uint32))
        assert not refused
        for plan, component, identity, _ in strangers:
            place = (-1, [-1, -1, -1, -1, 0], False, -1) if self._own else (0, [0, -1, -1, -1, -1], False, PORT)
            self._feed.add_instance(self._ledger, plan, component, identity, 1, *place)
        self._feed.consume(records, *at, np.array([need[0] for need in pending], np.uint32))
        self.gaps = [GAP_REASONS[reason] for reason in self._feed.take_gaps()[1]]
        rows = self._rows()
        return [
            {name: rows.get(START_S + STEP_S * t, {}).get(where, math.nan) for name, where in self._where(counters)}
            for t in range(1, length)
        ]

    def _where(self, counters: dict[str, list[int]]) -> list[tuple[str, int]]:
        found = []
        for name in counters:
            use = identify_counter(name, self._case.kind.technology)
            assert use is not None
            kind, port = use.kind, use.port if use.port is not None else PORT
            if self._case.place in ("adapter", "adapter of a router"):
                found.append((name, ENDPOINT_COLUMNS.index(kind.endpoint_column or "")))
            elif self._case.place == "router":
                found.append((name, ROUTER_COLUMNS.index(use.router_columns[0])))
            elif self._case.place in ("port", "tile"):
                found.append((name, ("flits", "stall_cycles", "packets").index(kind.port_array or "") * PORTS + port))
            else:
                array = ("sl_flits", "stall_cycles", "packets").index(kind.lane_array or "")
                at = 0 if self._own else PORT * LANES
                found.append((name, array * LANES * (1 if self._own else PORTS) + at + LANE))
        return found

    def _rows(self) -> dict[int, np.ndarray]:
        take: dict[str, Callable[[], tuple]] = {
            "router": self._ledger.take_routers,
            "adapter": self._ledger.take_endpoints,
            "adapter of a router": self._ledger.take_endpoints,
            "port": lambda: self._ledger.take_ports(1, 2**40),
            "tile": lambda: self._ledger.take_ports(1, 2**40),
            "lane of a port": lambda: self._ledger.take_port_lanes(1, 2**40),
            "lane of an adapter": lambda: self._ledger.take_endpoint_lanes(1, 2**40),
        }
        return {
            int(ts): dict(enumerate(values.tolist()))
            for _, _, ts, _, _, values in zip(*take[self._case.place](), strict=True)
        }


#: By rule: what a counter shows at each reading, what it counts between them (NaN: unknown), and the reasons of gaps.
RULES: dict[str, Callable[[Case], tuple[list[int], list[float], list[str]]]] = {
    "unit and scale": lambda case: ([1000, 1100, 1300, 1300], [100, 200, 0], []),
    "saturation": lambda case: ([case.ceiling - 9, case.ceiling - 2, case.ceiling, case.ceiling], [7, NAN, NAN], []),
    "at its largest value from the first reading": lambda case: ([case.ceiling] * 3, [NAN, NAN], []),
    "below its largest value": lambda case: ([case.ceiling - 1] * 3, [0, 0], []),
    # Beyond 64 bits it begins anew at 0: a wrap, which counts.
    "width": lambda case: (
        [case.ceiling - 9, (case.ceiling + 91) % 2**64, (case.ceiling + 191) % 2**64],
        [100, 100],
        [],
    ),
    "reset": lambda case: ([5000, 5100, 40, 240], [100, NAN, 200], ["reset"]),
    "reset to a larger value": lambda case: ([5000, 5100, 2**63, 2**63 + 200], [100, NAN, 200], ["reset"]),
}


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("source", SOURCES)
def test_each_rule_holds_for_each_counter_of_each_source(source: str, rule: str) -> None:
    for case in CASES:
        if case.source != source:
            continue
        shown, counts, gaps = RULES[rule](case)
        # Its companion goes on, except through a reset of the device.
        companion = next(
            (one for one in CASES if (one.source, one.place) == (source, case.place) and is_apart(one, case)), None
        )
        counters = {case.name: shown}
        if companion is not None:
            counters[companion.name] = [10 + 3 * n for n in range(len(shown))]
        booking = Booking(case)
        booked = booking.take(counters)
        assert [row[case.name] for row in booked] == pytest.approx([case.worth * n for n in counts], nan_ok=True), str(
            case
        )
        assert booking.gaps == gaps, str(case)
        if companion is not None:
            wanted = [NAN if gaps and math.isnan(n) else 3 * companion.worth for n in counts]
            assert [row[companion.name] for row in booked] == pytest.approx(wanted, nan_ok=True), (
                str(case),
                companion.name,
            )


def is_apart(one: Case, other: Case) -> bool:
    """Check whether two counters of a place feed different columns or arrays."""
    field = {
        "router": "router_column",
        "adapter": "endpoint_column",
        "adapter of a router": "endpoint_column",
        "port": "port_array",
        "tile": "port_array",
    }.get(one.place, "lane_array")
    return getattr(one.kind, field) != getattr(other.kind, field)


#: Topics whose values feed no table.
FEEDS_NOTHING = {"prometheus", "slingshot_other", "ethernet_other", "ib_link"}


def test_each_topic_of_the_product_and_each_technology_is_tested() -> None:
    package = Path(flitwatch_ingest.__file__).parent
    topics = {name for file in package.rglob("*.py") for name in re.findall(r'ldms_topic\("(\w+)"\)', file.read_text())}
    assert topics - FEEDS_NOTHING <= set(SOURCES) and topics >= FEEDS_NOTHING
    # The name of sysclassib does not tell its technology.
    assert {technology_of(source) for source in SOURCES} - {None} == {
        technology for _, technology in rows._TECHNOLOGIES
    }


def test_no_counter_that_feeds_a_table_is_left_out() -> None:
    tested = {(case.kind.technology, case.kind.name) for case in CASES}
    feeding = {(kind.technology, kind.name) for kind in CATALOGUE if kind.feeds and kind.cumulative}
    assert feeding == tested


@pytest.mark.parametrize(
    ("page", "time_ms"),
    [
        ("{} 5\n", 7),
        ("{} 5 1764319999500\n", 1_764_319_999_500),
        ("{} 5 1764319999.5\n# EOF\n", 1_764_319_999_500),
        ('{} 5 1764319999.5 # {{trace_id="a_b"}} 1.5 1764319990\n# EOF\n', 1_764_319_999_500),
        ("{} 5 # {{}} 2\n# EOF\n", 7),
    ],
)
def test_a_page_of_openmetrics_says_the_same(page: str, time_ms: int) -> None:
    text = page.format('waits_total{guid="0xa1"}')
    (sample,) = samples_of(text.encode(), "a:1", 7, lambda name: True)
    assert (sample.name, sample.value, sample.time_ms) == ("waits_total", 5, time_ms)


@pytest.mark.parametrize("end", ["", "7", "712 17643", "712 1764319999500"])
def test_a_page_that_may_be_cut_in_a_number_is_refused(end: str) -> None:
    page = f'waits_total{{guid="0xa1"}} 5\nwaits_total{{guid="0xa2"}} 5{end}'
    with pytest.raises(BadPage, match="its last line is incomplete"):
        list(samples_of(page.encode(), "a:1", 7, lambda name: True))


def test_a_table_that_names_a_counter_twice_is_refused() -> None:
    """The second column counted in place of the first."""
    page = "node_guid,port_num,PortXmitDataExtended,PortXmitDataExtended\n0xa1,1,{}\n"
    for values in ("8,12", "8,8"):
        with pytest.raises(BadPage, match="it names PortXmitDataExtended twice"):
            list(samples_of(page.format(values).encode(), "a:1", 7, lambda name: True))


def test_each_metric_of_each_exporter_counts_in_the_unit_of_its_row(_embedded_template: Server) -> None:
    """The row of a metric says what the exporter multiplied by; a value that cannot be such a multiple counts nothing."""
    url = _embedded_template.create()
    labels = dict.fromkeys(("guid", "local_guid", "node_guid", "port_guid", "node_desc"), "0xa00100")
    labels |= dict.fromkeys(("port", "local_port", "port_num"), "1") | {"instance": "c01:9100", "device": "m"}
    ordered = tuple(sorted(labels.items()))
    table = MetricTable()
    with open_log(url) as log, log.producer() as producer:
        for exporter in yaml.safe_load((files("flitwatch_ingest.exporters") / "prometheus.yaml").read_text())[
            "exporters"
        ]:
            for name, metric in exporter.get("metrics", {}).items():
                divide = metric.get("divide", 1)
                use = identify_counter(metric["counter"], Technology(exporter["technology"]))
                if use is None or not use.kind.feeds:
                    continue
                series = table.find(name, labels)
                assert series.divide == divide and (divide == 4) == ("bytes" in name or "_Gb" in name), name
                assert series.record(1000 * START_S, 25)[series.counter] == 25
                for value, result in (
                    (100.0 * divide, "published"),
                    (100.0 * divide + 1, "published" if divide == 1 else "invalid"),
                    (0.5, "invalid"),
                    (-1.0, "invalid"),
                ):
                    intake = Intake(table, Publisher(producer))
                    taken = intake.take("scrape", [Sample(name, ordered, value, 1000 * START_S)])
                    assert dict(taken.results) == {result: 1}, (name, value)
    _embedded_template.drop(url)
