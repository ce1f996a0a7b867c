"""A fabric of network namespaces with real network stacks, veth cables, and sampling switches (Taffet 2021, section 2.7)."""

from flitwatch_research.namespaces.experiment import figure_214
from flitwatch_research.namespaces.lab import Lab, why_not

__all__ = ["Lab", "figure_214", "why_not"]
