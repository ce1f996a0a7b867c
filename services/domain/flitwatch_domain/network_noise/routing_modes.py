"""Conditions for recommending the routing mode that network cards favour: several groups, and NICs observed there (De Sensi 2019, section 4.1)."""

from __future__ import annotations

from typing import NamedTuple

#: Jobs in at least this many groups are "Inter-Groups" (De Sensi 2019, figure 7).
SEVERAL_GROUPS = 2


class ModeAdvice(NamedTuple):
    """Recommended routing mode, and the reason; without a mode the data cannot tell and the job keeps its own."""

    mode: str | None
    reason: str


def held_back(observed_groups: int | None, groups: int | None) -> str | None:
    """Return why the mode that network cards favour does not apply to a job in `groups` groups; None if it applies.

    The choice depends on the allocation, so no rule is universal (section 4.2). The paper compares "Intra-Group" and "Inter-Groups" (section 4.1,
    figure 7). Between groups the modes differ in latency, which NICs count. Within a group they have a similar latency and differ in stalls. There
    are few minimal paths there, and a mean over the NICs does not always show the few links that they fill (ADR 0043).

    Parameters
    ----------
    observed_groups : groups of the job whose NICs were observed; None: unknown.
    groups : groups of the job that gets advice; None: unknown.
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
    """Return the mode that network cards favour if it applies to the job; otherwise no mode, with the reason."""
    against = held_back(observed_groups, groups)
    return ModeAdvice(favoured, why) if against is None else ModeAdvice(None, against)
