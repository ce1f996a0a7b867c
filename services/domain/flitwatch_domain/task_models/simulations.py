"""Arguments of `sim.collective`, `sim.packet`, `sim.whatif` and of the end-to-end example."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from flitwatch_domain.task_models.base import Arguments, Name, Seed
from flitwatch_domain.task_models.machines import (
    Background,
    CongestionControl,
    FlowPattern,
    FlowRouting,
    FlowTopology,
    MessagePattern,
    PacketRouting,
    PacketTopology,
    PacketTraffic,
    Placement,
    Semantics,
    WhatIfPlacement,
    WhatIfRouting,
)

#: Longest duration of the example, in seconds.
LONGEST_COUNT_S = 3600.0
MOST_WHATIF_RUNS = 120
#: Maximum number of bytes of all nodes together.
MOST_BYTES = 2**60
Ranks = Annotated[int, Field(ge=2, le=1_000_000)]
Bytes = Annotated[int, Field(ge=1, le=MOST_BYTES)]
PacketBytes = Annotated[int, Field(ge=64, le=8192)]
Threads = Annotated[int, Field(ge=1, le=1024)]
#: Maximum number of parts into which a fabric is divided in one packet-level run.
MOST_THREADS = 4
ClassName = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{0,39}$")]


class Count(Arguments):
    """`demo.count`: count with a pause before each number."""

    to: int = Field(default=10, ge=0, le=1_000_000)
    delay_s: float = Field(default=0.1, ge=0, le=60)

    @model_validator(mode="after")
    def _check_length(self) -> Self:
        if self.to * self.delay_s > LONGEST_COUNT_S:
            raise ValueError(
                f"that takes {self.to * self.delay_s:g} s, more than {LONGEST_COUNT_S:g}; count to a smaller number, or faster"
            )
        return self


class CollectiveOptions(Arguments):
    """A collective alongside a random perturbation, at flow level, on any machine."""

    pattern: FlowPattern = "binomial-bcast"
    ratio: float = Field(default=0.5, ge=0, lt=1)
    runs: int = Field(default=1000, ge=1, le=10_000_000)
    first_run: int = Field(default=0, ge=0, le=2**32 - 1 - 10_000_000)
    threads: Threads = 1
    seed: Seed = 1
    semantics: Semantics = "longest-path"
    wait_for_own_send: bool = False
    perturbation: Literal["permutation", "random-peer"] = "permutation"
    mapping: Literal["random", "linear"] = "random"


class Collective(CollectiveOptions):
    """`sim.collective`."""

    topology: FlowTopology
    routing: FlowRouting | None = None


class PacketJob(Arguments):
    """One of several jobs of a packet-level run."""

    pattern: MessagePattern
    ranks: Ranks
    bytes: Bytes
    placement: Placement
    traffic_class: ClassName | None = None


class TrafficClass(Arguments):
    """A traffic class of a packet-level run: its share of every link, and its priority."""

    name: ClassName
    minimum: float = Field(ge=0, le=1, description="Guaranteed share of a link; the minima add up to at most 1.")
    maximum: float = Field(default=1.0, gt=0, le=1, description="Largest share.")
    priority: int = Field(
        default=0, ge=0, le=999, description="The highest priority is served first once all classes have their minimum."
    )


class Packet(Arguments):
    """`sim.packet`: packets, credits and adaptive routing."""

    topology: PacketTopology
    routing: PacketRouting
    traffic: PacketTraffic | None = None
    bytes: Bytes | None = Field(default=None, description="Bytes that each node sends.")
    packet_bytes: PacketBytes = 2048
    ranks: Ranks | None = None
    placement: Placement = "contiguous"
    message_scale: float = Field(default=1.0, gt=0, le=1e6)
    background: Background = "none"
    jobs: list[PacketJob] | None = Field(default=None, min_length=1, max_length=100)
    seed: Seed = 1
    nic_protocol: bool = False
    virtual_lanes: int = Field(default=1, ge=1, le=15)
    threads: int | None = Field(
        default=None,
        ge=1,
        le=MOST_THREADS,
        description="Number of threads. The result does not depend on it, but differs slightly from that of an undivided run (default).",
    )
    engine: Literal["eager", "oracle-oldest", "oracle-round-robin"] = "eager"
    congestion_control: CongestionControl = Field(
        default="none",
        description="pairs: Slingshot's back-pressure on pairs that send to a congested node; dcqcn: RoCE's, with ECN marks and a lossless fabric.",
    )

    traffic_classes: list[TrafficClass] = Field(
        default=[], max_length=16, description="Traffic classes with their own buffers on every link."
    )
    job_class: ClassName | None = Field(default=None, description="Traffic class of what `traffic` sends.")
    background_class: ClassName | None = Field(default=None, description="Traffic class of the background.")

    @model_validator(mode="after")
    def _control_goes_with_messages(self) -> Self:
        is_other_engine = self.nic_protocol or self.background != "none" or self.engine != "eager"
        generated = self.traffic is not None and self.traffic.partition(":")[0] == "uniform"
        if self.congestion_control != "none" and (is_other_engine or generated):
            raise ValueError(
                f"congestion_control {self.congestion_control} requires messages and the eager engine; leave out nic_protocol, "
                f"background, engine and uniform traffic"
            )
        return self

    @model_validator(mode="after")
    def _check_threads(self) -> Self:
        if self.threads is not None and (
            self.engine != "eager" or self.congestion_control != "none" or self.traffic_classes
        ):
            raise ValueError(
                "threads require the eager engine, without congestion control and traffic classes; leave out threads"
            )
        return self

    @model_validator(mode="after")
    def _sends_something(self) -> Self:
        if (self.traffic is None) == (self.jobs is None):
            raise ValueError("give either traffic or jobs")
        if self.traffic is not None and self.bytes is None:
            raise ValueError("traffic needs bytes: what each node sends")
        return self


class WhatIf(Arguments):
    """`sim.whatif`: a past moment of a stored fabric, with another placement or routing of one job."""

    fabric: Name
    at_s: float = Field(ge=0, le=4e9)
    job: Name
    window_s: float = Field(default=300.0, ge=1, le=3600)
    pattern: MessagePattern = "stencil3d"
    bytes: int = Field(default=100_000, ge=1, le=10**9)
    placements: list[WhatIfPlacement] = Field(default=["as-it-was", "random-router"], min_length=1, max_length=20)
    routings: list[WhatIfRouting] = Field(default=["adaptive0", "adaptive3"], min_length=1, max_length=20)
    seeds: int = Field(default=5, ge=1, le=20)
    seed: int = Field(default=1, ge=0, le=2**31)
    packet_bytes: PacketBytes = 2048

    @property
    def runs(self) -> int:
        """Return the number of simulations: each placement with each routing, once per seed."""
        return len(self.placements) * len(self.routings) * self.seeds

    @model_validator(mode="after")
    def _few_runs(self) -> Self:
        if self.runs > MOST_WHATIF_RUNS:
            raise ValueError(
                f"this needs {self.runs} simulations; the limit is {MOST_WHATIF_RUNS}: choose fewer variants or seeds"
            )
        return self
