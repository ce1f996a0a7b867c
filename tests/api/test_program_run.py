"""`flitwatch run` over a real API: a program's output, status and signals are unchanged, and REST returns its steps as written."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from support.waiting import eventually

from api.conftest import Served, serving
from flitwatch.program_run.reports import of_job
from flitwatch_api.settings import Settings
from flitwatch_db import connect
from flitwatch_db.jobs import store as jobs
from flitwatch_db.people import accounts as people
from flitwatch_domain.jobs import Job

pytestmark = pytest.mark.integration


@dataclass(frozen=True)
class Site:
    """A served API with its database, a user's folders and a token that may report runs."""

    served: Served
    db: str
    folder: Path

    def command(self, *words: object, url: str | None = None) -> list[str]:
        token = ("--token-file", self.folder / "token")
        return [
            str(one)
            for one in (sys.executable, "-m", "flitwatch.main", "run", "--url", url or self.served.url, *token, *words)
        ]

    def environment(self, **more: str) -> dict[str, str]:
        held = {name: value for name, value in os.environ.items() if not name.startswith(("SLURM_", "PBS_", "FLUX_"))}
        return {**held, "XDG_STATE_HOME": str(self.folder / "state"), **more}

    def run(self, *words: object, url: str | None = None, **more: str) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            self.command(*words, url=url), env=self.environment(**more), capture_output=True, timeout=180
        )

    def steps(self, application: str, wanted: int) -> dict[int, float]:
        """The steps of the one run of that application, once there are as many as wanted."""
        found: dict[int, float] = {}

        def complete() -> bool:
            runs = [one for one in self.served.get("/runs", limit=200)["items"] if one["exe"] == application]
            assert len(runs) <= 1
            if runs:
                shown = self.served.get(f"/runs/{runs[0]['run_id']}/steps")
                found.update(zip(shown["step"], shown["time_s"], strict=True))
            return len(found) >= wanted

        eventually(complete, 120, 0.1, what=f"{wanted} steps of {application}", detail=lambda: found)
        return found

    @property
    def kept(self) -> list[Path]:
        return sorted((self.folder / "state" / "flitwatch" / "runs").glob("*"))


@pytest.fixture
def site(embedded_db: str, tmp_path: Path) -> Iterator[Site]:
    with connect(embedded_db, role="gate", autocommit=True) as conn:
        people.add_account(conn, "scripts", "service")
        (tmp_path / "token").write_text(people.add_token(conn, "scripts", "runs", ["runs"])[1])
        (tmp_path / "token").chmod(0o600)
    with serving(Settings(db=embedded_db, web=None, api_anonymous="operator")) as served:
        yield Site(served, embedded_db, tmp_path)


def python(text: str) -> tuple[str, ...]:
    return "--", sys.executable, "-u", "-c", text


@pytest.mark.system("processes")
def test_steps_of_the_python_module_come_back_as_written(site: Site) -> None:
    with connect(site.db, role="writer", autocommit=True) as conn:
        jobs.upsert_jobs(
            conn, [Job("c", "77_3", "RUNNING", user="ann", start_s=time.time() - 60, nodes=2, node_list="n[1-2]")]
        )
    text = "from flitwatch_client import steps; [steps.report(n, 0.5 + n / 4) for n in range(5)]; steps.report(2, 9.125); print('out'); raise SystemExit(7)"
    job = {"SLURM_JOB_ID": "79", "SLURM_ARRAY_JOB_ID": "77", "SLURM_ARRAY_TASK_ID": "3", "SLURM_JOB_NODELIST": "n[1-2]"}
    done = site.run("--application", "milc", *python(text), **job)
    assert (done.returncode, done.stdout, done.stderr) == (7, b"out\n", b"")
    assert site.steps("milc", 5) == {0: 0.5, 1: 0.75, 2: 9.125, 3: 1.25, 4: 1.5}
    (run,) = site.served.get("/runs", job="77_3")["items"]
    assert (run["exe"], run["ranks"]) == ("milc", 2) and site.kept == []


def test_the_job_of_a_run_has_the_id_under_which_jobs_are_kept() -> None:
    assert of_job({"PBS_JOBID": "13.pbs01.example"}) == ("13", []) and of_job({"PBS_JOBID": "7[3].srv"}) == ("7_3", [])
    assert of_job({"SLURM_JOB_ID": "79"}) == ("79", []) and of_job({}) == (None, [])


@pytest.mark.system("processes")
def test_the_c_header_reports_steps_and_does_nothing_without_us(site: Site) -> None:
    if shutil.which("cc") is None:
        pytest.skip("needs a C compiler")
    shown = json.loads(site.run("--header", "--json").stdout)["header"]
    header = Path(shown).read_text()
    assert len(header.splitlines()) <= 40
    source = '#include "flitwatch_steps.h"\nint main(void) { int bad = 0; for (long n = 0; n < 3; n++) bad |= flitwatch_step(n, 0.25 * (double)n); return bad; }\n'
    (site.folder / "steps.c").write_text(source)
    program = site.folder / "steps"
    strict = ["-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]
    subprocess.run(["cc", *strict, f"-I{Path(shown).parent}", "-o", program, site.folder / "steps.c"], check=True)
    assert subprocess.run([program]).returncode == 0
    assert site.run("--", program).returncode == 0
    assert site.steps("steps", 3) == {0: 0.0, 1: 0.25, 2: 0.5}


def test_a_pattern_takes_times_that_the_program_prints_and_output_stays_byte_for_byte(site: Site) -> None:
    text = """
import sys, os
out = sys.stdout.buffer
out.write(b"\\x00\\xff binary \\r\\n")
for n in range(4): out.write(b"step %d took %d.5 s\\n" % (n, n))
out.write(b"step 9 took nan s\\nstep x took 1 s\\n" + b"y" * 100_000 + b"\\nno end of line")
out.flush(); sys.stderr.write("err"); os._exit(3)
"""
    plain = subprocess.run([sys.executable, "-u", "-c", text], capture_output=True)
    done = site.run(
        "--application", "lulesh", "--step-pattern", r"^step (?P<step>\w+) took (?P<time>\S+) s", *python(text)
    )
    assert (done.returncode, done.stdout) == (plain.returncode, plain.stdout)
    assert site.steps("lulesh", 4) == {n: n + 0.5 for n in range(4)}
    assert done.stderr.startswith(b"err")


@pytest.mark.system("processes")
def test_times_between_lines_are_measured_and_those_of_buffered_output_are_not_guessed(site: Site) -> None:
    text = "import time\nfor n in range(4): print('done', n); time.sleep(0.3)"
    assert site.run("--application", "live", "--step-pattern", r"^done (?P<step>\d+)", *python(text)).returncode == 0
    found = site.steps("live", 3)
    assert set(found) == {1, 2, 3} and min(found.values()) >= 0.2
    done = site.run(
        "--application",
        "held",
        "--step-pattern",
        r"^done (?P<step>\d+)",
        *python("print(''.join(f'done {n}\\n' for n in range(6)), end='')"),
    )
    assert done.returncode == 0
    assert site.steps("held", 0) == {}


@pytest.mark.system("processes")
def test_json_is_the_last_line_of_standard_error_and_a_pattern_without_a_match_is_said(site: Site) -> None:
    text = "import sys; print('step 0 took 1.5 s'); print('step 1 took 2 s'); sys.stderr.write('err\\n')"
    good = ("--application", "timed", "--step-pattern", r"^step (?P<step>\d+) took (?P<time>\S+) s")
    done = site.run("--json", *good, *python(text))
    assert (done.returncode, done.stdout) == (0, b"step 0 took 1.5 s\nstep 1 took 2 s\n")
    first, last = done.stderr.decode().splitlines()
    outcome = json.loads(last)
    assert first == "err" and site.steps("timed", 2) == {0: 1.5, 1: 2.0}
    (run,) = [one for one in site.served.get("/runs", limit=200)["items"] if one["exe"] == "timed"]
    assert outcome == {
        "application": "timed",
        "job_id": None,
        "run_id": run["run_id"],
        "steps": 2,
        "problem": None,
        "kept": None,
    }
    for words in (("--step-pattern", "^stop"), ("--json", "--step-pattern", "^stop")):
        done = site.run("--application", "nothing", *words, *python(text))
        said = [line for line in done.stderr.decode().splitlines() if "--step-pattern" in line]
        assert said == ["flitwatch: no line of the program's standard output matches --step-pattern"]
    assert json.loads(done.stderr.splitlines()[-1])["steps"] == 0
    done = site.run("--json", *python("print('out')"), url="http://127.0.0.1:9")
    outcome = json.loads(done.stderr.splitlines()[-1])
    assert (
        done.stdout == b"out\n"
        and outcome["run_id"] is None
        and outcome["problem"]
        and outcome["kept"] == str(site.kept[0])
    )


@pytest.mark.system("processes")
def test_a_million_lines_and_a_slow_pattern_hold_no_output_up(site: Site) -> None:
    text = "import sys\nfor n in range(1_000_000): sys.stdout.write(f'{n} aaaaaaaaaaaaaaaaaaaaaaaaaaaa\\n')"
    wanted = hashlib.sha256(b"".join(b"%d aaaaaaaaaaaaaaaaaaaaaaaaaaaa\n" % n for n in range(1_000_000))).digest()
    begun = subprocess.Popen(
        site.command("--step-pattern", r"(a|a|aa)+$X", "--", sys.executable, "-c", text),
        env=site.environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert begun.stdout is not None
    assert hashlib.sha256(begun.stdout.read()).digest() == wanted and begun.wait(60) == 0
    assert site.run("--step-pattern", "(?=a)", "--", "echo").returncode == 2


@pytest.mark.parametrize("way", ["in our place", "alongside us"])
def test_signals_and_the_end_by_a_signal_are_the_programs(site: Site, way: str) -> None:
    text = """
import os, signal, sys
signal.signal(signal.SIGUSR1, lambda *_: (print("usr1"), os.kill(os.getpid(), signal.SIGTERM)))
print("ready")
signal.pause()
"""
    pattern = ("--step-pattern", "x") if way == "alongside us" else ()
    begun = subprocess.Popen(site.command(*pattern, *python(text)), env=site.environment(), stdout=subprocess.PIPE)
    assert begun.stdout is not None and begun.stdout.readline() == b"ready\n"
    begun.send_signal(signal.SIGUSR1)
    assert begun.stdout.readline() == b"usr1\n" and begun.wait(60) == -signal.SIGTERM


@pytest.mark.system("processes")
def test_without_an_api_the_program_runs_it_is_said_once_and_what_is_kept_is_sent_later(site: Site) -> None:
    text = "from flitwatch_client import steps; steps.report(0, 1.5); print('out')"
    done = site.run("--application", "kept", *python(text), url="http://127.0.0.1:9")
    eventually(
        lambda: site.kept and json.loads(site.kept[0].read_text())["steps"], every_s=0.1, what="a file with the step"
    )
    assert (done.returncode, done.stdout) == (0, b"out\n") and done.stderr.count(b"is not reported yet") == 1
    (file,) = site.kept
    assert file.stat().st_mode & 0o777 == 0o600 and "fwt_" not in file.read_text()
    held = json.loads(file.read_text())
    file.write_text(json.dumps({**held, "url": site.served.url}))
    copy = file.read_text()
    for sent in (1, 0):
        assert json.loads(site.run("--send-kept", "--json").stdout) == {"sent": sent, "left": {}}
    file.write_text(copy)
    assert site.run("--send-kept").returncode == 0
    assert site.steps("kept", 1) == {0: 1.5}
    file.write_text("{")
    refused = site.run("--send-kept")
    assert refused.returncode == 1 and b"no kept run" in refused.stderr


@pytest.mark.system("processes")
def test_who_forgot_the_token_is_informed_and_sends_the_run_with_one(site: Site) -> None:
    text = "from flitwatch_client import steps; steps.report(0, 1.5)"
    flitwatch_run = [sys.executable, "-m", "flitwatch.main", "run", "--url", site.served.url]
    # Whoever sends has standard error open until the last try: nothing is written into the file after it.
    done = subprocess.run(
        [*flitwatch_run, "--application", "forgot", *python(text)],
        env=site.environment(),
        stderr=subprocess.PIPE,
        timeout=180,
    )
    assert done.returncode == 0
    (file,) = site.kept
    left = subprocess.run([*flitwatch_run, "--send-kept"], env=site.environment(), capture_output=True, text=True)
    assert (
        "--token-file FILE" in left.stderr and "flitwatch tokens create" in left.stderr and "/login" not in left.stderr
    )
    copy = file.read_text()
    # Not to another platform than the one that the token is for.
    file.write_text(json.dumps({**json.loads(copy), "url": "http://127.0.0.1:9"}))
    assert b"127.0.0.1:9 does not answer" in site.run("--send-kept").stderr
    file.write_text(copy)
    assert json.loads(site.run("--send-kept", "--json").stdout) == {"sent": 1, "left": {}}
    assert site.steps("forgot", 1) == {0: 1.5}


@pytest.mark.system("processes")
def test_a_spoiled_token_file_sets_no_kept_run_aside(site: Site) -> None:
    """Nobody asked the API: the run waits until the file is mended."""
    token = site.folder / "token"
    genuine = token.read_text()
    token.write_text("token_id 1\n")
    # Whoever sends has standard error open until the last try.
    site.run("--application", "spoiled", *python("from flitwatch_client import steps; steps.report(0, 1.5)"))
    left = site.run("--send-kept")
    assert left.returncode == 1 and b"contains no token" in left.stderr
    assert [file.suffix for file in site.kept] == [".json"]
    token.write_text(genuine)
    assert json.loads(site.run("--send-kept", "--json").stdout) == {"sent": 1, "left": {}}
    assert site.steps("spoiled", 1) == {0: 1.5}


def test_whatever_is_wrong_with_us_the_program_runs(site: Site) -> None:
    missing = subprocess.run(
        [
            sys.executable,
            "-m",
            "flitwatch.main",
            "run",
            "--url",
            "not an address",
            "--token-file",
            "/nowhere",
            "--",
            "echo",
            "out",
        ],
        env=site.environment(),
        capture_output=True,
    )
    assert (missing.returncode, missing.stdout) == (0, b"out\n") and missing.stderr.count(b"is not reported") == 1
    gone = site.run("--application", "gone", "--", "/nowhere/program")
    assert gone.returncode == 127 and b"/nowhere/program" in gone.stderr
    forbidden = site.folder / "forbidden"
    forbidden.write_text("")
    assert site.run("--", forbidden).returncode == 126
    assert site.run("--step-pattern", "(", "--", "echo").returncode == 2
    assert site.run().returncode == 2
    assert site.served.get("/runs")["items"] == [], "a program that cannot start is no run"


def test_hostile_names_and_lines_are_text_or_left_out(site: Site) -> None:
    text = "import os\nwith open(os.environ['FLITWATCH_STEPS'], 'ab') as f: f.write(b'1 2\\nnan nan\\n1 -3\\n9999999 1\\n\\xff\\xfe\\n2 inf\\n3' + b' ' * 9000 + b'4\\n5 6')"
    name = "<script>\n\x1b[31m" + "x" * 900
    done: Any = site.run("--application", name, *python(text))
    assert done.returncode == 0
    shown = "".join(c if c.isprintable() else "?" for c in name)[:400]
    assert site.steps(shown, 1) == {1: 2.0}
