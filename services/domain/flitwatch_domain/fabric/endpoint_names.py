"""Endpoints by number and by name.

Endpoints are numbered from 0 in the order of the fabric. The ibnetdiscover importer and the tree generators order them by switch (names in natural
order, leaf2 before leaf10), then by the switch's port. Cray's importer orders them by node id.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypedDict

from flitwatch_domain.errors import BadInput
from flitwatch_domain.fabric.model import Fabric

_HEX = re.compile(r"[0-9a-f]{1,16}")


def plain_guid(text: str) -> str:
    """Return only the hexadecimal digits, in lower case and without leading zeros; empty if the text is not a GUID, or for 0.

    `0x0C42A10300595394`, `c42a10300595394`, `0c42:a103:0059:5394` and `S-0c42a10300595394` give the same result.
    """
    written = (
        text.strip().lower().removeprefix("s-").removeprefix("h-").removeprefix("0x").replace(":", "").replace("-", "")
    )
    return written.lstrip("0") if _HEX.fullmatch(written) else ""


_NUMBER = re.compile(r"[0-9]{1,9}")
_GUID = re.compile(r"(0x|H-)[0-9a-fA-F]{1,16}|[0-9a-fA-F]{16}|([0-9a-fA-F]{4}:){3}[0-9a-fA-F]{4}")
#: Function that returns the endpoint for a text; the second argument is the location for error messages.
Find = Callable[[str, str], int]


class EndpointRow(TypedDict):
    """Endpoint with its names and its attachment; None is unknown."""

    endpoint: int
    node: str
    adapter: str | None
    guid: str | None
    lid: int | None
    switch: str
    port: int | None


def endpoint_table(fabric: Fabric) -> list[EndpointRow]:
    """Return one row per endpoint, in order."""
    ends, count = fabric.endpoints, len(fabric.endpoints)
    adapters, lids = (fabric.attributes.get(key) or [None] * count for key in ("adapters", "lids"))
    return [
        {
            "endpoint": number,
            "node": str(ends.node[number]),
            "adapter": adapters[number],
            "guid": ends.guid[number],
            "lid": lids[number] or None,
            "switch": str(fabric.routers.name[ends.router[number]]),
            "port": int(ends.port[number]) if ends.port[number] >= 0 else None,
        }
        for number in range(count)
    ]


def endpoint_finder(fabric: Fabric) -> Find:
    """Return a function that finds an endpoint by number, GUID, `NODE ADAPTER`, or NODE if the node has one endpoint.

    A text of digits only is a number. The function raises BadInput for an unknown or ambiguous name.
    """
    count = len(fabric.endpoints)
    by_name: dict[str, list[int]] = {}
    by_guid: dict[str, int] = {}
    for row in endpoint_table(fabric):
        by_name.setdefault(row["node"], []).append(row["endpoint"])
        if row["adapter"]:
            by_name.setdefault(f"{row['node']} {row['adapter']}", []).append(row["endpoint"])
        if row["guid"]:
            by_guid[plain_guid(str(row["guid"]))] = row["endpoint"]

    def find(text: str, where: str) -> int:
        text = text.strip()
        if _NUMBER.fullmatch(text):
            if int(text) < count:
                return int(text)
            raise BadInput(f"there is no endpoint {text}; endpoints go from 0 to {count - 1}", where=where)
        named = by_name.get(text, [])
        if len(named) > 1:
            raise BadInput(
                f"{text!r} has {len(named)} endpoints ({', '.join(map(str, named[:8]))}{', ...' if named[8:] else ''})",
                where=where,
                advice="Write NODE ADAPTER, a GUID or a number, as `flitwatch topology endpoints` prints them.",
            )
        if named:
            return named[0]
        guid = by_guid.get(plain_guid(text)) if _GUID.fullmatch(text) else None
        if guid is None:
            raise BadInput(
                f"no endpoint is called {text[:60]!r}",
                where=where,
                advice="`flitwatch topology endpoints SPEC` prints numbers, names and GUIDs.",
            )
        return guid

    return find


def number_finder(endpoints: int) -> Find:
    """Return the same function if only the number of endpoints is known."""

    def find(text: str, where: str) -> int:
        # strip() removes separators that int() does not accept.
        digits = text.strip()
        if not _NUMBER.fullmatch(digits):
            raise BadInput(f"{text[:40]!r} is not an endpoint's number", where=where)
        if int(digits) >= endpoints:
            raise BadInput(f"endpoints go from 0 to {endpoints - 1}", where=where)
        return int(digits)

    return find
