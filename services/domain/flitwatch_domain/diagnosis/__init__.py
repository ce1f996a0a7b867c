"""Origin of congestion: two methods that need different measurements.

- `trees`: a map of congested fractions, as a job's own sampled packets see it (Taffet 2021, sections 2.3.3 and 2.3.4);
- `back_pressure`: port counters alone, use and stalls of each link in one window.

`answer` makes the same plain data of both.
"""

from flitwatch_domain.diagnosis.back_pressure import Findings, PortWindow, Root, Turns, Victim, find_roots
from flitwatch_domain.diagnosis.trees import CongestionMap, Diagnosis, diagnose_congestion

__all__ = [
    "CongestionMap",
    "Diagnosis",
    "Findings",
    "PortWindow",
    "Root",
    "Turns",
    "Victim",
    "diagnose_congestion",
    "find_roots",
]
