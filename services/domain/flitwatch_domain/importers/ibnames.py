"""Names from InfiniBand node descriptions."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from flitwatch_domain.fabric import NodeRole

if TYPE_CHECKING:
    from flitwatch_domain.importers.ibnetdiscover import Device

_SWITCH = re.compile(r"[^;]*;([^:;]+):\S*$")
_ADAPTER = re.compile(r"(\S+)\s+(HCA-\d+|[a-z]+\d*_\d+|[a-z]+\d+)\s*", re.IGNORECASE)
#: Storage servers by customary names; everything else that is attached counts as a compute node.
_STORAGE = re.compile(r"(ai\d+\w*|oss|mds|mdt|ost|nsd|gpfs|lustre|lnet|stor(age)?|ion(ode)?)[-_]?\d", re.IGNORECASE)


class AdapterName(NamedTuple):
    """A channel adapter's node, the adapter's name on it (None unknown) and the node's role."""

    node: str
    adapter: str | None
    role: NodeRole


def switch_names(devices: dict[str, Device]) -> dict[str, str]:
    """Router name by GUID: `SLG04-16` of `MF0;SLG04-16:MQM8700/U1`; made unique with the GUID."""
    names = {}
    for guid, device in devices.items():
        if device.is_switch:
            match = _SWITCH.match(device.description)
            names[guid] = match.group(1).strip() if match else device.description.strip() or f"S-{guid}"
    uses = Counter(names.values())
    return {guid: name if uses[name] == 1 else f"{name} ({guid})" for guid, name in names.items()}


def endpoint_names(devices: dict[str, Device]) -> dict[str, AdapterName]:
    """Node, adapter and role by GUID of every channel adapter.

    `luna-0560 mlx5_4` is adapter mlx5_4 of node luna-0560; a factory description (`MT4123 ConnectX6 Mellanox Technologies`) names no node, so
    its GUID does. A switch's aggregation unit is a service endpoint.
    """
    return {guid: _adapter(device) for guid, device in devices.items() if not device.is_switch}


def _adapter(device: Device) -> AdapterName:
    text = " ".join(device.description.split())
    if "aggregation node" in text.lower():
        return AdapterName(f"aggregation-{device.guid}", None, NodeRole.SERVICE)
    match = _ADAPTER.fullmatch(text)
    node, adapter = (match.group(1), match.group(2)) if match else (text, None)
    if not node or " " in node:
        return AdapterName(f"H-{device.guid}", adapter, NodeRole.COMPUTE)
    return AdapterName(node, adapter, NodeRole.IO if _STORAGE.match(node) else NodeRole.COMPUTE)
