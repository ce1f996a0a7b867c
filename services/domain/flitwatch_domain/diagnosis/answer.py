"""Diagnoses as plain data, in the same form from packet samples and port counters, for REST, explanations and alerts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from flitwatch_domain.diagnosis.back_pressure import Findings, PortWindow, Root
from flitwatch_domain.diagnosis.roots import DiagnosedLink
from flitwatch_domain.diagnosis.trees import DARK, CongestionMap, Diagnosis, diagnose_congestion
from flitwatch_domain.fabric import Fabric

Row = dict[str, Any]

#: Maximum number of listed links of a tree, nearest to the root first.
MOST_VICTIMS = 200
_CAUSES = {
    "ports": ("full-link", "full-endpoint", "slow-endpoint"),
    "samples": ("background-traffic", "communication-pattern", "mapping-or-bandwidth", "static-routes"),
}
_ADVICE = {
    "full-link": "More traffic needs this link than it can carry. Move or delay one of the jobs that send over it, or spread the routes.",
    "full-endpoint": "Several senders send to one node. Spread the messages over time or over more receivers.",
    "slow-endpoint": "The node receives its traffic more slowly than its link delivers it. Check the node.",
}


def by_ports(window: PortWindow, found: Findings) -> Row:
    """Return the answer of `find_roots`."""
    nothing = found.counted == 0
    reasons = [found.cannot_tell] if found.cannot_tell is not None else []
    verdict = "named" if found.roots else "cannot tell" if reasons or nothing else "none"
    return {
        "method": "ports",
        "verdict": verdict,
        "reasons": reasons,
        "roots": [_port_root(window, root) for root in found.roots],
        "links_counted": found.counted,
        "links_stalled": found.stalled,
        "links_explained": found.explained,
    }


def find_worst_path(roots: Sequence[Row]) -> list[Row]:
    """Return links in the direction of traffic, from the farthest waiting link to the first root; empty without a root."""
    if not roots:
        return []
    root = roots[0]
    victims = {victim["link"]: victim for victim in root["victims"]}
    link = max(victims.values(), key=lambda victim: (victim["distance"], _badness(victim)), default=None)
    path = []
    while link is not None:
        path.append(_link_of(link))
        link = victims.get(link["behind"])
    return [*path, _link_of(root)]


def rule_causes(answer: Row) -> list[Row]:
    """Return a ruling for each cause that the method can find. A cause is ruled in by its roots; it is ruled out only if every congested link has a root."""
    left = answer["links_stalled"] - answer["links_explained"]
    rulings = []
    for cause in _CAUSES[answer["method"]]:
        roots = [root for root in answer["roots"] if root["cause"] == cause]
        if roots:
            places = ", ".join(f"{root['src_name']} → {root['dst_name']}" for root in roots[:3])
            more = f" and {len(roots) - 3} more" if len(roots) > 3 else ""
            ruling, text = "in", f"{len(roots)} root{'s' if len(roots) > 1 else ''}: {places}{more}."
        elif answer["verdict"] == "cannot tell" or left > 0:
            ruling = "cannot tell"
            text = " ".join(answer["reasons"]) or f"{left} congested link{'s have' if left > 1 else ' has'} no root."
        else:
            ruling, text = "out", "No root is of this kind." if answer["links_stalled"] else "No link is congested."
        rulings.append({"cause": cause, "ruling": ruling, "roots": len(roots), "text": text})
    return rulings


def _link_of(link: Row) -> Row:
    return {name: link[name] for name in DiagnosedLink.__annotations__}


def _badness(link: Row) -> float:
    return float(link["stalls_per_flit"] or link["congested_fraction"] or 0.0)


def by_samples(congestion: CongestionMap) -> Row:
    """Return the answer of `diagnose`, with the dark links behind each root as its tree."""
    roots = diagnose_congestion(congestion)
    fraction = congestion.congested_fraction
    mask, dark = np.isfinite(fraction), np.nan_to_num(fraction) >= DARK
    rows = [_sample_root(congestion, diagnosis) for diagnosis in roots]
    explained = {victim["link"] for row in rows for victim in row["victims"]} | {row["link"] for row in rows}
    reasons = [] if mask.any() else ["No link has enough sampled packets in this window."]
    if mask.any() and dark.any() and not rows:
        reasons = ["Congested links lead to no root among the links of the packets."]
    return {
        "method": "samples",
        "verdict": "named" if rows else "cannot tell" if reasons else "none",
        "reasons": reasons,
        "roots": rows,
        "links_counted": int(mask.sum()),
        "links_stalled": int(dark.sum()),
        "links_explained": len(explained & set(np.flatnonzero(dark).tolist())),
    }


def none_because(method: str, reason: str) -> Row:
    """Return an answer with the reason why nothing can be determined."""
    counts = dict.fromkeys(("links_counted", "links_stalled", "links_explained"), 0)
    return {"method": method, "verdict": "cannot tell", "reasons": [reason], "roots": [], **counts}


def filter_roots(answer: Row, vertices: Iterable[int]) -> Row:
    """Return the answer with only the roots that touch one of the vertices, directly or through a link of their tree."""
    vertex_set = set(vertices)
    roots = [
        root
        for root in answer["roots"]
        if any(link["src"] in vertex_set or link["dst"] in vertex_set for link in (root, *root["victims"]))
    ]
    verdict = answer["verdict"] if roots or answer["verdict"] != "named" else "none"
    return {**answer, "roots": roots, "verdict": verdict}


def _port_root(window: PortWindow, root: Root) -> Row:
    fabric = window.fabric
    return {
        **describe_ends(fabric, root.link),
        "cause": root.cause,
        "confidence": root.confidence,
        "utilisation": root.utilisation,
        "stalls_per_flit": root.stalls_per_flit,
        "congested_fraction": None,
        "advice": _ADVICE[root.cause],
        "victims": [
            {
                **describe_ends(fabric, victim.link),
                "behind": victim.behind,
                "distance": victim.distance,
                "utilisation": victim.utilisation,
                "stalls_per_flit": victim.stalls_per_flit,
                "congested_fraction": None,
            }
            for victim in root.victims[:MOST_VICTIMS]
        ],
        "victims_total": len(root.victims),
    }


def _sample_root(congestion: CongestionMap, root: Diagnosis) -> Row:
    """Return a root of a map. At a switch, the link is the fullest outgoing one, for which the dark links wait."""
    fabric, fraction, use = congestion.fabric, congestion.congested_fraction, congestion.utilisation
    links = fabric.links
    vertex = int(links.dst[root.before[0]])
    at_switch = root.endpoint is None
    onward = np.flatnonzero(links.src == vertex) if at_switch else np.array(root.before)
    onward = onward[~np.isin(links.dst[onward], links.src[list(root.before)])] if at_switch else onward
    link = int(onward[np.argmax(np.nan_to_num(use[onward]))]) if len(onward) else int(root.before[0])
    tree = _collect_tree(congestion, root.before if at_switch else (), link)
    return {
        **describe_ends(fabric, link),
        "cause": root.cause,
        "confidence": None,
        "utilisation": _finite_or_none(use[link]),
        "stalls_per_flit": None,
        "congested_fraction": _finite_or_none(fraction[link]),
        "advice": root.advice,
        "victims": [
            {
                **describe_ends(fabric, victim),
                "behind": behind,
                "distance": distance,
                "utilisation": _finite_or_none(use[victim]),
                "stalls_per_flit": None,
                "congested_fraction": _finite_or_none(fraction[victim]),
            }
            for victim, behind, distance in tree[:MOST_VICTIMS]
        ],
        "victims_total": len(tree),
    }


def _collect_tree(congestion: CongestionMap, first: tuple[int, ...], root: int) -> list[tuple[int, int, int]]:
    """Return dark links behind a root: (link, the link that it waits for, distance)."""
    links = congestion.fabric.links
    dark = np.nan_to_num(congestion.congested_fraction) >= DARK
    dark[root] = False
    tree = [(dark_link, root, 1) for dark_link in first if dark_link != root]
    dark[list(first)] = False
    edge = [(dark_link, 1) for dark_link in first] or [(root, 0)]
    while edge:
        onward = []
        for link, distance in edge:
            for dark_link in np.flatnonzero(dark & (links.dst == links.src[link])).tolist():
                dark[dark_link] = False
                tree.append((dark_link, link, distance + 1))
                onward.append((dark_link, distance + 1))
        edge = onward
    return tree


def describe_ends(fabric: Fabric, link: int) -> Row:
    """Return the identity of a link: its number and class, and the vertices at its ends."""
    links = fabric.links
    src, dst = int(links.src[link]), int(links.dst[link])
    return {
        "link": int(link),
        "link_class": str(links.classes[links.link_class[link]]),
        "src": src,
        "src_name": fabric.vertex_name(src),
        "dst": dst,
        "dst_name": fabric.vertex_name(dst),
    }


def _finite_or_none(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
