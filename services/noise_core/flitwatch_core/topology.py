"""Topologies and distances: arrays in, arrays out."""

from __future__ import annotations

from flitwatch_core._flow import Topology, graph, hop_summary, hops_between, torus, xgft

__all__ = ["Topology", "graph", "hop_summary", "hops_between", "torus", "xgft"]
