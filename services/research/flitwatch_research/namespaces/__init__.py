"""A fabric of network namespaces with real network stacks, veth cables, and sampling switches (Taffet 2021, section 2.7)."""

from flitwatch_research.namespaces.lab import Lab, why_not
from flitwatch_research.namespaces.ring import figure_214

__all__ = ["Lab", "figure_214", "why_not"]
