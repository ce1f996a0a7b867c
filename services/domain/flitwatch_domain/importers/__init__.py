"""Read fabrics, and snapshots of their counters, from the files of those who run them."""

from flitwatch_domain.importers.dragonview import Snapshot, read_snapshot
from flitwatch_domain.importers.read import FORMATS, read_fabric
from flitwatch_domain.importers.table import Rejected

__all__ = ["FORMATS", "Rejected", "Snapshot", "read_fabric", "read_snapshot"]
