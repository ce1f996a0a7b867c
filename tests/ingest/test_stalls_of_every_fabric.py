"""Stalls for all vendors' units of data and waiting: a port that waits 40 % of its time and sends half of its capacity is stalled in the tables; a port that
only sends is not. The units are repeated here from the vendors' documents; the counters are those of the catalogue."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.databases import Server

from flitwatch_core.codec import Feed, Ledger
from flitwatch_domain.counters import (
    CATALOGUE,
    COUNT_BYTES,
    ENDPOINT_COLUMNS,
    LANES,
    STALLED_AT,
    UNKNOWN_WAITS,
    CounterKind,
)
from flitwatch_domain.counters.units import stall_worth
from flitwatch_domain.fabric import Fabric, Technology
from flitwatch_domain.importers import ibnetdiscover
from flitwatch_domain.importers.read import read_fabric
from flitwatch_ingest.collectors.publisher import Publisher
from flitwatch_ingest.exporters.intake import WRONG_UNIT_S, Intake
from flitwatch_ingest.exporters.pages import samples_of
from flitwatch_ingest.exporters.sample import Sample
from flitwatch_ingest.exporters.table import MetricTable
from flitwatch_ingest.schemas import Claims, RowKind, chart_arrays, json_schema
from flitwatch_stream.backends import open_log

START_S, SECONDS = 1_700_000_000, 20

#: Bytes of a count of data. A flit of Aries: LDMS's aries samplers. 4 bytes: IBTA, PortCounters. 8 bytes: Omni-Path's port counters.
DATA_BYTES = {"flits": 20 / 3, "4 bytes": 4.0, "8 bytes": 8.0, "bytes": 1.0}

#: What a link of each fabric sends in a second, in bits.
SPEEDS = {
    Technology.CRAY_XC: (5.25 * 8 * 2**30,),
    Technology.INFINIBAND: (100e9, 200e9, 400e9),
    Technology.OPA: (100e9,),
    Technology.ETHERNET: (10e9, 100e9, 400e9, 800e9),
}

#: A set's name by technology, and its row's own words.
SETS = {
    Technology.CRAY_XC: "aries_rtr_mmr",
    Technology.INFINIBAND: "ibnet",
    Technology.OPA: "opa2",
    Technology.ETHERNET: "ethernet_port",
}

PORT, LANE = 2, 3


def wait_s(kind: CounterKind, bps: float) -> float:
    """How long a count of waiting lasts. Ticks: of 8 bytes on InfiniBand's Quantum switches (ibdiagnet user manual, congestion assessment), flit times on Omni-Path."""
    return {"cycles": 1 / 800e6, "ticks": 8 * 8 / bps, "us": 1e-6}[kind.unit]


@dataclass(frozen=True)
class Case:
    """A counter of waiting, the one of data alongside it, and where both are booked."""

    wait: CounterKind
    data: CounterKind
    place: str
    bps: float

    def __str__(self) -> str:
        return f"{self.wait.technology} {self.place} {self.wait.name} {self.bps / 1e9:.0f}"


def cases() -> list[Case]:
    """Every counter of the catalogue that is booked as a wait, in each place where data are booked alongside it."""
    found = []
    for wait in CATALOGUE:
        for place in ("port", "lane", "card"):
            if not booked(wait, place, "wait"):
                continue
            companions = [one for one in CATALOGUE if one.technology is wait.technology and booked(one, place, "data")]
            companions = [one for one in companions if one.scope is wait.scope]
            for data in companions[:1]:
                found += [Case(wait, data, place, bps) for bps in SPEEDS.get(wait.technology, ())]
    return found


def booked(kind: CounterKind, place: str, what: str) -> bool:
    if place == "port":
        return kind.port_array == {"wait": "stall_cycles", "data": "flits"}[what]
    if place == "lane":
        return kind.lane_array == {"wait": "stall_cycles", "data": "sl_flits"}[what]
    # Aries counts the flits that its cards wait with alongside the cycles, and no speed comes into it.
    if kind.technology is Technology.CRAY_XC:
        return False
    return kind.endpoint_column == {"wait": "tx_wait_cycles", "data": "tx_bytes"}[what]


def named(kind: CounterKind) -> str:
    row = 5 if "AR_RTR_PT" in kind.name else 0
    return kind.name.format(row=row, col=PORT, vc=0, tc=LANE, vl=LANE, sl=LANE, queue=LANE)


def ratio(case: Case, waits: float, sends: float) -> float:
    """Stalls over flits as every reader takes them, of a port that waits and sends for these shares of its time."""
    own = case.place == "card"
    sent = sends * case.bps / 8 / DATA_BYTES[case.data.unit]
    waited = waits / wait_s(case.wait, case.bps)
    first = {
        "timestamp": START_S,
        "component_id": 1,
        "guid": "b0",
        "lport": PORT,
        "node_name": "leaf1",
        "port": "Ethernet8",
    }
    records = [
        json.dumps({**first, "timestamp": START_S + t, named(case.data): round(sent * t), named(case.wait): round(waited * t)}).encode()
        for t in range(SECONDS)
    ]  # fmt: skip
    ledger = Ledger()
    # What a nanosecond is worth at a port of that speed, and a tick of a Quantum switch.
    ticks = case.wait.technology is Technology.INFINIBAND
    rate = (8.0 if ticks else case.bps / 8e9) / COUNT_BYTES[case.wait.technology]
    ledger.wire(1, np.zeros((1, 48), np.uint8), 1, np.full((1, 48), rate), np.full(1, rate))
    feed, made = Feed(ledger), json_schema(SETS[case.wait.technology], records[0])
    assert made.kind is (RowKind.ROUTER if case.wait.technology is Technology.CRAY_XC else RowKind.PORT)
    fields = [(c.name, c.kind, c.role, c.use is not None, c.length) for c in made.columns]
    feed.add_plan(fields, *chart_arrays(made, Claims()), made.hint, True)
    at = (np.zeros(SECONDS, np.int32), np.arange(SECONDS, dtype=np.int64), np.arange(SECONDS, dtype=np.uint32))
    *_, pending, strangers, _ = feed.consume(records, *at)
    for plan, component, identity, _ in strangers:
        where = (-1, [-1, -1, -1, -1, 0], False, -1) if own else (0, [-1] * 5, False, PORT)
        feed.add_instance(ledger, plan, component, identity, 1, *where)
    feed.consume(records, *at[:2], np.array([need[0] for need in pending], np.uint32))
    if own:
        values = ledger.take_endpoints()[-1].sum(axis=0)
        data = values[ENDPOINT_COLUMNS.index("tx_bytes")] / COUNT_BYTES[case.wait.technology]
        return float(values[ENDPOINT_COLUMNS.index("tx_wait_cycles")] / data)
    taken = (ledger.take_ports if case.place == "port" else ledger.take_port_lanes)(1, 2**40)[-1].sum(axis=0)
    port = 40 + PORT if case.wait.name.startswith("AR_RTR_PT") else PORT
    if case.place == "port":
        flits, stalls, _ = taken.reshape(3, 48)[:, port]
    else:
        flits, stalls, _ = taken.reshape(3, 48, LANES)[:, port, LANE]
    return float(stalls / flits)


CASES = cases()


def test_no_fabric_and_no_kind_of_place_is_left_out() -> None:
    """Who counts waits but no data alongside them, or in a unit that no document explains, is named here: their ratio is unknown, never small."""
    tested = {(case.wait.technology, case.place) for case in CASES}
    assert tested == {
        (Technology.CRAY_XC, "port"),
        *((known, place) for known in (Technology.INFINIBAND, Technology.OPA, Technology.ETHERNET) for place in ("port", "lane", "card")),
    }  # fmt: skip
    untested = {one.technology for one in CATALOGUE if booked(one, "card", "wait")} - {known for known, _ in tested}
    assert untested == {Technology.SLINGSHOT} == UNKNOWN_WAITS


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_port_that_waits_as_long_as_it_sends_is_stalled(case: Case) -> None:
    assert ratio(case, waits=0.4, sends=0.5) == pytest.approx(
        0.8, rel=0.06
    )  # a cycle of Aries is no flit's time to 6 %
    assert ratio(case, waits=0.4, sends=0.5) >= STALLED_AT


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_port_that_sends_all_the_time_or_hardly_is_not_stalled(case: Case) -> None:
    assert ratio(case, waits=0.02, sends=0.95) < STALLED_AT / 10
    assert ratio(case, waits=0.0, sends=0.001) == 0


def test_a_stall_reported_in_time_is_unknown_where_the_port_s_speed_is() -> None:
    """Of a port whose speed nobody said the pauses are no number, and what it sent counts all the same."""
    case = next(case for case in CASES if case.wait.technology is Technology.ETHERNET and case.place == "port")
    unknown = Case(case.wait, case.data, case.place, float("nan"))
    ledger = Ledger()
    ledger.wire(1, np.zeros((1, 48), np.uint8), 1)
    assert np.isnan(taken_without_speed(unknown, ledger)).tolist() == [False, True]


def taken_without_speed(case: Case, ledger: Ledger) -> np.ndarray:
    first = {"component_id": 1, "node_name": "leaf1", "port": "Ethernet8"}
    records = [
        json.dumps({"timestamp": START_S + t, **first, named(case.data): 1000 * t, named(case.wait): 400_000 * t}).encode()
        for t in range(SECONDS)
    ]  # fmt: skip
    feed, made = Feed(ledger), json_schema("ethernet_port", records[0])
    fields = [(c.name, c.kind, c.role, c.use is not None, c.length) for c in made.columns]
    feed.add_plan(fields, *chart_arrays(made, Claims()), made.hint, True)
    at = (np.zeros(SECONDS, np.int32), np.arange(SECONDS, dtype=np.int64))
    *_, pending, strangers, _ = feed.consume(records, *at, np.arange(SECONDS, dtype=np.uint32))
    for plan, component, identity, _ in strangers:
        feed.add_instance(ledger, plan, component, identity, 1, 0, [-1] * 5, False, PORT)
    feed.consume(records, *at, np.array([need[0] for need in pending], np.uint32))
    return ledger.take_ports(1, 2**40)[-1].sum(axis=0).reshape(3, 48)[:2, PORT]


#: What NVIDIA's ibdiagnet user manual (2.13, "Congestion assessment on InfiniBand links") says of a tick: bytes of a port with four lanes.
TICK_BYTES = {0xD2F0: 8, 0xD2F2: 8, 0xD2F4: 8, 0xD2F6: 8, 0xCF08: 4 * 32, 0xCB20: 4 * 32, 0xC738: 4 * 32}


def infiniband(device: int, speed: str, model: str = "") -> Fabric:
    """Two switches and two hosts, as ibnetdiscover prints them."""
    described = f"MF0;leaf{{}}:{model}/U1" if model else "leaf{}"
    sections = [
        f'devid={device:#x}\nswitchguid=0xb{n}(b{n})\nSwitch\t36 "S-00b{n}"\t# "{described.format(n)}" enhanced port 0 lid {n + 1} lmc 0\n'
        f'[1]\t"S-00b{1 - n}"[1]\t# "{described.format(1 - n)}" lid {2 - n} {speed}\n[2]\t"H-00a{n}"[1](a{n}1)\t# "host{n} mlx5_0" lid {n + 3} {speed}\n'
        for n in (0, 1)
    ]
    hosts = [
        f'devid=0x101b\ncaguid=0xa{n}\nCa\t1 "H-00a{n}"\t# "host{n} mlx5_0"\n[1](a{n}1)\t"S-00b{n}"[2]\t# lid {n + 3} lmc 0 "x" lid {n + 1} {speed}\n'
        for n in (0, 1)
    ]
    return ibnetdiscover.parse_fabric("\n".join(sections + hosts), "it", "it")


@pytest.mark.parametrize(("device", "tick_bytes"), TICK_BYTES.items(), ids=hex)
def test_a_tick_is_as_long_as_the_switch_s_device_makes_it(device: int, tick_bytes: int) -> None:
    fabric = infiniband(device, "4xEDR")
    worth, switch = stall_worth(fabric), fabric.links.src < 2
    assert (worth[switch] == tick_bytes / 4).all()
    # An adapter counts as Quantum switches do.
    assert (worth[~switch] == 2.0).all()


@pytest.mark.parametrize(
    ("device", "model", "speed", "words"),
    [
        (0, "MQM8700", "4xHDR", 2.0),
        (0, "MSB7800", "4xEDR", 32.0),
        (0, "SX6036", "4xQDR", 32.0),
        # Nothing names the device: a present one.
        (0, "", "4xHDR", 2.0),
        # Chips that no document names: an older one, and one that is to come.
        (0xBD36, "", "4xQDR", np.nan),
        (0xFFFF, "MQM8700", "4xHDR", np.nan),
        # Ticks by the lane, of a cable whose lanes are not known: 8 Gb/s are one QDR lane, two of DDR or four of SDR.
        (0xC738, "", "4xSDR", np.nan),
        (0xCF08, "", "1xEDR", 8.0),
    ],
)
def test_a_tick_is_known_by_the_model_else_unknown(device: int, model: str, speed: str, words: float) -> None:
    fabric = infiniband(device, speed, model)
    assert stall_worth(fabric)[fabric.links.src < 2] == pytest.approx(words, nan_ok=True)


def test_captures_of_real_fabrics_name_their_devices(shared: Path) -> None:
    for name, words in (("selene.storage.txt", 2.0), ("loginoff-topo.txt", 32.0)):
        fabric = read_fabric(shared / "data" / "infiniband" / name)
        assert set(stall_worth(fabric)[fabric.links.src < len(fabric.routers)]) == {words}
        for unsaid in ({"device_ids": [0] * len(fabric.routers)}, {"descriptions": [""] * len(fabric.routers)}):
            by_one = replace(fabric, attributes=fabric.attributes | unsaid)
            assert np.array_equal(stall_worth(by_one), stall_worth(fabric), equal_nan=True)


# The unit of an exporter's metric is judged once for the exporter: one value that cannot be in the table's unit tells of all of them.


BYTES = (
    "infiniband_switch_port_transmit_data_bytes_total",
    "infiniband_hca_port_receive_data_bytes_total",
    "node_infiniband_port_data_transmitted_bytes_total",
)

NOW_MS = 1_764_320_000_000


@pytest.fixture(scope="module")
def publisher(_embedded_template: Server) -> Iterator[Publisher]:
    url = _embedded_template.create()
    with open_log(url) as log, log.producer() as producer:
        yield Publisher(producer)
    _embedded_template.drop(url)


def sample(name: str, value: float, sender: str = "a:9315", port: int = 1) -> Sample:
    labels = {"guid": "0xa00100", "port": str(port), "device": "mlx5_0", "instance": sender}
    return Sample(name, tuple(sorted(labels.items())), value, NOW_MS)


@pytest.mark.system("processes")
@given(st.sampled_from(BYTES), st.lists(st.integers(0, 2**40), min_size=1, max_size=8))
def test_all_values_of_a_metric_count_or_none(publisher: Publisher, name: str, values: list[int]) -> None:
    held = Intake(MetricTable(), publisher)
    taken = held.take("scrape", [sample(name, float(value), port=port) for port, value in enumerate(values, 1)])
    wrong = any(value % 4 for value in values)
    assert taken.results == {"invalid" if wrong else "published": len(values)}
    assert ("a multiple of 4" in taken.first) == wrong
    # Nor does what it sends later; what another exporter sends does.
    assert held.take("scrape", [sample(name, 4e6)]).results == {"invalid" if wrong else "published": 1}
    assert held.take("scrape", [sample(name, 4e6, "b:9315")]).results == {"published": 1}


def test_a_mended_exporter_counts_again_and_one_without_an_address_is_judged_value_by_value(
    publisher: Publisher, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = Intake(MetricTable(), publisher)
    assert held.take("scrape", [sample(BYTES[0], 5.0)]).results == {"invalid": 1}
    assert held.take("scrape", [sample(BYTES[0], 8.0)]).results == {"invalid": 1}
    now = time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: now + WRONG_UNIT_S + 1)
    assert held.take("scrape", [sample(BYTES[0], 8.0)]).results == {"published": 1}
    assert held.take("otlp", [sample(BYTES[0], 5.0, ""), sample(BYTES[0], 8.0, "")]).results == {
        "invalid": 1,
        "published": 1,
    }


@pytest.mark.shared
def test_cases_of_exporters(shared: Path, publisher: Publisher) -> None:
    for number in (1, 2, 3):
        held = Intake(MetricTable(), publisher)
        page = (shared / f"cases/words-under-the-name-of-bytes/page{number}.txt").read_bytes()
        assert held.take("scrape", samples_of(page, "a:9315", NOW_MS, held.maps)).results == {"invalid": 3}
    held = Intake(MetricTable(), publisher)
    page = (shared / "cases/ibqueryerrors-exporter/page.txt").read_bytes()
    taken = held.take("scrape", samples_of(page, "a:9315", NOW_MS, held.maps))
    assert taken.results == {"published": 2, "unused": 4}, held.refused


def test_a_wait_at_32_bits_is_unknown_and_at_less_counts(publisher: Publisher) -> None:
    held = Intake(MetricTable(), publisher)
    for name in ("infiniband_portxmitwait_total", "infiniband_switch_port_transmit_wait_total"):
        labels = (("guid", "0xa00100"), ("local_guid", "0xa00100"), ("local_port", "1"), ("port", "1"))
        results = [
            dict(held.take("scrape", [Sample(name, labels, value, NOW_MS)]).results)
            for value in (2.0**32 - 2, 2.0**32 - 1)
        ]
        assert results == [{"published": 1}, {"saturated": 1}]
