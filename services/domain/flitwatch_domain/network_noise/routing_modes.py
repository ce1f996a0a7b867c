"""Conditions for advising a routing mode that network cards favour: over several groups, from NICs that were read there (De Sensi 2019, section
4.1)."""

from __future__ import annotations

from typing import NamedTuple

#: Jobs in at least so many groups are "Inter-Groups" (De Sensi 2019, figure 7).
SEVERAL_GROUPS = 2


class ModeAdvice(NamedTuple):
    """The mode to run with, and why; without a mode the data cannot tell and the job keeps its own."""

    mode: str | None
    reason: str


def held_back(observed_groups: int | None, groups: int | None) -> str | None:
    """Why what network cards favour says nothing of a job that is in `groups` groups; None: it does.

    The choice depends on the allocation, so no rule holds everywhere (section 4.2). The paper compares "Intra-Group" and "Inter-Groups" (section 4.1,
    figure 7): between groups latency differs, which NICs count. Within a group the modes have a similar latency and differ by stalls; minimal ways
    are few there, and a mean over the NICs need not show the few links that they fill (ADR 0043).

    Parameters
    ----------
    observed_groups : of the job whose NICs were read; None: unknown.
    groups : of the job that is advised; None: unknown.
    """
    if groups is None:
        return "the number of groups of the job is unknown, and the best mode depends on it"
    if groups < SEVERAL_GROUPS:
        return (
            "the job is in one group, where its packets have few shortest paths, and counters of its network cards do not show "
            "whether a mode fills them"
        )
    if observed_groups is None:
        return "the number of groups of the measured job is unknown"
    if observed_groups < SEVERAL_GROUPS:
        return "its network cards were measured within one group, which does not show the behaviour over several groups"
    return None


def advise_mode(favoured: str, why: str, observed_groups: int | None, groups: int | None) -> ModeAdvice:
    """The mode that network cards favour, where that says something of the job; else none, with the reason."""
    against = held_back(observed_groups, groups)
    return ModeAdvice(favoured, why) if against is None else ModeAdvice(None, against)
