"""Devices of a subnet whose counters are read, and their answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from flitwatch_domain.fabric import Fabric
from flitwatch_ingest.sources.perfquery import Counters

#: On most devices a 32-bit counter that stops at its maximum; at the maximum it is omitted.
WAIT = "PortXmitWait"


@dataclass(frozen=True)
class Device:
    """A switch or an adapter's port, with the ports to poll."""

    name: str
    guid: str
    lid: int
    ports: tuple[int, ...]


class Answer(NamedTuple):
    """Counters of a device by port, 64-bit and 32-bit; `why` some are missing; and lane counters with their port, one entry per attribute."""

    device: Device
    at_s: float
    wide: dict[int, Counters]
    narrow: dict[int, Counters]
    why: str
    lanes: list[tuple[int, Counters]]


def needs_narrow_counters(device: Device, wide: dict[int, Counters]) -> bool:
    """Return whether the 32-bit counters are needed too; newer devices have all of them in 64 bits."""
    return len(wide) < len(device.ports) or any(WAIT not in counted for counted in wide.values())


def devices_of(fabric: Fabric, adapters: bool) -> list[Device]:
    """Return the switches with their cabled ports, with `adapters` also the endpoints. Devices without a LID cannot be polled and are omitted."""
    routers, links = len(fabric.routers), fabric.links
    ports: list[set[int]] = [set() for _ in range(routers)]
    for vertex, port in zip(links.src.tolist(), links.src_port.tolist(), strict=True):
        if vertex < routers and port > 0:
            ports[vertex].add(port)
    about = fabric.attributes
    devices = [
        Device(
            str(fabric.routers.name[r]), str(fabric.routers.guid[r]), about["switch_lids"][r], tuple(sorted(ports[r]))
        )
        for r in range(routers)
        if ports[r]
    ]
    if adapters:
        ends = fabric.endpoints
        devices += [
            Device(str(ends.node[e]), str(ends.guid[e]), about["lids"][e], (about["adapter_ports"][e],))
            for e in range(len(ends))
        ]
    return [device for device in devices if device.lid]
