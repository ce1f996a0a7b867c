"""Drivers in words: the part of step-time deviation that a group of features explains, and its reliability."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from flitwatch_domain.counters.features import Meaning

CARRIES, CANNOT_TELL, NOT_USED = "carries", "cannot tell", "not used"
_PLURAL = (Meaning.STALLS, Meaning.ERRORS, Meaning.OTHER)


def in_words(group: Mapping[str, Any]) -> str:
    """Format a group {name, explained, low, high, kept, folds, verdict} as a sentence: "stalls on the row bus explain 60 % of the deviation (52 to 68 %),
    kept in 8 of 10 folds"."""
    name, stability = group["name"], f"kept in {group['kept']} of {group['folds']} folds"
    explain = "explain" if str(name).startswith(_PLURAL) else "explains"
    share = f"{_format_percent(group['explained'])} % of the deviation ({_format_percent(group['low'])} to {_format_percent(group['high'])} %)"
    if group["verdict"] == NOT_USED:
        return f"{name}: not used, {stability}"
    if group["verdict"] == CARRIES:
        return f"{name} {explain} {share}, {stability}"
    doubt = "folds disagree" if group["low"] > 0 else "within chance"
    return f"{name}: cannot tell, {doubt}: {share}, {stability}"


def answer_in_words(groups: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return a sentence for each usable group, strongest first, or one sentence if no group is usable."""
    used = [in_words(group) for group in groups if group["verdict"] != NOT_USED]
    if any(group["verdict"] == CARRIES for group in groups):
        return used
    return ["cannot tell what explains the deviation: no group explains it beyond chance in most folds", *used]


def _format_percent(share: float) -> str:
    # The share is infinite if there is only one fold.
    return f"{100 * share:.0f}".replace("-", "\u2212").replace("inf", "∞")
