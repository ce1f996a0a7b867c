"""Importers of fabrics, and of snapshots of their counters, from operators' files.

An import has four steps. `packed` opens the file, compressed or not. `text` returns numbered lines. `read` detects the format and calls its parser.
The parser returns a `Fabric` with warnings, or raises `BadInput` with file and line.

Modules

- `read` to register a format: `FORMATS`, `_PARSERS` and `detect_format`;
- `interconnect` for Cray's `rtr --interconnect`;
- `ibnetdiscover` for InfiniBand sections and cables, `ibnames` for the resulting devices and their names from node descriptions, `ibtree` for
  levels, pods and link classes;
- `slingshot` for the fabric manager's links and their groups, `slingshot_template` for its template; `ufm` for UFM's links, ports and systems;
- `neighbours` for files with LLDP neighbours of Ethernet switches, `sonic` for tables of SONiC's databases, `lldp` for the resulting fabric;
- `dragonview` for snapshots of a Cray XC's links with their counters;
- `table` for CSV tables with typed rows;
- `text` and `packed` for YAML, line ends, encodings and compression;

A new format is one module with `parse_fabric(text, where, name)` and one line in `read._PARSERS`. An unreadable line is rejected with its number; it is never
skipped silently.
"""

from flitwatch_domain.importers.dragonview import Snapshot, read_snapshot
from flitwatch_domain.importers.read import FORMATS, read_fabric
from flitwatch_domain.importers.table import Rejected

__all__ = ["FORMATS", "Rejected", "Snapshot", "read_fabric", "read_snapshot"]
