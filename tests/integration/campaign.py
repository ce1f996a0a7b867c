"""The long forms of chaos and soak: `python -m integration.campaign chaos --kills 100`, `... soak --minutes 120`, `... failover --kills 20`. Prints one JSON object.

The platform is the real one (`flitwatch up`). It is fed with the counters of a machine with known sums: chaos with Cori's 3,264 routers, soak with a
third of them; `--routers 0` feeds a growing store_csv of a few routers through a collector instead. Chaos kills -9 the writer, broker (stack full), database,
API, worker and collector at random, fills the disk once and kills meanwhile (one of its own; root), stops writer, API, worker, database and collector in turn, sends the API heads without an end, steps the platform's clock twice (stepped_clock.c, preloaded), and twice
cuts the network between the feed's host, a separate namespace, and the platform's (root). Failover kills only the database server and its Patroni; a
standby takes over, and the killed one returns as the next standby. FLITWATCH_CAMPAIGN_LOGS=DIR keeps the processes' logs.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

import httpx
from integration import patroni_cluster
from integration.clustered_platform import PRIMARY, ClusteredPlatform
from integration.collected_feed import CollectedFeed
from integration.hosts import Host, can_be_had
from integration.machine_feed import MachineFeed
from integration.platform import Platform
from integration.report import Report, slope_per_h
from support.databases import server_processes, stopped
from support.endless_head import BEGINNINGS, sent_until_closed
from support.waiting import eventually

from flitwatch_db import connect
from flitwatch_domain.errors import Unavailable
from flitwatch_ops.embedded import Embedded
from flitwatch_research.ingest_bench.watch import memory_mb

SHIM = Path(__file__).with_name("stepped_clock.c")
#: Routers of the machine that is fed: Cori's.
MACHINE = 3264
RECOVERY_LIMIT_S, CATCH_UP_LIMIT_S = 120.0, 300.0
#: Seconds that the database may be behind the feed before the next kill.
CLOSE_S = 5
#: The feed lasts for so many seconds a kill at most.
LONGEST_KILL_S = {"chaos": 60, "failover": 240}
STEPS_S = (3600, -1800)
DISK_MB, MACHINE_DISK_MB, FULL_S = 4000, 40_000, 8.0
CUT_S = 8.0
#: Longer than a writer's lease on its topics.
STOP_S = 12.0
STOPPED = ("writer", "api", "worker", "estimates", "alerting", "database", "collector")
#: How the supervisor's log says that a process ended.
END = re.compile(r'"(\S+) exited with (-?\d+)')
HEADS_S = 10.0


class NotRecovered(Exception):
    """The platform did not come back, or is too slow on this machine for what it is fed."""


class Campaign:
    """One run.

    Parameters
    ----------
    platform : Platform        started
    feed : CollectedFeed or MachineFeed
    clock : Path or None       the clock's offset file; None: the clock is not stepped
    """

    def __init__(
        self, platform: Platform, feed: CollectedFeed | MachineFeed, clock: Path | None, seed: int, tick_s: float = 0.05
    ) -> None:
        self.platform, self.feed, self.clock, self.tick_s = platform, feed, clock, tick_s
        self.random = random.Random(seed)
        self.report = Report(routers=len(feed.fabric.routers))
        feed.begin(platform, platform.far)
        self.sampled: list[tuple[float, dict[str, float], float]] = []

    def feed_for(self, seconds: float) -> None:
        """Let the machine go on."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            self.feed.tick(self.platform)
            time.sleep(self.tick_s)

    def kill(self, victim: str) -> None:
        """Kill -9, and wait until everything lives and a newer second has arrived, then until nothing is behind."""
        second, before = self.feed.second, self._processes()
        self.platform.kill(victim)
        self.report.kills[victim] = self.report.kills.get(victim, 0) + 1
        self._recover(second, {before.get(victim)} - {None})

    def _recover(self, second: int, dead: set[int | None]) -> None:
        begun = time.monotonic()
        self.report.recoveries_s.append(self._recovery(second, dead))
        self._catch_up()
        self.report.caught_up_s.append(time.monotonic() - begun)

    def _catch_up(self) -> None:
        """Wait until the database is close behind the feed: the next kill meets a platform that does its work."""
        begun = time.monotonic()
        while time.monotonic() - begun < CATCH_UP_LIMIT_S:
            with contextlib.suppress(Exception):
                if self.feed.second - self._newest() <= CLOSE_S:
                    return
            self.feed_for(0.5)
        raise NotRecovered(
            f"not close behind the feed {CATCH_UP_LIMIT_S:.0f} s after the recovery: {self._lack()}; where the machine is too slow: --routers"
        )

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
        raise NotRecovered(
            f"no recovery within {RECOVERY_LIMIT_S:.0f} s: {self._lack()}; where the machine is too slow: --routers"
        )

    def _lack(self) -> str:
        try:
            down = [name for name, pid in self._processes().items() if not _lives(pid)]
            return f"{', '.join(down)} down" if down else f"{self.feed.second - self._newest()} s behind the feed"
        except Exception as away:
            return str(away)

    def _processes(self) -> dict[str, int | None]:
        return {one["name"]: one["pid"] for one in self.platform.state()["processes"]}

    def _newest(self) -> int:
        with connect(self.platform.state()["database"], autocommit=True) as connection:
            row = connection.execute(
                "SELECT coalesce(extract(epoch FROM max(ts))::bigint, 0) FROM router_1s"
            ).fetchone()
        return row[0] if row else 0

    def fill_disk(self, place: Path) -> None:
        """Leave no byte for a while and kill processes meanwhile, then give it back."""
        filler, second = place / "filler", self.feed.second
        with contextlib.suppress(OSError), open(filler, "wb") as file:
            for size in (1 << 30, 1 << 20, 1 << 12):
                while os.statvfs(place).f_bavail * os.statvfs(place).f_frsize >= size:
                    os.posix_fallocate(file.fileno(), os.fstat(file.fileno()).st_size, size)
        for victim in ("writer", "api", "worker"):
            self.feed_for(FULL_S / 4)
            self.platform.kill(victim)
            self.report.kills[victim] = self.report.kills.get(victim, 0) + 1
        self.feed_for(FULL_S / 4)
        filler.unlink()
        self._recover(max(second, self.feed.second), set())
        self.report.disk_full += 1

    def cut_network(self) -> None:
        """Pull the cable between the collector's host and the platform's for some seconds."""
        assert self.platform.far is not None
        self.platform.far.cut()
        self.feed_for(CUT_S)
        self.platform.far.mend()
        self.report.network_cuts += 1
        self._recover(self.feed.second, set())

    def stop(self, victim: str) -> None:
        """Let a process, or all of the database's, stand still for a while."""
        if victim == "database":
            folder = "timescale" if self.platform.stack == "full" else "pg"
            pids = server_processes(Embedded(self.platform.home / folder))
        elif victim == "collector":
            assert self.platform.collector is not None
            pids = [self.platform.collector.pid]
        else:
            pids = [pid for name, pid in self._processes().items() if name == victim and pid is not None]
        with stopped(*pids):
            self.feed_for(STOP_S)
        self.report.stops += 1
        self._recover(self.feed.second, set())

    def send_endless_heads(self) -> None:
        """Send the API every kind of request head without an end, again and again for a while."""
        url = self.platform.state()["url"]
        # Killed just before, it takes connections before it reads them.
        eventually(
            lambda: httpx.get(f"{url}healthz", timeout=RECOVERY_LIMIT_S),
            RECOVERY_LIMIT_S,
            0.2,
            "the API to answer",
            retry=(httpx.HTTPError,),
        )
        until, port = time.monotonic() + HEADS_S, urlsplit(url).port
        assert port is not None

        def send(beginning: bytes, part: bytes) -> None:
            while time.monotonic() < until:
                sent_until_closed("127.0.0.1", port, beginning, part)
                self.report.endless_heads += 1

        with ThreadPoolExecutor(len(BEGINNINGS)) as threads:
            heads = [threads.submit(send, *each) for each in BEGINNINGS.values()]
            self.feed_for(HEADS_S)
        for each in heads:
            each.result()
        self._recover(self.feed.second, set())

    def step_clock(self, seconds: int) -> None:
        """Every process of the platform sees another time from now on."""
        assert self.clock is not None
        _write_offset(self.clock, seconds)
        self.report.clock_steps += 1
        self._recover(self.feed.second, set())

    def sample(self) -> None:
        """Memory by process and size of the database."""
        with contextlib.suppress(Exception):
            pids = {**self._processes(), **self.platform.servers()}
            held = {name: memory_mb(pid) for name, pid in pids.items() if pid}
            with connect(self.platform.state()["database"], autocommit=True) as connection:
                size = connection.execute("SELECT pg_database_size(current_database())").fetchone()
            self.sampled.append((time.monotonic(), held, size[0] / 1e6 if size else 0.0))

    def finish(self) -> Report:
        """Let the feed end, and count."""
        self.feed.finish(self.platform, self.report)
        log = (self.platform.home / "log" / "supervisor.log").read_text(errors="replace")
        ends = END.findall(log)
        if not ends and self.report.kills.keys() & self._processes().keys():
            raise RuntimeError("the supervisor's log has no line about a killed process, so crashes are unknown")
        ours = [(name, str(-signal.SIGKILL)) for name, count in self.report.kills.items() for _ in range(count)]
        for one in ours + self.platform.ended:
            # A server's end is not the supervisor's to see.
            with contextlib.suppress(ValueError):
                ends.remove(one)
        # Every end beyond our kills counts, also where a process gave up because the disk was full, the database away or the network cut.
        self.report.crashed = [f"{name} ended with {status}" for name, status in ends]
        if isinstance(self.feed, CollectedFeed):
            beyond = self.feed.restarted - self.report.kills.get("collector", 0)
            self.report.crashed += ["collector"] * max(0, beyond)
        self.report.crashes = len(self.report.crashed)
        if self.sampled:
            at, held, disk = zip(*self.sampled, strict=True)
            names = list(held[-1])
            self.report.rss_slope_mb_per_h = slope_per_h(at, [sum(one.values()) for one in held])
            self.report.rss_slopes_mb_per_h = {
                name: slope_per_h(at, [one.get(name, 0.0) for one in held]) for name in names
            }
            self.report.rss_mb = {name: round(held[-1][name], 1) for name in names}
            self.report.disk_mb_per_h = slope_per_h(at, disk)
        return self.report


def _lives(pid: int | None) -> bool:
    return pid is not None and Path(f"/proc/{pid}").exists()


def _write_offset(file: Path, seconds: int) -> None:
    # In place: the processes have it mapped.
    with open(os.open(file, os.O_WRONLY | os.O_CREAT, 0o600), "wb") as held:
        held.write(seconds.to_bytes(8, "little", signed=True))


def _mounted(home: Path, image: Path | None) -> bool:
    """A disk of its own under `home`: in memory, or where much is written a sparse file; whether it could be had."""
    if os.geteuid() != 0:
        return False
    if image is None:
        argv = ["mount", "-t", "tmpfs", "-o", f"size={DISK_MB}m", "tmpfs", str(home)]
        return subprocess.run(argv, capture_output=True).returncode == 0
    with open(image, "wb") as file:
        file.truncate(MACHINE_DISK_MB << 20)
    made = subprocess.run(["mkfs.ext4", "-q", "-m", "0", str(image)], capture_output=True).returncode == 0
    return made and subprocess.run(["mount", "-o", "loop", str(image), str(home)], capture_output=True).returncode == 0


@dataclass(frozen=True)
class Setting:
    """What a campaign runs on.

    Attributes
    ----------
    stack : {"embedded", "full", "cluster"}
        A cluster is two servers of which one takes over: database and log are both there.
    routers : int
        Of the machine that is fed; 0: the small feed.
    seconds : int
        The feed's longest time.
    """

    stack: str
    port: int
    routers: int = 0
    seconds: int = 0


@contextlib.contextmanager
def started(
    setting: Setting, disk: bool, clock: bool, far: Host | None = None
) -> Iterator[tuple[Platform, CollectedFeed | MachineFeed, Path | None, Path | None]]:
    """A platform in a folder of its own; yields it, its feed, the clock's offset file and the small disk, each where it can be had."""
    # A machine writes more than a memory should hold.
    place = "/dev/shm" if not setting.routers and os.access("/dev/shm", os.W_OK) else None
    base = Path(tempfile.mkdtemp(prefix="flitwatch-campaign-", dir=place))
    home = base / "home"
    home.mkdir()
    mounted = disk and _mounted(home, base / "disk" if setting.routers else None)
    data = base / "store_csv"
    cluster = setting.stack == "cluster"
    one = (
        ClusteredPlatform(home, data, quick=not setting.routers)
        if cluster
        else Platform(home, setting.stack, data, far)
    )
    feed: CollectedFeed | MachineFeed = CollectedFeed()
    if setting.routers:
        feed = MachineFeed(base, setting.routers, setting.seconds)
        one.environment["FLITWATCH_REGISTRY"] = str(feed.registry)
    file = base / "clock" if clock and shutil.which("cc") else None
    if file is not None:
        library = base / "stepped_clock.so"
        subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", str(library), str(SHIM)], check=True)
        _write_offset(file, 0)
        one.environment |= {"LD_PRELOAD": str(library), "STEPPED_CLOCK": str(file)}
    try:
        one.start(setting.port)
        yield one, feed, file, home if mounted else None
    finally:
        feed.stop()
        one.stop()
        if logs := os.environ.get("FLITWATCH_CAMPAIGN_LOGS"):
            shutil.copytree(home / "log", logs, dirs_exist_ok=True)
            for kept in home.glob("*/*.log"):
                shutil.copy(kept, logs)
        if mounted:
            subprocess.run(["umount", "-l", str(home)], capture_output=True)
        shutil.rmtree(base, ignore_errors=True)


@contextlib.contextmanager
def _ending(report: Report, kills: int) -> Iterator[None]:
    """Note in the report why it ends before its last kill, where it does."""
    try:
        yield
    except (NotRecovered, Unavailable) as ended:
        report.ended_early = str(ended)
    except KeyboardInterrupt:
        report.ended_early = f"interrupted after {sum(report.kills.values())} of {kills} kills"


def _tell(report: Report, victim: str, done: int, kills: int) -> None:
    recovery_s, caught_up_s = report.recoveries_s[-1], report.caught_up_s[-1]
    print(
        f"{done} of {kills} kills: {victim}, {recovery_s:.1f} s, caught up after {caught_up_s:.1f} s", file=sys.stderr
    )


def chaos(setting: Setting, kills: int, seed: int, disk: bool = True, clock: bool = True) -> Report:
    """Kills at random; half way the disk is full once, at each seventh a process stands still or heads without an end are sent, at a quarter and three quarters the clock is stepped, at a third and two thirds the network is cut."""
    begun = time.monotonic()
    with contextlib.ExitStack() as stack_of:
        far = stack_of.enter_context(Host()) if can_be_had() else None
        if far is None:
            print("no network cut: it needs root and iproute2", file=sys.stderr)
        platform, feed, file, place = stack_of.enter_context(started(setting, disk, clock, far))
        campaign = Campaign(platform, feed, file, seed)
        campaign.feed_for(3)
        victims = ["writer", "database", "api", "worker"] + (["broker"] if setting.stack == "full" else [])
        grey = [partial(campaign.stop, each) for each in STOPPED] + [campaign.send_endless_heads]
        if isinstance(feed, CollectedFeed):
            victims.insert(0, "collector")
        else:
            del grey[STOPPED.index("collector")]
        steps = dict(zip((kills // 4, 3 * kills // 4), STEPS_S, strict=True)) if file is not None else {}
        with _ending(campaign.report, kills):
            for number in range(kills):
                campaign.feed_for(campaign.random.uniform(0.2, 1.5))
                # Each once, then at random.
                victim = victims[number] if number < len(victims) else campaign.random.choice(victims)
                campaign.kill(victim)
                campaign.sample()
                if number in steps:
                    campaign.step_clock(steps[number])
                if number == kills // 2 and place is not None:
                    campaign.fill_disk(place)
                for turn, fault in enumerate(grey, 1):
                    if number == turn * kills // (len(grey) + 1):
                        fault()
                if far is not None and number in (kills // 3, 2 * kills // 3):
                    campaign.cut_network()
                _tell(campaign.report, victim, number + 1, kills)
        report = campaign.finish()
        report.minutes = (time.monotonic() - begun) / 60
        return report


def failover(setting: Setting, kills: int) -> Report:
    """Again and again the server that writes is lost with its Patroni, the other takes over, and the lost one comes back and follows it."""
    begun = time.monotonic()
    with started(setting, False, False) as (platform, feed, _, _):
        assert isinstance(platform, ClusteredPlatform)
        campaign = Campaign(platform, feed, None, 0)
        campaign.feed_for(3)
        with _ending(campaign.report, kills):
            for number in range(kills):
                campaign.kill(PRIMARY)
                platform.mend()
                campaign.sample()
                _tell(campaign.report, PRIMARY, number + 1, kills)
        report = campaign.finish()
        report.minutes = (time.monotonic() - begun) / 60
        return report


def soak(setting: Setting, minutes: float) -> Report:
    """A steady feed."""
    with started(setting, False, False) as (platform, feed, _, _):
        campaign = Campaign(platform, feed, None, 0)
        begun = time.monotonic()
        while time.monotonic() - begun < minutes * 60:
            campaign.feed_for(min(10.0, minutes * 60 / 10))
            campaign.sample()
            print(f"{(time.monotonic() - begun) / 60:.1f} of {minutes:g} minutes", file=sys.stderr)
        report = campaign.finish()
        report.minutes = (time.monotonic() - begun) / 60
        return report


def main() -> None:
    """Run and print the report; ends with 1 if something was lost, doubled, wrong or crashed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("chaos", "failover", "soak"))
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--minutes", type=float, default=120)
    parser.add_argument("--stack", choices=("embedded", "full"), default="full")
    parser.add_argument(
        "--routers",
        type=int,
        help="of the machine that is fed (chaos 3264, others a third of it); 0: a few routers' store_csv and its collector",
    )
    parser.add_argument("--port", type=int, default=18795)
    parser.add_argument("--seed", type=int, default=7)
    options = parser.parse_args()
    # Either ends the campaign with a report; a shell's background job would ignore the first.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)
    routers = options.routers if options.routers is not None else MACHINE if options.what == "chaos" else MACHINE // 3
    longest_s = 600 + int(
        options.minutes * 60 if options.what == "soak" else options.kills * LONGEST_KILL_S[options.what]
    )
    if options.what == "failover":
        if lack := patroni_cluster.lacking():
            sys.exit(lack)
        report = failover(Setting("cluster", options.port, routers, longest_s), options.kills)
    else:
        setting = Setting(options.stack, options.port, routers, longest_s)
        report = (
            chaos(setting, options.kills, options.seed) if options.what == "chaos" else soak(setting, options.minutes)
        )
    print(json.dumps(report.as_dict()))
    sys.exit(bool(report.lost or report.duplicated or report.wrong or report.crashes or report.ended_early))


if __name__ == "__main__":
    main()
