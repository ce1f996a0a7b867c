"""Service levels by pair for OpenSM: what makes counters by level tell apart pairs that share links (Taffet 2021, section 4.4.1).

OpenSM knows no table of pairs. It knows groups of ports and rules between groups. So every endpoint is in a class drawn at random, and the level of a pair is
the sum of its two classes modulo the number of levels: pairs of a sender are spread over all levels, and so are those of a receiver.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from flitwatch_domain.errors import BadInput, BadRequest
from flitwatch_domain.fabric import Fabric
from flitwatch_routing.lft import list_guids

Ints = NDArray[np.int64]
#: InfiniBand's field has four bits.
MOST_LEVELS = 16
#: Port GUIDs in a line of the policy file; OpenSM's reader has a buffer for a line.
_A_LINE = 16
#: OpenSM has a set of these for all ports, and one that goes before it for each kind of port: adapters, switches' port 0, their other ports, routers.
KINDS = ("qos", "qos_ca", "qos_sw0", "qos_swe", "qos_rtr")


@dataclass(frozen=True)
class Levels:
    """classes (endpoints,): 0 to levels - 1;  levels: service levels in use;  vls: data lanes that they are spread over, level modulo lanes"""

    classes: Ints
    levels: int
    vls: int

    def of(self, src: Ints, dst: Ints) -> Ints:
        """Service levels of pairs."""
        return (self.classes[src] + self.classes[dst]) % self.levels

    def lanes(self) -> list[int]:
        """The lane of each of the 16 service levels, on every link."""
        return [level % self.vls for level in range(MOST_LEVELS)]

    def settings(self, policy: str) -> dict[str, str]:
        """Return the settings of opensm.conf for the levels; `format_policy` is the path of the policy file."""
        lanes = ",".join(map(str, self.lanes()))
        by_kind = {f"{kind}_{name}": value for kind in KINDS for name, value in (("max_vls", str(self.vls)), ("sl2vl", lanes))}  # fmt: skip
        return {"qos": "TRUE", "qos_policy_file": policy, **by_kind}


def levels_of(fabric: Fabric, levels: int, vls: int, seed: int) -> Levels:
    """Classes drawn at random, as many endpoints in each as in another but one; BadRequest for levels or lanes that InfiniBand does not have."""
    if not (2 <= levels <= MOST_LEVELS and 1 <= vls <= min(levels, 15)):
        raise BadRequest(
            f"{levels} service levels on {vls} lanes",
            advice="Take 2 to 16 service levels, and 1 to 15 lanes, no more than levels.",
        )
    classes = np.arange(len(fabric.endpoints), dtype=np.int64) % levels
    return Levels(np.random.default_rng(seed).permutation(classes), levels, vls)


def format_policy(fabric: Fabric, levels: Levels) -> Iterator[str]:
    """The lines of OpenSM's QoS policy file: a port group a class, and a rule for each two classes."""
    ports = np.array(list_guids(fabric)[1], np.uint64)
    yield "# Service levels by pair, so that counters by level tell pairs apart. Made by flitwatch."
    yield "port-groups"
    for level in range(levels.levels):
        yield from ("  port-group", f"    name: class{level}")
        class_ports = ports[levels.classes == level].tolist()
        for first in range(0, len(class_ports), _A_LINE):
            yield "    port-guid: " + ",".join(f"0x{guid:016x}" for guid in class_ports[first : first + _A_LINE])
        yield "  end-port-group"
    yield from ("end-port-groups", "qos-levels")
    for level in range(levels.levels):
        # OpenSM gives the level of this name to paths that no rule is for.
        name = "DEFAULT" if level == 0 else f"level{level}"
        yield from ("  qos-level", f"    name: {name}", f"    sl: {level}", "  end-qos-level")
    yield from ("end-qos-levels", "qos-match-rules")
    for src in range(levels.levels):
        for dst in range(levels.levels):
            level = (src + dst) % levels.levels
            yield from (
                "  qos-match-rule",
                f"    source: class{src}",
                f"    destination: class{dst}",
                f"    qos-level-name: {'DEFAULT' if level == 0 else f'level{level}'}",
                "  end-qos-match-rule",
            )
    yield "end-qos-match-rules"


def loaded_lanes(text: str, where: str) -> dict[tuple[int, int, int], tuple[int, ...]]:
    """Lanes of the 16 service levels by (GUID of the switch or port, in port, out port) from OpenSM's opensm-sl2vl.dump; BadInput with its line."""
    lanes: dict[tuple[int, int, int], tuple[int, ...]] = {}
    device: int | None = None
    for number, line in enumerate(text.splitlines(), 1):
        if head := re.match(r"(?:Switch|Channel Adapter|Router|\S+) .*?0x([0-9a-fA-F]{16})", line):
            device = int(head[1], 16)
        elif row := re.fullmatch(r"([0-9]+)\s+([0-9]+)\s*:((?:\s+[0-9]+){16})\s*", line):
            if device is None:
                raise BadInput("has lanes before the switch or port that they are of", where=f"{where}:{number}")
            lanes[device, int(row[1]), int(row[2])] = tuple(map(int, row[3].split()))
        elif line.strip() and not line.startswith("#"):
            raise BadInput("is not a table of lanes as OpenSM dumps them", where=f"{where}:{number}")
    return lanes
