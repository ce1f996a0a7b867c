"""What to advise, from what is known; nothing here asks the database, and nothing unknown becomes a number."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from flitwatch_db.advice import Basis, Row
from flitwatch_domain.hostlist import compress

#: Fewer comparable runs say too little for an interval.
LEAST_RUNS = 8
#: Runs of the most alike congestion that are compared with, as a share of all and at least LEAST_RUNS.
NEAREST_SHARE = 0.25
#: Past runs on half to twice as many nodes are comparable.
SIZE_FACTOR = 2.0
#: A job waits only for a slowdown that is worth it and that hardly any comparable run escaped.
DELAY_AT, PREFER_BY = 1.15, 0.05
#: How long a delay is: after it the question is asked anew.
WAIT_S = 600.0
#: Congestion that is older is not that of now.
OLD_S = 180.0
Shown = Callable[[str], str]


@dataclass(frozen=True)
class Asked:
    """A job that is to be placed."""

    user: str
    application: str
    nodes: int
    candidates: list[list[str]]
    deadline_s: float | None = None


@dataclass(frozen=True)
class Expected:
    """Slowdown against the application's mean run, with its 90 % interval over comparable runs; None: unknown, with the reason."""

    slowdown: dict[str, float] | None
    usual_s: float | None
    reason: dict[str, Any]


def comparable(basis: Basis, asked: Asked) -> list[Row]:
    """Past runs of the application on about as many nodes: the user's own where there are enough."""
    rows = [
        row
        for row in basis.runs.get(asked.application, [])
        if row["nodes"] and asked.nodes / SIZE_FACTOR <= row["nodes"] <= asked.nodes * SIZE_FACTOR
    ]
    # Times of other sizes are other times: only the size with most runs is compared.
    sizes = {row["nodes"] for row in rows}
    if len(sizes) > 1:
        nearest = max(
            sizes, key=lambda n: (sum(row["nodes"] == n for row in rows) >= LEAST_RUNS, -abs(n - asked.nodes))
        )
        rows = [row for row in rows if row["nodes"] == nearest]
    own = [row for row in rows if row["user"] == asked.user]
    return own if len(own) >= LEAST_RUNS else rows


def groups_of(basis: Basis, nodes: list[str]) -> tuple[list[tuple[int, int]], int]:
    """(fabric, group) of each node that is known, all on the fabric that knows most of them, and how many are not."""
    places = [basis.nodes.get(node, []) for node in nodes]
    fabrics = [fabric for place in places for fabric, _ in place]
    if not fabrics:
        return [], len(nodes)
    chosen = max(set(fabrics), key=lambda fabric: (fabrics.count(fabric), fabric))
    found = [next((pair for pair in place if pair[0] == chosen), None) for place in places]
    return [pair for pair in found if pair is not None], sum(pair is None for pair in found)


def known(basis: Basis) -> dict[str, Any]:
    """What advice can be asked about: applications by size with the users whose answers differ, and the nodes of each group."""
    items = []
    for application in sorted(basis.runs.keys() | basis.blamed.keys()):
        rows, blamed = basis.runs.get(application, []), basis.blamed.get(application, [])
        sizes = {row["nodes"] for row in rows if row["nodes"]} | {row["nodes"] for row in blamed if row["nodes"]}
        for size in sorted(sizes):
            counts = Counter(row["user"] for row in rows if row["nodes"] == size and row["user"])
            users = {user for user, count in counts.items() if count >= LEAST_RUNS}
            users |= {row["user"] for row in blamed if row["nodes"] == size}
            items.append({"application": application, "nodes": int(size), "users": sorted(users)})
    places: dict[tuple[int, int], list[str]] = {}
    for node, held in basis.nodes.items():
        for place in held:
            places.setdefault(place, []).append(node)
    groups = [
        {"fabric_id": fabric, "group": group, "nodes": compress(nodes)}
        for (fabric, group), nodes in sorted(places.items())
    ]
    return {"applications": items, "groups": groups}


def _interval(slowdowns: np.ndarray) -> dict[str, float]:
    # As np.quantile's linear method, at a tenth of its cost for a few dozen values.
    last = len(slowdowns) - 1
    low, high = np.interp((0.05 * last, 0.95 * last), np.arange(last + 1), np.sort(slowdowns))
    return {"mean": float(slowdowns.mean()), "low": float(low), "high": float(high)}


def _reason(kind: str, text: str, evidence: str | None = None) -> dict[str, Any]:
    return {"kind": kind, "text": text, "evidence": evidence}


def beside_blamed(basis: Basis, asked: Asked, places: list[tuple[int, int]], shown: Shown) -> Expected | None:
    """From the runs that a blamed user's jobs stood beside, if such a user runs in the candidate's groups now."""
    groups = {f"{fabric}/{group}" for fabric, group in places}
    for row in sorted(basis.blamed.get(asked.application, []), key=lambda row: row["q"]):
        if row["nodes"] != asked.nodes or row["user"] == asked.user or not groups & set(row["groups"] or ()):
            continue
        times, exposed = np.array(row["runs"]["time_s"], float), np.array(row["exposure"], float) > 0
        if len(times) != len(exposed) or exposed.sum() < LEAST_RUNS or not times.mean() > 0:
            continue
        text = (
            f"{shown(row['user'])} runs in the same groups; {int(exposed.sum())} of {len(times)} runs of {asked.application} beside their jobs took"
            f" {times[exposed].mean() / times.mean():.2f} times the mean (dependence, q = {row['q']:.2g}, not proof of cause)"
        )
        evidence = f"/api/v1/estimates/blame/{row['estimate_id']}/user/{row['place']}"
        return Expected(
            _interval(times[exposed] / times.mean()), float(times.mean()), _reason("blamed_user", text, evidence)
        )
    return None


def from_congestion(basis: Basis, asked: Asked, places: list[tuple[int, int]]) -> Expected:
    """From past runs under congestion like that near the candidate nodes now."""
    if not places:
        return Expected(
            None, None, _reason("unknown", "no candidate node is known on a fabric: congestion near it is unknown")
        )
    ratios = [basis.groups.get(place) for place in places]
    fresh = [held for held in ratios if held is not None and basis.now_s - held[1] <= OLD_S]
    if len(fresh) < len(ratios):
        return Expected(
            None,
            None,
            _reason(
                "unknown",
                f"{len(ratios) - len(fresh)} of {len(ratios)} candidate nodes are in groups without counters of the last minutes",
            ),
        )
    now = sum(ratio for ratio, _ in fresh) / len(fresh)
    rows = [row for row in comparable(basis, asked) if row["congestion"] is not None]
    if len(rows) < LEAST_RUNS:
        return Expected(
            None,
            None,
            _reason(
                "unknown",
                f"needs {LEAST_RUNS} completed runs of {asked.application} on about {asked.nodes} nodes with counters, has {len(rows)}",
                "/api/v1/estimates",
            ),
        )
    times, then = np.array([row["time_s"] for row in rows]), np.array([row["congestion"] for row in rows])
    if not then.min() * 0.5 <= now <= then.max() * 1.5:
        return Expected(
            None,
            float(times.mean()),
            _reason(
                "unknown",
                f"{now:.2f} stall cycles per flit near these nodes lie outside what past runs saw ({then.min():.2f} to {then.max():.2f})",
            ),
        )
    nearest = np.argsort(np.abs(then - now), kind="stable")[: max(LEAST_RUNS, round(NEAREST_SHARE * len(rows)))]
    fabric = places[0][0]
    text = f"{now:.2f} stall cycles per flit in these nodes' groups; {len(nearest)} of {len(rows)} past runs of {asked.application} at the most alike congestion"
    return Expected(
        _interval(times[nearest] / times.mean()),
        float(times.mean()),
        _reason("congestion", text, f"/api/v1/fabrics/{fabric}/congestion?window=10m"),
    )


def advise(basis: Basis, asked: Asked, shown: Shown, age_s: float) -> dict[str, Any]:
    """The answer of POST /advice.

    Parameters
    ----------
    shown : function   a user's name as the caller may see it
    age_s : float      of the basis
    """
    reasons: list[dict[str, Any]] = []
    found: list[Expected] = []
    for nodes in asked.candidates or [[]]:
        places, unknown = groups_of(basis, nodes)
        expected = beside_blamed(basis, asked, places, shown) or from_congestion(basis, asked, places)
        found.append(expected)
        if unknown and places:
            reasons.append(_reason("unknown_nodes", f"{unknown} of {len(nodes)} nodes are on no fabric"))
        if expected.reason not in reasons:
            reasons.append(expected.reason)
    action, best = "start", 0
    told = [at for at, one in enumerate(found) if one.slowdown is not None]
    if told:
        best = min(told, key=lambda at: _mean(found[at]))
        gain = max(_mean(found[at]) for at in told) - _mean(found[best])
        # Known and good is preferred to unknown; known and bad is not.
        all_known, good = len(told) == len(found), _mean(found[best]) <= 1 + PREFER_BY
        if (all_known and gain >= PREFER_BY) or (not all_known and good):
            action = "prefer"
        if len(told) == len(found) and _mean(found[best]) >= DELAY_AT and (found[best].slowdown or {})["low"] > 1:
            action = _delay(basis, asked, found[best], reasons, action)
    reasons.append(_reason("routing_mode", "unknown: no NIC counters tell latency and stalls under each routing mode"))
    stale = stale_reasons(basis, age_s)
    reasons += stale
    return {
        "action": action, "preferred": best if action == "prefer" else None, "retry_after_s": WAIT_S if action == "delay" else None,
        "expected_slowdown": found[best].slowdown, "usual_s": found[best].usual_s, "routing_mode": None,
        "candidates": [{"index": at, "expected_slowdown": one.slowdown, "reason": one.reason["text"]} for at, one in enumerate(found)] if asked.candidates else [],
        "reasons": reasons, "stale": bool(stale), "as_of_s": basis.now_s,
    }  # fmt: skip


def _mean(expected: Expected) -> float:
    return expected.slowdown["mean"] if expected.slowdown is not None else float("inf")


def _delay(basis: Basis, asked: Asked, best: Expected, reasons: list[dict[str, Any]], otherwise: str) -> str:
    needs_s = WAIT_S + (best.usual_s or 0.0)
    if asked.deadline_s is not None and basis.now_s + needs_s > asked.deadline_s:
        reasons.append(
            _reason("deadline", f"a delay of {WAIT_S:.0f} s and the usual {best.usual_s:.0f} s would pass the deadline")
        )
        return otherwise
    return "delay"


def stale_reasons(basis: Basis, age_s: float) -> list[dict[str, Any]]:
    """Why the answer rests on what was known before; empty: it does not."""
    reasons = []
    if basis.workers == 0:
        reasons.append(_reason("stale", "no worker lives: estimates are not renewed", "/api/v1/estimates"))
    if age_s > OLD_S:
        reasons.append(_reason("stale", f"the state is {age_s:.0f} s old: the database does not answer"))
    return reasons
