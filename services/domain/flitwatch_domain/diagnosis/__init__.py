"""Origin of congestion, found with two methods that need different measurements.

- `trees`: a map of congested fractions from a job's own sampled packets (Taffet 2021, sections 2.3.3 and 2.3.4);
- `back_pressure`: only port counters, the utilisation and stalls of each link in one window.

`answer` returns the same plain data for both. `roots` is the model of a root of congestion.
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
