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
from dataclasses import dataclass, field, replace

import orjson

from flitwatch_domain.errors import BadInput, MissingDependency, Unavailable
from flitwatch_domain.fabric import Fabric
from flitwatch_domain.importers import ibnetdiscover
from flitwatch_ingest.collectors import umad
from flitwatch_ingest.collectors.conversations import Conversations
from flitwatch_ingest.collectors.devices import WAIT, Answer, Device, devices_of, needs_narrow_counters
from flitwatch_ingest.collectors.link_failures import LinkChanges
from flitwatch_ingest.collectors.publisher import Publisher
from flitwatch_ingest.collectors.rounds import ask_again, format_names
from flitwatch_ingest.sources import perfquery, pma
from flitwatch_stream.topics import ldms_topic

#: A record per port, of a switch or an adapter.
TOPIC = ldms_topic("ib_port")
#: Records of a port's lanes, one per attribute that the device has: data by service level, waits by virtual lane.
LANE_TOPIC = ldms_topic("ib_lane")
_LANE_OPTIONS = {pma.DATA_BY_LEVEL: "--xmtsl", pma.WAITS_BY_LANE: "--vlxmitcounters"}
_DATA = ("PortXmitData", "PortRcvData", "PortXmitPkts", "PortRcvPkts")
#: Debian and Red Hat install the tools here, which may not be in a service's PATH.
_PLACES = ("/usr/sbin", "/sbin")
DISCOVERY_S, DEVICE_S = 600, 60
#: The tools include their process id in their messages.
_PROCESS = re.compile(r"\[[0-9]+\]\s*")


@dataclass(frozen=True)
class Tools:
    """infiniband-diags on this host; `ca` and `ca_port` choose the adapter to send from."""

    ca: str = ""
    ca_port: int = 0

    def discover(self, name: str) -> Fabric:
        """Return the subnet's topology. Raise MissingDependency or Unavailable if the tool is not installed or finds no subnet. Raise BadInput if its
        output cannot be read."""
        answer = self._run_tool("ibnetdiscover", [], DISCOVERY_S)
        if answer.returncode:
            raise Unavailable(
                f"ibnetdiscover failed: {_failure_reason(answer)}", advice="Run it as root on a host of the subnet."
            )
        return ibnetdiscover.parse_fabric(answer.stdout, "ibnetdiscover", name)

    def counters(self, lid: int, ports: Sequence[int], extended: bool) -> tuple[dict[int, perfquery.Counters], str]:
        """Return counters by port, and why some are missing (empty: none)."""
        words = [*(["-x"] if extended else []), "-l", str(lid), ",".join(map(str, ports))]
        try:
            answer = self._run_tool("perfquery", words, DEVICE_S)
        except Unavailable as away:
            return {}, away.message
        by_port = perfquery.parse_ports(answer.stdout)
        return by_port, "" if len(by_port) == len(ports) else _failure_reason(answer) or "some ports did not answer"

    def port(self) -> umad.Port:
        """Return the adapter's port for many questions in this process. Raises the errors of `umad.Port`."""
        return umad.Port(self.ca, self.ca_port)

    def lanes(self, lid: int, port: int, attribute: int) -> perfquery.Counters:
        """Return counters of a port's lanes for one of `pma.LANE_ATTRIBUTES`; empty if the device does not answer, as devices without these counters do."""
        try:
            answer = self._run_tool("perfquery", [_LANE_OPTIONS[attribute], str(lid), str(port)], DEVICE_S)
        except Unavailable:
            return {}
        return perfquery.parse_ports(answer.stdout).get(port, {})

    def clear(self, lid: int, port: int) -> None:
        """Set the port's PortCounters to 0."""
        self._run_tool("perfquery", ["-R", str(lid), str(port)], DEVICE_S)

    def _run_tool(self, tool: str, words: list[str], limit_s: float) -> subprocess.CompletedProcess[str]:
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


def _failure_reason(answer: subprocess.CompletedProcess[str]) -> str:
    if not answer.returncode:
        return ""
    lines = (_PROCESS.sub("", line).strip() for line in answer.stderr.splitlines())
    return next((line for line in lines if line), f"status {answer.returncode}")


@dataclass
class Round:
    """Result of reading the subnet once.

    `saturated` counts ports by counter, `lanes` counts lane counters. `failed` contains device names by reason, `stuck` the ports with a saturated
    counter. `asked_by` names the tool that asked, and `slow` explains why it was not the library.
    """

    devices: int = 0
    lanes: int = 0
    ports: int = 0
    counters: int = 0
    saturated: Counter[str] = field(default_factory=Counter)
    failed: dict[str, list[str]] = field(default_factory=dict)
    stuck: dict[Device, list[int]] = field(default_factory=dict)
    asked_by: str = umad.NAME
    slow: str = ""

    def fail(self, device: Device, why: str) -> None:
        """Record a device with an incomplete answer."""
        self.failed.setdefault(why, []).append(device.name)


class InfinibandCollector:
    """Collector that reads the counters of a subnet's ports, several devices at a time, and publishes them.

    Parameters
    ----------
    name : str
        The fabric's name, and the records' source.
    adapters : bool
        Ask every adapter too. Without it only the switches' ports are read, which see both directions of every cable.
    clear : bool
        Clear a port's 32-bit counters after reading if one is saturated.
    parallel : int
        Number of devices asked at a time.
    lanes : bool
        Ask for the lanes of each port too: one question per port and attribute.
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
        self._without: set[tuple[str, int]] = set()
        self._changes = LinkChanges(publisher)

    def discover(self) -> Fabric:
        """Return the current topology. Raises the errors of `Tools.discover`."""
        return self._tools.discover(self._name)

    def read(self, fabric: Fabric) -> Round:
        """Read every port once and publish its counters, with the library in this process or, if that fails, with one perfquery process per question.

        Devices that do not answer are counted by reason and retried in the next round.
        """
        outcome, devices = Round(), devices_of(fabric, self._adapters)
        try:
            port = self._tools.port()
        except (MissingDependency, Unavailable) as away:
            outcome.asked_by, outcome.slow = "perfquery", away.message
            self._by_perfquery(devices, outcome)
            return outcome
        with port:
            talk = Conversations(port, self._parallel, self._lanes, self._without)
            for answer in talk.read(devices):
                self._take_answer(answer, outcome)
            self._publisher.flush()
            if self._clear:
                for answer in talk.clear(
                    replace(device, ports=tuple(ports)) for device, ports in outcome.stuck.items()
                ):
                    if answer.why:
                        outcome.fail(answer.device, f"not cleared: {answer.why}")
        return outcome

    def _by_perfquery(self, devices: list[Device], found: Round) -> None:
        """Ask devices with perfquery, and ask those that did not answer again with fewer questions at a time. If that helps, later rounds do the
        same: a subnet, or a simulator of one, takes only a limited number of questions at a time."""
        waiting, parallel = devices, self._parallel
        while waiting:
            last, batch, waiting = parallel == 1, waiting, []
            with ThreadPoolExecutor(parallel, "perfquery") as pool:
                for answer in pool.map(self._ask_device, batch):
                    self._publisher.heartbeat.beat()
                    if answer.why and not last:
                        waiting.append(answer.device)
                    else:
                        self._take_answer(answer, found)
            if waiting and len(waiting) < len(batch):
                self._parallel = max(1, parallel // 2)
            parallel = max(1, parallel // 4)
        self._publisher.flush()
        if self._clear:
            for device, ports in found.stuck.items():
                for port in ports:
                    self._tools.clear(device.lid, port)

    def run(
        self,
        stop: threading.Event,
        interval_s: float,
        discovery_s: float,
        say: Callable[[str], None],
        store: Callable[[Fabric], None],
    ) -> None:
        """Read counters every `interval_s` and the topology every `discovery_s` until `stop` is set.

        If the topology cannot be read, it is retried in the next round. Meanwhile the ports of the previous topology are read.
        """
        fabric: Fabric | None = None
        slow = ""

        def look(due: bool) -> bool:
            nonlocal fabric, slow
            discovered = False
            if due:
                try:
                    fabric = self.discover()
                    store(fabric)
                    self._changes.publish_fabric(f"infiniband:{self._name}", time.time(), fabric)
                    discovered = True
                except (BadInput, Unavailable) as problem:
                    say(f"waiting for the subnet's topology: {problem.message}")
            if fabric is not None:
                outcome = self.read(fabric)
                for text in ([slow_of(outcome)] if outcome.slow not in ("", slow) else []) + warnings_of(outcome):
                    say(text)
                slow = outcome.slow
            return discovered

        ask_again(stop, self._publisher.heartbeat, interval_s, look, discovery_s)

    def _ask_device(self, device: Device) -> Answer:
        wide, why = self._tools.counters(device.lid, device.ports, extended=True)
        narrow: dict[int, perfquery.Counters] = {}
        if needs_narrow_counters(device, wide):
            narrow, why = self._tools.counters(device.lid, device.ports, extended=False)
        at_s = time.time()
        return Answer(device, at_s, wide, narrow, why, [] if why or not self._lanes else self._lanes_of(device))

    def _lanes_of(self, device: Device) -> list[tuple[int, perfquery.Counters]]:
        """Return counters of lanes. A device whose first port lacks an attribute is not asked for it again."""
        lanes = []
        for attribute in pma.LANE_ATTRIBUTES:
            if (device.guid, attribute) in self._without:
                continue
            for port in device.ports:
                counted = self._tools.lanes(device.lid, port, attribute)
                if counted:
                    lanes.append((port, counted))
                elif port == device.ports[0]:
                    self._without.add((device.guid, attribute))
                    break
        return lanes

    def _take_answer(self, answer: Answer, found: Round) -> None:
        device, at_s, wide, narrow, why, lanes = answer
        self._publisher.heartbeat.beat()
        found.devices += 1
        if why:
            found.fail(device, why)
        for port in device.ports:
            full = perfquery.find_saturated(narrow.get(port, {})) - wide.get(port, {}).keys()
            found.saturated.update(full)
            if full:
                found.stuck.setdefault(device, []).append(port)
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
                self._publish_counters(TOPIC, at_s, device, port, counted)
            both = narrow.get(port, {}) | wide.get(port, {})
            failures = {name: count for name, count in both.items() if name not in full}
            self._changes.publish_failures(f"infiniband:{self._name}", at_s, device.guid, port, failures)
        for port, counted in lanes:
            # A constant counter would create an instance for each choice of lanes: the attribute is omitted.
            full = perfquery.find_saturated(counted)
            found.saturated.update(full)
            if full:
                continue
            found.lanes += len(counted)
            self._publish_counters(LANE_TOPIC, at_s, device, port, counted)

    def _publish_counters(
        self, topic: str, at_s: float, device: Device, port: int, counted: perfquery.Counters
    ) -> None:
        record = {"timestamp": at_s, "guid": device.guid, "port": port, **counted}
        self._publisher.publish(topic, orjson.dumps(record), f"infiniband:{self._name}", key=device.guid)


def warnings_of(found: Round) -> list[str]:
    """Return warnings for the operator about a reading: saturated counters, and devices that did not answer."""
    lines = [
        f"{count} ports have a saturated {name}, which stops counting until it is cleared"
        for name, count in sorted(found.saturated.items())
    ]
    lines += [f"{len(names)} devices: {why} ({format_names(names)})" for why, names in sorted(found.failed.items())]
    return lines


def slow_of(found: Round) -> str:
    """Return the reason why perfquery was used, which starts one process per question."""
    return f"using the slower perfquery: {found.slow}"
