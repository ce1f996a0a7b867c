"""Parameters of a turn of the loop."""

from __future__ import annotations

from dataclasses import dataclass

from flitwatch_domain.errors import BadRequest
from flitwatch_domain.task_models.routes import Loop


@dataclass(frozen=True)
class LoopRun:
    """Parameters of `flitwatch loop run`.

    megabytes: sent by the busiest node;  iterations: for traffic with unknown message order;  basis: od, or auto: by held-out residual;
    slots: parts of the jobs' progress, with counters read after each; routes are then optimised for every part, not only the sum;
    mtu: counters are mixed, MTU/2 x packets + bytes/2 (Taffet 2021, section 5.4.2), so that many small messages count as well as few large ones; None: bytes
    """

    pattern: str
    topology: str = "quartz1"
    seed: int = 1
    sls: int = 5
    vls: int = 5
    epochs: int = 1
    megabytes: float = 10.0
    packet_bytes: int = 4096
    basis: str = "od"
    iterations: int = 5
    noise: float = 0.0
    optimise_s: float = 30.0
    reconstruct_s: float = 900.0
    slots: int = 1
    mtu: float | None = None

    def __post_init__(self) -> None:
        # At the command line, pattern and topology can name files. The others have a task's limits.
        Loop.of({**vars(self), "pattern": "shift", "topology": "quartz1"})
        if not self.pattern or not isinstance(self.pattern, str) or not isinstance(self.topology, str):
            raise BadRequest("the loop needs a pattern and a topology")
