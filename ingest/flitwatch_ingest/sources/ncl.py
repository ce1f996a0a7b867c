"""AriesNCL output: a folder with `<exe>.timings.json` and `<exe>.counters.<step>.bin` (or the older `<exe>.nettiles.<n>.yaml`).

AriesNCL writes no wall-clock time, host or job: a `run.json` in the same folder gives the run's start, job and nodes. A name in counters.txt that is
unknown to PAPI shifts the columns after it and leaves garbage in the last one. Such counter files are refused; the step times are kept.
"""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from flitwatch_domain.counters import identify_counter
from flitwatch_domain.errors import BadInput, NotFound
from flitwatch_domain.runs import Run, RunRecord, RunStep, RunStepRecord
from flitwatch_ingest.sources import ncl_yaml
from flitwatch_ingest.sources.ncl_run import NclRun, RunFacts, read_run_json
from flitwatch_ingest.sources.rejection import Rejection

_BIN = re.compile(r"(.+)\.counters\.([0-9]{1,9})\.bin")
_MOST_RANKS, _MOST_COUNTERS, _LONGEST_STEP_NS = 1_000_000, 10_000, 10 * 86400 * 10**9
#: Upper bound of an Aries counter's rate: 48 tiles of 8 channels, or a NIC's bytes, stay below it.
_MOST_COUNTS_PER_NS = 320.0


def find_runs(folder: str | Path) -> list[Path]:
    """Return the first file of each run in `folder`: each `*.timings.json`, or the first `*.nettiles.*.yaml` of an application."""
    place = Path(folder)
    if not place.is_dir():
        raise NotFound(f"{place} is not a folder", advice="Name the folder with AriesNCL's output.")
    heads = sorted(place.glob("*.timings.json"))
    exes = {head.name.removesuffix(".timings.json") for head in heads}
    for exe, head in sorted(ncl_yaml.find_yaml_heads(place).items()):
        if exe not in exes:
            heads.append(head)
    return heads


def read_run(head: Path, run_json: str | Path | None = None) -> NclRun:
    """Read the run of `head` (see `find_runs`). Raise BadInput if the head or the run.json is unusable. Single bad counter files are `rejected`
    instead."""
    facts = read_run_json(head.parent, run_json)
    if head.suffix == ".yaml":
        return ncl_yaml.read_yaml_run(head, facts)
    exe_name = head.name.removesuffix(".timings.json")
    data = _read_file(head)
    names, ranks, times = _parse_timings(data, str(head))
    key = hashlib.blake2b(data, digest_size=8).hexdigest()
    rejected: list[Rejection] = []
    refusal = _doubtful_names(names, head.parent)
    steps = []
    for step in sorted(times):
        values = _read_counts(
            head.parent / f"{exe_name}.counters.{step}.bin", names, ranks, times[step], refusal, rejected
        )
        steps.append(RunStep(step, times[step], values))
    for file in sorted(head.parent.glob(f"{exe_name}.counters.*.bin")):
        match = _BIN.fullmatch(file.name)
        if match and int(match.group(2)) not in times:
            rejected.append(
                Rejection(str(file), f"{head.name} has no times of step {int(match.group(2))}", read_beginning(file))
            )
    return NclRun(facts.run(exe_name, key, ranks, names), tuple(steps), tuple(rejected))


def _read_file(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as problem:
        raise BadInput(problem.strerror or str(problem), where=str(path)) from problem


def _parse_timings(data: bytes, where: str) -> tuple[list[str], list[int], dict[int, NDArray[np.int64]]]:
    """Return counter names, ranks and each step's times in ns."""
    try:
        value: Any = orjson.loads(data)
    except orjson.JSONDecodeError as broken:
        raise BadInput(
            f"is not JSON: {broken}", where=where, advice="The run has not ended, or the file is incomplete."
        ) from None
    if not isinstance(value, dict):
        raise BadInput("is not an object with counter_names, ranks and timings", where=where)
    names, ranks, timings = value.get("counter_names"), value.get("ranks"), value.get("timings")
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names) or len(names) > _MOST_COUNTERS:
        raise BadInput("counter_names is not a list of names", where=where)
    if not _whole_numbers(ranks, _MOST_RANKS) or not ranks or len(set(ranks)) != len(ranks):
        raise BadInput("ranks is not a list of different ranks", where=where)
    if not isinstance(timings, list):
        raise BadInput("timings is not a list of steps", where=where)
    times: dict[int, NDArray[np.int64]] = {}
    for number, entry in enumerate(timings):
        here = f"{where}: timings[{number}]"
        step = entry.get("timestep") if isinstance(entry, dict) else None
        if type(step) is not int or not 0 <= step < 10**9:
            raise BadInput("has no timestep", where=here)
        if not _whole_numbers(entry.get("time"), _LONGEST_STEP_NS) or len(entry["time"]) != len(ranks):
            raise BadInput(f"time is not one number of nanoseconds for each of {len(ranks)} ranks", where=here)
        if step in times:
            raise BadInput(f"step {step} occurs twice", where=here)
        times[step] = np.array(entry["time"], np.int64)
    return names, ranks, times


def _whole_numbers(values: Any, below: int) -> bool:
    return isinstance(values, list) and all(type(value) is int and 0 <= value < below for value in values)


def _doubtful_names(names: list[str], folder: Path) -> str | None:
    """Return the reason why the columns of the counter files are unreliable, or None."""
    requested = _asked_for(folder)
    if requested is not None and len(requested) != len(names):
        return f"counters.txt asks for {len(requested)} counters, {len(names)} were recorded: columns are shifted"
    if len(set(names)) != len(names):
        return "counter_names has a name twice: columns are shifted"
    for name in names:
        if name.removeprefix("cray_npu:::").startswith("AR_RTR_") and identify_counter(name) is None:
            return f"Aries has no counter {name}: the columns after it are shifted"
        if not re.fullmatch(r"(cray_npu:::)?AR_[A-Z0-9_:]+", name):
            return f"{name[:60]!r} is not the name of an Aries counter: the columns after it are shifted"
    return None


def _asked_for(folder: Path) -> list[str] | None:
    file = folder / "counters.txt"
    if not file.is_file():
        return None
    lines = file.read_text(errors="replace").splitlines()
    return [line.strip() for line in lines if line.strip() and not line.lstrip().startswith("#")]


def _read_counts(
    file: Path,
    names: list[str],
    ranks: list[int],
    time_ns: NDArray[np.int64],
    refusal: str | None,
    rejected: list[Rejection],
) -> NDArray[np.int64] | None:
    """Return counts of a step, [rank, counter]; None, and a rejection, if they are unreliable."""
    if not names:
        return None
    expected = 8 * len(ranks) * len(names)
    try:
        size = file.stat().st_size
        reason = refusal
        if size != expected:
            reason = f"has {size} bytes, expected {expected} for {len(ranks)} ranks of {len(names)} counters"
        if reason is None:
            values = np.frombuffer(file.read_bytes(), "=i8").reshape(len(ranks), len(names))
            reason = _find_implausible(values, names, ranks, time_ns)
            if reason is None:
                return values.astype(np.int64)
        rejected.append(Rejection(str(file), reason, read_beginning(file)))
    except FileNotFoundError:
        rejected.append(Rejection(str(file), "is missing: the step's counters are unknown"))
    except (OSError, ValueError) as problem:
        rejected.append(Rejection(str(file), str(problem)))
    return None


def _find_implausible(
    values: NDArray[np.int64], names: list[str], ranks: list[int], time_ns: NDArray[np.int64]
) -> str | None:
    """Return a description of a value that a counter cannot reach within the step, if there is one. Pointers (VC_PTR) are not counts."""
    counts = np.array([not name.endswith("_PTR") for name in names])
    limit = np.maximum(time_ns.astype(float), 1e6) * _MOST_COUNTS_PER_NS
    wrong = (values < 0) | ((values > limit[:, None]) & counts)
    if not wrong.any():
        return None
    rank, column = (int(at[0]) for at in np.nonzero(wrong))
    return (
        f"rank {ranks[rank]} has {int(values[rank, column])} for {names[column]} in {time_ns[rank] / 1e9:.6f} s, which no Aries counter "
        "reaches: an invalid name in counters.txt shifts the columns"
    )


def read_beginning(file: Path) -> bytes:
    """Return up to 64 KiB of a file; nothing if it cannot be read."""
    try:
        with file.open("rb") as stream:
            return stream.read(65536)
    except OSError:
        return b""


def to_run_records(found: NclRun) -> list[RunRecord | RunStepRecord]:
    """Return the JSON values of topic flitwatch.runs.v1 (docs/contracts/log.md): the run, then its steps."""
    run = found.run
    head: RunRecord = {
        "type": "run",
        "run_key": run.run_key,
        "job_id": run.job_id,
        "exe": run.exe,
        "start": run.start_s,
        "ranks": [{"rank": rank, "node": node} for rank, node in zip(run.ranks, run.nodes, strict=True)],
        "counters": list(run.counters),
        "simulated": run.simulated,
    }
    return [head, *(_step_record(run, step) for step in found.steps)]


def _step_record(run: Run, step: RunStep) -> RunStepRecord:
    return {
        "type": "step",
        "run_key": run.run_key,
        "step": step.step,
        "time_ns": step.time_ns.tolist(),
        "values": None if step.values is None else step.values.tolist(),
    }


__all__ = ["NclRun", "RunFacts", "find_runs", "read_run", "to_run_records"]
