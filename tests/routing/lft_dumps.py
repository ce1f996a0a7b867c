"""Dumps of forwarding tables, and fabrics with LIDs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from flitwatch_domain.fabric import Fabric
from flitwatch_routing import lft


def numbered(fabric: Fabric, first: int = 9, lmc: int = 0) -> Fabric:
    """The fabric as its file would number the endpoints."""
    count = len(fabric.endpoints)
    lids = [first + 2**lmc * one for one in range(count)]
    return replace(fabric, attributes={**fabric.attributes, "lids": lids, "lmc": [lmc] * count})


def dumped(path: Path, fabric: Fabric, ports: np.ndarray, bare: bool = False) -> list[str]:
    """Lines of a dump, written to `path`; `bare`: without the comments that name destinations."""
    lines = [
        line.split("#")[0].rstrip() if bare and line.startswith("0x") else line
        for line in lft.format_dump(fabric, ports)
    ]
    path.write_text("\n".join(lines) + "\n")
    return lines
