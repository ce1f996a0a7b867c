"""`flitwatch bench import`: a long sacct text through reader, log, writer and database, with a final count of all rows."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

import click

from flitwatch.console import exit_with_error, json_option, print_result

if TYPE_CHECKING:
    import psycopg

#: A job, its batch script, its extern step and one srun: sacct's output for most jobs.
STEPS = ("batch", "extern", "0")
LINES_PER_JOB = 1 + len(STEPS)
#: Number of nodes of the machine, and of jobs started per second.
NODES, JOBS_PER_S = 4096, 4
_START_S = 1_780_000_000
_LOOK_S = 0.02


class ImportFigures(TypedDict):
    """Rate, memory and times of an import; `lines_per_s` uses its own CPU time `cpu_s`, without the database's `database_cpu_s`.

    `first_row_s` is the wall time, and `first_row_cpu_s` the import's own processor time, until the first job is in the database.
    """

    lines: int
    jobs: int
    steps: int
    seconds: float
    lines_per_s: int
    cpu_s: float
    database_cpu_s: float
    peak_rss_mb: float
    first_row_s: float
    first_row_cpu_s: float


@click.command("import")
@click.option("--lines", type=click.IntRange(LINES_PER_JOB, 100_000_000), default=1_000_000, help="Lines.")
@json_option
def import_(lines: int, as_json: bool) -> None:
    """Import a long output of sacct on one core, with the database on the others, and count every job and step.

    Four lines per job. The rate uses the import's processor time (lines_per_s, cpu_s), without the database's (database_cpu_s); `seconds` and
    `first_row_s` count from the start of the command `flitwatch import sacct`. The exit status is 1 if a row is missing or refused.
    """
    from flitwatch_db import connect
    from flitwatch_ops.platform import open_database

    with (
        tempfile.TemporaryDirectory() as folder,
        open_database(None, True) as url,
        connect(url, autocommit=True) as conn,
    ):
        file = Path(folder) / "sacct.txt"
        with file.open("w") as out:
            out.writelines(islice(write_lines(), lines + 1))
        figures, stored = _run_import(url, file, lines, conn)
    print_result(figures, as_json)
    jobs = -(-lines // LINES_PER_JOB)
    wanted = (jobs, lines - jobs, 0)
    if stored != wanted:
        exit_with_error(f"the import stored {stored} jobs, steps and refusals, and {wanted} were written")


def write_lines() -> Iterator[str]:
    """Yield an endless sacct text: jobs of different users, sizes and lengths on a machine of `NODES` nodes."""
    yield "JobID|User|Account|JobName|Partition|State|ExitCode|Submit|Start|End|ElapsedRaw|NNodes|NodeList\n"
    number = 0
    while True:
        number += 1
        start_s = _START_S + number // JOBS_PER_S
        took_s, nodes = 60 + number * 7919 % 86_000, 1 << number % 6
        first = number * 61 % (NODES - nodes)
        listed = f"nid[{first:06d}-{first + nodes - 1:06d}]" if nodes > 1 else f"nid{first:06d}"
        times = f"{_time(start_s)}|{_time(start_s + took_s)}|{took_s}|{nodes}|{listed}\n"
        state = ("COMPLETED|0:0", "COMPLETED|0:0", "FAILED|1:0", "TIMEOUT|0:0")[number % 4]
        who = f"user{number * 31 % 400:03d}|acct{number % 40:02d}"
        submit = _time(start_s - number * 17 % 7200)
        yield f"{number}|{who}|run{number % 1000}.sh|regular|{state}|{submit}|{times}"
        for step in STEPS:
            yield f"{number}.{step}||{who.partition('|')[2]}|{step}||{state}|{_time(start_s)}|{times}"


def _time(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S")


def _run_import(
    url: str, file: Path, lines: int, conn: psycopg.Connection[Any]
) -> tuple[ImportFigures, tuple[int, int, int]]:
    """Import a file in a separate process. Return the figures, and the reported numbers of jobs, steps and refusals."""
    command = [sys.executable, "-m", "flitwatch.main", "import", "sacct", str(file), "--timezone", "UTC", "--db", url]
    from flitwatch_db.ingest import imports

    cores = os.sched_getaffinity(0)
    used_before_s = _measure_database_s(conn)
    began, first_row_s, first_row_cpu_s = time.monotonic(), None, 0.0
    with tempfile.TemporaryFile() as out:
        process = subprocess.Popen([*command, "--json"], stdout=out)
        os.sched_setaffinity(process.pid, {min(cores)})
        while True:
            pid, status, used = os.wait4(process.pid, os.WNOHANG)
            now = time.monotonic()
            if first_row_s is None and imports.has_jobs(conn):
                first_row_s = time.monotonic() - began
                first_row_cpu_s = _measure_process_s(process.pid)
            if pid:
                break
            time.sleep(_LOOK_S if first_row_s is None else 10 * _LOOK_S)
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        text = out.read()
    if process.returncode or first_row_s is None:
        exit_with_error(f"the import ended with status {process.returncode}")
    seconds, cpu_s, report = now - began, used.ru_utime + used.ru_stime, json.loads(text)
    return {
        "lines": lines,
        "jobs": report["jobs"],
        "steps": report["steps"],
        "seconds": round(seconds, 1),
        "lines_per_s": round(lines / cpu_s),
        "cpu_s": round(cpu_s, 1),
        "database_cpu_s": round(_measure_database_s(conn) - used_before_s, 1),
        "peak_rss_mb": round(used.ru_maxrss / 1024, 1),
        "first_row_s": round(first_row_s, 2),
        "first_row_cpu_s": round(first_row_cpu_s, 2),
    }, (report["jobs"], report["steps"], report["rejected_total"])


def _measure_process_s(pid: int) -> float:
    """Processor time that a process has used; 0 if it has ended."""
    try:
        words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return sum(map(int, words[11:13])) / os.sysconf("SC_CLK_TCK")


def _measure_database_s(conn: psycopg.Connection[Any]) -> float:
    """Return the CPU time of the database server and its processes, including ended ones."""
    processes: dict[int, list[int]] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "stat").read_text().rpartition(")")[2].split()
        except OSError:  # the process has ended
            continue
        # The parent; its own user and system time, and that of ended children (proc(5)).
        processes[int(folder.name)] = [int(words[1]), *map(int, words[11:15])]
    server = processes[conn.info.backend_pid][0]
    ticks = sum(processes[server][1:]) + sum(own[1] + own[2] for own in processes.values() if own[0] == server)
    return ticks / os.sysconf("SC_CLK_TCK")
