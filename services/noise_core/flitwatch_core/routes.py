"""Static routes of fat trees against a traffic matrix: arrays in, arrays out."""

from flitwatch_core._routes import adaptive_bound, links, optimise

__all__ = ["adaptive_bound", "links", "optimise"]
