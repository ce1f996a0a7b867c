"""Names and numbers of a Cray XC: cnames, nids, groups and tiles.

A component name has the form cX-YcCsSaA...: cabinet column X, cabinet row Y, chassis C (0-2), slot S (0-15), Aries A (0), then node n (0-3), NIC or tile
lRC. Two cabinets form a group: group = Y x (cabinets per row / 2) + X // 2, row = (X mod 2) x 3 + chassis, column = slot.
Source: Cray XC "rtr --interconnect" output, checked against the cable lists of Theta and Edison.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from flitwatch_domain.errors import BadInput

ROWS = 6
COLS = 16
NODES_PER_ROUTER = 4
TILE_COLUMNS = 8
NETWORK_TILES = 40
TILES = 48
#: Tile columns of the optical (blue) tiles by tile row: 01-06 and 12-15.
BLUE_TILES: tuple[int, ...] = (1, 2, 3, 4, 5, 6, 10, 11, 12, 13)
#: Tiles that carry green or black links; which of the two depends on the router.
LOCAL_TILES: tuple[int, ...] = tuple(tile for tile in range(NETWORK_TILES) if tile not in BLUE_TILES)
#: Router clock: flits cross a tile at 800 MHz; one stall cycle is 1.25 ns.
ROUTER_CLOCK_HZ = 800e6
#: Traffic in bytes = flits x 20/3, the convention of the LDMS Aries samplers.
BYTES_PER_FLIT = 20.0 / 3.0
#: Bandwidth of one cable in bits per second: 5.25 GiB/s electrical, 4.69 GiB/s optical, 16 GiB/s to the NIC (Wang 2018, section III).
LOCAL_BPS = 5.25 * 8 * 2**30
BLUE_BPS = 4.69 * 8 * 2**30
TERMINAL_BPS = 16 * 8 * 2**30

_CNAME = re.compile(
    r"c(?P<cabinet>[0-9]{1,6})-(?P<cabinet_row>[0-9]{1,6})(?:c(?P<chassis>[0-9]{1,6})(?:s(?P<slot>[0-9]{1,6})"
    r"(?:a(?P<aries>[0-9]{1,6})(?:l(?P<tile_row>[0-9])(?P<tile_col>[0-9])|n(?P<nic>[0-9]{1,6}))?|n(?P<node>[0-9]{1,6})(?:a[0-9]{1,6})?)?)?)?"
)


@dataclass(frozen=True, slots=True, order=True)
class Cname:
    """Parsed component name; missing parts are None."""

    cabinet_row: int
    cabinet: int
    chassis: int | None = None
    slot: int | None = None
    aries: int | None = None
    node: int | None = None
    tile: int | None = None

    def __str__(self) -> str:
        text = f"c{self.cabinet}-{self.cabinet_row}"
        if self.chassis is not None:
            text += f"c{self.chassis}"
        if self.slot is not None:
            text += f"s{self.slot}"
        if self.aries is not None:
            text += f"a{self.aries}"
        if self.tile is not None:
            text += f"l{tile_name(self.tile)}"
        elif self.node is not None:
            text += f"n{self.node}"
        return text

    @property
    def router(self) -> str:
        """Return the router's name: c0-0c0s0a0."""
        if self.chassis is None or self.slot is None:
            raise BadInput(f"{self} names no router", advice="A router's name looks like c0-0c0s0a0.")
        return f"c{self.cabinet}-{self.cabinet_row}c{self.chassis}s{self.slot}a{self.aries or 0}"

    def place(self, cabinets_per_row: int) -> tuple[int, int, int]:
        """Return (group, row, column) of the router on a machine with this number of cabinets per row."""
        if self.chassis is None or self.slot is None:
            raise BadInput(f"{self} names no router", advice="A router's name looks like c0-0c0s0a0.")
        group = self.cabinet_row * (cabinets_per_row // 2) + self.cabinet // 2
        return group, (self.cabinet % 2) * 3 + self.chassis, self.slot


def parse_cname(text: str) -> Cname:
    """Parse a component name such as `c0-0c0s0a0l00`, `c0-0c0s0n2` or `c1-2`; BadInput otherwise."""
    match = _CNAME.fullmatch(text.strip())
    if match is None:
        raise BadInput(f"{text!r} is not a Cray component name", advice="Expected one like c0-0c0s0a0l00.")
    part = {key: int(value) if value is not None else None for key, value in match.groupdict().items()}
    chassis, slot = part["chassis"], part["slot"]
    node = part["node"] if part["node"] is not None else part["nic"]
    if (chassis or 0) > 2 or (slot or 0) >= COLS or (node or 0) >= NODES_PER_ROUTER:
        raise BadInput(f"{text!r} is outside a Cray XC cabinet (3 chassis, 16 slots, 4 nodes)")
    tile = None
    if part["tile_row"] is not None:
        tile = tile_number(part["tile_row"], part["tile_col"] or 0)
    return Cname(part["cabinet_row"] or 0, part["cabinet"] or 0, chassis, slot, part["aries"], node, tile)


def tile_number(row: int, col: int) -> int:
    """Return the port number (0-47) of tile (row, col): rows 0-4 are network tiles, row 5 processor tiles."""
    if not (0 <= row < TILES // TILE_COLUMNS and 0 <= col < TILE_COLUMNS):
        raise BadInput(f"tile {row}{col} does not exist", advice="Tiles are 00-47 and 50-57.")
    return row * TILE_COLUMNS + col


def tile_name(tile: int) -> str:
    """Return row and column of a tile's port number as two digits."""
    return f"{tile // TILE_COLUMNS}{tile % TILE_COLUMNS}"


def nic_of_tile(tile: int) -> int:
    """Return the NIC (0-3) behind a processor tile."""
    if not NETWORK_TILES <= tile < TILES:
        raise BadInput(f"tile {tile_name(tile)} is not a processor tile", advice="Processor tiles are 50-57.")
    return (tile - NETWORK_TILES) // 2


def router_cname(group: int, row: int, col: int, cabinets_per_row: int) -> str:
    """Return the router's name at a place of a machine with this number of cabinets per row."""
    half = cabinets_per_row // 2
    return f"c{2 * (group % half) + row // 3}-{group // half}c{row % 3}s{col}a0"


def nid_of(name: str | Cname, cabinets_per_row: int) -> int:
    """Return the node id of a node's cname: ((Y x cabinets per row + X) x 3 + chassis) x 64 + slot x 4 + node."""
    cname = parse_cname(name) if isinstance(name, str) else name
    if cname.chassis is None or cname.slot is None or cname.node is None:
        raise BadInput(f"{cname} names no node", advice="A node's name looks like c0-0c0s0n1.")
    cabinet = cname.cabinet_row * cabinets_per_row + cname.cabinet
    return (cabinet * 3 + cname.chassis) * 64 + cname.slot * NODES_PER_ROUTER + cname.node


def node_name(nid: int) -> str:
    """Return Cray's name of a node in Slurm: nid00042."""
    return f"nid{nid:05d}"
