"""Read fabrics, and snapshots of their counters, from the files of those who run them.

What happens, in order: `packed` opens the file, compressed or not; `text` gives numbered lines; `read` detects the format and calls its parser;
the parser gives a `Fabric` with its warnings, or `BadInput` with file and line.

Open

- `read` to register a format: `FORMATS`, `_PARSERS` and `detect`;
- `interconnect` for Cray's `rtr --interconnect`;
- `ibnetdiscover` for InfiniBand sections and cables, `ibdevices` for what they become, `ibnames` for names from node descriptions, `ibtree` for
  levels, pods and link classes;
- `slingshot` for the fabric manager's links, and the groups that they show, `slingshot_template` for its template; `ufm` for UFM's links, ports and systems;
- `neighbours` for files with LLDP neighbours of Ethernet switches, `sonic` for tables of SONiC's databases, `lldp` for the fabric that they make;
- `dragonview` for snapshots of a Cray XC's links with their counters;
- `table` for CSV tables with typed rows, `yaml_text` for YAML;
- `text` and `packed` for line ends, encodings and compression;

A new format is one module with `parse(text, where, name)` and one line in `read._PARSERS`. A line that is not understood is refused with its number;
it is never skipped in silence.
"""

from flitwatch_domain.importers.dragonview import Snapshot, read_snapshot
from flitwatch_domain.importers.read import FORMATS, read_fabric
from flitwatch_domain.importers.table import Rejected

__all__ = ["FORMATS", "Rejected", "Snapshot", "read_fabric", "read_snapshot"]
