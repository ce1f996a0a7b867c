"""Arguments of `routing.loop`, `routing.optimise`, `routing.reconstruct` and `routing.advice`."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from flitwatch_domain.task_models.base import Arguments, Name, Node, Seed
from flitwatch_domain.task_models.machines import LoopPattern, MessagePattern, NicMode, PacketRouting, RoutesTopology
from flitwatch_domain.task_models.simulations import PacketBytes

MOST_OBSERVATIONS, MOST_INTERVALS = 10_000, 200
Amount = Annotated[float, Field(ge=0, le=1e18)]
Count = Annotated[int, Field(ge=0, le=10**18)]


class Loop(Arguments):
    """`routing.loop` and `routing.reconstruct`: a simulated machine, its counters, its traffic, its routes."""

    pattern: LoopPattern
    topology: RoutesTopology = "quartz1"
    seed: Seed = 1
    sls: int = Field(default=5, ge=1, le=16)
    vls: int = Field(default=5, ge=1, le=15)
    epochs: int = Field(default=1, ge=1, le=64)
    megabytes: float = Field(default=10.0, ge=1e-3, le=1e3, description="Megabytes that the busiest node sends.")
    packet_bytes: PacketBytes = 4096
    basis: Literal["od", "auto", "i", "s", "cd", "scd", "cs", "scs"] = "od"
    iterations: int = Field(default=5, ge=1, le=1000)
    noise: float = Field(default=0.0, ge=0, le=1)
    optimise_s: float = Field(default=30.0, ge=1e-3, le=86_400)
    reconstruct_s: float = Field(default=900.0, ge=1, le=86_400)
    slots: int = Field(default=1, ge=1, le=64)
    mtu: float | None = Field(
        default=None, ge=1, le=65_536, description="Counters are MTU/2 x packets + bytes/2 instead of bytes."
    )


class Optimise(Loop):
    """`routing.optimise`: the same arguments; `time_limit_s` is the optimiser's."""

    time_limit_s: float | None = Field(default=None, ge=1e-3, le=86_400)


class Observation(Arguments):
    """Counts of a job's NICs over an interval; `allocation`: its nodes in rank order."""

    allocation: list[Node] = Field(min_length=1, max_length=10_000)
    interval_s: Amount
    request_flits: Count
    request_packets: Count
    stalled_cycles: Count
    cumulative_latency_us: Amount


class Interval(Arguments):
    """A part of a job's run time, in epoch seconds."""

    from_s: float = Field(ge=0, le=4e9)
    to_s: float = Field(ge=0, le=4e9)


class Check(Arguments):
    """A time in the job's past at which another placement is simulated."""

    at_s: float = Field(ge=0, le=4e9)
    window_s: float = Field(default=300.0, ge=1, le=3600)
    pattern: MessagePattern = "stencil3d"
    bytes: int = Field(default=100_000, ge=1, le=10**9)
    routing: PacketRouting = "adaptive0"
    seeds: int = Field(default=5, ge=3, le=20, description="At least three for an interval.")
    seed: int = Field(default=1, ge=0, le=2**31)
    packet_bytes: PacketBytes = 2048


class Advice(Arguments):
    """`routing.advice`: a routing mode and a placement from the counters of a job's NICs."""

    application: Name
    job: Name | None = None
    user: Name | None = None
    fabric: Name | None = None
    message_bytes: int = Field(default=65_536, ge=1, le=2**50)
    observations: dict[NicMode, Annotated[list[Observation], Field(max_length=MOST_OBSERVATIONS)]] | None = Field(
        default=None, description="By routing mode; ADAPTIVE_0 and at least one other."
    )
    intervals: dict[NicMode, Annotated[list[Interval], Field(max_length=MOST_INTERVALS)]] | None = Field(
        default=None,
        description="Instead of observations: the times at which `job` used each mode. Counters are read from the database.",
    )
    check: Check | None = None
    simulated: bool = False

    @model_validator(mode="after")
    def _check_comparable(self) -> Self:
        samples = self.intervals if self.observations is None else self.observations
        if samples is None or (self.observations is not None and self.intervals is not None):
            raise ValueError("give either observations or intervals")
        if self.intervals is not None and self.job is None:
            raise ValueError("intervals need the job whose counters are read")
        if "ADAPTIVE_0" not in samples or len(samples) < 2:
            raise ValueError("the choice needs observations under ADAPTIVE_0 and under another mode")
        if self.check is not None and (self.fabric is None or self.job is None):
            raise ValueError("a check needs fabric and job: it simulates a moment of that job's past")
        return self
