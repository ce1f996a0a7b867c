"""`flitwatch collect prometheus`: remote write, OTLP and scraping reach the fabric's ports once. Hostile or unknown input is refused, counted and
stored."""

from __future__ import annotations

import gzip
import json
import os
import random
import signal
import socket
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import cramjam
import httpx
import pytest
from ingest.exporting import TOKEN, V1, V2, Collector, Written, first, logged, second
from ingest.port_counters import endpoint_words, named, stored_fabric, switch_ports
from ingest.writing import START_S, drain_log, kept
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.metrics import CallbackOptions, Observation
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.resources import Resource
from support.endless_head import BEGINNINGS, SOCKETS_BYTES, peak_bytes, sent_until_closed
from support.prometheus import Exporter, Prometheus
from support.waiting import eventually, free_port

from flitwatch.commands.collect_prometheus import CONNECTIONS
from flitwatch_db import connect
from flitwatch_domain.shares import Shares
from flitwatch_ingest.exporters.http import AT_A_TIME
from flitwatch_ingest.exporters.limits import MOST_BYTES, HeldBody, Refused

pytestmark = pytest.mark.integration

N1 = {"instance": "n1:9100", "device": "mlx5_1", "port": "1"}
LEAF = {"guid": "0xa1", "port": "4"}
B1 = "ib n1 b1"
#: More connections than the endpoint has.
IDLE = CONNECTIONS + 100


@pytest.fixture
def endpoint(embedded_db: str, tmp_path: Path) -> Iterator[Collector]:
    collector = Collector(embedded_db, tmp_path, "--metrics-port", str(free_port()))
    yield collector.start()
    collector.kill()


def grown(name: str, labels: dict[str, str], step: int, seconds: range = range(4)) -> Written:
    return {"__name__": name, **labels}, [(step * t, (START_S + t) * 1000) for t in seconds]


@pytest.mark.system("processes")
@pytest.mark.parametrize("proto", [V1, V2])
def test_what_is_written_twice_counts_once(endpoint: Collector, embedded_db: str, proto: str) -> None:
    stored_fabric(embedded_db)
    batch = [
        grown("node_infiniband_port_data_transmitted_bytes_total", N1, 4000),
        grown("node_infiniband_port_transmit_wait_total", N1, 5),
        grown("infiniband_switch_port_transmit_data_bytes_total", LEAF, 400),
        grown("infiniband_switch_port_transmit_wait_total", LEAF, 7),
    ]
    random.seed(3)
    for _ in range(3):
        # A sender cuts its batches anew when it sends again.
        random.shuffle(batch)
        for part in (batch[:1], batch[1:]):
            assert endpoint.write(part, proto).status_code == 204
    drain_log(embedded_db, embedded_db)
    assert endpoint_words(embedded_db) == {B1: 12_000}
    assert endpoint_words(embedded_db, "tx_wait_cycles") == {B1: 2 * 15}
    # A port's time counts once, however many of its counters come.
    assert endpoint_words(embedded_db, "seconds") == {B1: 3}
    assert list(switch_ports(embedded_db).values()) == [(300, 2 * 21)]
    with connect(embedded_db) as conn:
        times = conn.execute(
            "SELECT (SELECT sum(tile_seconds) FROM router_1s), (SELECT sum(port_seconds) FROM port_10s)"
        ).fetchone()
    assert times == (3, 3)
    found = kept(embedded_db)
    assert (found.letters, found.duplicates) == ([], 2 * 16)


@pytest.mark.system("processes")
def test_written_counts_and_partial_writes_are_reported(endpoint: Collector, embedded_db: str) -> None:
    good = grown("node_infiniband_port_data_transmitted_bytes_total", N1, 4000)
    bad = grown("node_infiniband_port_data_received_bytes_total", N1, 4001, range(1, 4))
    answer = endpoint.write([good, bad], V2)
    assert answer.status_code == 400 and "multiple of 4" in answer.text and "3 of 7" in answer.text
    assert answer.headers["X-Prometheus-Remote-Write-Samples-Written"] == "4"
    assert answer.headers["X-Prometheus-Remote-Write-Histograms-Written"] == "0"
    assert endpoint.write([good], V2).headers["X-Prometheus-Remote-Write-Samples-Written"] == "4"
    assert "X-Prometheus-Remote-Write-Samples-Written" not in endpoint.write([good], V1).headers
    records = [json.loads(value) for topic, value, _ in logged(embedded_db) if topic == "ldms.ib_prometheus"]
    assert len(records) == 12 and all(record["port_xmit_data"] % 1000 == 0 for record in records)


@pytest.mark.system("processes")
def test_what_the_table_does_not_know_is_named_once_over_a_restart(embedded_db: str, tmp_path: Path) -> None:
    metrics = free_port()
    endpoint = Collector(embedded_db, tmp_path, "--metrics-port", str(metrics)).start()
    unknown = grown("dcgm_nvlink_bytes", {"instance": "n1:9400"}, 1)
    ended = ({"__name__": "node_infiniband_port_packets_received_total", **N1}, [(float("nan"), START_S * 1000)])
    series = [
        unknown,
        ended,
        grown("up", {"instance": "n1:9100"}, 1),
        grown("node_infiniband_local_link_integrity_errors_total", N1, 0),
    ]
    full = ({"__name__": "node_infiniband_port_transmit_wait_total", **N1}, [(2**32 - 1, START_S * 1000)])
    lost = grown("node_infiniband_port_packets_received_total", {"device": "mlx5_0", "port": "1"}, 1)
    try:
        assert endpoint.write([*series, full]).status_code == 400
        assert endpoint.write([*series, full, lost]).status_code == 400
        page = httpx.get(f"http://127.0.0.1:{metrics}/metrics").text
        assert endpoint.stop() == 0
        assert endpoint.start().write([unknown, lost]).status_code == 204
    finally:
        endpoint.kill()
    for result, count in {"unmapped": 12, "invalid": 2, "unused": 8, "no_column": 8, "saturated": 2}.items():
        assert f'flitwatch_collector_samples_total{{result="{result}",source="remote_write"}} {count}.0' in page
    drain_log(embedded_db, embedded_db)
    letters = named(embedded_db)
    assert {metric for metric, _ in letters} == {
        "dcgm_nvlink_bytes",
        "node_infiniband_port_packets_received_total",
    }
    assert len(kept(embedded_db).letters) == 3
    assert any("no label identifies the port" in reason for _, reason in letters)


@pytest.mark.system("processes")
def test_hostile_requests_are_refused_and_counted(embedded_db: str, tmp_path: Path) -> None:
    metrics = free_port()
    endpoint = Collector(embedded_db, tmp_path, "--metrics-port", str(metrics)).start()
    snappy = {"Content_Type": "application/x-protobuf", "Content_Encoding": "snappy"}
    good = bytes(cramjam.snappy.compress_raw(first([grown("up", {}, 1)])))
    bomb = bytes(cramjam.snappy.compress_raw(bytes(64 << 20)))
    many = bytes(cramjam.snappy.compress_raw(b"\x0a\x00" * 60_000))
    odd = [({"__name__": "up", **{f"label{n}": "x" for n in range(70)}}, [(1.0, 1)])]
    cases = [
        (good, snappy | {"Authorization": "Bearer wrong"}, 401, "no_token"),
        (good, snappy | {"Authorization": f"Basic {TOKEN}"}, 401, "no_token"),
        (good, snappy | {"Content_Encoding": "gzip"}, 415, "encoding"),
        (good, snappy | {"Content_Type": "text/plain"}, 415, "content_type"),
        (
            good,
            snappy | {"Content_Type": "application/x-protobuf;proto=io.prometheus.write.v9.Request"},
            415,
            "content_type",
        ),
        (bomb, snappy, 413, "too_large"),
        (bytes(9 << 20), snappy, 413, "too_large"),
        (b"\x05nonsense", snappy, 400, "malformed"),
        (bytes(cramjam.snappy.compress_raw(b"\xff" * 50)), snappy, 400, "malformed"),
        (bytes(cramjam.snappy.compress_raw(first([({"job": "x"}, [(1.0, 1)])]))), snappy, 400, "malformed"),
        (many, snappy, 413, "too_many_series"),
        (bytes(cramjam.snappy.compress_raw(first(odd))), snappy, 400, "too_many_labels"),
        (bytes(cramjam.snappy.compress_raw(first([({"__name__": "x" * 3000}, [])]))), snappy, 400, "long_label"),
        (b"", snappy, 400, "malformed"),
        # A length of 4 GiB, a copy from before the beginning, groups in groups.
        (b"\xff\xff\xff\xff\x0f" + bytes(20), snappy, 413, "too_large"),
        (b"\x20\x00a\xfd\xff\xff", snappy, 400, "malformed"),
        (bytes(cramjam.snappy.compress_raw(b"\x0b" * 100_000)), snappy, 400, "malformed"),
        (bytes(cramjam.snappy.compress_raw(first([grown("up", {"": "x"}, 1)]))), snappy, 400, "malformed"),
        (bytes(cramjam.snappy.compress_raw(first([grown("up", {"a": "x\0"}, 1)]))), snappy, 400, "malformed"),
    ]
    now_ms = int(time.time() * 1000)
    words = {"__name__": "node_infiniband_port_data_transmitted_bytes_total", "instance": "n1", "device": "mlx5_0", "port": "1"}  # fmt: skip
    no_counts = [(float("nan"), now_ms), (float("inf"), now_ms), (-4.0, now_ms), (1e300, now_ms)]
    no_times = [(4.0, now_ms + 3_600_000), (4.0, 2**63 - 1), (4.0, -1)]
    for sample in no_counts + no_times:
        cases.append((bytes(cramjam.snappy.compress_raw(first([(words, [sample])]))), snappy, 400, "partial"))
    wide = second([grown("up", {"a": "b"}, 1)])
    cut = bytes(cramjam.snappy.compress_raw(wide.replace(b"\x0a\x04\x01\x02\x03\x04", b"\x0a\x04\x01\x02\x03\x7f")))
    cases.append((cut, snappy | {"Content_Type": f"application/x-protobuf;proto={V2}"}, 400, "malformed"))
    expected: defaultdict[str, int] = defaultdict(int)
    try:
        for body, headers, status, reason in cases:
            answer = endpoint.post("/api/v1/write", body, **headers)
            assert (answer.status_code, bool(answer.text)) == (status, True), (reason, answer.text)
            expected[reason] += 1
        page = httpx.get(f"http://127.0.0.1:{metrics}/metrics").text
        assert endpoint.post("/api/v1/write", good, **snappy).status_code == 204
    finally:
        endpoint.kill()
    for reason, count in expected.items():
        assert f'flitwatch_collector_requests_total{{result="{reason}",source="remote_write"}} {count}.0' in page
    # Samples that say nothing are dead letters; no request became a counter.
    assert {topic for topic, *_ in logged(embedded_db)} == {"flitwatch.rejected.v1"}


@pytest.mark.system("processes")
def test_endless_heads_are_cut_off_at_both_ports(embedded_db: str, tmp_path: Path) -> None:
    metrics = free_port()
    endpoint = Collector(embedded_db, tmp_path, "--metrics-port", str(metrics)).start()
    try:
        before = peak_bytes(endpoint.pid)
        for port in (endpoint.port, metrics):
            for beginning, part in BEGINNINGS.values():
                assert sent_until_closed("127.0.0.1", port, beginning, part) <= SOCKETS_BYTES
        assert peak_bytes(endpoint.pid) - before <= 16 << 20
        assert httpx.get(f"http://127.0.0.1:{metrics}/livez").status_code == 200
    finally:
        endpoint.kill()


@pytest.mark.system("processes")
def test_idle_connections_of_one_address_keep_no_other_out(endpoint: Collector) -> None:
    with ExitStack() as stack:
        idle = [
            stack.enter_context(socket.create_connection(("127.0.0.1", endpoint.port), source_address=("127.0.0.3", 0)))
            for _ in range(IDLE)
        ]
        assert idle[-1].recv(12) == b"HTTP/1.1 503"
        assert endpoint.write([grown("up", {}, 1)], source="127.0.0.2").status_code == 204
        # A place is free again when its connection has ended.
        for one in idle:
            one.close()
        eventually(
            lambda: endpoint.write([grown("up", {}, 1)], source="127.0.0.3").status_code == 204,
            what="the address to be let in again",
            retry=(httpx.HTTPError,),
        )


@pytest.mark.system("processes")
def test_slow_bodies_hold_no_other_request_up(endpoint: Collector) -> None:
    head = f"POST /api/v1/write HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {TOKEN}\r\nContent-Encoding: snappy\r\n"
    head += "Content-Type: application/x-protobuf\r\nContent-Length: 1000\r\n\r\n"
    with ExitStack() as stack:
        slow = [
            stack.enter_context(socket.create_connection(("127.0.0.1", endpoint.port))) for _ in range(4 * AT_A_TIME)
        ]
        for one in slow:
            one.sendall(head.encode() + b"a")
        assert endpoint.write([grown("up", {}, 1)]).status_code == 204
        # None of them has been given up: the request did not wait until they were.
        for one in slow:
            one.setblocking(False)
            with pytest.raises(BlockingIOError):
                one.recv(1)


def test_bodies_share_a_bounded_memory() -> None:
    shares = Shares(6 * MOST_BYTES)
    bodies = [HeldBody(shares, sender) for sender in ("a", "a", "a", "a", "b")]
    for body in bodies[:4]:
        body.add(MOST_BYTES)
    with pytest.raises(Refused, match="has more than"):
        bodies[0].add(1)
    with pytest.raises(Refused, match="Send the request again"):
        HeldBody(shares, "a").add(MOST_BYTES)
    # Of what is left another sender gets its share.
    bodies[4].add(MOST_BYTES)
    with pytest.raises(Refused, match="Send the request again"):
        HeldBody(shares, "b").add(MOST_BYTES)
    shares.give_back("a", bodies[0].bytes)
    HeldBody(shares, "b").add(MOST_BYTES)


@pytest.mark.system("processes")
def test_a_site_maps_a_counter_of_its_own_without_code(embedded_db: str, tmp_path: Path) -> None:
    stored_fabric(embedded_db)
    (tmp_path / "site.yaml").write_text(
        "exporters:\n"
        "  - name: ours\n"
        "    technology: infiniband\n"
        "    labels: {host: [server], device: [card], port: [{label: place, match: 'p(\\d+)'}]}\n"
        "    metrics: {site_words: {counter: port_xmit_data}, site_new: {counter: port_brand_new}}\n"
        "    unused: ['node_infiniband_port_data_transmitted_bytes_total']\n"
    )
    endpoint = Collector(embedded_db, tmp_path, "--map", str(tmp_path / "site.yaml")).start()
    own = {"server": "n1", "card": "mlx5_1", "place": "p1"}
    try:
        batch = [grown("site_words", own, 10), grown("site_new", own, 3)]
        batch.append(grown("node_infiniband_port_data_transmitted_bytes_total", N1, 4000))
        assert endpoint.write(batch).status_code == 204
    finally:
        endpoint.kill()
    drain_log(embedded_db, embedded_db)
    assert endpoint_words(embedded_db) == {B1: 120}
    with connect(embedded_db) as conn:
        rows = conn.execute("SELECT instance, u64 FROM observation ORDER BY ts").fetchall()
    assert len(rows) == 4 and all("port_brand_new" in instance for instance, _ in rows)
    assert kept(embedded_db).letters == []


def test_a_table_that_is_wrong_is_refused_with_its_place(tmp_path: Path) -> None:
    (tmp_path / "site.yaml").write_text("exporters: [{name: x, technology: infiniband, labels: {who: y}}]\n")
    argv = [sys.executable, "-m", "flitwatch.main", "collect", "prometheus", "--scrape", "http://127.0.0.1:1/"]
    ended = subprocess.run([*argv, "--map", str(tmp_path / "site.yaml")], capture_output=True, text=True, check=False)
    assert ended.returncode and "site.yaml: exporters.0.labels.who" in ended.stderr.replace("\n", "")
    open_endpoint = subprocess.run([*argv, "--listen", "0.0.0.0:9095"], capture_output=True, text=True, check=False)
    assert open_endpoint.returncode and "--token-file" in open_endpoint.stderr


@pytest.mark.system("processes")
def test_counters_of_a_real_prometheus_arrive_once_over_kills(embedded_db: str, tmp_path: Path) -> None:
    stored_fabric(embedded_db)
    chance, words, still = random.Random(1), {"b0": 10**12, "b1": 10**13, "b6": 5}, []
    cards = {"b0": "mlx5_0", "b1": "mlx5_1", "b6": "mlx5_6"}
    history: dict[str, set[int]] = {card: set() for card in cards}

    def page() -> str:
        lines = ["# TYPE node_infiniband_port_data_transmitted_bytes_total counter"]
        for card in words:
            words[card] += 0 if still else chance.randrange(1, 10**6)
            history[card].add(words[card])
            labels = f'device="{cards[card]}",port="1",nodename="n1"'
            lines.append(f"node_infiniband_port_data_transmitted_bytes_total{{{labels}}} {4 * words[card]}")
        return "\n".join([*lines, "# TYPE nobody_knows_this_total counter", "nobody_knows_this_total 1", ""])

    exporter = Exporter(page)
    endpoint = Collector(embedded_db, tmp_path)
    prometheus = Prometheus(tmp_path, exporter.port, endpoint.port, TOKEN)
    try:
        prometheus.start()
        endpoint.start()
        for victim in (endpoint, prometheus, endpoint):
            time.sleep(1.2)
            victim.kill()
            victim.start()
        time.sleep(1)
        still.append(True)
        eventually(
            lambda: {words[card] for card in cards} <= {v for _, v in _counted(embedded_db)},
            every_s=0.3,
            what="the last count of each card",
            detail=lambda: (tmp_path / "log").read_text()[-2000:],
        )
    finally:
        endpoint.kill()
        prometheus.kill()
        exporter.close()
    drain_log(embedded_db, embedded_db)
    first_of = {card: min(v for at, v in _counted(embedded_db) if at == cards[card]) for card in cards}
    assert all(value in history[card] for card, value in first_of.items())
    with connect(embedded_db) as conn:
        gaps = conn.execute("SELECT device, counts->>'tx_bytes' FROM gap WHERE counts IS NOT NULL").fetchall()
    for card, name in cards.items():
        inside = sum(float(count or 0) for device, count in gaps if name in device)
        # Where one pause holds all that was counted, there is no row alongside its gap.
        assert endpoint_words(embedded_db).get(f"ib n1 {card}", 0) + inside == 4 * (words[card] - first_of[card])
    assert {metric for metric, _ in named(embedded_db)} == {"nobody_knows_this_total"}


def _counted(url: str) -> list[tuple[str, int]]:
    """Device and count of each record."""
    records = [json.loads(value) for topic, value, _ in logged(url) if topic == "ldms.ib_prometheus"]
    return [(record["device"], record["port_xmit_data"]) for record in records]


@pytest.mark.system("processes")
@pytest.mark.parametrize("compression", [Compression.Gzip, Compression.NoCompression])
def test_counters_of_the_opentelemetry_sdk_reach_their_port(
    endpoint: Collector, embedded_db: str, compression: Compression
) -> None:
    stored_fabric(embedded_db)
    counts = iter(range(0, 4_000_000, 4000))

    def observe(_: CallbackOptions) -> list[Observation]:
        return [Observation(next(counts), {"device": "mlx5_1", "port": "1"})]

    exporter = OTLPMetricExporter(
        f"http://127.0.0.1:{endpoint.port}/v1/metrics",
        headers={"Authorization": f"Bearer {TOKEN}"},
        compression=compression,
    )
    reader = PeriodicExportingMetricReader(exporter, export_interval_millis=60_000)
    provider = MeterProvider([reader], resource=Resource({"host.name": "n1"}))
    meter = provider.get_meter("test")
    meter.create_observable_counter("node_infiniband_port_data_transmitted_bytes", [observe])
    meter.create_histogram("latency").record(3)
    for _ in range(4):
        assert reader.force_flush()
        time.sleep(0.05)
    provider.shutdown()
    drain_log(embedded_db, embedded_db)
    # The provider exports once more when it ends.
    assert endpoint_words(embedded_db) == {B1: 16_000}
    assert [metric for metric, _ in named(embedded_db)] == ["latency"]


@pytest.mark.system("processes")
def test_otlp_in_json_answers_with_what_it_rejected(endpoint: Collector, embedded_db: str) -> None:
    point = {"asInt": "4000", "timeUnixNano": str(START_S * 10**9)}
    attributes = [{"key": name, "value": {"stringValue": value}} for name, value in N1.items()]
    total = {"aggregationTemporality": 2, "isMonotonic": True}
    metrics = [
        {
            "name": "node_infiniband_port_data_transmitted_bytes_total",
            "sum": {**total, "dataPoints": [{**point, "attributes": attributes}]},
        },
        {"name": "nobody", "gauge": {"dataPoints": [point]}},
        {"name": "changes", "sum": {"aggregationTemporality": 1, "isMonotonic": True, "dataPoints": [point, point]}},
    ]
    body = json.dumps({"resourceMetrics": [{"scopeMetrics": [{"metrics": metrics}]}]}).encode()
    answer = endpoint.post("/v1/metrics", gzip.compress(body), Content_Type="application/json", Content_Encoding="gzip")
    assert answer.status_code == 200 and answer.headers["content-type"] == "application/json"
    partial = answer.json()["partialSuccess"]
    assert partial["rejectedDataPoints"] == "3" and "nobody" in partial["errorMessage"]
    refused = [
        (b"{", "application/json", "", 400),
        (b"\xff\xff", "application/x-protobuf", "", 400),
        (body, "text/plain", "", 415),
        (body, "application/json", "br", 415),
        (body, "application/json", "gzip", 400),
        (gzip.compress(bytes(64 << 20)), "application/json", "gzip", 413),
        (b"[" * 100_000, "application/json", "", 400),
    ]
    for content, kind, encoding, status in refused:
        answer = endpoint.post("/v1/metrics", content, Content_Type=kind, Content_Encoding=encoding)
        assert answer.status_code == status, answer.text
        if kind == "application/json":
            assert answer.json()["code"] == 3 and answer.json()["message"]
    assert [topic for topic, *_ in logged(embedded_db)].count("ldms.ib_prometheus") == 1


def test_exporters_are_scraped_and_one_that_fails_stops_no_other(embedded_db: str, tmp_path: Path) -> None:
    stored_fabric(embedded_db)
    counts = iter(range(10**6))

    def ufm() -> str:
        at_ms, words = (START_S + (n := next(counts))) * 1000, 10 * n
        labels = 'source="0xa1",node_guid="0x00000000000000a1",port_guid="0xa1",port_num="4"'
        return f"# TYPE PortXmitDataExtended counter\nPortXmitDataExtended{{{labels}}} {words} {at_ms}\n"

    exporter, garbled = Exporter(ufm), Exporter(lambda: "{{{\n")
    argv = [sys.executable, "-m", "flitwatch.main", "collect", "prometheus", "--log", embedded_db, "--interval", "0.1"]
    argv += [
        "--scrape",
        f"http://127.0.0.1:{garbled.port}/metrics",
        "--scrape",
        f"http://127.0.0.1:{exporter.port}/metrics",
    ]
    with subprocess.Popen([*argv, "--state", str(tmp_path / "s.json")], stderr=subprocess.PIPE, text=True) as collector:
        try:
            eventually(lambda: len(logged(embedded_db)) >= 5, every_s=0.1, what="five records", process=collector)
        finally:
            collector.send_signal(signal.SIGTERM)
        said = (collector.communicate()[1] or "").replace("\n", "")
    exporter.close()
    garbled.close()
    # When it began to fail, and in the report.
    assert collector.returncode == 0 and said.count("is not in Prometheus' text format") == 2
    drain_log(embedded_db, embedded_db)
    ((port, (flits, _)),) = switch_ports(embedded_db).items()
    assert port[1] == 4 and flits == 10 * (len(logged(embedded_db)) - 2)
    # The page that cannot be read is a dead letter, once.
    assert [reason[:18] for _, reason in named(embedded_db)] == ["its page is not in"]


def test_one_look_names_what_the_table_does_not_know_and_ends_as_an_import_does(
    embedded_db: str, tmp_path: Path
) -> None:
    known = 'PortXmitDataExtended{node_guid="0xa1",port_guid="0xa1",port_num="4"} 10\n'
    known += 'cxi_hni_of_tomorrow{device="cxi0",node="n1"} 5\n'
    page = known + "".join(f'new_{number:02}{{node_guid="0xa1",port_num="4"}} 1\n' for number in range(12))
    exporter = Exporter(lambda: page)
    argv = [sys.executable, "-m", "flitwatch.main", "collect", "prometheus", "--log", embedded_db, "--once", "--json"]
    argv += ["--scrape", f"http://127.0.0.1:{exporter.port}/metrics", "--state", str(tmp_path / "s.json")]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=120, env=os.environ | {"FLITWATCH_HOME": str(tmp_path)})  # fmt: skip
    exporter.close()
    assert done.returncode == 3, done.stderr
    report = json.loads(done.stdout)
    assert (report["published"], report["rejected"], report["refused_total"]) == (2, 12, 12)
    assert report["refused"][0] == {
        "what": "new_00",
        "reason": "the table has no row for this metric. Add one with --map",
    }
    # A row maps it, and no catalogue has it: kept as it came.
    assert report["unknown_counters"] == ["hni_of_tomorrow"] and "not in the catalogue: hni_of_tomorrow" in done.stderr
    assert (
        f"not taken: {', '.join(f'new_{number:02}' for number in range(8))} and 4 more: the table has no row"
        in done.stderr
    )
