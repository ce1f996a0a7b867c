"""Meaning and place of each feature of a run: any vendor's counter by name, the columns of the counter tables, and circumstances of a run."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from flitwatch_domain.counters.catalogue import CATALOGUE, identify_counter
from flitwatch_domain.counters.columns import TABLE_II
from flitwatch_domain.counters.kinds import CounterKind, Scope
from flitwatch_domain.fabric import Technology
from flitwatch_domain.neighbourhood import CIRCUMSTANCES


class Meaning(StrEnum):
    """Aspect of the network that a counter measures."""

    STALLS = "stalls"
    TRAFFIC = "traffic"
    ERRORS = "errors"
    LATENCY = "NIC latency"
    IO = "I/O"
    PLACEMENT = "placement"
    OTHER = "other counters"


@dataclass(frozen=True, slots=True)
class Feature:
    """A feature of a run.

    Attributes
    ----------
    name : str           name in results and files: table II's abbreviation, the vendor's name, or `nic.` with a column of endpoint_1s
    vendor : str         the vendor's name; empty if there is none
    place : str          where it is counted, as a phrase after the meaning: "on the row bus"; empty if unknown
    technology : str     empty if unknown
    """

    name: str
    vendor: str
    meaning: Meaning
    place: str
    technology: str
    description: str

    @property
    def group(self) -> str:
        """Return meaning and place in words: "stalls on the row bus"."""
        return f"{self.meaning} {self.place}".strip()


#: Prefix of a column of endpoint_1s, counted by the network cards of the run's own nodes.
NIC = "nic."
#: Prefixes of LDMS's four counters of table II: on routers with I/O nodes, and on routers without the run's nodes.
IO, SYS = "io.", "sys."
#: Placement features of a run, in addition to `CIRCUMSTANCES`.
PLACED = ("NUM_ROUTERS", "NUM_GROUPS")

#: The order matters: a counter of stalled packets counts stalls, one of failed packets errors.
_BY_WORD: tuple[tuple[Meaning, str], ...] = (
    (Meaning.LATENCY, r"latenc|round_?trip|rtt"),
    (
        Meaning.ERRORS,
        r"(^|_)err|error|discard|drop|downed|link_downs|recover|uncorrected|corrected|retr(y|ies)|retransmi|timeout|nack|crc|dead_link|replay|overrun|integrity",
    ),
    (Meaning.STALLS, r"stall|wait|pause|block|cong|fecn|becn|marked|credit|backpressure|bubble|wasted"),
    (Meaning.IO, r"lustre|gpfs|ost_|mdt|filesystem|read_bytes|write_bytes"),
    (Meaning.TRAFFIC, r"2x|flit|pkt|packet|octet|byte|word|data|frame|codeword|_cw|bandwidth|tx_ok|rx_ok"),
)
#: Place of a counter by words in its name.
_BY_PLACE: tuple[tuple[str, str], ...] = (
    (r"row_?bus|_rb_|rt_stall|pt_r[qs]_stall|(green|black|blue)_stall|^p?tile_(rq_|rs_)?stall|2x", "on the row bus"),
    (r"col_?buf|_cb_", "in the column buffers"),
    (r"pcie|parbs|host", "towards the host"),
)
_BY_SCOPE = {
    Scope.ROUTER_TILE: "at router tiles",
    Scope.PROCESSOR_TILE: "at processor tiles",
    Scope.NIC: "at the network cards",
    Scope.PORT: "at switch ports",
}
_ABBREVIATED = {counter.abbreviation: counter for counter in TABLE_II}


def meaning_of(*words: str) -> Meaning:
    """Return the meaning of a counter from the first of its names and its unit that matches one."""
    for text in words:
        for meaning, pattern in _BY_WORD:
            if re.search(pattern, text.lower()):
                return meaning
    return Meaning.OTHER


def _place_of(text: str, otherwise: str) -> str:
    return next((place for pattern, place in _BY_PLACE if re.search(pattern, text.lower())), otherwise)


def feature_of(name: str, technology: Technology | None = None) -> Feature:
    """Return the feature with a name; unknown names are classified by their words.

    Parameters
    ----------
    technology
        Technology of the fabric: distinguishes Omni-Path from InfiniBand, and selects the vendor's counters that feed a column.
    """
    for prefix, place in ((IO, "on routers with I/O nodes"), (SYS, "on routers without the run's nodes")):
        if name.startswith(prefix):
            inner = feature_of(name.removeprefix(prefix), technology)
            meaning = Meaning.IO if prefix == IO else inner.meaning
            return replace(inner, name=name, meaning=meaning, place=place)
    if name.startswith(NIC):
        return _of_column(name, name.removeprefix(NIC), technology)
    if name in CIRCUMSTANCES or name in PLACED:
        return Feature(name, "", Meaning.PLACEMENT, "", "", "Placement of the run, and load of the machine.")
    if (counter := _ABBREVIATED.get(name)) is not None:
        tile = "at router tiles" if name.startswith("RT_") else "at processor tiles"
        text = f"{counter.what}. {counter.remark}".removesuffix(". ")
        meaning = meaning_of(counter.column)
        place = _place_of(counter.column, tile)
        return Feature(name, counter.vendor, meaning, place, Technology.CRAY_XC, text)
    return _of_vendor(name, technology)


def _of_vendor(name: str, technology: Technology | None) -> Feature:
    use = identify_counter(name, technology)
    if use is None:
        return Feature(name, name, meaning_of(name), _place_of(name, ""), technology or "", "")
    kind = use.kind
    place = _place_of(kind.canonical, _BY_SCOPE[kind.scope])
    return Feature(name, name, _classify_kind(kind), place, kind.technology, kind.description)


def _classify_kind(kind: CounterKind) -> Meaning:
    if kind.endpoint_column == "errors":
        return Meaning.ERRORS
    return meaning_of(kind.canonical, kind.name, kind.unit)


def _of_column(name: str, column: str, technology: Technology | None) -> Feature:
    """Return the feature for a column of endpoint_1s, described by this technology's counters that feed it."""
    fed = [kind for kind in CATALOGUE if kind.endpoint_column == column and technology in (None, kind.technology)]
    vendor = ", ".join(dict.fromkeys(kind.name for kind in fed)) if technology else ""
    what = " ".join(dict.fromkeys(kind.description for kind in fed)) if technology else ""
    return Feature(name, vendor, meaning_of(column), "at the network cards", technology or "", what)


CARRIES, CANNOT_TELL, NOT_USED = "carries", "cannot tell", "not used"


def in_words(group: Mapping[str, Any]) -> str:
    """Format a group {name, explained, low, high, kept, folds, verdict} as a sentence: "stalls on the row bus: prediction error reduced by 60 % (95 %: 52
    to 68 %), kept in 8 of 10 folds"."""
    name, stability = group["name"], f"kept in {group['kept']} of {group['folds']} folds"
    change, shares = "reduced", [group["explained"], group["low"], group["high"]]
    if shares[0] < 0:
        change, shares = "increased", [-group["explained"], -group["high"], -group["low"]]
    by, low, high = (_format_percent(share) for share in shares)
    reduced = f"prediction error {change} by {by} % (95 %: {low} to {high} %), {stability}"
    if group["verdict"] == NOT_USED:
        return f"{name}: not used, {stability}"
    if group["verdict"] == CARRIES:
        return f"{name}: {reduced}"
    doubt = "folds disagree" if group["low"] > 0 else "within chance"
    return f"{name}: cannot tell, {doubt}: {reduced}"


def answer_in_words(groups: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return a sentence for each usable group, strongest first, or one sentence if no group is usable."""
    used = [in_words(group) for group in groups if group["verdict"] != NOT_USED]
    if any(group["verdict"] == CARRIES for group in groups):
        return used
    return ["cannot tell what predicts the deviation: no group reduces the error beyond chance in most folds", *used]


def _format_percent(share: float) -> str:
    # The share is infinite if there is only one fold.
    return f"{100 * share:z.0f}".replace("-", "\u2212").replace("inf", "∞")
