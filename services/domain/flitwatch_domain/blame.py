"""Criteria and verdicts of blame, used everywhere."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

#: A user or an application is blamed if its q-value is at most this, the expected share of false findings. At 0.1, causal nulls were 10.3 % of the
#: findings in 17 simulated campaigns (300 users, seeds 1 to 14). That is the nominal level: the nulls' p-values are correct (standard normal). At 0.05
#: they were 6.0 %, and of 7.5 true ones per campaign 7.2 were still found.
FOUND_Q = 0.05

#: Verdicts about a user. Only a user with verdict `named` may appear by name in an alert, an adviser or a page.
NAMED, CANNOT_TELL, NO_EVIDENCE = "named", "cannot tell", "no evidence"


Floats = NDArray[np.float64]
#: Limit that keeps a p-value near 1 from outweighing all others.
LARGEST_P = 0.99
Evidence = Mapping[str, Any]


@dataclass(frozen=True)
class SeveralSets:
    """A name with the results of each set.

    Attributes
    ----------
    found_in : int      sets in which it is found by the requested definition
    tested_in : int     sets in which it could be tested
    p, q : float|None   over all tested sets together; None if it was untestable in every set
    verdict, reasons    as in a single set: `named` requires one set that names it, and no set that doubts it
    evidence : tuple    the entries of the sets, strongest first
    """

    name: str
    found_in: int
    tested_in: int
    p: float | None
    q: float | None
    verdict: str
    reasons: tuple[str, ...]
    evidence: tuple[Evidence, ...]


def several_sets(
    entries: Iterable[tuple[str, Evidence]], definition: Literal["ours", "paper"] = "ours", least_sets: int = 2
) -> list[SeveralSets]:
    """Return names that are found in at least `least_sets` sets (0: all names), most sets first.

    `entries` are (name, entry) of every set: {testable, verdict, score, p, q, mi_bits, mi_sign, mi_q, ...}. With `ours`, an entry is found if it is
    named; with `paper`, if mutual information is significant and related to slow runs. q-values cover all names, listed or not.
    """
    by_name: dict[str, list[Evidence]] = {}
    for name, entry in entries:
        by_name.setdefault(name, []).append(entry)
    names = list(by_name)
    p_values = [_combine_evidence(by_name[name], definition) for name in names]
    q_values = benjamini_hochberg(np.array([math.nan if p is None else p for p in p_values], float))
    rows = []
    for name, p, q in zip(names, p_values, q_values.tolist(), strict=True):
        evidence = sorted(
            by_name[name], key=lambda item: -(item["score"] if definition == "ours" else _signed_information(item))
        )
        known_q = None if math.isnan(q) else q
        verdict, reasons = _decide_verdict(evidence, known_q)
        hits = sum(is_found(item, definition) for item in evidence)
        tested = sum(_get_p(item, definition) is not None for item in evidence)
        rows.append(SeveralSets(name, hits, tested, p, known_q, verdict, reasons, tuple(evidence)))
    rows = [row for row in rows if row.found_in >= least_sets]
    return sorted(rows, key=lambda row: (-row.found_in, math.inf if row.p is None else row.p, row.name))


def is_found(entry: Evidence, definition: Literal["ours", "paper"]) -> bool:
    """Return whether a set finds the name."""
    if definition == "ours":
        return bool(entry["verdict"] == NAMED)
    return entry["mi_q"] is not None and entry["mi_q"] <= FOUND_Q and entry["mi_sign"] > 0


def combine_p_values(p_values: ArrayLike) -> float:
    """Combine p-values into one, regardless of their dependence (Cauchy combination, equal weights)."""
    p = np.clip(np.asarray(p_values, float), 1e-300, LARGEST_P)
    # tan((1/2 - p) pi) is 1 / tan(p pi), which is accurate for small p.
    statistic = float(np.mean(1 / np.tan(p * np.pi)))
    return math.atan2(1.0, statistic) / math.pi


def benjamini_hochberg(p_values: Floats) -> Floats:
    """Return q-values of Benjamini and Hochberg (1995): the least false-discovery rate at which each is found; NaN stays NaN."""
    p_values = np.asarray(p_values, float)
    q_values = np.full(p_values.shape, np.nan)
    places = np.flatnonzero(~np.isnan(p_values))
    if len(places) == 0:
        return q_values
    order = places[np.argsort(p_values[places], kind="stable")]
    scaled = p_values[order] * len(order) / np.arange(1, len(order) + 1)
    q_values[order] = np.minimum(np.minimum.accumulate(scaled[::-1])[::-1], 1.0)
    return q_values


def _signed_information(entry: Evidence) -> float:
    return float(entry["mi_bits"] * entry["mi_sign"])


def _get_p(entry: Evidence, definition: str) -> float | None:
    p: float | None = entry["p"] if definition == "ours" else entry["mi_p"]
    return p if entry["testable"] else None


def _combine_evidence(evidence: list[Evidence], definition: str) -> float | None:
    p_values = [p for entry in evidence if (p := _get_p(entry, definition)) is not None]
    return combine_p_values(p_values) if p_values else None


def _decide_verdict(evidence: list[Evidence], q: float | None) -> tuple[str, tuple[str, ...]]:
    """Return the verdict of all sets: a doubt in one set cannot be settled by other sets."""
    doubts = [
        entry
        for entry in evidence
        if entry["verdict"] == CANNOT_TELL and entry["q"] is not None and entry["q"] <= FOUND_Q
    ]
    named = sum(entry["verdict"] == NAMED for entry in evidence)
    if q is None:
        return CANNOT_TELL, ("no set has enough runs to test it",)
    if q > FOUND_Q:
        return NO_EVIDENCE, (f"q = {q:.2g} over all sets",)
    if not named:
        return CANNOT_TELL, (f"q = {q:.2g} over all sets, but no single set names it",)
    if doubts:
        return CANNOT_TELL, (f"named in {_format_sets(named)}, in doubt in {_format_sets(len(doubts))}",)
    return NAMED, (f"named in {_format_sets(named)}, q = {q:.2g} over all sets",)


def _format_sets(count: int) -> str:
    return "one set" if count == 1 else f"{count} sets"
