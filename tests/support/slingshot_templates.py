"""A machine as a template of HPE's fabric manager, which describes its groups, links and NICs."""

from __future__ import annotations

from typing import Any


def port(switch: str, link: int, jack: str, **meta: str) -> dict[str, Any]:
    return {"id": f"{switch}a0l{link}", "meta": {"conn_port": switch + jack, **meta}}


def planted() -> dict[str, Any]:
    """Return two groups of two switches in the form of HPE's interface (ControllerTemplate), unordered; each switch has one NIC."""
    cabinets = {(0, 0): "x1000c0r1", (0, 1): "x1000c0r3", (1, 0): "x1001c0r1", (1, 1): "x1001c7r7"}
    switches = [
        {
            "grpId": group,
            "swcNum": number,
            "IP": f"{name}b0",
            "edgePorts": [port(name, 12, "j7p1", dst_port=f"{name.partition('r')[0]}s{group}b0n{number}h0"), port(name, 13, "j7p0")],
            "fabricPorts": [port(name, 48, "j13p0"), port(name, 50, "j14p1")],
        }
        for (group, number), name in reversed(cabinets.items())
    ]  # fmt: skip
    links = [
        {"endpoint1": "x1000c0r1j13p0", "endpoint2": "x1000c0r3j13p0"},
        {"endpoint1": "x1001c7r7j13p0", "endpoint2": "x1001c0r1j13p0"},
        {"endpoint1": "x1000c0r1a0l50", "endpoint2": "x1001c7r7a0l50"},
    ]
    return {"numGroups": 2, "maxNumLocalSwitches": 2, "switches": switches, "links": links}
