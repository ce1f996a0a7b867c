"""Parts that advice may use, and those that are served by default."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, fields

from flitwatch_domain.errors import BadRequest


@dataclass(frozen=True)
class Parts:
    """Parts that an answer may use. Each can be switched off; a part without data says so and changes nothing.

    Attributes
    ----------
    counters : congestion near the nodes, of the last minutes.
    blame : users whom blame names for the application and who run there now.
    forecast : congestion as it is expected for the next hour.
    running : how long the jobs that hold nodes there will stay: what they cause ends with them.
    drivers : the counters that explain the application's deviation, in the place of router stalls.
    pattern : whether the application is better kept together or spread over groups.
    routing : the routing mode that its network cards' counters favour.
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
        """Only these parts; BadRequest for a name that is none."""
        part_names = [field.name for field in fields(cls)]
        wrong = sorted(set(names) - set(part_names))
        if wrong:
            raise BadRequest(f"advice has no part {wrong[0]!r}", advice=f"Name some of {', '.join(part_names)}.")
        return cls(**{name: name in names for name in part_names})


#: What is served where a site sets nothing else (`FLITWATCH_ADVICE_PARTS`).
SERVED = Parts.of(("counters", "forecast", "running"))
