"""Cost of a log: core-seconds of producer, consumer and server per second of a feed with 13,056 records.

    python tests/benchmarks/log.py --backend table|kafka --bytes 1000 --seconds 10

Prints one JSON object. The oracle: every record is read once.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import tempfile
import time
from pathlib import Path

from flitwatch_stream.backends import open_log

RECORDS_PER_S = 13_056
TICKS_S = os.sysconf("SC_CLK_TCK")


def cpu_s(pids: list[int]) -> float:
    total = 0
    for pid in pids:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        total += int(fields[11]) + int(fields[12])
    return total / TICKS_S


def of_folder(data: Path) -> list[int]:
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and Path(os.readlink(entry / "cwd")) == data:
                found.append(int(entry.name))
        except OSError:
            continue
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--backend", choices=["table", "kafka"], default="table")
    parser.add_argument("--bytes", type=int, default=1000)
    parser.add_argument("--seconds", type=int, default=10)
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="flitwatch-bench-", dir="/dev/shm"))
    if options.backend == "table":
        from flitwatch_db.migrations import migrate_database
        from flitwatch_ops.embedded import Embedded

        server = Embedded(folder)
        migrate_database(server.start())
    else:
        from flitwatch_ops.stack.kafka import Kafka

        server = Kafka(folder)
        server.start()
    try:
        print(json.dumps(measure(server, options.bytes, options.seconds) | vars(options)))
    finally:
        server.destroy()
        shutil.rmtree(folder, ignore_errors=True)


def measure(server, size: int, seconds: int) -> dict:
    data = (server.folder / "data").resolve()
    # Random, so that lz4 finds nothing: the costliest case.
    value = os.urandom(size)

    def server_cpu_s() -> float:
        return cpu_s(of_folder(data) or [server.pid()])

    with open_log(server.url) as log, log.producer() as producer:
        producer.append("bench", b"warm up")
        producer.flush(60)
        start = (time.process_time(), server_cpu_s(), time.perf_counter())
        for second in range(seconds):
            for number in range(RECORDS_PER_S):
                producer.append(
                    "bench",
                    value,
                    headers=[("source", b"host:/path"), ("sequence", b"%d" % (second * RECORDS_PER_S + number))],
                )
                if number % 1306 == 0:
                    producer.flush()
            producer.flush()
        appended = (time.process_time(), server_cpu_s(), time.perf_counter())
        with log.consumer("bench", ["bench"]) as consumer:
            found = 0
            while found < RECORDS_PER_S * seconds + 1:
                found += len(consumer.poll(5000, 5.0))
            read = (time.process_time(), server_cpu_s(), time.perf_counter())
        assert found == RECORDS_PER_S * seconds + 1
    names = ("producer_core_s_per_s", "append_server_core_s_per_s", "append_wall_s_per_s")
    result = {name: round((b - a) / seconds, 4) for name, a, b in zip(names, start, appended, strict=True)}
    names = ("consumer_core_s_per_s", "read_server_core_s_per_s", "read_wall_s_per_s")
    return result | {name: round((b - a) / seconds, 4) for name, a, b in zip(names, appended, read, strict=True)}


if __name__ == "__main__":
    main()
