"""Cray XC cable lists: the output of `rtr --interconnect`.

Each tile has a line: `c0-0c0s0a0l00(0:0:0) green -> c0-0c0s6a0l10(0:0:6)`, with (group:row:column); `ptile -> processor` and `-> unused` for tiles
without a cable. Each cable is listed twice, once from each end.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field

import numpy as np

from flitwatch_domain import cray
from flitwatch_domain.errors import BadInput
from flitwatch_domain.fabric import Endpoints, Fabric, FabricKind, LinkClass, Links, Routers, Technology
from flitwatch_domain.importers.text import Warnings, numbered_lines

_TILE = r"(c[0-9]{1,6}-[0-9]{1,6}c[0-9]{1,6}s[0-9]{1,6}a[0-9]{1,6})l([0-9][0-9])\s*\(\s*([0-9]{1,6})\s*:\s*([0-9]{1,6})\s*:\s*([0-9]{1,6})\s*\)"
LINE = re.compile(rf"\s*{_TILE}\s*(\w+)\s*->\s*(?:{_TILE}|(\w+))\s*$")

CLASSES = (LinkClass.GREEN, LinkClass.BLACK, LinkClass.BLUE, LinkClass.TERMINAL)
_BANDWIDTH_BPS = np.array([cray.LOCAL_BPS, cray.LOCAL_BPS, cray.BLUE_BPS, cray.TERMINAL_BPS])
_COLOURS = {"green": 0, "black": 1, "blue": 2}

Tile = tuple[str, int]
Place = tuple[int, int, int]


@dataclass
class _Cables:
    """Content of the cable list, with the line of each entry."""

    place: dict[str, tuple[Place, int]] = field(default_factory=dict)
    #: tile -> (colour, peer tile or None if unused, line)
    tiles: dict[Tile, tuple[str, Tile | None, int]] = field(default_factory=dict)
    nics: dict[tuple[str, int], int] = field(default_factory=dict)


def parse_fabric(text: str, where: str, name: str) -> Fabric:
    """Parse a cable list; BadInput gives the line that is unreadable or contradicts another."""
    cables = _read_cables(text, where)
    if not cables.place:
        raise BadInput("lists no tile", where=where)
    warnings = Warnings(where)
    _check_places(cables, where)
    reverse = _check_cables(cables, where, warnings)
    names = sorted(cables.place, key=lambda router: cables.place[router][0])
    index = {router: number for number, router in enumerate(names)}
    places = np.array([cables.place[router][0] for router in names], np.int32)
    cabinets = _cabinets_per_row(cables, warnings)

    nics = sorted((index[router], nic) for router, nic in cables.nics)
    owner = np.array([router for router, _ in nics], np.int32)
    slot = np.array([nic for _, nic in nics], np.int32)
    nid = [cray.nid_of(f"{names[router][: names[router].rindex('a')]}n{nic}", cabinets) for router, nic in nics]
    rows = [(tile, peer, colour) for tile, (colour, peer, _) in cables.tiles.items() if peer is not None]
    rows += reverse
    rows.sort(key=lambda row: (index[row[0][0]], row[0][1]))
    src = np.array([index[tile[0]] for tile, _, _ in rows], np.int32)
    dst = np.array([index[peer[0]] for _, peer, _ in rows], np.int32)
    colour = np.array([_COLOURS[word] for _, _, word in rows], np.uint8)
    endpoint = len(names) + np.arange(owner.size, dtype=np.int32)
    port = cray.NETWORK_TILES + 2 * slot
    zero = np.zeros_like(port)
    kinds = np.concatenate([colour, np.full(2 * owner.size, 3, np.uint8)])
    links = Links(
        src=np.concatenate([src, owner, endpoint]),
        dst=np.concatenate([dst, endpoint, owner]),
        src_port=np.concatenate([np.array([tile[1] for tile, _, _ in rows], np.int32), port, zero]),
        dst_port=np.concatenate([np.array([peer[1] for _, peer, _ in rows], np.int32), zero, port]),
        link_class=kinds,
        bandwidth_bps=_BANDWIDTH_BPS[kinds],
        classes=CLASSES,
    )
    return Fabric(
        name=name,
        kind=FabricKind.DRAGONFLY,
        technology=Technology.CRAY_XC,
        routers=Routers(names, group=places[:, 0], row=places[:, 1], col=places[:, 2], coords=places),
        endpoints=Endpoints(owner, port=port, node=[cray.node_name(number) for number in nid], nid=nid),
        links=links,
        source=where,
        attributes={
            "rows": int(places[:, 1].max()) + 1,
            "cols": int(places[:, 2].max()) + 1,
            "cabinets_per_row": cabinets,
            "unused_tiles": sum(peer is None and colour != "ptile" for colour, peer, _ in cables.tiles.values()),
        },
        warnings=warnings.texts(),
    )


def _read_cables(text: str, where: str) -> _Cables:
    cables = _Cables()
    for number, line in numbered_lines(text):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        match = LINE.match(line)
        if match is None:
            raise BadInput(
                f"cannot read {line.strip()[:80]!r}",
                where=f"{where}:{number}",
                advice="Expected one like 'c0-0c0s0a0l00(0:0:0) green -> c0-0c0s6a0l10(0:0:6)'.",
            )
        router, digits, g, r, c, colour, peer, peer_digits, pg, pr, pc, word = match.groups()
        here = f"{where}:{number}"
        tile = (router, _tile_number(digits, here))
        _set_place(cables, router, (int(g), int(r), int(c)), number, where)
        target: Tile | None = None
        if peer is not None:
            target = (peer, _tile_number(peer_digits, here))
            _set_place(cables, peer, (int(pg), int(pr), int(pc)), number, where)
        _note_tile(cables, tile, colour, target, word, number, where)
    return cables


def _note_tile(
    cables: _Cables, tile: Tile, colour: str, target: Tile | None, word: str | None, number: int, where: str
) -> None:
    here = f"{where}:{number}"
    if word is not None and word not in ("unused", "processor"):
        raise BadInput(f"unknown target {word!r}", where=here, advice="Expected a tile, 'processor' or 'unused'.")
    if (colour == "ptile") != (tile[1] >= cray.NETWORK_TILES) or (word == "processor" and colour != "ptile"):
        raise BadInput(
            f"tile {_format_tile(tile)} cannot be {colour}", where=here, advice="Tiles 50-57 are processor tiles."
        )
    if colour != "ptile" and colour not in _COLOURS:
        raise BadInput(f"unknown link colour {colour!r}", where=here, advice="Expected green, black, blue or ptile.")
    if colour == "ptile" and target is not None:
        raise BadInput(f"processor tile {_format_tile(tile)} is cabled to another router", where=here)
    before = cables.tiles.get(tile)
    if before is not None and before[:2] != (colour, target):
        raise BadInput(
            f"tile {_format_tile(tile)} is listed twice with different cables; first on line {before[2]}", where=here
        )
    if target is not None and target[0] == tile[0]:
        raise BadInput(f"tile {_format_tile(tile)} is cabled to its own router", where=here)
    if before is None:
        cables.tiles[tile] = (colour, target, number)
    if word == "processor":
        cables.nics.setdefault((tile[0], cray.nic_of_tile(tile[1])), number)


def _set_place(cables: _Cables, router: str, place: Place, number: int, where: str) -> None:
    entry = cables.place.setdefault(router, (place, number))
    if entry[0] != place:
        raise BadInput(
            f"router {router} is at {_format_place(place)}, but at {_format_place(entry[0])} on line {entry[1]}",
            where=f"{where}:{number}",
        )


def _check_places(cables: _Cables, where: str) -> None:
    owner: dict[Place, str] = {}
    for router, (place, number) in cables.place.items():
        other = owner.setdefault(place, router)
        if other != router:
            raise BadInput(f"{router} and {other} both are at {_format_place(place)}", where=f"{where}:{number}")


def _check_cables(cables: _Cables, where: str, warnings: Warnings) -> list[tuple[Tile, Tile, str]]:
    """Check each cable against its other end and its colour; return the missing directions."""
    missing = []
    for tile, (colour, peer, number) in cables.tiles.items():
        if peer is None:
            continue
        here = f"{where}:{number}"
        _check_colour(colour, cables.place[tile[0]][0], cables.place[peer[0]][0], here)
        back = cables.tiles.get(peer)
        if back is None:
            warnings.add(
                "cable listed from one end only",
                number,
                f"no line for {_format_tile(peer)}, the other end of {_format_tile(tile)}",
            )
            missing.append((peer, tile, colour))
        elif back[1] != tile:
            says = "is unused" if back[1] is None else f"leads to {_format_tile(back[1])}"
            raise BadInput(
                f"{_format_tile(tile)} leads to {_format_tile(peer)}, but that {says} (line {back[2]})", where=here
            )
        elif back[0] != colour:
            raise BadInput(
                f"{_format_tile(tile)} is {colour}, but its other end is {back[0]} (line {back[2]})", where=here
            )
    _check_whole(cables, missing, where)
    targets = Counter(tile for tile, _, _ in missing)
    for tile, peer, _ in missing:
        if targets[tile] > 1:
            number = cables.tiles[peer][2]
            raise BadInput(f"{targets[tile]} cables lead to {_format_tile(tile)}", where=f"{where}:{number}")
    return missing


def _check_whole(cables: _Cables, missing: list[tuple[Tile, Tile, str]], where: str) -> None:
    """Reject an incomplete file: it lists cables from both ends, but has no line of a router that is the end of others."""
    cabled = sum(peer is not None for _, peer, _ in cables.tiles.values())
    if len(missing) == cabled:  # a list with each cable once
        return
    written = {tile[0] for tile in cables.tiles}
    for tile, peer, _ in missing:
        if tile[0] not in written:
            raise BadInput(
                f"{tile[0]} has no separate line: the file is incomplete",
                where=f"{where}:{cables.tiles[peer][2]}",
                advice=f"It ends after line {max(number for _, _, number in cables.tiles.values())}; copy it again.",
            )


def _check_colour(colour: str, a: Place, b: Place, here: str) -> None:
    rules = {
        "green": (a[:2] == b[:2], "within one row of a group"),
        "black": (a[0] == b[0] and a[2] == b[2], "within one column of a group"),
        "blue": (a[0] != b[0], "between two groups"),
    }
    holds, rule = rules[colour]
    if not holds:
        raise BadInput(
            f"a {colour} cable joins {_format_place(a)} and {_format_place(b)}; {colour} cables run {rule}", where=here
        )


def _cabinets_per_row(cables: _Cables, warnings: Warnings) -> int:
    """Return the number of cabinets per row, from the groups of routers beyond the first row of cabinets."""
    votes: Counter[int] = Counter()
    widest = 0
    parsed = {router: cray.parse_cname(router) for router in cables.place}
    for router, cname in parsed.items():
        widest = max(widest, cname.cabinet)
        if cname.cabinet_row:
            half, rest = divmod(cables.place[router][0][0] - cname.cabinet // 2, cname.cabinet_row)
            if rest == 0 and half > 0:
                votes[2 * half] += 1
    cabinets = votes.most_common(1)[0][0] if votes else widest + widest % 2 + (2 if widest % 2 == 0 else 1)
    cabinets = max(cabinets - cabinets % 2, 2)
    for router, cname in parsed.items():
        place, number = cables.place[router]
        expected = cname.place(cabinets)
        if expected != place:
            warnings.add(
                "place differs from the cname",
                number,
                f"{router} is at {_format_place(place)}, by its name at {_format_place(expected)}",
            )
    return cabinets


def _tile_number(digits: str, here: str) -> int:
    try:
        return cray.tile_number(int(digits[0]), int(digits[1]))
    except BadInput as bad:
        raise BadInput(bad.reason, where=here, advice=bad.advice) from bad


def _format_tile(tile: Tile) -> str:
    return f"{tile[0]}l{cray.tile_name(tile[1])}"


def _format_place(place: Place) -> str:
    return "({}:{}:{})".format(*place)
