"""The three files of a sensing epoch: counters.csv, sl2vl.csv and pair_sl.csv (docs/contracts/files.md)."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from flitwatch_domain import units
from flitwatch_domain.errors import BadInput
from flitwatch_domain.fabric import Fabric, Find
from flitwatch_domain.importers.packed import open_text
from flitwatch_routing.bounds import weighted_bytes
from flitwatch_routing.reconstruction.lanes import NO_LANE, Lanes, port_width
from flitwatch_routing.reconstruction.pairs import Pairs

Floats = NDArray[np.float64]
#: Limit of one counter, a sum of several 64-bit counters; the squares of larger numbers exceed double precision.
MOST_BYTES = 1e24
#: Subnet management has a separate lane.
MANAGEMENT_VL = 15
_WHOLE = re.compile(r"\s*[+-]?[0-9]{1,15}\s*")


def write_counters(path: Path, fabric: Fabric, counted: Floats, packets: Floats | None = None) -> None:
    """Write `device,port,vl,bytes,packets` by sending port, from bytes and packets (links, VLs); packets are empty if unknown."""
    links = fabric.links
    with open(path, "w", newline="") as file:
        file.write("# deltas\ndevice,port,vl,bytes,packets\n")
        for link in range(len(links.src)):
            name = fabric.vertex_name(int(links.src[link]))
            packet_texts = (
                [""] * counted.shape[1] if packets is None else [f"{number:.17g}" for number in packets[link]]
            )
            file.writelines(
                f"{name},{links.src_port[link]},{vl},{size:.17g},{number}\n"
                for vl, (size, number) in enumerate(zip(counted[link], packet_texts, strict=True))
            )


def read_counters(path: Path, fabric: Fabric, vls: int, mtu: float | None = None) -> Floats:
    """Return bytes (links, VLs), weighted with `weighting.weighted_bytes` if `mtu` is given. Raise BadInput, with file and line, for missing ports or packets.

    Rows of VL 15 are ignored: only subnet management uses it, without forwarding tables.
    """
    links, counted = fabric.links, np.full((len(fabric.links.src), vls), np.nan)
    link_of = {
        (fabric.vertex_name(int(v)), int(p)): link
        for link, (v, p) in enumerate(zip(links.src, links.src_port, strict=True))
    }
    for where, row in _read_rows(path, ["device", "port", "vl", "bytes", "packets"], optional=1):
        port, vl, size = _parse_whole(row[1], where), _parse_whole(row[2], where), _parse_amount(row[3], where)
        packets = _parse_amount(row[4], where, "packets") if "".join(row[4:]) else None
        link = link_of.get((row[0], port))
        if link is None:
            raise BadInput(f"the topology has no cable at {row[0]} port {port}", where=where)
        if vl == MANAGEMENT_VL:
            continue
        if not 0 <= vl < vls:
            raise BadInput(f"VL {vl}; the SL-to-VL tables use 0 to {vls - 1}", where=where)
        if not np.isnan(counted[link, vl]):
            raise BadInput(f"{row[0]} port {port} VL {vl} is counted twice; give deltas of one interval", where=where)
        if mtu is not None and packets is None:
            raise BadInput(
                f"{row[0]} port {port} VL {vl} has no packets, which mixed weighting needs",
                where=where,
                advice="Count packets too, or leave out --mtu",
            )
        counted[link, vl] = size if mtu is None or packets is None else weighted_bytes(size, packets, mtu)
    if np.isnan(counted).any():
        link, vl = np.argwhere(np.isnan(counted))[0]
        name = fabric.vertex_name(int(links.src[link]))
        raise BadInput(
            f"{int(np.isnan(counted).sum())} counters are missing, the first {name} port {links.src_port[link]} VL {vl}",
            where=str(path),
        )
    return counted


def write_lanes(path: Path, fabric: Fabric, lanes: Lanes) -> None:
    """Write `device,in_port,out_port,sl0,sl1,...`: the VL of each SL; a host has in and out port 0."""
    with open(path, "w", newline="") as file:
        file.write(",".join(["device", "in_port", "out_port", *(f"sl{s}" for s in range(lanes.sls))]) + "\n")
        for endpoint, row in enumerate(lanes.host.tolist()):
            file.write(f"{fabric.endpoints.node[endpoint]},0,0,{','.join(map(str, row))}\n")
        for router, ports in enumerate(_list_switch_ports(fabric)):
            name, table = fabric.routers.name[router], lanes.switch[router].tolist()
            file.writelines(
                f"{name},{i},{o},{','.join(map(str, table[i][o]))}\n" for i in ports for o in ports if i != o
            )


def read_lanes(paths: Sequence[Path], fabric: Fabric) -> list[Lanes]:
    """Return SL-to-VL tables, one per file. All must have the same SLs and the same number of VLs. Unneeded rows may be missing (`lanes.NO_LANE`)."""
    raw = [_read_lanes(path, fabric) for path in paths]
    if len({host.shape[1] for _, host in raw}) != 1:
        raise BadInput("the SL-to-VL files differ in their number of SLs")
    vls = 1 + max(int(part[part != NO_LANE].max(initial=0)) for pair in raw for part in pair)
    return [Lanes(switch, host, vls) for switch, host in raw]


def _read_lanes(path: Path, fabric: Fabric) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    width, hosts = port_width(fabric), {str(n): i for i, n in enumerate(fabric.endpoints.node)}
    switch = host = None
    for where, row in _read_rows(path, ["device", "in_port", "out_port"], extra="sl"):
        into, out = _parse_whole(row[1], where), _parse_whole(row[2], where)
        vls = [_parse_whole(text, where) for text in row[3:]]
        if switch is None or host is None:
            switch = np.full((len(fabric.routers.name), width, width, len(vls)), NO_LANE, np.uint8)
            host = np.full((len(hosts), len(vls)), NO_LANE, np.uint8)
        if not all(0 <= vl < 15 for vl in vls):
            raise BadInput("data VLs go from 0 to 14", where=where)
        if row[0] in fabric.router_by_name and 0 <= into < width and 0 <= out < width:
            lane_row = switch[fabric.router_by_name[row[0]], into, out]
        elif row[0] in hosts:
            lane_row = host[hosts[row[0]]]
        else:
            raise BadInput(f"the topology has no {row[0]} with ports {into} and {out}", where=where)
        if (lane_row != NO_LANE).any() and lane_row.tolist() != vls:
            raise BadInput(
                f"{row[0]} has VLs {','.join(row[3:])} from port {into} to port {out}, but {','.join(map(str, lane_row.tolist()))} in an earlier line",
                where=where,
            )
        lane_row[:] = vls
    if switch is None or host is None:
        raise BadInput("holds no tables", where=str(path))
    return switch, host


def write_pairs(path: Path, pairs: Pairs) -> None:
    """Write `src,dst,sl` of every pair that can communicate."""
    with open(path, "w", newline="") as file:
        file.write("src,dst,sl\n")
        file.writelines(
            f"{a},{b},{s}\n" for a, b, s in zip(pairs.src.tolist(), pairs.dst.tolist(), pairs.sl.tolist(), strict=True)
        )


def read_pairs(path: Path, endpoints: int) -> NDArray[np.int8]:
    """Return service levels int8 (endpoints, endpoints), -1 if a pair is not in the file. Raise BadInput with file and line; repeated rows are allowed."""
    lines = _filled_lines(path)
    number, head = next(lines, (1, ""))
    if [name.strip() for name in head.split(",")] != ["src", "dst", "sl"]:
        raise BadInput("the header must be src,dst,sl", where=f"{path}:{number}")
    first = next(lines, None)
    if first is None:
        raise BadInput("holds no pairs", where=str(path))
    try:
        rows = np.loadtxt((line for _, line in chain([first], lines)), delimiter=",", dtype=np.int64, ndmin=2)
        if rows.shape[1:] != (3,):
            raise ValueError(f"{rows.shape[1]} fields")
    except ValueError:
        raise _unreadable_error(path) from None
    odd = (rows.min(axis=1) < 0) | (rows[:, :2].max(axis=1) >= endpoints) | (rows[:, 2] > 15)
    if odd.any():
        where = _line_of_row(path, int(np.argmax(odd)))
        raise BadInput(f"endpoints go from 0 to {endpoints - 1} and SLs from 0 to 15", where=f"{path}:{where}")
    table = np.full((endpoints, endpoints), -1, np.int8)
    table[rows[:, 0], rows[:, 1]] = rows[:, 2]
    other = np.flatnonzero(table[rows[:, 0], rows[:, 1]] != rows[:, 2])
    if len(other):
        src, dst, _ = rows[other[0]].tolist()
        same = np.flatnonzero((rows[:, 0] == src) & (rows[:, 1] == dst))
        again = int(same[np.argmax(rows[same, 2] != rows[same[0], 2])])
        raise BadInput(
            f"the pair {src},{dst} has SL {rows[again, 2]}, but {rows[same[0], 2]} in line {_line_of_row(path, int(same[0]))}",
            where=f"{path}:{_line_of_row(path, again)}",
        )
    return table


def _filled_lines(path: Path) -> Iterator[tuple[int, str]]:
    return ((number, line) for number, line in numbered_lines(path) if line.strip())


def _line_of_row(path: Path, row: int) -> int:
    """Return the line number of a row; rows are counted from 0 after the header."""
    return next(islice(_filled_lines(path), row + 1, None))[0]


def _unreadable_error(path: Path) -> BadInput:
    for number, line in islice(_filled_lines(path), 1, None):
        fields = line.split(",")
        if len(fields) != 3 or not all(_WHOLE.fullmatch(field) for field in fields):
            return BadInput(f"not three whole numbers src,dst,sl: {line.strip()[:60]!r}", where=f"{path}:{number}")
    return BadInput("cannot be read as src,dst,sl", where=str(path))


def read_jobs(path: Path, find: Find) -> list[NDArray[np.int64]]:
    """Return the endpoints of each job from rows `job,endpoint` in rank order, with endpoints by number or name."""
    jobs: dict[str, list[int]] = {}
    for where, row in _read_rows(path, ["job", "endpoint"]):
        jobs.setdefault(row[0], []).append(find(row[1], where))
    return [np.array(nodes, np.int64) for nodes in jobs.values()]


def write_matrix(path: Path, pairs: Pairs, size: Floats, low: Floats, high: Floats, mtu: float | None = None) -> None:
    """Write `src,dst,bytes,low,high`. The interval contains the pair's bytes if the counters are exact; its ends are empty if unknown.

    With `mtu`, a comment says that all three are weighted bytes (`weighting.weighted_bytes`).
    """
    largest = size.max(initial=0)
    with open(path, "w", newline="") as file:
        if mtu is not None:
            file.write(f"# weighting: mixed; bytes, low and high are {mtu:g}/2 x packets + bytes/2\n")
        file.write("src,dst,bytes,low,high\n")
        for k in np.flatnonzero(size > 1e-7 * largest).tolist():
            ends = "," if np.isnan(low[k]) else f"{low[k]:.9g},{high[k]:.9g}"
            file.write(f"{pairs.src[k]},{pairs.dst[k]},{size[k]:.9g},{ends}\n")


def _list_switch_ports(fabric: Fabric) -> list[list[int]]:
    links, routers = fabric.links, len(fabric.routers.name)
    ports: list[list[int]] = [[] for _ in range(routers)]
    for vertex, port in zip(links.src.tolist(), links.src_port.tolist(), strict=True):
        if vertex < routers:
            ports[vertex].append(port)
    return ports


def numbered_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield (line number, line without its end) of a text file, without comments (#). Raise BadInput if it is not text or cannot be read."""
    with open_text(path) as file:
        for number, line in enumerate(file, 1):
            if not line.startswith("#"):
                yield number, line.rstrip("\r\n")


def _read_rows(path: Path, header: list[str], optional: int = 0, extra: str = "") -> Iterator[tuple[str, list[str]]]:
    """Yield rows after the header, without comments, with file and line."""
    lines = numbered_lines(path)
    number, head = next(lines, (1, ""))
    columns = [name.strip() for name in head.split(",")]
    rest = [f"{extra}{n}" for n in range(len(columns) - len(header))] if extra else []
    if columns != header + rest or (extra and not rest):
        raise BadInput(
            f"the header must be {','.join(header)}{',sl0,sl1,...' if extra else ''}", where=f"{path}:{number}"
        )
    for number, line in lines:
        if not line.strip():
            continue
        where, row = f"{path}:{number}", [field.strip() for field in _split_fields(line, f"{path}:{number}")]
        if not len(columns) - optional <= len(row) <= len(columns):
            raise BadInput(f"{len(row)} fields instead of {len(columns)}", where=where)
        yield where, row


def _split_fields(line: str, where: str) -> list[str]:
    """Return the fields of a line; a name may be quoted."""
    try:
        return next(csv.reader([line]), [])
    except csv.Error as bad:
        raise BadInput(f"is not CSV text: {bad}", where=where) from bad


def _parse_whole(text: str, where: str) -> int:
    if not _WHOLE.fullmatch(text):
        raise BadInput(f"{text[:40]!r} is not an integer", where=where)
    return int(text)


def _parse_amount(text: str, where: str, what: str = "bytes") -> float:
    value = units.parse_real(text.strip())
    if value is None:
        if units.is_infinite_or_nan(text):
            raise BadInput(f"{what} must be a finite number of at least 0, not {text[:40]!r}", where=where)
        raise BadInput(f"{text[:40]!r} is not a number", where=where)
    if value < 0:
        raise BadInput(f"{what} must be a finite number of at least 0, not {text[:40]!r}", where=where)
    if value > MOST_BYTES:
        raise BadInput(f"{text[:40]} {what} are more than any port counts (at most {MOST_BYTES:g})", where=where)
    return value
