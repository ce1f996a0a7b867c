"""Destinations of the twin's records: the log, under the producers' topics, or files in the producers' layout."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO, Protocol, TextIO

import numpy as np
import orjson
from numpy.typing import NDArray

from flitwatch_domain.hostlist import expand_hosts
from flitwatch_stream.log import Producer
from flitwatch_stream.topics import JOBS, RUNS, SIMULATED
from flitwatch_twin.accounting import COLUMNS, TwinJob, slurm_json, switched_off, to_parsable2
from flitwatch_twin.ldms_sets import SetLayout
from flitwatch_twin.ncl_files import write_run
from flitwatch_twin.runs import InstrumentedRun, RecordedStep

HEADERS = ((SIMULATED, b"1"),)


class Sink(Protocol):
    """Receives the records of each second."""

    def sets(self, layout: SetLayout, taken: NDArray[np.int64], second: int, micros: NDArray[np.int64]) -> int:
        """Accept one layout's values (int64[D, M]) sampled after an epoch second. Return the bytes written."""
        ...

    def job(self, record: TwinJob, now_s: int) -> None:
        """Accept a job that started or ended."""
        ...

    def run(self, run: InstrumentedRun, header: dict[str, Any]) -> None:
        """Accept the start of an instrumented run."""
        ...

    def step(self, run: InstrumentedRun, step: RecordedStep) -> None:
        """Accept a finished time step."""
        ...

    def run_end(self, run: InstrumentedRun, header: dict[str, Any]) -> None: ...

    def second_end(self) -> None:
        """Mark the end of a second: all its records have been passed."""
        ...

    def close(self, still_running: list[TwinJob], now_s: int) -> None:
        """Close the sink. `still_running` are the records of jobs that have not ended."""
        ...


class LogSink:
    """Publishes to a log. `schema_id` returns the registry's id of an Avro schema; None selects JSON."""

    def __init__(self, producer: Producer, schema_id: Callable[[SetLayout], int] | None = None) -> None:
        self._producer = producer
        self._schema_id = schema_id
        self._ids: dict[str, int] = {}

    def sets(self, layout: SetLayout, taken: NDArray[np.int64], second: int, micros: NDArray[np.int64]) -> int:
        """Publish one record per device, without key or partition, as `store_avro_kafka` does."""
        if self._schema_id is None:
            records = layout.json_records(taken, second, micros)
        else:
            if layout.topic not in self._ids:
                self._ids[layout.topic] = self._schema_id(layout)
            records = layout.avro_records(taken, second, micros, self._ids[layout.topic])
        size, append, topic = 0, self._producer.append, layout.topic
        for value in records:
            append(topic, value, headers=HEADERS)
            size += len(value)
        return size

    def job(self, record: TwinJob, now_s: int) -> None:
        self._producer.append(JOBS, orjson.dumps(record), key=record["cluster"].encode(), headers=HEADERS)

    def run(self, run: InstrumentedRun, header: dict[str, Any]) -> None:
        """Publish the run's header."""
        self._producer.append(RUNS, orjson.dumps(header), key=run.key.encode(), headers=HEADERS)

    def step(self, run: InstrumentedRun, step: RecordedStep) -> None:
        value = {
            "type": "step",
            "run_key": run.key,
            "step": step.step,
            "time_ns": step.time_ns.tolist(),
            "values": step.values.tolist(),
        }
        self._producer.append(RUNS, orjson.dumps(value), key=run.key.encode(), headers=HEADERS)

    def run_end(self, run: InstrumentedRun, header: dict[str, Any]) -> None:
        """Do nothing: every step is already published."""

    def second_end(self) -> None:
        self._producer.flush()

    def close(self, still_running: list[TwinJob], now_s: int) -> None:
        """End the running jobs, because the machine is switched off. Flush and close the producer."""
        for record in still_running:
            self.job(switched_off(record, now_s), now_s)
        self._producer.flush()
        self._producer.close()


class FileSink:
    """Writes files to one folder: `ldms/<row schema>` (store_csv, as_is), `sacct.txt`, `sacct.json`, `ncl/<run>/`."""

    def __init__(self, folder: Path, cluster: str) -> None:
        self._folder = folder
        self._cluster = cluster
        (folder / "ldms").mkdir(parents=True, exist_ok=True)
        self._csv: dict[str, BinaryIO] = {}
        self._text: TextIO = (folder / "sacct.txt").open("w", encoding="utf-8")
        self._text.write(COLUMNS + "\n")
        self._json_part = folder / "sacct.json.part"
        self._json: TextIO = self._json_part.open("w", encoding="utf-8")
        self._json.write('{\n  "jobs": [\n')
        self._jobs = 0

    def sets(self, layout: SetLayout, taken: NDArray[np.int64], second: int, micros: NDArray[np.int64]) -> int:
        """Append one line per device to the layout's file."""
        if layout.row_schema not in self._csv:
            handle = (self._folder / "ldms" / layout.row_schema).open("wb")
            handle.write(layout.csv_header())
            self._csv[layout.row_schema] = handle
        rows = layout.csv_rows(taken, second, micros)
        self._csv[layout.row_schema].write(rows)
        return len(rows)

    def job(self, record: TwinJob, now_s: int) -> None:
        """Store an ended job. A running one is written at the end, because `sacct` shows each job once."""
        if record["end"] is not None:
            self._write_accounting(record, now_s)

    def run(self, run: InstrumentedRun, header: dict[str, Any]) -> None:
        """Do nothing: AriesNCL writes when the application ends."""

    def step(self, run: InstrumentedRun, step: RecordedStep) -> None:
        """Do nothing: AriesNCL writes when the application ends."""

    def run_end(self, run: InstrumentedRun, header: dict[str, Any]) -> None:
        """Write the run's AriesNCL files."""
        write_run(self._folder / "ncl" / run.key, run, header)

    def second_end(self) -> None:
        """Do nothing: the operating system flushes files."""

    def close(self, still_running: list[TwinJob], now_s: int) -> None:
        """Write the running jobs and close every file."""
        for record in still_running:
            self._write_accounting(record, now_s)
        meta = {
            "plugin": {
                "type": "",
                "name": "",
                "data_parser": "data_parser/v0.0.42",
                "accounting_storage": "accounting_storage/slurmdbd",
            },
            "command": ["sacct", "--json", "--allusers"],
            "slurm": {
                "version": {"major": "24", "micro": "5", "minor": "11"},
                "release": "24.11.5",
                "cluster": self._cluster,
            },
        }
        self._json.write(f'\n  ],\n  "meta": {json.dumps(meta)},\n  "errors": [],\n  "warnings": []\n}}\n')
        self._json.close()
        self._text.close()
        for handle in self._csv.values():
            handle.close()
        self._json_part.replace(self._folder / "sacct.json")

    def _write_accounting(self, record: TwinJob, now_s: int) -> None:
        self._text.write(to_parsable2(record, now_s))
        self._json.write((",\n" if self._jobs else "") + orjson.dumps(slurm_json(record, now_s, expand_hosts)).decode())
        self._jobs += 1
