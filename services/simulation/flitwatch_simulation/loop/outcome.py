"""A turn as a recommendation: the database row and the parts for the page (docs/contracts/recommendations.md)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypedDict

import numpy as np
from numpy.typing import NDArray

from flitwatch_db.estimates.recommendations import (
    Part,
    Recommendation,
    RecommendationReason,
    RouteOutcome,
    as_json,
)
from flitwatch_domain.fabric import Fabric, LinkClass
from flitwatch_routing import lft
from flitwatch_simulation.loop.machine import Carried
from flitwatch_simulation.loop.matrices import by_place
from flitwatch_simulation.loop.turn import Turn

#: Share of waiting packets in the samples above which a link counts as congested.
CONGESTED_ABOVE = 0.1
LEVEL = 0.9


def turn_recommendation(
    turn: Turn, fabric_id: int | None, task_id: int | None, parameters: dict[str, Any]
) -> Recommendation:
    score = turn.score
    reconstruction = turn.reconstruction()
    doubt = None if turn.found is None else turn.found.estimated_error
    between = turn.fabric.router_links()
    slots = len(turn.routes.slots)
    changed = int((turn.routes.ports != turn.loaded).sum())
    detail = {
        "why": [
            _make_reason("busiest link between switches, divided by the least possible, ftree", _load_ratio(score.ftree_gap), "times"),
            _make_reason("busiest link between switches, divided by the least possible, new routes", _load_ratio(score.true_gap), "times"),
            _make_reason("estimated error of the reconstruction", doubt, None),
            _make_reason("links between switches with more than a tenth of their packets congested, before", _count_congested_links(turn.before, between), "links"),
            _make_reason("the same, after", _count_congested_links(turn.after, between), "links"),
            _make_reason(f"order of messages in the simulation: {turn.time_structure}", None, None),
            *([] if slots == 1 else [_make_reason("time slots for which routes were computed; loads are summed over them", float(slots), "slots")]),
        ],
        "before": _recommendation_side(turn.before, score.max_load_bytes["ftree"], between, "ftree (loaded)"),
        "after": _recommendation_side(turn.after, score.max_load_bytes["loop"], between, "optimised for the reconstructed traffic" if turn.found is not None else "optimised for the given traffic"),
        "alternatives": []
        if turn.adaptive is None
        else [{"label": "adaptive routing in hardware", "time_s": turn.adaptive.time_s}],
        "reconstruction": None
        if reconstruction is None
        else {name: value for name, value in reconstruction.items() if name != "held_out"},
        "routes": {
            "true_gap": score.true_gap, "ftree_gap": score.ftree_gap, "z_ar_bytes": score.z_ar_bytes, "entries_changed": changed,
            "entries": int((turn.routes.ports >= 0).sum()),
        },
        "parameters": parameters,
    }  # fmt: skip
    factor = turn.before.time_s / turn.after.time_s
    gain = {
        "factor": factor,
        "low": None,
        "high": None,
        "level": LEVEL,
        "runs": 1,
        "basis": "one simulated pair, same messages",
    }
    name = turn.parameters.topology
    verb = "Load optimised routes" if turn.recommended else "Keep the loaded routes"
    return Recommendation(
        "routes",
        "recommended" if turn.recommended else "refused",
        f"{verb} on {name} for {turn.parameters.pattern}"[:200],
        turn.reason,
        detail,
        True,
        gain,
        fabric_id=fabric_id,
        fabric=name[:200],
        task_id=task_id,
        figures="simulated",
        parts=_build_parts(turn, between),
    )


def _make_reason(text: str, value: float | None, unit: str | None) -> RecommendationReason:
    return {"text": text, "value": value, "unit": unit}


def _load_ratio(gap: float | None) -> float | None:
    return None if gap is None else gap + 1


def _count_congested_links(carried: Carried, between: NDArray[np.bool_]) -> int:
    return int((np.nan_to_num(carried.congested[between]) > CONGESTED_ABOVE).sum())


def _recommendation_side(carried: Carried, load: float, between: NDArray[np.bool_], label: str) -> RouteOutcome:
    return {
        "time_s": carried.time_s,
        "max_load_bytes": load,
        "congested_links": _count_congested_links(carried, between),
        "label": label,
    }


def _build_parts(turn: Turn, between: NDArray[np.bool_]) -> dict[Part, bytes]:
    parts: dict[Part, bytes] = {}
    for by in ("router", "group"):
        part: Part = "matrix_router" if by == "router" else "matrix_group"
        parts[part] = as_json(_compare_matrices(turn, by))
    parts["links"] = as_json(links_of(turn.fabric, turn.before, turn.after, between))
    parts["lfts"] = "".join(line + "\n" for line in lft.format_dump(turn.fabric, turn.routes.ports)).encode()
    return parts


class _Matrix(TypedDict):
    """Bytes between places: true, reconstructed, and the difference."""

    by: str
    labels: Sequence[str]
    true: NDArray[np.float64]
    reconstructed: NDArray[np.float64] | None
    difference: NDArray[np.float64] | None


def _compare_matrices(turn: Turn, by: str) -> _Matrix:
    true, reconstruction = turn.score.matrices[by], turn.found
    none = np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0)
    guess = by_place(
        turn.fabric,
        none if reconstruction is None else (reconstruction.pairs.src, reconstruction.pairs.dst, reconstruction.size),
        by,
    )
    return {
        "by": by,
        "labels": guess.labels,
        "true": np.rint(true),
        "reconstructed": None if reconstruction is None else np.rint(guess.values),
        "difference": None if reconstruction is None else np.rint(guess.values - true),
    }


#: Links between switches by their ends, and the switches by level and group; `class` tells whether a link goes up.
_Drawing = TypedDict("_Drawing", {"class": list[str]})


class LinkLoads(TypedDict):
    """Bytes and congested share of the packets by link."""

    traffic_bytes: NDArray[np.float64]
    congested: NDArray[np.float64]


class LinkColumns(_Drawing):
    """Columns of links between switches, before and after, and of the displayed switches; level and group are None if unknown."""

    link: NDArray[np.int64]
    src: NDArray[np.int64]
    dst: NDArray[np.int64]
    router: NDArray[np.int64]
    name: list[str]
    level: list[int | None]
    group: list[int | None]
    nodes: NDArray[np.int64]
    before: LinkLoads
    after: LinkLoads


def links_of(fabric: Fabric, before: Carried, after: Carried, between: NDArray[np.bool_]) -> LinkColumns:
    """Return columns of links between switches, and of the displayed switches."""
    links, routers = fabric.links, fabric.routers
    at = np.flatnonzero(between)
    nodes = np.bincount(fabric.endpoints.router, minlength=len(routers))
    level, group = np.asarray(routers.level), np.asarray(routers.group)
    rises = level[links.dst[at]] > level[links.src[at]]
    named = [str(links.classes[c]) for c in np.asarray(links.link_class)[at].tolist()]
    classes = [
        ("up" if up else "down") if kind in (LinkClass.UP, LinkClass.DOWN) else kind
        for up, kind in zip(rises, named, strict=True)
    ]
    return {
        "link": at,
        "src": links.src[at].astype(np.int64),
        "dst": links.dst[at].astype(np.int64),
        "class": classes,
        "router": np.arange(len(routers)),
        "name": [str(name) for name in routers.name],
        "level": [None if v < 0 else int(v) for v in level.tolist()],
        "group": [None if v < 0 else int(v) for v in group.tolist()],
        "nodes": nodes,
        "before": _link_loads(before, at),
        "after": _link_loads(after, at),
    }


def _link_loads(carried: Carried, at: NDArray[np.int64]) -> LinkLoads:
    return {"traffic_bytes": carried.link_bytes[at], "congested": np.round(carried.congested[at], 4)}
