"""Conditions for advising a routing mode that network cards favour: over several groups, from NICs that were read there (De Sensi 2019, section 4.1)."""

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
    figure 7): between groups latency differs, which NICs count. Within a group the modes have a similar latency and differ by stalls; minimal ways are
    few there, and a mean over the NICs need not show the few links that they fill (ADR 0043).

    Parameters
    ----------
    observed_groups : of the job whose NICs were read; None: unknown.
    groups : of the job that is advised; None: unknown.
    """
    if groups is None:
        return "in how many groups the job will stand is not known; the mode that suits it depends on that"
    if groups < SEVERAL_GROUPS:
        return (
            "the job is in one group: its packets have few shortest ways there, and counts of its network cards"
            " do not show whether a mode fills these"
        )
    if observed_groups is None:
        return "in how many groups the job stood whose network cards were read is not known"
    if observed_groups < SEVERAL_GROUPS:
        return "its network cards were read within one group, which says nothing of several"
    return None


def advise_mode(favoured: str, why: str, observed_groups: int | None, groups: int | None) -> ModeAdvice:
    """The mode that network cards favour, where that says something of the job; else none, with the reason."""
    against = held_back(observed_groups, groups)
    return ModeAdvice(favoured, why) if against is None else ModeAdvice(None, against)
