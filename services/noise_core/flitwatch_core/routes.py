"""Static routes of fat trees for a traffic matrix: arrays in, arrays out."""

from flitwatch_core._routes import bounds, links, optimise, share_cables

__all__ = ["bounds", "links", "optimise", "share_cables"]
