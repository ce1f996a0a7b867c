"""`flitwatch collect slingshot`: the fabric manager's port telemetry reaches the switch's ports once. All other data are stored, and damage is
reported."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections import defaultdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from ingest.port_counters import observed, reasons
from ingest.writing import START_S, drain_log, kept
from support.slingshot_templates import planted

from flitwatch_db import connect
from flitwatch_db.fabrics import store as fabrics
from flitwatch_domain.importers import slingshot, slingshot_template
from flitwatch_ingest.collectors import Checkpoint, Publisher
from flitwatch_ingest.collectors.slingshot import FileReader, SensorRecords, TopicReader
from flitwatch_ingest.exporters import Intake, MetricTable
from flitwatch_ingest.exporters.limits import MOST_BYTES
from flitwatch_ingest.sources.slingshot import BadRecord, samples_of
from flitwatch_ingest.writer.ports import FabricPorts, Owner
from flitwatch_stream.backends import open_log
from flitwatch_stream.log import Log

LINKS = "x3000c0r41j13p0-x3001c0r41j31p0\nx3000c0r41j1p1-x3000c0s1b0n0h0\n"
GLOBAL, EDGE, UNKNOWN = "x3000c0r41j13p0", "x3000c0r41b0j1p1", "x9000c0r1j1p0"
#: Bytes and packets a second of the planted ports.
STEPS = {GLOBAL: (1000, 3), EDGE: (70, 1), UNKNOWN: (5, 1)}


def list_sensors(at_s: float, **sensors: Any) -> list[dict[str, Any]]:
    time = datetime.fromtimestamp(at_s, UTC).isoformat().replace("+00:00", "Z")
    return [{"Timestamp": time, "PhysicalContext": name, **own} for name, own in sensors.items()]


def event(second: int, bytes_before: int = 10**15) -> bytes:
    """One second of all planted ports, as HPE's collector publishes it: values are texts."""
    sensors = []
    for number, (port, (octets, packets)) in enumerate(STEPS.items()):
        about = {"Location": port, "DeviceSpecificContext": "local", "Index": 0, "ParentalIndex": 0, "SubIndex": number}
        values = {
            "IfHCOutOctets": bytes_before + octets * second,
            "IfHCOutUcastPkts": packets * second,
            "IfHCOutMulticastPkts": 2 * packets * second,
            "IfHCInOctets": 9 * second,
            "IfOutOctets": (bytes_before + octets * second) % 2**32,
        }
        named = {name: about | {"Value": str(value)} for name, value in values.items()}
        sensors += list_sensors(START_S + second, **named)
    message = {"MessageId": "CrayFabricPerfTelemetry.RFC3635", "Oem": {"TelemetrySource": "FabricPerf", "Sensors": sensors}}  # fmt: skip
    return json.dumps({"Context": "x3000c0r41b0:sma", "Events": [message]}).encode()


def congestion(second: int, **more: Any) -> bytes:
    """Gauges of one port, a text among them, in HPCM's form."""
    tags = {"Location": GLOBAL, "DeviceSpecificContext": "local", "Switch": "x3000c0r41"}
    fields = {"txBW_local": 12.5 + second, "BlockedReason": "none"} | more
    return json.dumps({"name": "Congestion", "fields": fields, "tags": tags, "timestamp": START_S + second}).encode()


def stored_fabric(url: str) -> None:
    with connect(url) as conn:
        fabrics.save_fabric(conn, slingshot.parse_fabric(LINKS, "links.txt", "ss"))


def read(
    url: str, state: Path, *places: Path, source: Log | None = None, topics: tuple[str, ...] = ()
) -> dict[str, int]:
    """One run of the collector to the end of what is there; what became of the sensors."""
    checkpoint = Checkpoint(state)
    with open_log(url) as log, log.producer() as producer:
        publisher = Publisher(producer)
        records = SensorRecords(Intake(MetricTable((), "slingshot"), publisher, checkpoint), publisher)
        if source is None:
            FileReader(places, records, checkpoint, follow=False).look(threading.Event())
        else:
            TopicReader(source, topics, records, checkpoint).once(threading.Event())
    drain_log(url, url)
    return dict(records.results)


def ports(url: str) -> dict[tuple[str, int], tuple[float, float, set[float | None]]]:
    """Bytes, packets and stalls of each port that is counted."""
    with connect(url) as conn:
        rows = conn.execute(
            "SELECT r.name, p.flits, p.packets, p.stall_cycles FROM port_10s p JOIN router r USING (fabric_id, router)"
        ).fetchall()
    found: dict[tuple[str, int], tuple[float, float, set[float | None]]] = defaultdict(lambda: (0.0, 0.0, set()))
    for name, flits, packets, stalls in rows:
        for port, (flit, packet, stall) in enumerate(zip(flits, packets, stalls, strict=True)):
            if flit or packet:
                before = found[name, port]
                found[name, port] = (before[0] + (flit or 0), before[1] + (packet or 0), before[2] | {stall})
    return dict(found)


@pytest.mark.integration
def test_planted_counters_reach_their_ports_and_a_restart_repeats_nothing(embedded_db: str, tmp_path: Path) -> None:
    stored_fabric(embedded_db)
    file, state = tmp_path / "perf.jsonl", tmp_path / "state.json"
    first = [event(t) for t in range(3)] + [congestion(0)]
    file.write_bytes(b"\n".join(first) + b"\n")
    seen = read(embedded_db, state, file)
    # Of each port three counters, and one of bytes received, that no column takes; and two gauges.
    assert seen == {"published": 3 * 9, "kept": 3 * 3 + 2, "unused": 3 * 3}
    assert read(embedded_db, state, file) == {}
    with file.open("ab") as more:
        more.write(event(3) + b"\n" + congestion(1))
    assert read(embedded_db, state, file)["published"] == 9
    # Where the checkpoint is lost all comes again, and counts once.
    assert read(embedded_db, tmp_path / "other.json", file)["published"] == 4 * 9
    assert ports(embedded_db) == {("x3000c0r41", 24): (3000, 27, {None}), ("x3000c0r41", 1): (210, 9, {None})}
    found = kept(embedded_db)
    assert found.letters == []
    # The unknown port's three counters, bytes received of all three, and the gauges, each once.
    assert observed(embedded_db) == 4 * 3 + 4 * 3 + 2 * 2
    assert reasons(embedded_db) == {"x9000c0r1 port 0 is in none of ss"}
    with connect(embedded_db) as conn:
        total = conn.execute("SELECT sum(rt_flits), sum(rt_packets) FROM router_1s").fetchone()
    assert total == (3210, 36)


@pytest.mark.integration
def test_damage_is_a_dead_letter_and_stops_nothing(embedded_db: str, tmp_path: Path) -> None:
    stored_fabric(embedded_db)
    sensor = {"Location": GLOBAL, "Value": "1"}
    bad_sensors = [
        *list_sensors(START_S, IfHCOutOctets={"Location": GLOBAL}),
        *list_sensors(START_S, IfHCOutOctets={"Value": "1"}),
        {"Timestamp": "yesterday", "PhysicalContext": "IfHCOutOctets", **sensor},
        *list_sensors(START_S, IfHCOutOctets=sensor | {"Location": "x" * 3000}),
        "not an object",
    ]
    lines = [
        event(0),
        b"\xff\xfe{",
        b"[" * 50_000,
        b'{"Events": 7}',
        b'{"Events": [{"MessageId": "CrayFabricHealth"}]}',
        b'{"fields": [], "name": "x"}',
        b'{"Context": "' + b"a" * MOST_BYTES + b'"}',
        json.dumps({"Events": {"Oem": {"Sensors": bad_sensors}}}).encode(),
        json.dumps(
            {"Events": [{"Oem": {"Sensors": list_sensors(START_S, IfHCOutOctets=sensor | {"Value": "-4"})}}]}
        ).encode(),
        event(1),
    ]
    (tmp_path / "bad.jsonl").write_bytes(b"\n".join(lines) + b"\n")
    for state in ("one", "two"):
        seen = read(embedded_db, tmp_path / state, tmp_path / "bad.jsonl")
        assert (seen["published"], seen["invalid"]) == (18, 1)
    assert ports(embedded_db)["x3000c0r41", 24] == (1000, 9, {None})
    found = sorted({reason for _, reason, _ in kept(embedded_db).letters})
    assert len(found) == 8 and len(kept(embedded_db).letters) == 8 + 1
    for said in (
        "the record has",
        "not valid JSON",
        "Events is not a list",
        "the record contains no sensor",
        "fields or tags are not an object",
        "5 of 5 sensors cannot be read; sensor 0: has no Value",
        "its value is not a count",
    ):
        assert any(said in reason for reason in found), (said, found)


@pytest.mark.integration
@pytest.mark.parametrize("backend", ["table", pytest.param("kafka", marks=pytest.mark.system("stores"))])
def test_topics_are_read_on_from_where_they_were_left(
    embedded_db: str, tmp_path: Path, topic: str, backend: str, request: pytest.FixtureRequest
) -> None:
    stored_fabric(embedded_db)
    url = request.getfixturevalue("kafka") if backend == "kafka" else embedded_db
    topics, state = (f"{topic}-perf", f"{topic}-absent"), tmp_path / "state.json"
    with open_log(url) as source:
        for begin, end in ((0, 3), (3, 5)):
            with source.producer() as producer:
                for second in range(begin, end):
                    producer.append(topics[0], event(second), partition=0)
                    producer.append(topics[0], b"" if second == 4 else congestion(second), partition=1)
                producer.flush()
            seen = read(embedded_db, state, source=source, topics=topics)
            assert seen["published"] == 9 * (end - begin)
        assert read(embedded_db, state, source=source, topics=topics) == {}
    assert ports(embedded_db)["x3000c0r41", 24] == (4000, 36, {None})
    assert ports(embedded_db)["x3000c0r41", 1] == (280, 12, {None})
    (letter,) = kept(embedded_db).letters
    assert letter[0].startswith("slingshot:") and "not valid JSON" in letter[1]


@pytest.mark.integration
def test_the_command_reads_a_folder_and_says_what_became_of_it(embedded_db: str, tmp_path: Path) -> None:
    stored_fabric(embedded_db)
    (tmp_path / "telemetry").mkdir()
    (tmp_path / "telemetry" / "a.jsonl").write_bytes(event(0) + b"\n" + event(1) + b"\n{}\n")
    command = [sys.executable, "-m", "flitwatch.main", "collect", "slingshot"]
    asked = [str(tmp_path / "telemetry"), "--once", "--json", "--log", embedded_db, "--state", str(tmp_path / "state")]
    done = subprocess.run([*command, *asked], capture_output=True, text=True, timeout=120, env=os.environ | {"FLITWATCH_HOME": str(tmp_path)})  # fmt: skip
    assert done.returncode == 3, done.stderr
    sensors, report = {"kept": 6, "published": 18, "unused": 6}, json.loads(done.stdout)
    ((where, reason),) = [one.values() for one in report.pop("refused")]
    assert (report.pop("unknown_counters"), report.pop("unknown_counters_total")) == ([], 0)
    assert report == {"records": 3, "sensors": sensors, "published": 24, "rejected": 1, "refused_total": 1}
    assert where.endswith(f"a.jsonl byte {2 * len(event(0)) + 2}") and f"not taken: {where}: {reason}" in done.stderr
    drain_log(embedded_db, embedded_db)
    assert ports(embedded_db)["x3000c0r41", 24] == (1000, 9, {None})
    with connect(embedded_db) as conn:
        sources = conn.execute("SELECT DISTINCT split_part(source, ':', 1) FROM dead_letter").fetchall()
    assert sources == [("slingshot",)]


def test_the_forms_of_one_sensor_say_the_same() -> None:
    (bare,) = samples_of(event(0)).samples[:1]
    (wrapped,) = samples_of(b'{"metrics": {"messages": [' + event(0) + b"]}}").samples[:1]
    assert bare == wrapped and (bare.name, bare.value, bare.time_ms) == ("IfHCOutOctets", 10**15, START_S * 1000)
    about = dict(bare.labels)
    assert (about["switch"], about["port"], about["link"]) == ("x3000c0r41", "24", "")
    fields = {"Location": GLOBAL, "PhysicalContext": "IfHCOutOctets", "Value": 100.0, "Timestamp": "2019-03-11T03:35:18.580Z"}  # fmt: skip
    (whole,) = samples_of(
        json.dumps({"name": "CrayFabricPerfTelemetry", "fields": fields, "tags": {}}).encode()
    ).samples
    assert (whole.name, whole.value, whole.time_ms) == ("IfHCOutOctets", 100.0, 1_552_275_318_580)
    one, other = samples_of(congestion(2)).samples
    assert (one.name, one.value, one.time_ms) == ("Congestion.txBW_local", 14.5, (START_S + 2) * 1000)
    assert (other.name, other.value) == ("Congestion.BlockedReason", "none")


@pytest.mark.shared
def test_the_public_payload(shared: Path) -> None:
    found = samples_of((shared / "samples" / "doors" / "slingshot" / "perf_telemetry.json").read_bytes())
    (sample,) = found.samples
    assert (sample.name, sample.value, found.bad) == ("IfOutOctets", 84, 0)
    assert dict(sample.labels)["Location"] == "x3000c0s34b4n0" and "switch" not in dict(sample.labels)


@pytest.mark.parametrize("digits", [10, 13, 16, 19])
def test_times_by_their_digits(digits: int) -> None:
    record = json.loads(congestion(0)) | {"timestamp": START_S * 10 ** (digits - 10)}
    assert samples_of(json.dumps(record).encode()).samples[0].time_ms == START_S * 1000


def test_nothing_to_read_is_refused() -> None:
    for record in (b"", b"[]", b"{}", b'{"metrics": {}}', b'{"Events": [{"Oem": {"Sensors": {}}}]}'):
        with pytest.raises(BadRecord):
            samples_of(record)


def test_a_chips_link_is_the_port_that_the_template_says() -> None:
    fabric = slingshot_template.parse_fabric(json.dumps(planted()), "fabric_template.json", "frontier")
    known = FabricPorts(fabric)
    by_link = known.find(Owner(names=("x1000c0r1",), adapter="a0l50"), [])
    by_jack = known.find(Owner(names=("x1000c0r1",), port=27), [])
    assert by_link is not None and by_jack is not None
    assert (by_link.router, by_link.port) == (by_jack.router, by_jack.port) == (0, 27)
    absent = known.find(Owner(names=("x1000c0r1",), adapter="a0l13"), [])
    assert absent is not None and "no cable" in absent.reason


def test_a_sites_rows_come_first(tmp_path: Path) -> None:
    (tmp_path / "ours.yaml").write_text(
        "exporters: [{name: ours, technology: slingshot, labels: {node: switch, port: port},"
        " metrics: {IfHCInOctets: {counter: IfHCOutOctets}}, unused: ['Congestion.*']}]"
    )
    table = MetricTable((tmp_path / "ours.yaml",), "slingshot")
    labels = {"switch": "x3000c0r41", "port": "24"}
    assert table.find("IfHCInOctets", labels).topic == "ldms.slingshot_port"
    assert table.find("idle_local", labels).kept and not table.maps("Congestion.rxBW")
