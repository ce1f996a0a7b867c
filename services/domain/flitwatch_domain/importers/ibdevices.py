"""Devices and cables of an InfiniBand subnet, as its importers share them."""

from __future__ import annotations

from dataclasses import dataclass, field

End = tuple[str, int]


@dataclass
class Device:
    """A switch or channel adapter; `ports` is the number of ports it has, 0 unknown; `device_id` that of its
    chip, 0 unknown; `model` as its vendor sells it.
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
    """A port's line: the peer, the speed as written, the line's number."""

    peer: End
    speed: str | None
    line: int
