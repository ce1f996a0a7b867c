"""What advice may rest on, and what of it is served."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Parts:
    """What an answer may rest on: congestion of the last minutes, blamed users who run now, congestion as expected for the next hour."""

    counters: bool = True
    blame: bool = True
    forecast: bool = True


#: What is served.
SERVED = Parts(forecast=False)
