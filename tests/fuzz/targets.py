"""What is fuzzed in Python: one function an importer, from bytes as a file would hold them.

Only `FlitwatchError` may come out of a target. An input of several files is cut at `CUT`.
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from flitwatch.commands.imports import noise_bench
from flitwatch_domain import hostlist
from flitwatch_domain.importers import read_fabric, read_snapshot
from flitwatch_ingest.sources import ldms_csv, ncl, sacct
from flitwatch_ingest.sources.ncl_run import read_run_json
from flitwatch_routing.matrices import read_matrix
from flitwatch_simulation import topologies
from flitwatch_simulation.packet.jobs import read_jobs
from flitwatch_simulation.twin.spec import load_spec
from flitwatch_simulation.workloads.dag import read_dag
from flitwatch_simulation.workloads.dumpi import read_dumpi
from flitwatch_simulation.workloads.traffic import read_traffic_csv

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


def ibnetdiscover(data: bytes) -> None:
    """ibnetdiscover's output, as far as the simulator's graph."""
    topologies.of_fabric(read_fabric(_file(data, "fuzz-topo.txt"), "ibnetdiscover"))


def topology_spec(data: bytes) -> None:
    """The short text form of a topology; `file:` reads a file whose format is to be found out."""
    head, _, rest = data.partition(CUT)
    text = head.decode("utf-8", errors="replace")
    if text.strip().startswith("file:"):
        text = f"file:{_file(rest, 'fuzz-spec.txt')}"
    elif text.strip() in ("theta", "edison", "quartz1"):
        return  # no input reaches them, and each takes a second
    topologies.describe(topologies.parse(text))


def dragonview(data: bytes) -> None:
    """Cable list, network counters and jobs of a snapshot."""
    read_snapshot(*_files(data, "links-fuzz.txt", "counters.csv", "jobs.csv"))


def sacct_output(data: bytes) -> None:
    """sacct, parsable2 or JSON, as records for the log."""
    for job in sacct.decode(data, "fuzz")[0]:
        sacct.record(job)
        assert job.array_task is None or job.array_task >= 0


def aries_ncl(data: bytes) -> None:
    """timings.json, one step's counters, counters.txt and run.json."""
    folder = _FOLDER / "ncl"
    folder.mkdir(exist_ok=True)
    _files(data, "ncl/app.timings.json", "ncl/app.counters.0.bin", "ncl/counters.txt", "ncl/run.json")
    for head in ncl.find_runs(folder):
        ncl.records(ncl.read_run(head))


def aries_ncl_yaml(data: bytes) -> None:
    """The older nettiles.yaml of one step, and counters.txt."""
    folder = _FOLDER / "ncl-yaml"
    folder.mkdir(exist_ok=True)
    _files(data, "ncl-yaml/app.nettiles.0.yaml", "ncl-yaml/counters.txt", "ncl-yaml/app.proctiles.0.yaml")
    for head in ncl.find_runs(folder):
        ncl.records(ncl.read_run(head))


def run_json(data: bytes) -> None:
    """run.json beside AriesNCL's files."""
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
    noise_bench.read(_file(data, "noise.jsonl"))


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


def traffic_matrix(data: bytes) -> None:
    """A measured communication matrix."""
    read_matrix(_file(data, "matrix.txt"))


def jobs_csv(data: bytes) -> None:
    """Jobs of a packet simulation."""
    read_jobs(_file(data, "jobs-of-run.csv"))


def twin_spec(data: bytes) -> None:
    """The twin's YAML."""
    load_spec(str(_file(data, "twin.yaml")))


def host_list(data: bytes) -> None:
    """Slurm host lists: what was expanded and compressed expands to the same hosts."""
    hosts = hostlist.expand(data.decode("utf-8", errors="replace"), limit=10_000)
    hostlist.compress(hosts)


TARGETS: dict[str, Callable[[bytes], None]] = {
    target.__name__: target
    for target in (
        cray_interconnect, ibnetdiscover, topology_spec, dragonview, sacct_output, aries_ncl, aries_ncl_yaml, run_json, ldms_store_csv,
        noise_bench_lines, message_dag, dumpi_text, traffic_csv, traffic_matrix, jobs_csv, twin_spec, host_list,
    )
}  # fmt: skip
