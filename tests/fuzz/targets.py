"""Fuzz targets in Python: one function per importer, from the bytes of a file.

A target may raise only `FlitwatchError`. An input of several files is split at `CUT`.
"""

from __future__ import annotations

import atexit
import io
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import orjson

from flitwatch.commands.imports import noise_bench
from flitwatch_alerting.config import read_config
from flitwatch_core.codec import Ledger
from flitwatch_domain import generators, hostlist
from flitwatch_domain.errors import NotFound
from flitwatch_domain.fabric import number_finder
from flitwatch_domain.importers import read_fabric, read_snapshot
from flitwatch_domain.importers import sonic as sonic_tables
from flitwatch_domain.secret_file import LocalText
from flitwatch_ingest.registry import Schemas
from flitwatch_ingest.sampler.plan import SamplerPlan
from flitwatch_ingest.schemas import Claims
from flitwatch_ingest.sources import clustercockpit, ethernet, flux, ldms_csv, ncl, openconfig, pbs, sacct, sonic, swf
from flitwatch_ingest.sources.ncl_run import read_run_json
from flitwatch_ingest.writer import accounts
from flitwatch_ingest.writer.pending_rows import OUR_FAULT, PendingRows
from flitwatch_ingest.writer.places import Place
from flitwatch_ingest.writer.topic_feed import TopicFeed
from flitwatch_research import tables, topologies
from flitwatch_research.packet.jobs import read_jobs
from flitwatch_research.packet.traffic import read_traffic_csv
from flitwatch_routing import lft, patterns
from flitwatch_routing.reconstruction import files as epoch
from flitwatch_routing.traces.dag import read_dag
from flitwatch_routing.traces.dumpi import read_dumpi
from flitwatch_slurm.cluster import read_pending
from flitwatch_stream import shapes, topics
from flitwatch_stream.log import Record
from flitwatch_twin.spec import load_spec

CUT = b"\n===\n"

#: Where files cost no disk; None: there is no such place.
SHARED_MEMORY = "/dev/shm" if os.path.isdir("/dev/shm") else None

#: libFuzzer leaves without cleaning up: whoever starts it gives it a folder and removes that.
_FOLDER = Path(tempfile.mkdtemp(prefix="flitwatch-fuzz-", dir=os.environ.get("TMPDIR", SHARED_MEMORY)))
atexit.register(shutil.rmtree, _FOLDER, ignore_errors=True)


def _file(data: bytes, name: str) -> Path:
    path = _FOLDER / name
    path.write_bytes(data)
    return path


def _files(data: bytes, *names: str) -> list[Path]:
    parts = data.split(CUT, len(names) - 1)
    parts += [b""] * (len(names) - len(parts))
    return [_file(part, name) for part, name in zip(parts, names, strict=True)]


def cray_interconnect(data: bytes) -> None:
    """`rtr --interconnect` text, as far as the simulator's graph."""
    topologies.of_fabric(read_fabric(_file(data, "fuzz.interconnect"), "cray"))


def slingshot_links(data: bytes) -> None:
    """The links of Slingshot's fabric manager, as far as the simulator's graph."""
    topologies.of_fabric(read_fabric(_file(data, "fuzz-links.txt"), "slingshot"))


def ibnetdiscover(data: bytes) -> None:
    """ibnetdiscover's output, as far as the simulator's graph."""
    topologies.of_fabric(read_fabric(_file(data, "fuzz-topo.txt"), "ibnetdiscover"))


def topology_spec(data: bytes) -> None:
    """The short text form of a topology; `file:` reads a file whose format is to be found out."""
    head, _, rest = data.partition(CUT)
    text = head.decode("utf-8", errors="replace")
    if text.strip().startswith("file:"):
        text = LocalText(f"file:{_file(rest, 'fuzz-spec.txt')}")
    elif text.strip() in ("theta", "edison", "quartz1"):
        return  # no input reaches them, and each takes a second
    topologies.describe_topology(topologies.parse_topology(text))


def lldp_neighbours(data: bytes) -> None:
    """LLDP neighbours of SONiC, lldpd or OpenConfig, as far as the simulator's graph."""
    topologies.of_fabric(read_fabric(_file(data, "fuzz-lldp.json"), "lldp"))


def sonic_counters(data: bytes) -> None:
    """A dump of SONiC's COUNTERS_DB, as records for the log."""
    try:
        document = orjson.loads(data)
    except orjson.JSONDecodeError:
        return
    _ethernet(sonic.reading_of(sonic_tables.tables_of(document), 1.0, "fuzz"))


def openconfig_values(data: bytes) -> None:
    """A container of OpenConfig as JSON, as counters and as a switch."""
    try:
        document = orjson.loads(data)
    except orjson.JSONDecodeError:
        return
    reading = ethernet.Reading(1.0)
    openconfig.add_counters(reading, [((), document)])
    _ethernet(reading)
    openconfig.switch_of([((), document)], "fuzz")


def _ethernet(reading: ethernet.Reading) -> None:
    for _, _, record in ethernet.records_of(reading, "fuzz", ethernet.Tally()):
        orjson.dumps(record)


def dragonview(data: bytes) -> None:
    """Cable list, network counters and jobs of a snapshot."""
    links, counters, jobs = _files(data, "links-fuzz.txt", "counters.csv", "jobs.csv")
    read_snapshot(links, counters, jobs)


def sacct_output(data: bytes) -> None:
    """sacct, parsable2 or JSON, as records for the log."""
    for job in sacct.decode_jobs(data, "fuzz")[0]:
        sacct.to_job_record(job)
        assert job.array_task is None or job.array_task >= 0


def _jobs(
    reader: pbs.PbsReader | flux.FluxReader | swf.SwfReader | clustercockpit.ClusterCockpitReader, data: bytes
) -> None:
    for item in (*reader.read(io.BytesIO(data), "fuzz"), *reader.rest()):
        if isinstance(item, tuple):
            accounts.job_of(shapes.parse_job(orjson.dumps(sacct.to_job_record(item[0]))))


def pbs_accounting(data: bytes) -> None:
    """An accounting log of PBS."""
    _jobs(pbs.PbsReader(), data)


def flux_jobs(data: bytes) -> None:
    """Jobs of Flux as JSON."""
    _jobs(flux.FluxReader(), data)


def workload_format(data: bytes) -> None:
    """A log in the Standard Workload Format."""
    _jobs(swf.SwfReader(), data)


def clustercockpit_meta(data: bytes) -> None:
    """A job of ClusterCockpit's archive."""
    _jobs(clustercockpit.ClusterCockpitReader(), data)


def aries_ncl(data: bytes) -> None:
    """timings.json, one step's counters, counters.txt and run.json."""
    folder = _FOLDER / "ncl"
    folder.mkdir(exist_ok=True)
    _files(data, "ncl/app.timings.json", "ncl/app.counters.0.bin", "ncl/counters.txt", "ncl/run.json")
    for head in ncl.find_runs(folder):
        ncl.to_run_records(ncl.read_run(head))


def aries_ncl_yaml(data: bytes) -> None:
    """The older nettiles.yaml of one step, and counters.txt."""
    folder = _FOLDER / "ncl-yaml"
    folder.mkdir(exist_ok=True)
    _files(data, "ncl-yaml/app.nettiles.0.yaml", "ncl-yaml/counters.txt", "ncl-yaml/app.proctiles.0.yaml")
    for head in ncl.find_runs(folder):
        ncl.to_run_records(ncl.read_run(head))


def run_json(data: bytes) -> None:
    """run.json alongside AriesNCL's files."""
    read_run_json(_FOLDER, _file(data, "run.json"))


def ldms_store_csv(data: bytes) -> None:
    """A store_csv file; its first line may be its name."""
    name, newline, rest = data.partition(b"\n")
    if newline:
        ldms_csv.parse_name(name.decode("utf-8", errors="replace"))
    decoder = ldms_csv.Decoder("fuzz")
    for number, line in enumerate(rest.splitlines(keepends=True), 1):
        decoder.line(line, number)


def noise_bench_lines(data: bytes) -> None:
    """JSON lines of the MPI microbenchmark."""
    noise_bench.read_measurements(_file(data, "noise.jsonl"))


def message_dag(data: bytes) -> None:
    """Our message DAG and GOAL text, as far as the engine's operations."""
    dag = read_dag(_file(data, "fuzz.dag"))
    if dag.ranks <= 10_000:
        dag.to_ops(range(dag.ranks))  # type: ignore[arg-type]


def dumpi_text(data: bytes) -> None:
    """dumpi2ascii of two ranks."""
    dag = read_dumpi(_files(data, "dumpi-0.txt", "dumpi-1.txt"))
    dag.to_ops(range(2))  # type: ignore[arg-type]


def traffic_csv(data: bytes) -> None:
    """Traffic as src,dst,bytes."""
    read_traffic_csv(_file(data, "traffic.csv"), 64)


def routed_traffic(data: bytes) -> None:
    """Traffic to route: CSV of pairs, with packets or with bounds, or a measured communication matrix."""
    patterns.read_file(_file(data, "traffic"), 64)


def jobs_csv(data: bytes) -> None:
    """Jobs of a packet simulation."""
    read_jobs(_file(data, "jobs-of-run.csv"))


def twin_spec(data: bytes) -> None:
    """The twin's YAML."""
    load_spec(str(_file(data, "twin.yaml")))


def host_list(data: bytes) -> None:
    """Slurm host lists: what was expanded and compressed expands to the same hosts."""
    hosts = hostlist.expand_hosts(data.decode("utf-8", errors="replace"), limit=10_000)
    hostlist.compress_hosts(hosts)


#: Three routers with two endpoints each; a file's counters, tables and LIDs are looked up in it.
_FABRIC = generators.build_dragonfly(1, 1, 3, endpoints_per_router=2, blue_routers=0, name="fuzz")
#: One router of 48 ports of link class 0.
_WIRED = np.ones((1, 48), np.uint8)


def sensing_epoch(data: bytes) -> None:
    """counters.csv, sl2vl.csv, pair_sl.csv or jobs.csv of a sensing epoch: the first byte says which."""
    which, path = data[:1], _file(data[1:], "epoch.csv")
    if which == b"c":
        epoch.read_counters(path, _FABRIC, 2)
    elif which == b"m":
        epoch.read_counters(path, _FABRIC, 2, 4096.0)
    elif which == b"l":
        epoch.read_lanes([path], _FABRIC)
    elif which == b"p":
        epoch.read_pairs(path, 64)
    else:
        epoch.read_jobs(path, number_finder(64))


def lft_tables(data: bytes) -> None:
    """A dump of linear forwarding tables, looked up in a fabric; the first byte is the LMC."""
    lft.read_dump(_file(data[1:], "opensm-lfts.dump"), _FABRIC, data[0] % 4 if data else 0)


def run_tables(data: bytes) -> None:
    """CSV tables of runs: presence and times, or steps with their counters."""
    if data[:1] == b"p":
        tables.read_presence(*_files(data[1:], "presence.csv", "times.csv"))
    else:
        tables.read_steps(_file(data[1:], "steps.csv"))


def alert_config(data: bytes) -> None:
    """The file of alerting."""
    read_config(_file(data, "alerts.yaml")).check()


def sampler_plan(data: bytes) -> None:
    """A packet sampler's plan."""
    SamplerPlan.read(_file(data, "plan.json"))


def squeue_json(data: bytes) -> None:
    """What squeue tells the Slurm agent."""
    read_pending(data)


class _OneSchema:
    """A registry that knows a single schema."""

    def __init__(self, text: str) -> None:
        self._text = text

    def text(self, schema_id: int) -> str:
        if schema_id != 1:
            raise NotFound(f"schema {schema_id} is unknown")
        return self._text


class _OneRouter:
    """Whoever sends is the first router, with its own endpoints."""

    def find(self, kind: object, component: int | None, owner: object, hint: str) -> Place:
        return (
            Place(1, 0, port=0, endpoints=(0, 1, 2, 3, -1), device="router")
            if component != 7
            else Place(device="nobody", reason="unknown")
        )


def _records(topic: str, lines: list[bytes]) -> list[Record]:
    return [Record(topic, 0, offset, 0, None, line, []) for offset, line in enumerate(lines)]


def ldms_topic(data: bytes) -> None:
    """Records of a topic that nobody knows yet: its name, the Avro schema 1, then a line each. All are counted or refused with the reason."""
    name, schema, rest = ([*data.split(CUT, 2), b"", b""])[:3]
    lines = rest.split(b"\n")
    topic = "ldms." + name.decode("utf-8", errors="replace")
    ledger, pending_rows = Ledger(), PendingRows()
    ledger.wire(1, _WIRED, 4)
    schemas = Schemas(_OneSchema(schema.decode("utf-8", errors="replace")))
    feed = TopicFeed(topic, ledger, Claims(), _OneRouter(), schemas, lambda schema: len(schema.columns))  # type: ignore[arg-type]
    feed.consume(_records(topic, lines), pending_rows, replaying=False)
    feed.consume(_records(topic, lines), pending_rows, replaying=True)
    feed.feed.give_up_held()
    feed.collect(pending_rows)
    taken = sum(pending_rows.schema_records.values()) + pending_rows.rates[topic].duplicates + len(pending_rows.letters)
    assert taken <= 2 * len(lines)
    _no_fault(pending_rows)


def _no_fault(pending_rows: PendingRows) -> None:
    assert not [letter.reason for letter in pending_rows.letters if OUR_FAULT in letter.reason]


def own_records(data: bytes) -> None:
    """Records of our own topics, as the writer takes them: what cannot be used becomes a dead letter."""
    topic = {b"j": topics.JOBS, b"r": topics.RUNS, b"s": topics.SAMPLES}.get(data[:1], topics.JOBS)
    pending_rows = PendingRows()
    for record in _records(topic, data[1:].split(b"\n")):
        accounts.decode_own_record(record, pending_rows)
    assert (
        len(pending_rows.letters) + len(pending_rows.jobs) + len(pending_rows.runs) + len(pending_rows.samples)
        == data[1:].count(b"\n") + 1
    )
    _no_fault(pending_rows)


TARGETS: dict[str, Callable[[bytes], None]] = {
    target.__name__: target
    for target in (
        cray_interconnect, slingshot_links, ibnetdiscover, topology_spec, dragonview, sacct_output, aries_ncl, aries_ncl_yaml, run_json, ldms_store_csv,
        noise_bench_lines, message_dag, dumpi_text, traffic_csv, routed_traffic, jobs_csv, twin_spec, host_list, sensing_epoch, lft_tables, run_tables, alert_config,
        sampler_plan, squeue_json, ldms_topic, own_records, pbs_accounting, flux_jobs, workload_format, clustercockpit_meta,
        lldp_neighbours, sonic_counters, openconfig_values,
    )
}  # fmt: skip
