"""A fabric in network namespaces, with running switches and NICs."""

from __future__ import annotations

import contextlib
import ctypes
import itertools
import os
import shutil
import socket
import subprocess
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType

from flitwatch_core import packet_path
from flitwatch_domain.errors import MissingDependency, Unavailable
from flitwatch_domain.fabric import Fabric
from flitwatch_domain.sampling import Reach, link_number

_NAMESPACES = Path("/run/netns")
_PREFIX = "flitwatch-"
_CLONE_NEWNET = 0x40000000
_labs = itertools.count(1)
#: Queued bytes above which a packet counts as congested, and capacity of a queue.
CONGESTED_BYTES, QUEUE_BYTES = 6_000, 64_000


def why_not() -> str | None:
    """Return the reason why this host cannot create namespaces; None if it can."""
    if os.geteuid() != 0:
        return "needs root for network namespaces"
    if shutil.which("ip") is None:
        return "needs the ip command (Debian: iproute2)"
    if not Path("/dev/net/tun").exists():
        return "needs TAP devices (/dev/net/tun)"
    probe = f"{_PREFIX}{os.getpid()}-probe"
    result = subprocess.run(["ip", "netns", "add", probe], capture_output=True, text=True, check=False)
    if result.returncode != 0:
        return f"network namespaces cannot be created: {result.stderr.strip()}"
    subprocess.run(["ip", "netns", "del", probe], check=False)
    return None


class Lab:
    """A fabric of veth cables between namespaces, one per switch and one per host; a context manager.

    A host's programs use its device `app0` (10.214.0.x). Its NIC, a switch with two ports, connects that device to the cable `wire0`. Frames
    use the shortest path, and the lowest link numbers on ties.

    Parameters
    ----------
    fabric : Fabric
        Switches and endpoints of one port; names of at most 8 characters.
    variant : packet_path.Variant
    sampling_hosts : sequence of str, optional
        Hosts whose NICs mark sent packets (default: all).
    downsampling : int
        One of this many packets is marked.
    seed : int
    congested_bytes, queue_bytes : int
        Settings of every switch's port.

    Raises
    ------
    MissingDependency
        Root privileges, ip, or TAP devices are missing.
    """

    def __init__(
        self,
        fabric: Fabric,
        *,
        variant: packet_path.Variant = packet_path.Variant.ONE_BIT,
        sampling_hosts: Sequence[str] | None = None,
        downsampling: int = 1,
        seed: int = 1,
        congested_bytes: int = CONGESTED_BYTES,
        queue_bytes: int = QUEUE_BYTES,
    ) -> None:
        if (reason := why_not()) is not None:
            raise MissingDependency(f"no network namespaces: {reason}")
        self.fabric, self.variant = fabric, variant
        self.hosts = [str(node) for node in fabric.endpoints.node]
        self._sampling = set(self.hosts if sampling_hosts is None else sampling_hosts)
        self._downsampling, self._seed = downsampling, seed
        self._queues = (congested_bytes, queue_bytes)
        self._base = f"{_PREFIX}{os.getpid()}-{next(_labs)}-"
        self._switches: dict[str, packet_path.Switch] = {}
        self._ports: dict[str, list[packet_path.PortSpec]] = {}
        self._threads: list[threading.Thread] = []

    def namespace(self, name: str) -> str:
        """Return the path of a host's or switch's namespace."""
        return str(_NAMESPACES / (self._base + name))

    def address(self, host: str) -> str:
        """Return a host's IPv4 address."""
        return f"10.214.0.{self.hosts.index(host) + 1}"

    def link_rate_bps(self, host: str) -> float:
        """Return the bits per second of a host's link."""
        (link,) = self._leaving_links(len(self.fabric.routers) + self.hosts.index(host))
        return float(self.fabric.links.bandwidth_bps[link])

    def __enter__(self) -> Lab:
        _remove_stale()
        try:
            self._lay_cables()
            self._start_switches()
        except BaseException:
            self._take_down()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._take_down()

    @contextlib.contextmanager
    def inside(self, host: str) -> Iterator[None]:
        """Create the calling thread's new sockets in that host's namespace while the block runs."""
        home = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
        there = os.open(self.namespace(host), os.O_RDONLY)
        try:
            _enter_namespace(there)
            try:
                yield
            finally:
                _enter_namespace(home)
        finally:
            os.close(there)
            os.close(home)

    def udp(self, host: str, port: int = 0) -> socket.socket:
        """Return a UDP socket in that host's namespace; `close` closes it."""
        with self.inside(host):
            program_socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        program_socket.bind((self.address(host), port))
        return program_socket

    def link_counts(self) -> dict[int, dict[str, int]]:
        """Return the counts of sent traffic on every link (by index in the fabric), from its switch or NIC."""
        return {
            spec.link - 1: counts
            for name, switch in self._switches.items()
            for spec, counts in zip(self._ports[name], switch.counts(), strict=True)
            if spec.link
        }

    def overruns(self) -> int:
        """Return the number of frames lost by switches and NICs because the host was too busy."""
        return sum(counts["overruns"] for switch in self._switches.values() for counts in switch.counts())

    def port_counts(self, name: str) -> dict[str, dict[str, int]]:
        """Return all ports' counts of one switch or NIC, by interface."""
        counts = self._switches[name].counts()
        return {spec.interface: port_count for spec, port_count in zip(self._ports[name], counts, strict=True)}

    # --- laying out --------------------------------------------------------------------------------------------------

    def _lay_cables(self) -> None:
        fabric, routers = self.fabric, len(self.fabric.routers)
        names = [fabric.vertex_name(vertex) for vertex in range(fabric.vertices)]
        _run_ip([f"netns add {self._base}{name}" for name in names])
        # The kernel itself does not use the cables: no addresses, no ARP.
        commands: dict[str, list[str]] = {name: [] for name in names}
        for vertex, name in enumerate(names):
            commands[name] += [
                f"link set {self._interface_name(vertex, link)} addrgenmode none arp off up"
                for link in self._leaving_links(vertex)
            ]
        created = []
        for link, (a, b) in enumerate(zip(fabric.links.src, fabric.links.dst, strict=True)):
            if a < b:
                back = self._reverse_link(link)
                created.append(
                    f"link add {self._interface_name(int(a), link)} netns {self._base}{names[a]} type veth "
                    f"peer name {self._interface_name(int(b), back)} netns {self._base}{names[b]}"
                )
        _run_ip(created)
        for name in names[routers:]:
            _run_ip(
                [
                    "tuntap add dev app0 mode tap",
                    f"link set app0 address {_mac_address(self.hosts.index(name)).hex(':')} addrgenmode none",
                    f"addr add {self.address(name)}/24 dev app0",
                    "link set app0 up",
                    "link set lo up",
                ],
                self._base + name,
            )
        for name, namespace_commands in commands.items():
            _run_ip(namespace_commands, self._base + name)

    def _start_switches(self) -> None:
        fabric, routers = self.fabric, len(self.fabric.routers)
        reach = Reach(fabric)
        src = [int(vertex) for vertex in fabric.links.src]
        next_link = {
            (src[link], end): link
            for begin in range(len(self.hosts))
            for end in range(len(self.hosts))
            if begin != end
            for link in reach.path(begin, end)
        }
        tree = self._flooding_tree()
        for vertex in range(fabric.vertices):
            name = fabric.vertex_name(vertex)
            leaving = self._leaving_links(vertex)
            ports = [self._port_spec(name, vertex, link, link in tree) for link in leaving]
            if vertex < routers:
                table = {
                    _mac_address(end): leaving.index(link) for (at, end), link in next_link.items() if at == vertex
                }
            else:
                ports.append(self._programs_port(name))
                table = {_mac_address(vertex - routers): len(leaving)}
            self._ports[name] = ports
            switch = packet_path.Switch(ports, table, self.variant, seed=self._seed * 1_000_003 + vertex)
            self._switches[name] = switch
            thread = threading.Thread(target=switch.run, name=f"switch {name}", daemon=True)
            thread.start()
            self._threads.append(thread)

    def _port_spec(self, name: str, vertex: int, link: int, flood: bool) -> packet_path.PortSpec:
        port = packet_path.PortSpec()
        port.interface, port.network_namespace = self._interface_name(vertex, link), self.namespace(name)
        port.link, port.flood = link_number(link), flood
        port.rate_bps = float(self.fabric.links.bandwidth_bps[link])
        port.congested_bytes, port.queue_bytes = self._queues
        return port

    def _programs_port(self, name: str) -> packet_path.PortSpec:
        port = packet_path.PortSpec()
        port.interface, port.network_namespace, port.tap = "app0", self.namespace(name), True
        port.origin, port.flood = True, True
        port.downsampling = self._downsampling if name in self._sampling else 0
        return port

    def _leaving_links(self, vertex: int) -> list[int]:
        return [link for link, src in enumerate(self.fabric.links.src) if src == vertex]

    def _reverse_link(self, link: int) -> int:
        """Return the other direction of a link's cable: links come in pairs."""
        return link ^ 1

    def _interface_name(self, vertex: int, link: int) -> str:
        if vertex >= len(self.fabric.routers):
            return "wire0"
        return f"to-{self.fabric.vertex_name(int(self.fabric.links.dst[link]))}"

    def _flooding_tree(self) -> set[int]:
        """Return the links, in both directions, of a spanning tree, so that broadcasts do not loop."""
        vertices, tree = {0}, set[int]()
        waiting = [0]
        while waiting:
            at = waiting.pop(0)
            for link in self._leaving_links(at):
                other = int(self.fabric.links.dst[link])
                if other not in vertices:
                    vertices.add(other)
                    tree |= {link, self._reverse_link(link)}
                    waiting.append(other)
        return tree

    def _take_down(self) -> None:
        for switch in self._switches.values():
            switch.stop()
        for thread in self._threads:
            thread.join()
        self._switches, self._threads = {}, []
        _remove_namespaces(self._base)


def _mac_address(host: int) -> bytes:
    return bytes((2, 0xF1, 0x17, 0, 0, host + 1))


def _run_ip(commands: Sequence[str], namespace: str | None = None) -> None:
    if not commands:
        return
    where = ["-n", namespace] if namespace else []
    done = subprocess.run(
        ["ip", *where, "-batch", "-"], input="\n".join(commands) + "\n", capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise Unavailable(f"ip {namespace or ''}: {done.stderr.strip()[:500]}")


def _remove_namespaces(base: str) -> None:
    for path in _NAMESPACES.glob(f"{base}*"):
        subprocess.run(["ip", "netns", "del", path.name], check=False, capture_output=True)


def _remove_stale() -> None:
    """Remove namespaces left by crashed processes."""
    for path in _NAMESPACES.glob(f"{_PREFIX}*"):
        pid = path.name.removeprefix(_PREFIX).partition("-")[0]
        if pid.isdigit() and not Path(f"/proc/{pid}").exists():
            subprocess.run(["ip", "netns", "del", path.name], check=False, capture_output=True)


def _enter_namespace(namespace_fd: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.setns(namespace_fd, _CLONE_NEWNET) != 0:
        problem = ctypes.get_errno()
        raise OSError(problem, os.strerror(problem))
