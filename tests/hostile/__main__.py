"""Attacks on a started platform. Prints as JSON each attack's memory cost and other clients' waiting times; exits with 1 if they exceed the limits."""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from support.databases import PLACE
from support.waiting import eventually, free_port

from flitwatch.commands.up import METRICS
from flitwatch_db import connect
from flitwatch_ops.supervisor import read_running_state
from hostile.attacks import ATTACKS, HERE, Target, receivers
from hostile.bystanders import p99_s, watch

#: What an attack may cost: memory of a process over what it has when idle, and seconds that 99 % of the others' answers take.
MOST_MB, MOST_S = 300.0, 1.0
SETTLE_S = 5.0
#: Answers that an attack must not get.
NEVER = {
    "send_endless_heads": {"all taken"},
    "send_odd_hosts": {"200"},
    "flood_the_audit_log": {"200"},
    "hold_up_deliveries": {"late"},
}


def memory_mb(pid: int, line: str) -> float:
    """`VmRSS`, or `VmHWM` since `forget_peak`."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(each.split()[1]) for each in lines if each.startswith(line)) / 1000


def forget_peak(pid: int) -> None:
    Path(f"/proc/{pid}/clear_refs").write_text("5")


@contextmanager
def platform(home: Path, alerts: Path) -> Iterator[Target]:
    """`flitwatch up` for callers without a login, and a collector that listens."""
    api = free_port(2 + len(METRICS))
    write_port, metrics = api + 1, api + 2
    token = secrets.token_urlsafe(24)
    file = home / "token"
    file.write_text(token)
    file.chmod(0o600)
    environment = {**os.environ, "FLITWATCH_HOME": str(home), "FLITWATCH_ALERTS": str(alerts)}
    command = [sys.executable, "-m", "flitwatch.main"]
    argv = ["up", "--twin", "none", "--port", str(api), "--metrics-port", str(metrics), "--anonymous", "user"]
    subprocess.run([*command, *argv], env=environment, check=True, stdout=sys.stderr)
    try:
        argv = ["collect", "prometheus", "--listen", f"{HERE}:{write_port}", "--token-file", str(file)]
        with subprocess.Popen([*command, *argv], env=environment, stdout=sys.stderr) as collector:
            try:
                eventually(lambda: _listens(write_port), 60, 0.2, what="the collector")
                (home / "collector").write_text(str(collector.pid))
                state = read_running_state(home)
                assert state is not None
                yield Target(api, metrics, write_port, token, state["database"])
            finally:
                collector.terminate()
    finally:
        subprocess.run([*command, "down"], env=environment, check=True, stdout=sys.stderr)


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex((HERE, port)) == 0


def processes(home: Path) -> dict[str, int]:
    state = read_running_state(home)
    assert state is not None
    found = {each["name"]: each["pid"] for each in state["processes"]}
    return found | {"collector": int((home / "collector").read_text())}


def database_mb(home: Path) -> float:
    state = read_running_state(home)
    assert state is not None
    with connect(state["database"], autocommit=True) as conn:
        (size,) = conn.execute("SELECT pg_database_size(current_database())").fetchone() or (0,)
    return size / 1e6


def replay(home: Path, target: Target, names: list[str], seconds: float) -> dict[str, object]:
    """Each attack for so long, one after the other."""
    time.sleep(SETTLE_S)
    ours = processes(home)
    idle_mb = {name: memory_mb(pid, "VmRSS") for name, pid in ours.items()}
    stored_mb = database_mb(home)
    report: dict[str, dict[str, object]] = {}
    passed = True
    # Attackers and others have interpreters of their own, so that neither waits for the other.
    with ProcessPoolExecutor(2, multiprocessing.get_context("spawn")) as pool:
        for name in ["none", *names]:
            for pid in ours.values():
                forget_peak(pid)
            until = time.monotonic() + seconds
            others = pool.submit(watch, target, until)
            answers = pool.submit(ATTACKS[name], target, until).result() if name in ATTACKS else {}
            waited_s = {what: p99_s(each) for what, each in others.result().items()}
            over_mb = {which: round(memory_mb(pid, "VmHWM") - idle_mb[which]) for which, pid in ours.items()}
            holds = max(over_mb.values()) <= MOST_MB and all(
                each is not None and each < MOST_S for each in waited_s.values()
            )
            holds = holds and processes(home) == ours and not NEVER.get(name, set()) & set(answers)
            report[name] = {"holds": holds, "answers": answers, "p99_s": waited_s, "over_idle_mb": over_mb}
            passed = passed and holds
    return {
        "passed": passed,
        "seconds_each": seconds,
        "idle_mb": {name: round(mb) for name, mb in idle_mb.items()},
        "stored_mb": round(database_mb(home) - stored_mb),
        "attacks": report,
    }


def main() -> None:
    """Replay all attacks, or those that are named."""
    parser = argparse.ArgumentParser(prog="python -m hostile", description=__doc__)
    parser.add_argument("attacks", nargs="*", choices=[*ATTACKS, []], help="all without a name")
    parser.add_argument("--seconds", type=float, default=20.0, help="of each attack (20)")
    chosen = parser.parse_args()
    home = Path(tempfile.mkdtemp(prefix="flitwatch-hostile-", dir=PLACE))
    try:
        with receivers(home) as alerts, platform(home, alerts) as target:
            report = replay(home, target, chosen.attacks or list(ATTACKS), chosen.seconds)
    finally:
        shutil.rmtree(home, ignore_errors=True)
    json.dump(report, sys.stdout)
    sys.exit(0 if report["passed"] else 1)


if __name__ == "__main__":
    main()
