"""Read fabrics, and snapshots of their counters, from the files of those who run them."""

from flitwatch_domain.importers.read import FORMATS, read_fabric

__all__ = ["FORMATS", "read_fabric"]
