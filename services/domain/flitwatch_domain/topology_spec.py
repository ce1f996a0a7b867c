"""Grammar of topologies (SPEC) in all commands, tasks and studies: machines by name, and generated fabrics by size.

`theta` and similar names are machines. `xgft:h;m1,..;w1,..[;p1,..]`, `torus:20,20,20`, `dragonfly:GROUPS,ROWS,COLS[,BLUE_ROUTERS]`,
`hyperx:S1,S2;ENDPOINTS[;CABLES]`, `rails:RAILS,NODES,GROUPS,SPINES` and `planes:PLANES;h;m1,..;w1,..[;p1,..]` give sizes. `file:PATH` names a file, but only
in a `LocalText`. The flow-level and packet-level simulators accept all of them, routing all except tori.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from flitwatch_domain import generators
from flitwatch_domain.errors import BadRequest
from flitwatch_domain.fabric import Fabric
from flitwatch_domain.importers import read_fabric
from flitwatch_domain.secret_file import local_path

#: Numbers allowed in a request; they do not always describe a valid topology.
NUMBERS_PATTERN = r"[0-9]{1,6}(,[0-9]{1,6}){0,15}"
_TREE_PATTERN = rf"[1-8];{NUMBERS_PATTERN};{NUMBERS_PATTERN}(;[0-9]{{1,5}}(\.[0-9]{{1,4}})?(,[0-9]{{1,5}}(\.[0-9]{{1,4}})?){{0,15}})?"
XGFT_PATTERN = f"xgft:{_TREE_PATTERN}"
PLANES_PATTERN = f"planes:[0-9]{{1,3}};{_TREE_PATTERN}"
TORUS_PATTERN = r"torus:[0-9]{1,9}(,[0-9]{1,9}){0,15}"
DRAGONFLY_PATTERN = r"dragonfly:[0-9]{1,4},[0-9]{1,4},[0-9]{1,4}(,[0-9]{1,6})?"

HYPERX_PATTERN = r"hyperx:[0-9]{1,4}(,[0-9]{1,4}){0,7};[0-9]{1,4}(;[0-9]{1,4})?"
RAILS_PATTERN = r"rails:[0-9]{1,3},[0-9]{1,5},[0-9]{1,5},[0-9]{1,5}"

#: Machines by name.
MACHINES: dict[str, Callable[[], Fabric]] = {
    "theta": generators.build_theta,
    "edison": generators.edison_like,
    "cori": generators.cori_like,
    "slingshot": generators.slingshot_like,
    "quartz1": generators.build_quartz1,
}

#: A fabric with this many endpoints needs some GB before its first packet.
_MOST_ENDPOINTS = 1_000_000


class TreeSizes(NamedTuple):
    """Sizes of XGFT(h; m1..mh; w1..wh), with p parallel cables by level (empty: one)."""

    height: int
    m: list[int]
    w: list[int]
    p: list[float]


def parse_integers(text: str) -> list[int]:
    """Parse comma-separated integers; ValueError otherwise."""
    if not re.fullmatch(r"[0-9]{1,9}(,[0-9]{1,9})*", text):
        raise ValueError(f"{text!r} is not a list of positive integers")
    return [int(part) for part in text.split(",")]


def tree_sizes(text: str) -> TreeSizes:
    """Parse the text after `xgft:`; ValueError if it does not describe a tree."""
    fields = [field.strip() for field in text.split(";")]
    if len(fields) not in (3, 4):
        raise ValueError("height, m and w are needed, and p if cables are parallel")
    height = parse_integers(fields[0])
    m, w = parse_integers(fields[1]), parse_integers(fields[2])
    p = [float(part) for part in fields[3].split(",")] if len(fields) == 4 else []
    if len(height) != 1 or len(m) != height[0] or len(w) != height[0] or (p and len(p) != height[0]):
        raise ValueError(f"m, w and p need as many numbers as the height {fields[0]}")
    if not all(1 <= cables <= 65_535 for cables in p):
        raise ValueError("p counts the cables of a pair: from 1 to 65535")
    return TreeSizes(height[0], m, w, p)


def _parse_hyperx(text: str) -> Fabric:
    sizes, *more = text.split(";")
    if len(more) not in (1, 2):
        raise ValueError("extents and endpoints are needed, and cables if they are parallel")
    return generators.build_hyperx(parse_integers(sizes), *(int(number) for number in parse_integers(",".join(more))))


def _parse_rails(text: str) -> Fabric:
    sizes = parse_integers(text)
    if len(sizes) != 4:
        raise ValueError("rails, nodes of a group, groups and spines are needed")
    return generators.build_rails(*sizes)


def _parse_planes(text: str) -> Fabric:
    count, _, tree = text.partition(";")
    (planes,) = parse_integers(count)
    height, m, w, p = tree_sizes(tree)
    return generators.build_planes(planes, height, m, w, p or None)


def _parse_torus(text: str) -> Fabric:
    extents = parse_integers(text)
    _few_endpoints(f"torus:{text}", extents)
    return generators.build_torus(extents)


def _parse_dragonfly(text: str) -> Fabric:
    groups, rows, cols, *blue = parse_integers(text)
    if len(blue) > 1:
        raise ValueError("groups, rows and columns are needed, and router pairs of two groups")
    return generators.build_dragonfly(groups, rows, cols, blue_routers=blue[0] if blue else 12)


#: Fabrics by size that both engines accept unchanged; ValueError for any other text.
GENERATED: dict[str, Callable[[str], Fabric]] = {
    "dragonfly": _parse_dragonfly,
    "hyperx": _parse_hyperx,
    "rails": _parse_rails,
    "planes": _parse_planes,
}


def _few_endpoints(spec: str, factors: list[int]) -> None:
    if np.prod(factors, dtype=float) > _MOST_ENDPOINTS:
        raise BadRequest(f"{spec!r} has more than {_MOST_ENDPOINTS:,} endpoints", advice="Use a smaller one.")


def fabric_of(spec: str) -> Fabric:
    """Build the fabric of a SPEC, for packets and routes. Raise BadRequest for an unknown SPEC. Raise BadInput for a file that does not describe a
    fabric."""
    file = local_path(spec, "file:")
    if file is not None and spec != "file:":
        return read_fabric(file)
    name, _, rest = spec.strip().partition(":")
    if name in MACHINES and not rest:
        return MACHINES[name]()
    try:
        if name == "xgft":
            height, m, w, p = tree_sizes(rest)
            _few_endpoints(spec, m)
            return generators.build_xgft(height, m, w, p or None)
        if name == "torus":
            return _parse_torus(rest)
        if name in GENERATED:
            return GENERATED[name](rest)
    except ValueError:
        pass
    raise BadRequest(
        f"unknown topology {spec!r} for packets and routes",
        advice="Use theta, edison, cori, slingshot, quartz1, torus:20,20,20, xgft:h;m;w[;p], dragonfly:GROUPS,ROWS,COLS[,BLUE_ROUTERS], "
        "hyperx:S1,S2;ENDPOINTS[;CABLES], "
        "rails:RAILS,NODES,GROUPS,SPINES, planes:PLANES;h;m;w[;p] or `file:PATH`.",
    )
