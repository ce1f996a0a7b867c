"""The long forms of chaos and soak: `python -m integration.campaign chaos --kills 100`, `... soak --minutes 120`. Prints one JSON object.

The platform is the real one (`flitwatch up`); a collector follows a growing store_csv whose sums are known. Chaos kills -9 the collector, writer, broker (stack
full), database, API and worker at random, fills the disk once (a tmpfs of its own; root), steps the platform's clock twice (stepped_clock.c, preloaded), and twice
cuts the network between the collector's host, a namespace of its own, and the platform's (root).
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from integration.feed import SECOND_0, Feed
from integration.hosts import Host, can_be_had
from integration.platform import Platform, totals
from integration.report import Report, slope_per_h

from flitwatch_db import connect, fabrics
from flitwatch_domain.generators import dragonfly

SHIM = Path(__file__).with_name("stepped_clock.c")
ROUTERS = 24
RECOVERY_LIMIT_S, SETTLE_LIMIT_S = 120.0, 180.0
STEPS_S = (3600, -1800)
DISK_MB, FULL_S = 4000, 8.0
CUT_S = 8.0
PAGE = os.sysconf("SC_PAGE_SIZE")


class Campaign:
    """One run.

    Parameters
    ----------
    platform : Platform        started
    clock : Path or None       the clock's offset file; None: the clock is not stepped
    """

    def __init__(self, platform: Platform, clock: Path | None, seed: int, tick_s: float = 0.05) -> None:
        self.platform, self.clock, self.tick_s = platform, clock, tick_s
        self.random = random.Random(seed)
        self.report = Report()
        with connect(platform.state()["database"]) as connection:
            fabric = dragonfly(1, 6, 4, name="chaos")
            self.fabric_id = fabrics.save(connection, fabric)
        self.feed = Feed(platform.data, ROUTERS, fabric.endpoints.component_id.tolist())
        self.feed.begin()
        self.collectors = 0
        self.sampled: list[tuple[float, float, float]] = []

    def feed_for(self, seconds: float) -> None:
        """Let the machine go on."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            self._collect()
            self.feed.tick()
            time.sleep(self.tick_s)

    def _collect(self) -> None:
        before = self.platform.collector
        # The platform's state is away for a moment while its supervisor writes it.
        with contextlib.suppress(AssertionError):
            self.platform.collect()
        if before is not None and self.platform.collector is not before:
            self.collectors += 1

    def kill(self, victim: str) -> None:
        """Kill -9, and wait until everything lives and a newer second has arrived."""
        second, before = self.feed.second, self._processes()
        self.platform.kill(victim)
        self.report.kills[victim] = self.report.kills.get(victim, 0) + 1
        self.report.recoveries_s.append(self._recovery(second, {before.get(victim)} - {None}))

    def _recovery(self, second: int, dead: set[int | None]) -> float:
        begun = time.monotonic()
        while time.monotonic() - begun < RECOVERY_LIMIT_S:
            self.feed_for(0.2)
            with contextlib.suppress(Exception):
                lives = self._processes()
                if (
                    not dead & set(lives.values())
                    and all(_lives(pid) for pid in lives.values())
                    and self._newest() > second
                ):
                    return time.monotonic() - begun
        raise AssertionError(f"no recovery within {RECOVERY_LIMIT_S:.0f} s")

    def _processes(self) -> dict[str, int | None]:
        return {one["name"]: one["pid"] for one in self.platform.state()["processes"]}

    def _newest(self) -> int:
        with connect(self.platform.state()["database"], autocommit=True) as connection:
            row = connection.execute(
                "SELECT coalesce(max(extract(epoch FROM ts))::bigint, 0) FROM router_1s"
            ).fetchone()
        return row[0] if row else 0

    def fill_disk(self, place: Path) -> None:
        """Leave no byte for a while, then give it back."""
        filler, second = place / "filler", self.feed.second
        with contextlib.suppress(OSError), open(filler, "wb") as file:
            while True:
                file.write(b"\0" * 65536)
        self.feed_for(FULL_S)
        filler.unlink()
        self.report.recoveries_s.append(self._recovery(max(second, self.feed.second), set()))
        self.report.disk_full += 1

    def cut_network(self) -> None:
        """Pull the cable between the collector's host and the platform's for some seconds."""
        assert self.platform.far is not None
        self.platform.far.cut()
        self.feed_for(CUT_S)
        self.platform.far.mend()
        self.report.network_cuts += 1
        self.report.recoveries_s.append(self._recovery(self.feed.second, set()))

    def step_clock(self, seconds: int) -> None:
        """Every process of the platform sees another time from now on."""
        assert self.clock is not None
        _write_offset(self.clock, seconds)
        self.report.clock_steps += 1
        self.report.recoveries_s.append(self._recovery(self.feed.second, set()))

    def sample(self) -> None:
        """Memory of the supervised processes and size of the database."""
        with contextlib.suppress(Exception):
            pids = [pid for pid in self._processes().values() if pid] + (
                [self.platform.collector.pid] if self.platform.collector else []
            )
            mb = sum(int(Path(f"/proc/{pid}/statm").read_text().split()[1]) for pid in pids) * PAGE / 1e6
            with connect(self.platform.state()["database"], autocommit=True) as connection:
                size = connection.execute("SELECT pg_database_size(current_database())").fetchone()
            self.sampled.append((time.monotonic(), mb, size[0] / 1e6 if size else 0.0))

    def finish(self) -> Report:
        """Wait until all that was fed is there, or nothing comes any more, and count."""
        self.feed.tick()
        expected = {
            r: (self.feed.second - SECOND_0 - 1, self.feed.flits[r], self.feed.stalls[r]) for r in range(ROUTERS)
        }
        deadline, found = time.monotonic() + SETTLE_LIMIT_S, {}
        while found != expected and time.monotonic() < deadline:
            self._collect()
            time.sleep(0.5)
            with contextlib.suppress(Exception):
                found = totals(self.platform.state()["database"], self.fabric_id)
        self.report.compare(expected, found)
        log = (self.platform.home / "log" / "supervisor.log").read_text(errors="replace")
        restarted = sum(log.count(f"supervisor: {name} left with") for name in self._processes())
        killed = sum(count for name, count in self.report.kills.items() if name in self._processes())
        # Every end beyond our kills counts, also where a process gave up because the disk was full, the database away or the network cut.
        self.report.crashes = max(0, restarted - killed) + max(
            0, self.collectors - self.report.kills.get("collector", 0)
        )
        if self.sampled:
            at, mb, disk = zip(*self.sampled, strict=True)
            self.report.rss_slope_mb_per_h = slope_per_h(at, mb)
            self.report.disk_mb_per_h = slope_per_h(at, disk)
        return self.report


def _lives(pid: int | None) -> bool:
    return pid is not None and Path(f"/proc/{pid}").exists()


def _write_offset(file: Path, seconds: int) -> None:
    # In place: the processes have it mapped.
    with open(os.open(file, os.O_WRONLY | os.O_CREAT, 0o600), "wb") as held:
        held.write(seconds.to_bytes(8, "little", signed=True))


@contextlib.contextmanager
def started(
    stack: str, port: int, disk: bool, clock: bool, far: Host | None = None
) -> Iterator[tuple[Platform, Path | None, Path | None]]:
    """A platform in a folder of its own; yields it, the clock's offset file and the small disk, each where it can be had."""
    base = Path(
        tempfile.mkdtemp(prefix="flitwatch-campaign-", dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None)
    )
    home = base / "home"
    home.mkdir()
    mounted = (
        disk
        and os.geteuid() == 0
        and subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"size={DISK_MB}m", "tmpfs", str(home)], capture_output=True
        ).returncode
        == 0
    )
    one = Platform(home, stack, base / "store_csv", far)
    file = base / "clock" if clock and shutil.which("cc") else None
    if file is not None:
        library = base / "stepped_clock.so"
        subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", str(library), str(SHIM)], check=True)
        _write_offset(file, 0)
        one.environment |= {"LD_PRELOAD": str(library), "STEPPED_CLOCK": str(file)}
    try:
        one.start(port)
        yield one, file, home if mounted else None
    finally:
        one.stop()
        if mounted:
            subprocess.run(["umount", "-l", str(home)], capture_output=True)
        shutil.rmtree(base, ignore_errors=True)


def chaos(kills: int, stack: str, port: int, seed: int, disk: bool = True, clock: bool = True) -> Report:
    """Kills at random; half way the disk is full once, at a quarter and three quarters the clock is stepped, at a third and two thirds the network is cut."""
    begun = time.monotonic()
    with contextlib.ExitStack() as stack_of:
        far = stack_of.enter_context(Host()) if can_be_had() else None
        if far is None:
            print("no network cut: it needs root and iproute2", file=sys.stderr)
        platform, file, place = stack_of.enter_context(started(stack, port, disk, clock, far))
        campaign = Campaign(platform, file, seed)
        campaign.feed_for(3)
        victims = ["collector", "writer", "database", "api", "worker"] + (["broker"] if stack == "full" else [])
        steps = dict(zip((kills // 4, 3 * kills // 4), STEPS_S, strict=True)) if file is not None else {}
        for number in range(kills):
            campaign.feed_for(campaign.random.uniform(0.2, 1.5))
            # Each once, then at random.
            campaign.kill(victims[number] if number < len(victims) else campaign.random.choice(victims))
            campaign.sample()
            if number in steps:
                campaign.step_clock(steps[number])
            if number == kills // 2 and place is not None:
                campaign.fill_disk(place)
            if far is not None and number in (kills // 3, 2 * kills // 3):
                campaign.cut_network()
            print(f"{number + 1} of {kills} kills", file=sys.stderr)
        report = campaign.finish()
        report.minutes = (time.monotonic() - begun) / 60
        return report


def soak(minutes: float, stack: str, port: int) -> Report:
    """A steady feed: twenty seconds of counters a second."""
    with started(stack, port, False, False) as (platform, _, _):
        campaign = Campaign(platform, None, 0)
        begun = time.monotonic()
        while time.monotonic() - begun < minutes * 60:
            campaign.feed_for(min(10.0, minutes * 60 / 10))
            campaign.sample()
        report = campaign.finish()
        report.minutes = (time.monotonic() - begun) / 60
        return report


def main() -> None:
    """Run and print the report; ends with 1 where something was lost, doubled or crashed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("chaos", "soak"))
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--minutes", type=float, default=120)
    parser.add_argument("--stack", choices=("embedded", "full"), default="embedded")
    parser.add_argument("--port", type=int, default=18795)
    parser.add_argument("--seed", type=int, default=7)
    told = parser.parse_args()
    report = (
        chaos(told.kills, told.stack, told.port, told.seed)
        if told.what == "chaos"
        else soak(told.minutes, told.stack, told.port)
    )
    print(json.dumps(report.as_dict()))
    sys.exit(bool(report.lost or report.duplicated or report.crashes))


if __name__ == "__main__":
    main()
