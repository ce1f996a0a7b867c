"""All sample files pass through their producer's source, log and writer; unusable data become dead letters."""

from __future__ import annotations

import fnmatch
import json
import os
from collections.abc import Callable
from contextlib import nullcontext
from datetime import UTC
from pathlib import Path

import pytest
from ingest.writing import Kept, drain_log, kept
from support.prometheus import Exporter

from flitwatch_db import connect
from flitwatch_db.fabrics import store as fabrics
from flitwatch_domain.errors import BadInput
from flitwatch_domain.importers import read_fabric
from flitwatch_ingest.collectors.checkpoint import Checkpoint
from flitwatch_ingest.collectors.ldms_csv import CsvCollector
from flitwatch_ingest.collectors.ncl import NclCollector
from flitwatch_ingest.collectors.publisher import Publisher
from flitwatch_ingest.collectors.sacct import publish_jobs
from flitwatch_ingest.exporters import Intake, MetricTable
from flitwatch_ingest.exporters.scraper import Scraper
from flitwatch_ingest.sources import sacct
from flitwatch_ingest.writer import WriterSettings
from flitwatch_stream.backends import open_log

pytestmark = [pytest.mark.integration, pytest.mark.shared]

SAMPLES = Path(os.environ.get("FLITWATCH_SHARED", Path(__file__).resolve().parents[3] / "shared")) / "samples"
#: Files that no producer sends, and why.
NO_INPUT = {
    "doors/README.md": "words about the captures",
    "doors/slingshot/*": "of the fabric manager and its telemetry: no source reads them yet",
    "doors/ufm/*": "of UFM's REST and its JSON: no source reads them yet; its Prometheus endpoint is scraped",
    "doors/infiniband_exporter/*": "what the exporter's own tools print: `ibnetdiscover --ports` is refused by name, perfquery "
    "is read port by port (test_perfquery)",
    "ldms/conf/*": "configuration of the ldmsd that made the captures",
    "ldms/ldms_ls_*.txt": "ldms_ls writes it for people",
    "ldms/slurm_stream_events.jsonconcat": "a stream of the Slurm plug-in that store_avro_kafka does not carry; jobs come from sacct",
    "opensm/*lft*": "routes, not counters: read by flitwatch_routing",
    "opensm/lid_matrix_head.txt": "routes, not counters",
    "opensm/opensm.fdbs_head.txt": "routes, not counters: read by flitwatch_routing",
    "opensm/xgft_guid2lid": "the LIDs that OpenSM keeps between its starts",
    "slurm/*.conf": "configuration of the Slurm that made the captures",
    "slurm/24.11/*.conf": "configuration of the Slurm that made the captures",
}
REGISTRY = "ldms/kafka/registry.json"


def captured() -> list[str]:
    files = sorted(str(path.relative_to(SAMPLES)) for path in SAMPLES.rglob("*") if path.is_file())
    return files or [pytest.param("none", marks=pytest.mark.skip(reason=f"needs the captures at {SAMPLES}"))]


def from_kafka(url: str, path: Path) -> None:
    """Lines as they were read off the topics: where each stood, then its value."""
    lines = path.read_bytes().splitlines()
    records = list(zip(lines[::2], lines[1::2], strict=True))
    assert len(records) == 4
    send(url, json.loads(lines[0])["_topic"], [value for _, value in records])
    accounted(url, [value for _, value in records])


def from_kafka_bare(url: str, path: Path) -> None:
    """Values alone."""
    values = [line for line in path.read_bytes().splitlines() if line]
    send(url, "ldms.mt-slurm" if "mt-slurm" in path.name else "ldms.meta_row", values)
    accounted(url, values)


def from_kafka_avro(url: str, path: Path) -> None:
    """One message, its schema in the registry."""
    message = path.read_bytes()
    send(url, "ldms." + path.stem.removeprefix("avro_"), [message])
    found = accounted(url, [message])
    assert not found.letters


def through_registry(url: str, path: Path) -> None:
    """Each of its schemas is known to the writer: a message cut short says so, and not that nobody knows its schema."""
    for schema_id in json.loads(path.read_bytes())["schemas"]:
        send(url, "ldms.cut", [b"\0" + int(schema_id).to_bytes(4, "big") + b"\x80"])
    assert {letter[1].split(" (")[0] for letter in kept(url).letters} == {"the record ends too early"}


def from_csv(url: str, path: Path) -> None:
    """Each line a record; a side file holds none and says so when it is named alone."""
    lines = [line for line in path.read_bytes().splitlines() if not line.startswith(b"#")]
    side = ".HEADER" in path.name or ".KIND" in path.name
    with open_log(url) as log, log.producer() as producer:
        publisher = Publisher(producer)
        with pytest.raises(BadInput, match="without rows") if side else nullcontext():
            collector = CsvCollector([path], publisher, Checkpoint(None), follow=False, host="h")
            collector.once()
            collector.close()
        publisher.flush()
    assert (publisher.published, publisher.rejected) == (0 if side else len(lines), 0)
    drain_log(url, url)
    found = kept(url)
    assert (found.accepted, found.letters) == (publisher.published, [])


def from_ncl(url: str, path: Path) -> None:
    """The whole folder is one run."""
    with open_log(url) as log, log.producer() as producer:
        publisher = Publisher(producer)
        collector = NclCollector(path.parent, publisher, Checkpoint(None))
        collector.once()
        publisher.flush()
    drain_log(url, url)
    with connect(url, autocommit=True) as conn:
        runs, steps = conn.execute("SELECT (SELECT count(*) FROM run), (SELECT count(*) FROM run_step)").fetchone()
    assert (runs, steps) == (1, 5)
    letters = [(source, reason) for source, reason, *_ in kept(url).letters]
    # The older layout of this capture has a counter that PAPI did not know: its columns are shifted, and every file of it says so.
    assert len(letters) == publisher.rejected == (10 if "yaml" in str(path) else 0)
    assert all("regions." in source or reason for source, reason in letters)


def from_sacct(url: str, path: Path) -> None:
    """Every job, its steps and its nodes."""
    jobs, rejected = sacct.decode_jobs(path.read_bytes(), path.name, zone=UTC, cluster="c")
    with open_log(url) as log, log.producer() as producer:
        publisher = Publisher(producer)
        publish_jobs(jobs, publisher)
        for number, item in enumerate(rejected, start=1):
            publisher.reject(item, f"sacct:{path}", number)
        publisher.flush()
    drain_log(url, url)
    with connect(url, autocommit=True) as conn:
        stored = conn.execute("SELECT cluster, job_id, restart FROM job").fetchall()
        steps = conn.execute("SELECT count(*) FROM job_step").fetchone()
    assert jobs
    assert set(stored) == {(job.cluster, job.job_id, job.restart) for job in jobs}
    assert steps == (sum(len(job.steps) for job in {(j.job_id, j.restart): j for j in jobs}.values()),)
    assert len(kept(url).letters) == len(rejected)


def for_people(url: str, path: Path) -> None:
    """Refused as a whole, with what to do instead."""
    with pytest.raises(BadInput, match="--parsable2"):
        sacct.decode_jobs(path.read_bytes(), path.name, zone=UTC, cluster="c")


def from_fabric(url: str, path: Path) -> None:
    """A topology."""
    found = read_fabric(path, "auto", None)
    with connect(url) as conn:
        fabric_id = fabrics.save_fabric(conn, found)
        again = fabrics.load_fabric(conn, fabric_id)
    assert len(again.routers) == len(found.routers) > 0
    assert len(again.links.src) == len(found.links.src) > 0


def from_exporter(url: str, path: Path) -> None:
    """Every sample of the page has its place in the table, or is one that the table leaves out by name."""
    exporter = Exporter(path.read_text)
    try:
        with open_log(url) as log, log.producer() as producer:
            intake = Intake(MetricTable(), Publisher(producer))
            taken = Scraper([f"http://127.0.0.1:{exporter.port}/metrics"], intake, lambda text: None).look()
    finally:
        exporter.close()
    lines = [line for line in path.read_text().splitlines() if line and not line.startswith("#")]
    assert taken.results.total() == len(lines) and taken.results["published"] > 0
    assert set(taken.results) <= {"published", "unused", "no_column", "saturated"}
    drain_log(url, url)
    found = kept(url)
    assert (found.accepted, found.letters) == (taken.results["published"], [])


READERS: dict[str, Callable[[str, Path], None]] = {
    "ldms/kafka/*.jsonl": from_kafka,
    "ldms/kafka/*invalid_json*.txt": from_kafka_bare,
    "ldms/kafka/*.bin": from_kafka_avro,
    REGISTRY: through_registry,
    "ldms/csv_*/*": from_csv,
    "doors/node_exporter/*.prom": from_exporter,
    "ariesncl/*/*": from_ncl,
    "slurm/sacct_human.txt": for_people,
    "slurm/*sacct*.txt": from_sacct,
    "slurm/*sacct*.json": from_sacct,
    "opensm/ibnetdiscover*": from_fabric,
    "opensm/*.topo": from_fabric,
}


def send(url: str, topic: str, values: list[bytes]) -> None:
    """Append without keys or headers, as ldmsd does, and run the writer to the end."""
    with open_log(url) as log, log.producer() as producer:
        for value in values:
            producer.append(topic, value)
        producer.flush()
    drain_log(url, url, settings=WriterSettings(registry=str(SAMPLES / REGISTRY)))


def accounted(url: str, values: list[bytes]) -> Kept:
    """Every record is kept, a repeat, or a dead letter with its own bytes; all that is no JSON is a dead letter."""
    found = kept(url)
    assert found.accepted + found.duplicates + len(found.letters) == len(values)
    broken = {value for value in values if value[:1] == b"{" and not is_json(value)}
    assert {raw for *_, raw in found.letters} >= broken
    assert {raw for *_, raw in found.letters} <= set(values)
    assert all(reason for _, reason, _ in found.letters)
    return found


def is_json(value: bytes) -> bool:
    try:
        json.loads(value)
    except ValueError:
        return False
    return True


@pytest.mark.parametrize("name", captured())
def test_every_capture_is_read_as_from_its_source(embedded_db: str, name: str) -> None:
    sources = [source for pattern, source in READERS.items() if fnmatch.fnmatch(name, pattern)]
    unread = [reason for pattern, reason in NO_INPUT.items() if fnmatch.fnmatch(name, pattern)]
    assert bool(sources) != bool(unread), f"{name} needs one reader, or a reason why it has none"
    if unread:
        pytest.skip(unread[0])
    sources[0](embedded_db, SAMPLES / name)
