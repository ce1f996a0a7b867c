"""Parameters of a turn of the loop."""

from __future__ import annotations

from dataclasses import dataclass

from flitwatch_domain.errors import BadRequest

#: Limit of slots: with more, a slot is not informative, and the optimiser keeps one load per link and slot.
MOST_SLOTS = 64
#: Integer parameters.
WHOLE = {"sls", "vls", "epochs", "iterations", "slots", "packet_bytes", "seed"}
BASES = ("od", "auto", "i", "s", "cd", "scd", "cs", "scs")


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
        for name, low, high in (
            ("sls", 1, 16),
            ("vls", 1, 15),
            ("epochs", 1, 64),
            ("iterations", 1, 1000),
            ("slots", 1, MOST_SLOTS),
            ("packet_bytes", 64, 8192),
            ("seed", 0, 2**63 - 1),
            ("megabytes", 1e-3, 1e3),
            ("noise", 0, 1),
            ("optimise_s", 1e-3, 86_400),
            ("reconstruct_s", 1, 86_400),
            ("mtu", 1, 65_536),
        ):
            value = getattr(self, name)
            if name == "mtu" and value is None:
                continue
            whole = name in WHOLE
            if (
                isinstance(value, bool)
                or not isinstance(value, int if whole else int | float)
                or not low <= value <= high
            ):
                raise BadRequest(
                    f"{name} is {value!r}; expected {'a whole number from ' if whole else ''}{low:g} to {high:g}"
                )
        if self.basis not in BASES:
            raise BadRequest(f"unknown basis {self.basis!r}", advice=f"Use {', '.join(BASES)}")
        if not self.pattern or not isinstance(self.pattern, str) or not isinstance(self.topology, str):
            raise BadRequest("the loop needs a pattern and a topology")
