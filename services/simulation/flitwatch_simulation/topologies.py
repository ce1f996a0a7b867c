"""Topologies by their short text form (SPEC), as the command line, tasks and studies name them."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from flitwatch_core import flow, topology
from flitwatch_domain.errors import BadRequest

FORMS = "xgft:h;m1,..;w1,..[;p1,..] | torus:20,20,20 | theta | edison | quartz1 | file:PATH"


@dataclass(frozen=True)
class NamedTopology:
    """A topology, the text it came from, and how its routes are computed unless the user says otherwise."""

    spec: str
    core: topology.Topology
    default_routing: str


def parse(spec: str) -> NamedTopology:
    """Build the topology that `spec` names.

    Raises
    ------
    BadRequest
        For a text of no known form, or sizes that make no topology.
    BadInput
        For a file that cannot be read as a fabric.
    """
    kind, _, rest = spec.strip().partition(":")
    maker = _MAKERS.get(kind)
    if maker is None:
        raise BadRequest(f"unknown topology {spec!r}", advice=f"Use one of {FORMS}")
    try:
        return maker(spec.strip(), rest)
    except ValueError as bad:
        raise BadRequest(f"topology {spec!r}: {bad}", advice=f"Use one of {FORMS}") from bad


def _integers(text: str) -> list[int]:
    if not re.fullmatch(r"\d{1,9}(,\d{1,9})*", text):
        raise ValueError(f"{text!r} is no list of positive integers")
    return [int(part) for part in text.split(",")]


def _xgft(spec: str, rest: str) -> NamedTopology:
    fields = [field.strip() for field in rest.split(";")]
    if len(fields) not in (3, 4):
        raise ValueError("height, m and w are needed, and p where cables are parallel")
    height = _integers(fields[0])
    m, w = _integers(fields[1]), _integers(fields[2])
    p = [float(part) for part in fields[3].split(",")] if len(fields) == 4 else []
    if len(height) != 1 or len(m) != height[0] or len(w) != height[0] or (p and len(p) != height[0]):
        raise ValueError(f"m, w and p need as many numbers as the height {fields[0]}")
    core = topology.xgft(m, w, p)
    return NamedTopology(spec, core, "dmodk" if all(one.is_integer() for one in p) else "ftree")


def _torus(spec: str, rest: str) -> NamedTopology:
    return NamedTopology(spec, topology.torus(_integers(rest)), "dor")


_MAKERS: dict[str, Callable[[str, str], NamedTopology]] = {"xgft": _xgft, "torus": _torus}


def describe(named: NamedTopology) -> dict[str, object]:
    """Sizes and distances: hops are links from endpoint to endpoint, both terminal links included."""
    mean, diameter, unreachable = topology.hop_summary(named.core)
    return {
        "spec": named.spec,
        "kind": named.core.kind,
        "endpoints": named.core.endpoints,
        "switches": named.core.routers,
        "links": int(named.core.multiplicity.sum()),
        "mean_hops": mean,
        "diameter": diameter,
        "unreachable_pairs": unreachable,
        "hops": "links from endpoint to endpoint, terminal links included",
    }


def routes_of(named: NamedTopology, routing: str | None = None) -> flow.Routes:
    """Compute the routes; `routing` is one of the names that `flitwatch sim collective --help` lists.

    Raises
    ------
    BadRequest
        Where the routing is unknown or does not fit the topology.
    """
    routing = routing or named.default_routing
    if routing == named.default_routing and routing in ("dmodk", "dor"):
        return flow.algorithmic_routes(named.core)
    raise BadRequest(f"routing {routing!r} does not fit {named.spec!r}", advice=f"Use {named.default_routing}")
