"""Inner loops of the fluid engine: loads of patterns, waiting on links, counters of tiles and NICs."""

from flitwatch_core._fluid import Gather, PatternLoads, TileCounters, link_state

__all__ = ["Gather", "PatternLoads", "TileCounters", "link_state"]
