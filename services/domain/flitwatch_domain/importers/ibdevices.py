"""Devices and cables of an InfiniBand subnet, shared by its importers."""

from __future__ import annotations

from dataclasses import dataclass, field

End = tuple[str, int]


@dataclass
class Device:
    """Switch or channel adapter. `ports` is its number of ports, 0 unknown; `device_id` is that of its
    chip, 0 unknown; `model` is the vendor's product name.
    """

    guid: str
    is_switch: bool
    line: int
    ports: int = 0
    description: str = ""
    defined: bool = True
    device_id: int = 0
    model: str = ""
    port_guid: dict[int, str] = field(default_factory=dict)
    lid: dict[int, int] = field(default_factory=dict)
    lmc: dict[int, int] = field(default_factory=dict)


@dataclass
class Cable:
    """Line of a port: the peer, the speed as written, and the line number."""

    peer: End
    speed: str | None
    line: int
