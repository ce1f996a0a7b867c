"""Slingshot topologies from the fabric manager's link names: `x3000c0r41j11p1-x3000c0r42j18p1`, one per line or in the documents of `/fabric/links`.

Names follow HPE's component names: switch `xNNNNcCrR` (also with `bB`), its port `jJpP` by the jack and `aAlL` by the link of its chip; NIC
`xNNNNcCsSbBnNhH`, a node's `xNNNNcCsSbBnN`. The format of lines and documents is that of `fmctl get links` and of REST answers in HPE's congestion
guide. They do not contain the groups of switches.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from flitwatch_domain.errors import BadInput
from flitwatch_domain.fabric import CountedAt, Endpoints, Fabric, FabricKind, LinkClass, Links, Routers, Technology
from flitwatch_domain.importers.text import Warnings, numbered_lines

_SWITCH = r"(x[0-9]{1,5}c[0-9]{1,2}r[0-9]{1,3})(?:b[0-9]{1,2})?"
_SWITCH_PORT = _SWITCH + r"j([0-9]{1,3})p([0-9])"
_NIC = r"(x[0-9]{1,5}c[0-9]{1,2}s[0-9]{1,3}b[0-9]{1,2}n[0-9]{1,2})h([0-9]{1,2})"
_END = re.compile(f"(?:{_SWITCH_PORT}|{_NIC})$")
_LOCATION = re.compile(_SWITCH + r"(?:j([0-9]{1,3})p([0-9])|a([0-9]{1,2})l([0-9]{1,3}))")
#: A link's name, with or without its REST path.
LINE = re.compile(r"\s*(?:/fabric/links/)?(x\w+)-(x\w+)\s*$")
#: Beginning of the documents.
DOCUMENTS = re.compile(r'\s*\{\s*"(document\w+|totalCount)"')
#: Jacks have two ports; Rosetta has 64 ports of 200 Gb/s. Switches in a rack have jacks 1 to 32. On a blade's switch, jacks to the nodes are numbered from 100,
#: like x2011c6r1j100p0 in notes on Frontier's operation. Jacks beyond 131 are unknown.
JACK_PORTS, BANDWIDTH_BPS = 2, 200e9
_JACKS, _TO_NODES = 32, 100
MOST_PORT = 2 * JACK_PORTS * _JACKS - 1
#: Switches of a group share most neighbours: least part of both switches' neighbours that they share.
COMMON = 0.5
CLASSES = (LinkClass.GREEN, LinkClass.BLUE, LinkClass.TERMINAL, LinkClass.LINK)
_GREEN, _BLUE, _TERMINAL, _LINK = range(4)

#: A switch's or node's name, and its port or NIC.
End = tuple[str, int]


def parse_fabric(text: str, where: str, name: str) -> Fabric:
    """Parse the fabric manager's list of links; BadInput gives the line that is unreadable or contradicts another.

    Ports are numbered 2 x (jack - 1) + port, and from 64 on after jack 100, so that the number determines jack and port. It is not
    the number of the switch's chip.
    """
    cables = list(cables_of(_list_link_ends(text, where)))
    if not cables:
        raise BadInput("lists no links", where=where)
    warnings = Warnings(where)
    switches = sorted({end[0] for cable in cables for end in cable if _is_switch(end)}, key=_in_order)
    number = {switch: router for router, switch in enumerate(switches)}
    between = [(number[a[0]], number[b[0]]) for a, b in cables if _is_switch(b)]
    src, dst = (np.array([pair[side] for pair in between], np.int64) for side in (0, 1))
    group = find_groups(len(switches), src, dst)
    if group is None and (group := _group_by_cabinet(switches, src, dst)) is not None:
        warnings.add(
            "groups",
            1,
            "the cables do not show the groups, so each cabinet, whose switches are all connected, counts as one",
        )
    if group is None:
        warnings.add("groups", 1, "the switches do not form fully connected groups, so they are shown as a graph")
    return fabric_of(name, where, switches, group, cables, warnings)


def fabric_of(
    name: str,
    where: str,
    switches: list[str],
    group: NDArray[np.int64] | None,
    cables: list[tuple[End, End]],
    warnings: Warnings,
    attributes: dict[str, Any] | None = None,
) -> Fabric:
    """Build a fabric from switches, in the order of their places in a group, and cables, the switch's end first; `group` is None if unknown."""
    number = {switch: router for router, switch in enumerate(switches)}
    nics = {b: a for a, b in cables if not _is_switch(b)}
    ends = sorted(nics, key=lambda nic: (_in_order(nic[0]), nic[1]))
    owner = np.array([number[nics[nic][0]] for nic in ends], np.int64)
    port = np.array([nics[nic][1] for nic in ends], np.int64)
    between = [(a, b) for a, b in cables if _is_switch(b)]
    src, dst = (np.array([number[cable[side][0]] for cable in between], np.int64) for side in (0, 1))
    out, into = (np.array([cable[side][1] for cable in between], np.int64) for side in (0, 1))
    local = _LINK if group is None else np.where(group[src] == group[dst], _GREEN, _BLUE)
    vertex = len(switches) + np.arange(len(ends))
    kinds = np.concatenate([np.broadcast_to(local, len(between)), np.full(len(ends), _TERMINAL)])
    start, other = np.concatenate([src, owner]), np.concatenate([dst, vertex])
    one_port, other_port = np.concatenate([out, port]), np.concatenate([into, np.zeros(len(ends), np.int64)])
    links = Links(
        src=np.concatenate([start, other]),
        dst=np.concatenate([other, start]),
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
        routers=Routers(switches, **({} if group is None else _place_switches(group))),
        endpoints=Endpoints(owner, port=port, node=[nic[0] for nic in ends]),
        links=links,
        counted_at=CountedAt.SENDER,
        source=where,
        attributes={**(attributes or {}), "adapters": [f"h{number}" for _, number in ends]},
        warnings=warnings.texts(),
    )


def jack_name(port: int) -> str:
    """Return the vendor's name of a port within its switch, such as j13p0."""
    jack = port // JACK_PORTS
    return f"j{jack + 1 if jack < _JACKS else jack - _JACKS + _TO_NODES}p{port % JACK_PORTS}"


def _port_number(jack: int, port: int) -> int | None:
    """Return Flitwatch's number of a jack's port; None if switches do not have it."""
    if port >= JACK_PORTS:
        return None
    if 1 <= jack <= _JACKS:
        return JACK_PORTS * (jack - 1) + port
    return JACK_PORTS * (_JACKS + jack - _TO_NODES) + port if 0 <= jack - _TO_NODES < _JACKS else None


class Location(NamedTuple):
    """Location of a switch's port from a component name: Flitwatch's number, or the link of the switch's chip, such as a0l50."""

    switch: str
    port: int | None = None
    link: str = ""


def location_of(name: str) -> Location | None:
    """Return the switch's port in a component name; None if there is none."""
    match = _LOCATION.fullmatch(name)
    if match is None:
        return None
    switch, jack, port, chip, link = match.groups()
    if jack is None:
        return Location(switch, link=f"a{int(chip)}l{int(link)}")
    number = _port_number(int(jack), int(port))
    return None if number is None else Location(switch, number)


def switch_of(name: str) -> str | None:
    """Return the switch in a component name, without its controller and a network port: x3000c0r41 for x3000c0r41b0:8080."""
    match = re.fullmatch(_SWITCH + r"(?::[0-9]{1,5})?", name)
    return match.group(1) if match else None


def find_groups(switches: int, src: NDArray[np.int64], dst: NDArray[np.int64]) -> NDArray[np.int64] | None:
    """Return the group of each switch, numbered in the order of switches, from the cables between them; None if no division fits.

    Two switches are in the same group if they are joined and share most neighbours. The result is accepted only if each group is
    all-to-all.
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


def _group_by_cabinet(switches: list[str], src: NDArray[np.int64], dst: NDArray[np.int64]) -> NDArray[np.int64] | None:
    """Group switches by cabinet if each cabinet is all-to-all; else None."""
    _, group = np.unique([_in_order(name)[0] for name in switches], return_inverse=True)
    joined = np.eye(len(switches), dtype=bool)
    joined[src, dst] = joined[dst, src] = True
    return group if joined[group[:, None] == group[None, :]].all() else None


def _place_switches(group: NDArray[np.int64]) -> dict[str, NDArray[np.int64]]:
    """Return row and column within a group, in the order of names."""
    column = np.zeros_like(group)
    for number in np.unique(group):
        column[group == number] = np.arange((group == number).sum())
    row = np.zeros_like(group)
    return {"group": group, "row": row, "col": column, "coords": np.column_stack([group, row, column])}


def cables_of(names: Iterable[tuple[str, str, str]]) -> Iterator[tuple[End, End]]:
    """Yield each cable once, the switch's end first, from its location and the names of its ends."""
    used: dict[End, tuple[End, str]] = {}
    for here, name, other in names:
        a, b = _parse_end(name, here), _parse_end(other, here)
        if not _is_switch(a):
            a, b, name, other = b, a, other, name
        if not _is_switch(a) or a[0] == b[0]:
            raise BadInput(f"{name}-{other} joins {'a switch to itself' if a[0] == b[0] else 'two NICs'}", where=here)
        previous = [used.get(end) for end in (a, b)]
        if previous[0] is not None and previous[0][0] == b:
            continue
        for before, text_of in ((previous[0], name), (previous[1], other)):
            if before is not None:
                raise BadInput(f"{text_of} is an end of another cable in {before[1]}", where=here)
        used[a], used[b] = (b, here), (a, here)
        yield a, b


def _list_link_ends(text: str, where: str) -> Iterator[tuple[str, str, str]]:
    """Yield the location of a link and the names of its ends."""
    if DOCUMENTS.match(text):
        try:
            documents = json.loads(text)
        except (ValueError, RecursionError) as bad:
            raise BadInput(f"is not JSON: {bad}", where=where) from bad
        entries = documents.get("documentLinks")
        if not isinstance(entries, list):
            raise BadInput("has no documentLinks", where=where, advice="Give the answer of GET /fabric/links.")
        total = documents.get("totalCount")
        if isinstance(total, int) and total > len(entries):
            raise BadInput(
                f"has {len(entries)} of {total} links", where=where, advice="Request all of them in one answer."
            )
        lines: Iterator[tuple[str, str]] = ((f"{where}: link {n}", str(link)) for n, link in enumerate(entries, 1))
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


def _parse_end(text: str, here: str) -> End:
    match = _END.match(text)
    if match is None:
        raise BadInput(f"{text[:60]!r} names neither a port of a switch nor a NIC", where=here)
    switch, jack, port, node, nic = match.groups()
    if switch is None:
        return node, int(nic)
    number = _port_number(int(jack), int(port))
    if number is None:
        raise BadInput(
            f"{text} is beyond the jacks of two ports that a switch has: 1 to 32, and 100 to 131", where=here
        )
    return switch, number


def _is_switch(end: End) -> bool:
    return "r" in end[0]


def _in_order(name: str) -> list[int]:
    return [int(number) for number in re.findall(r"[0-9]+", name)]
