"""Parts that advice may use, and the default parts."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, fields

from flitwatch_domain.errors import BadRequest


@dataclass(frozen=True)
class Parts:
    """Parts that an answer may use. Each can be disabled; a part without data reports that and changes nothing.

    Attributes
    ----------
    counters : congestion near the nodes in the last minutes.
    blame : users who are blamed for the application and have jobs there now.
    forecast : congestion expected for the next hour.
    running : remaining time of the jobs there; congestion that they cause ends with them.
    drivers : counters that explain the application's deviation, in place of router stalls.
    pattern : whether the application runs better in one group or spread over several.
    routing : routing mode that its network cards' counters favour.
    """

    counters: bool = True
    blame: bool = True
    forecast: bool = True
    running: bool = True
    drivers: bool = True
    pattern: bool = True
    routing: bool = True

    @classmethod
    def of(cls, names: Collection[str]) -> Parts:
        """Return an object with only these parts; BadRequest for an unknown name."""
        part_names = [field.name for field in fields(cls)]
        wrong = sorted(set(names) - set(part_names))
        if wrong:
            raise BadRequest(f"advice has no part {wrong[0]!r}", advice=f"Name some of {', '.join(part_names)}.")
        return cls(**{name: name in names for name in part_names})


#: Default of `FLITWATCH_ADVICE_PARTS`.
SERVED = Parts.of(("counters", "forecast", "running"))
