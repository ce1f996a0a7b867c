"""Counters of an InfiniBand subnet, read from one host with infiniband-diags: no agent on the nodes, nothing on the switches."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import NamedTuple

import orjson

from flitwatch_domain.errors import BadInput, MissingDependency, Unavailable
from flitwatch_domain.fabric import Fabric
from flitwatch_domain.importers import ibnetdiscover
from flitwatch_ingest.collectors.publisher import Publisher
from flitwatch_ingest.sources import perfquery
from flitwatch_stream.topics import ldms_topic

#: A record a port, of a switch or an adapter.
TOPIC = ldms_topic("ib_port")
#: On most devices a 32-bit counter, which stops at its largest value: then it is left out.
WAIT = "PortXmitWait"
#: Records of a port's lanes, one of each attribute that the device has: data by service level, waits by virtual lane.
LANE_TOPIC = ldms_topic("ib_lane")
LANE_ATTRIBUTES = ("--xmtsl", "--vlxmitcounters")
_DATA = ("PortXmitData", "PortRcvData", "PortXmitPkts", "PortRcvPkts")
#: Debian and Red Hat put the tools here, where a service's PATH may not look.
_PLACES = ("/usr/sbin", "/sbin")
DISCOVERY_S, DEVICE_S = 600, 60
#: The tools put their process id into their messages.
_PROCESS = re.compile(r"\[\d+\]\s*")


@dataclass(frozen=True)
class Tools:
    """infiniband-diags on this host; `ca` and `ca_port` choose the adapter that asks."""

    ca: str = ""
    ca_port: int = 0

    def discover(self, name: str) -> Fabric:
        """The subnet's topology.

        Raises
        ------
        MissingDependency, Unavailable
            The tool is not installed, or finds no subnet.
        BadInput
            Its output cannot be read.
        """
        answer = self._run("ibnetdiscover", [], DISCOVERY_S)
        if answer.returncode:
            raise Unavailable(f"ibnetdiscover failed: {_why(answer)}", advice="Run it as root on a host of the subnet.")
        return ibnetdiscover.parse(answer.stdout, "ibnetdiscover", name)

    def counters(self, lid: int, ports: Sequence[int], extended: bool) -> tuple[dict[int, perfquery.Counters], str]:
        """Counters by port, and why some are missing (empty: none)."""
        words = [*(["-x"] if extended else []), "-l", str(lid), ",".join(map(str, ports))]
        try:
            answer = self._run("perfquery", words, DEVICE_S)
        except Unavailable as away:
            return {}, away.message
        found = perfquery.parse(answer.stdout)
        return found, "" if len(found) == len(ports) else _why(answer) or "some ports did not answer"

    def lanes(self, lid: int, port: int, attribute: str) -> perfquery.Counters:
        """Counters of a port's lanes, one of `LANE_ATTRIBUTES`; empty where the device does not answer, as one that has no such counters."""
        try:
            answer = self._run("perfquery", [attribute, str(lid), str(port)], DEVICE_S)
        except Unavailable:
            return {}
        return perfquery.parse(answer.stdout).get(port, {})

    def clear(self, lid: int, port: int) -> None:
        """Set the port's PortCounters to 0."""
        self._run("perfquery", ["-R", str(lid), str(port)], DEVICE_S)

    def _run(self, tool: str, words: list[str], limit_s: float) -> subprocess.CompletedProcess[str]:
        program = shutil.which(tool, path=os.pathsep.join([os.environ.get("PATH", ""), *_PLACES]))
        if program is None:
            raise MissingDependency(f"{tool} is not installed", advice="Install infiniband-diags.")
        chosen = [*(["-C", self.ca] if self.ca else []), *(["-P", str(self.ca_port)] if self.ca_port else [])]
        try:
            return subprocess.run(
                [program, *chosen, *words],
                capture_output=True,
                text=True,
                errors="replace",
                timeout=limit_s,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise Unavailable(f"{tool} did not answer within {limit_s:g} s") from None


def _why(answer: subprocess.CompletedProcess[str]) -> str:
    if not answer.returncode:
        return ""
    lines = (_PROCESS.sub("", line).strip() for line in answer.stderr.splitlines())
    return next((line for line in lines if line), f"status {answer.returncode}")


@dataclass(frozen=True)
class Device:
    """A switch or an adapter's port, and which of its ports are asked."""

    name: str
    guid: str
    lid: int
    ports: tuple[int, ...]


def devices_of(fabric: Fabric, adapters: bool) -> list[Device]:
    """The switches with their cabled ports, with `adapters` also the endpoints; without a LID nothing can be asked."""
    routers, links = len(fabric.routers), fabric.links
    ports: list[set[int]] = [set() for _ in range(routers)]
    for vertex, port in zip(links.src.tolist(), links.src_port.tolist(), strict=True):
        if vertex < routers and port > 0:
            ports[vertex].add(port)
    about = fabric.attributes
    found = [
        Device(
            str(fabric.routers.name[r]), str(fabric.routers.guid[r]), about["switch_lids"][r], tuple(sorted(ports[r]))
        )
        for r in range(routers)
        if ports[r]
    ]
    if adapters:
        ends = fabric.endpoints
        found += [
            Device(str(ends.node[e]), str(ends.guid[e]), about["lids"][e], (about["adapter_ports"][e],))
            for e in range(len(ends))
        ]
    return [device for device in found if device.lid]


@dataclass
class Round:
    """What one reading of the subnet found; `saturated` and `failed` count ports by counter and devices by reason, `lanes` counters of lanes."""

    devices: int = 0
    lanes: int = 0
    ports: int = 0
    counters: int = 0
    saturated: Counter[str] = field(default_factory=Counter)
    failed: Counter[str] = field(default_factory=Counter)
    stuck: list[tuple[int, int]] = field(default_factory=list)


class Answer(NamedTuple):
    """Counters of a device by port, of 64 and of 32 bits; `why` some are missing; and those of its lanes by attribute and port."""

    device: Device
    at_s: float
    wide: dict[int, perfquery.Counters]
    narrow: dict[int, perfquery.Counters]
    why: str
    lanes: dict[tuple[str, int], perfquery.Counters]


class InfinibandCollector:
    """Reads the counters of a subnet's ports, several devices at a time, and publishes them.

    Parameters
    ----------
    tools : Tools
    publisher : Publisher
    name : str
        The fabric's name, and the records' source.
    adapters : bool
        Ask every adapter too; without it the switches' ports alone, which see both directions of every cable.
    clear : bool
        Clear the 32-bit counters of ports where one is saturated, after they were read.
    parallel : int
        Devices that are asked at a time.
    lanes : bool
        Ask for the lanes of each port too, which is a question a port and attribute.
    """

    def __init__(
        self,
        tools: Tools,
        publisher: Publisher,
        name: str,
        adapters: bool = False,
        clear: bool = False,
        parallel: int = 8,
        lanes: bool = False,
    ) -> None:
        self._tools = tools
        self._publisher = publisher
        self._name = name
        self._adapters = adapters
        self._clear = clear
        self._parallel = parallel
        self._lanes = lanes
        self._without: set[tuple[str, str]] = set()

    def discover(self) -> Fabric:
        """The topology as it is now; raises as `Tools.discover`."""
        return self._tools.discover(self._name)

    def read(self, fabric: Fabric) -> Round:
        """Read every port once and publish what it counted.

        What did not answer is asked again, fewer at a time, and where that helps also in later rounds: a subnet, or a simulator of one, takes so many
        questions at a time. What does not answer then either is counted and asked again in the next round.
        """
        found, waiting, parallel = Round(), devices_of(fabric, self._adapters), self._parallel
        while waiting:
            last, asked, waiting = parallel == 1, waiting, []
            with ThreadPoolExecutor(parallel, "perfquery") as pool:
                for answer in pool.map(self._ask, asked):
                    self._publisher.heartbeat.beat()
                    if answer.why and not last:
                        waiting.append(answer.device)
                    else:
                        self._take(answer, found)
            if waiting and len(waiting) < len(asked):
                self._parallel = max(1, parallel // 2)
            parallel = max(1, parallel // 4)
        self._publisher.flush()
        if self._clear:
            for lid, port in found.stuck:
                self._tools.clear(lid, port)
        return found

    def run(
        self,
        stop: threading.Event,
        interval_s: float,
        discovery_s: float,
        say: Callable[[str], None],
        store: Callable[[Fabric], None],
    ) -> None:
        """Read every `interval_s`, and the topology anew every `discovery_s`, until `stop` is set.

        A topology that cannot be read is tried again in the next round; meanwhile the ports of the one before are read.
        """
        fabric: Fabric | None = None
        discovered_at = 0.0
        while not stop.is_set():
            begun = time.monotonic()
            if fabric is None or begun - discovered_at >= discovery_s:
                try:
                    fabric, discovered_at = self.discover(), begun
                    store(fabric)
                except (BadInput, Unavailable) as problem:
                    say(f"waiting for the subnet's topology: {problem.message}")
            if fabric is not None:
                for text in warnings_of(self.read(fabric)):
                    say(text)
            self._publisher.heartbeat.wait(stop, max(0.0, interval_s - (time.monotonic() - begun)))

    def _ask(self, device: Device) -> Answer:
        wide, why = self._tools.counters(device.lid, device.ports, extended=True)
        narrow: dict[int, perfquery.Counters] = {}
        # Newer devices have all of them in 64 bits.
        if len(wide) < len(device.ports) or any(WAIT not in counted for counted in wide.values()):
            narrow, why = self._tools.counters(device.lid, device.ports, extended=False)
        at_s = time.time()
        return Answer(device, at_s, wide, narrow, why, {} if why or not self._lanes else self._lanes_of(device))

    def _lanes_of(self, device: Device) -> dict[tuple[str, int], perfquery.Counters]:
        """Counters of lanes; a device whose first port does not have an attribute is not asked for it again."""
        found = {}
        for attribute in LANE_ATTRIBUTES:
            if (device.guid, attribute) in self._without:
                continue
            for port in device.ports:
                counted = self._tools.lanes(device.lid, port, attribute)
                if counted:
                    found[attribute, port] = counted
                elif port == device.ports[0]:
                    self._without.add((device.guid, attribute))
                    break
        return found

    def _take(self, answer: Answer, found: Round) -> None:
        device, at_s, wide, narrow, why, lanes = answer
        found.devices += 1
        if why:
            found.failed[why] += 1
        for port in device.ports:
            full = perfquery.saturated(narrow.get(port, {})) - wide.get(port, {}).keys()
            found.saturated.update(full)
            if full:
                found.stuck.append((device.lid, port))
            counted = wide.get(port)
            if counted is None:
                counted = {name: narrow[port][name] for name in _DATA if name in narrow.get(port, {})}
                if full & counted.keys():
                    counted = {}
            wait = narrow.get(port, {}).get(WAIT)
            if counted and wait is not None and WAIT not in full:
                counted.setdefault(WAIT, wait)
            found.counters += len(counted)
            found.ports += bool(counted)
            if counted:
                self._publish(TOPIC, at_s, device, port, counted)
        for (_, port), counted in lanes.items():
            # One that stands still would make an instance of its own of each choice of lanes: none of the attribute is kept.
            full = perfquery.saturated(counted)
            found.saturated.update(full)
            if full:
                continue
            found.lanes += len(counted)
            self._publish(LANE_TOPIC, at_s, device, port, counted)

    def _publish(self, topic: str, at_s: float, device: Device, port: int, counted: perfquery.Counters) -> None:
        record = {"timestamp": at_s, "guid": device.guid, "port": port, **counted}
        self._publisher.publish(topic, orjson.dumps(record), f"infiniband:{self._name}", key=device.guid)


def warnings_of(found: Round) -> list[str]:
    """What a person should know of a reading: saturated counters, and devices that did not answer."""
    lines = [
        f"{count} ports have a saturated {name}, which counts no more until it is cleared"
        for name, count in sorted(found.saturated.items())
    ]
    return lines + [f"{count} devices: {why}" for why, count in sorted(found.failed.items())]
