"""Output of all switch counters in this process's subnet, read with perfquery (`tools`) or with libibumad."""

from __future__ import annotations

import json
import sys
from itertools import product

from flitwatch_ingest.collectors.conversations import Conversations
from flitwatch_ingest.collectors.devices import devices_of
from flitwatch_ingest.collectors.infiniband import Tools
from flitwatch_ingest.sources import pma


def main(by_tools: bool) -> None:
    """One object: counters by device, width, port and name."""
    tools = Tools()
    found: dict[str, int] = {}
    devices = devices_of(tools.discover("tree"), adapters=False)
    if by_tools:
        for device in devices:
            for extended in (True, False):
                for port, counted in tools.counters(device.lid, device.ports, extended)[0].items():
                    found |= {f"{device.guid} {extended} {port} {name}": value for name, value in counted.items()}
            for attribute, port in product(pma.LANE_ATTRIBUTES, device.ports):
                counted = tools.lanes(device.lid, port, attribute)
                found |= {f"{device.guid} lanes {port} {name}": value for name, value in counted.items()}
    else:
        with tools.port() as adapter:
            for device, _, wide, narrow, _, lanes in Conversations(adapter, 8, True, set()).read(devices):
                for width, ports in (("True", wide.items()), ("False", narrow.items()), ("lanes", lanes)):
                    for port, counted in ports:
                        found |= {f"{device.guid} {width} {port} {name}": value for name, value in counted.items()}
    print(json.dumps(found))


main(sys.argv[1] == "tools")
