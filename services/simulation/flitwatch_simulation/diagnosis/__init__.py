"""What a map of congested fractions says about the cause (Taffet 2021, sections 2.3.3 and 2.3.4)."""

from flitwatch_simulation.diagnosis.trees import CongestionMap, Diagnosis, diagnose

__all__ = ["CongestionMap", "Diagnosis", "diagnose"]
