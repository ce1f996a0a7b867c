"""A growing store_csv file with known sums, like the output of four nodes per router, second by second."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from pathlib import Path

SECOND_0 = 1_795_000_000
NODES_PER_ROUTER = 4
QUANTITIES = ("INCOMING_FLIT_VC0", "INCOMING_FLIT_VC4", "ROWBUS_STALL_CNT")


@dataclass
class Feed:
    """Counters of `routers` routers; node n of a router samples tile columns 2n and 2n + 1 of the first tile row.

    `components` are the component ids of the nodes, four a router, in the routers' order.
    """

    path: Path
    routers: int
    components: list[int]
    seed: int = 0
    second: int = SECOND_0
    counters: dict[int, list[int]] = field(default_factory=dict)
    flits: dict[int, int] = field(default_factory=dict)
    stalls: dict[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)
        self.flits = dict.fromkeys(range(self.routers), 0)
        self.stalls = dict.fromkeys(range(self.routers), 0)
        for node in range(self.routers * NODES_PER_ROUTER):
            self.counters[node] = [self.random.randrange(2**40) for _ in range(2 * len(QUANTITIES))]

    def header(self, slot: int) -> str:
        columns = [f"AR_RTR_0_{2 * slot + tile}_INQ_PRF_{quantity}" for tile in (0, 1) for quantity in QUANTITIES]
        return ",".join(
            ["#Time", "Time_usec", "ProducerName", "component_id", "job_id", "app_id", "aries_rtr_id", *columns]
        )

    def file_of(self, slot: int) -> Path:
        """Nodes of one slot share a metric list, and so a file: store_csv writes one file a schema."""
        return self.path / f"slot{slot}" / "aries_rtr_mmr"

    def begin(self) -> None:
        for slot in range(NODES_PER_ROUTER):
            file = self.file_of(slot)
            file.parent.mkdir(parents=True)
            file.write_text(self.header(slot) + "\n")

    def tick(self) -> None:
        """One more second of every node; the first one only sets the counters."""
        first = self.second == SECOND_0
        for slot in range(NODES_PER_ROUTER):
            lines = []
            for router in range(self.routers):
                node = router * NODES_PER_ROUTER + slot
                if not first:
                    self._advance(router, node)
                values = ",".join(map(str, self.counters[node]))
                lines.append(
                    f"{self.second}.000500,500,nid{self.components[node]:05d},{self.components[node]},0,0,,{values}\n"
                )
            with open(self.file_of(slot), "a") as file:
                file.write("".join(lines))
        self.second += 1

    def _advance(self, router: int, node: int) -> None:
        for index in range(2 * len(QUANTITIES)):
            step = self.random.randrange(1_000_000)
            self.counters[node][index] += step
            if index % len(QUANTITIES) == 2:
                self.stalls[router] += step
            else:
                self.flits[router] += step
