"""Slingshot topologies as the fabric manager names its links: `x3000c0r41j11p1-x3000c0r42j18p1`, a line each or in the documents of `/fabric/links`.

Names follow HPE's component names: switch `xNNNNcCrR` (also with `bB`), its port `jJpP`; NIC `xNNNNcCsSbBnNhH`, a node's `xNNNNcCsSbBnN`. The form of
lines and documents is that of `fmctl get links` and of REST answers in HPE's congestion guide. Nothing there says which switches make a group.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from flitwatch_domain.errors import BadInput
from flitwatch_domain.fabric import CountedAt, Endpoints, Fabric, FabricKind, LinkClass, Links, Routers, Technology
from flitwatch_domain.importers.text import Warnings, numbered_lines

_SWITCH_PORT = r"(x[0-9]{1,5}c[0-9]{1,2}r[0-9]{1,3})(?:b[0-9]{1,2})?j([0-9]{1,2})p([0-9])"
_NIC = r"(x[0-9]{1,5}c[0-9]{1,2}s[0-9]{1,3}b[0-9]{1,2}n[0-9]{1,2})h([0-9]{1,2})"
_END = re.compile(f"(?:{_SWITCH_PORT}|{_NIC})$")
#: A link's name, alone or behind its place in the REST interface.
LINE = re.compile(r"\s*(?:/fabric/links/)?(x\w+)-(x\w+)\s*$")
#: The beginning of the documents.
DOCUMENTS = re.compile(r'\s*\{\s*"(document\w+|totalCount)"')
#: Jacks of two ports; Rosetta has 64 ports of 200 Gb/s.
JACK_PORTS, MOST_PORT, BANDWIDTH_BPS = 2, 63, 200e9
#: Switches of a group have most of their neighbours in common: the part of those of either that both have.
COMMON = 0.5
CLASSES = (LinkClass.GREEN, LinkClass.BLUE, LinkClass.TERMINAL, LinkClass.LINK)
_GREEN, _BLUE, _TERMINAL, _LINK = range(4)

#: A switch's or node's name, and its port or NIC.
End = tuple[str, int]


def parse(text: str, where: str, name: str) -> Fabric:
    """A fabric from the fabric manager's list of links; BadInput names the line that cannot be read or contradicts another.

    Ports are numbered 2 x (jack - 1) + port, so that jack and port can be told from the number; this is not the number of the switch's chip.
    """
    cables = list(_cables(text, where))
    if not cables:
        raise BadInput("lists no link", where=where)
    warnings = Warnings(where)
    switches = sorted({end[0] for cable in cables for end in cable if _is_switch(end)}, key=_in_order)
    if not switches:
        raise BadInput("lists no switch", where=where)
    nics = {b: a for a, b in cables if not _is_switch(b)}
    ends = sorted(nics, key=lambda nic: (_in_order(nic[0]), nic[1]))
    number = {switch: router for router, switch in enumerate(switches)}
    owner = np.array([number[nics[nic][0]] for nic in ends], np.int64)
    port = np.array([nics[nic][1] for nic in ends], np.int64)
    between = [(a, b) for a, b in cables if _is_switch(b)]
    src, dst = (np.array([number[cable[side][0]] for cable in between], np.int64) for side in (0, 1))
    out, into = (np.array([cable[side][1] for cable in between], np.int64) for side in (0, 1))
    group = groups(len(switches), src, dst)
    if group is None and (group := _cabinets(switches, src, dst)) is not None:
        warnings.add(
            "groups",
            1,
            "the cables do not tell the groups: each cabinet, whose switches are all joined, is taken for one",
        )
    if group is None:
        warnings.add(
            "groups", 1, "the switches do not fall into groups that are each joined all to all: shown as a graph"
        )
    local = _LINK if group is None else np.where(group[src] == group[dst], _GREEN, _BLUE)
    vertex = len(switches) + np.arange(len(ends))
    kinds = np.concatenate([np.broadcast_to(local, len(between)), np.full(len(ends), _TERMINAL)])
    one, other = np.concatenate([src, owner]), np.concatenate([dst, vertex])
    one_port, other_port = np.concatenate([out, port]), np.concatenate([into, np.zeros(len(ends), np.int64)])
    links = Links(
        src=np.concatenate([one, other]),
        dst=np.concatenate([other, one]),
        src_port=np.concatenate([one_port, other_port]),
        dst_port=np.concatenate([other_port, one_port]),
        link_class=np.concatenate([kinds, kinds]),
        bandwidth_bps=np.full(2 * len(kinds), BANDWIDTH_BPS),
        classes=CLASSES,
    )
    return Fabric(
        name=name,
        kind=FabricKind.GRAPH if group is None else FabricKind.DRAGONFLY,
        technology=Technology.SLINGSHOT,
        routers=Routers(switches, **({} if group is None else _places(group))),
        endpoints=Endpoints(owner, port=port, node=[nic[0] for nic in ends]),
        links=links,
        counted_at=CountedAt.SENDER,
        source=where,
        warnings=warnings.texts(),
    )


def port_name(switch: str, port: int) -> str:
    """The vendor's name of a port by our number."""
    return f"{switch}j{port // JACK_PORTS + 1}p{port % JACK_PORTS}"


def groups(switches: int, src: NDArray[np.int64], dst: NDArray[np.int64]) -> NDArray[np.int64] | None:
    """Group of each switch, numbered in the order of switches, from the cables between them; None where no division fits.

    Two switches are of one group where they are joined and have most of their neighbours in common. That is believed only where each group is
    joined all to all.
    """
    joined = np.eye(switches, dtype=bool)
    joined[src, dst] = joined[dst, src] = True
    shared = joined.astype(np.float32) @ joined.astype(np.float32)
    degree = joined.sum(axis=1)
    same = joined & (shared >= COMMON * (degree[:, None] + degree[None, :] - shared))
    group = np.full(switches, -1)
    for switch in range(switches):
        if group[switch] < 0:
            members = same[switch]
            if (group[members] >= 0).any() or not joined[np.ix_(members, members)].all():
                return None
            group[members] = group.max() + 1
    return group


def _cabinets(switches: list[str], src: NDArray[np.int64], dst: NDArray[np.int64]) -> NDArray[np.int64] | None:
    """Switches by cabinet, where all of a cabinet are joined to one another; else None."""
    _, group = np.unique([_in_order(name)[0] for name in switches], return_inverse=True)
    joined = np.eye(len(switches), dtype=bool)
    joined[src, dst] = joined[dst, src] = True
    return group if joined[group[:, None] == group[None, :]].all() else None


def _places(group: NDArray[np.int64]) -> dict[str, NDArray[np.int64]]:
    """Row and column within a group, in the order of names."""
    column = np.zeros_like(group)
    for one in np.unique(group):
        column[group == one] = np.arange((group == one).sum())
    row = np.zeros_like(group)
    return {"group": group, "row": row, "col": column, "coords": np.column_stack([group, row, column])}


def _cables(text: str, where: str) -> Iterator[tuple[End, End]]:
    """Each cable once, the switch's end first."""
    used: dict[End, tuple[End, str]] = {}
    for here, one, other in _names(text, where):
        a, b = _end(one, here), _end(other, here)
        if not _is_switch(a):
            a, b, one, other = b, a, other, one
        if not _is_switch(a) or a[0] == b[0]:
            raise BadInput(f"{one}-{other} joins {'a switch to itself' if a[0] == b[0] else 'two NICs'}", where=here)
        known = [used.get(end) for end in (a, b)]
        if known[0] is not None and known[0][0] == b:
            continue
        for before, text_of in ((known[0], one), (known[1], other)):
            if before is not None:
                raise BadInput(f"{text_of} is an end of another cable in {before[1]}", where=here)
        used[a], used[b] = (b, here), (a, here)
        yield a, b


def _names(text: str, where: str) -> Iterator[tuple[str, str, str]]:
    """Where a link stands, and the names of its ends."""
    if DOCUMENTS.match(text):
        try:
            documents = json.loads(text)
        except (ValueError, RecursionError) as bad:
            raise BadInput(f"is no JSON: {bad}", where=where) from bad
        found = documents.get("documentLinks")
        if not isinstance(found, list):
            raise BadInput("has no documentLinks", where=where, advice="Give the answer of GET /fabric/links.")
        total = documents.get("totalCount")
        if isinstance(total, int) and total > len(found):
            raise BadInput(
                f"holds {len(found)} of {total} links", where=where, advice="Ask for all of them in one answer."
            )
        lines: Iterator[tuple[str, str]] = ((f"{where}: link {n}", str(link)) for n, link in enumerate(found, 1))
    else:
        lines = ((f"{where}:{number}", line) for number, line in numbered_lines(text))
    for here, line in lines:
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        match = LINE.match(line)
        if match is None:
            raise BadInput(
                f"cannot read {line.strip()[:80]!r}",
                where=here,
                advice="Expected a link, as x3000c0r41j11p1-x3000c0r42j18p1.",
            )
        yield here, match.group(1), match.group(2)


def _end(text: str, here: str) -> End:
    match = _END.match(text)
    if match is None:
        raise BadInput(f"{text[:60]!r} names no port of a switch and no NIC", where=here)
    switch, jack, port, node, nic = match.groups()
    if switch is None:
        return node, int(nic)
    number = JACK_PORTS * (int(jack) - 1) + int(port)
    if int(port) >= JACK_PORTS or not 0 <= number <= MOST_PORT:
        raise BadInput(f"{text} is beyond the 32 jacks of two ports that a switch has", where=here)
    return switch, number


def _is_switch(end: End) -> bool:
    return "r" in end[0]


def _in_order(name: str) -> list[int]:
    return [int(number) for number in re.findall(r"[0-9]+", name)]
