"""All rows of the tables, in order of measurement."""

from __future__ import annotations

from flitwatch_research.papers_routes import beyond, loops, routes_and_bases

ROWS = [*routes_and_bases.ROWS, *loops.ROWS, *beyond.ROWS]
