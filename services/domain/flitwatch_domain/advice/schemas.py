"""Shapes of questions and answers about jobs that are to start."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from pydantic import BaseModel, Field, StringConstraints

Name = Annotated[str, StringConstraints(min_length=1, max_length=256)]
Node = Annotated[str, StringConstraints(min_length=1, max_length=256)]
PartName = Literal["counters", "blame", "forecast", "running", "drivers", "pattern", "routing"]
ReasonKind = Literal[
    "blamed_user",
    "congestion",
    "unknown",
    "unknown_nodes",
    "deadline",
    "waiting",
    "pattern",
    "routing_mode",
    "stale",
]


class AdviceRequest(BaseModel, extra="forbid"):
    """A job to place."""

    user: Name
    application: Name = Field(description="Name of the application, as in instrumented runs.")
    nodes: int = Field(strict=True, ge=1, le=1_000_000)
    candidates: list[Annotated[list[Node], Field(min_length=1, max_length=20_000)]] = Field(
        default=[], max_length=64, description="Candidates: lists of nodes that the scheduler could assign."
    )
    deadline: datetime | None = None


class Slowdown(BaseModel):
    """Time divided by that of the application's mean run; the interval covers 90 % of comparable runs."""

    mean: float
    low: float
    high: float


class UsualRange(BaseModel):
    """The usual time of runs on another number of nodes: `low_s` and `high_s` for work that the nodes divide and for work that grows with them."""

    low_s: float
    high_s: float
    nodes: int = Field(description="Number of nodes of the comparable runs.")


class Candidate(BaseModel):
    """A candidate list of nodes."""

    index: int
    action: Literal["start", "delay", "prefer"] = Field(description="Advice for the job on these nodes.")
    expected_slowdown: Slowdown | None = Field(description="null: unknown; see reason.")
    reason: str
    routing_mode: str | None = Field(description="MPICH_GNI_ROUTING_MODE on these nodes; null: unknown.")


class Reason(BaseModel):
    """Why, and where to find the evidence."""

    kind: ReasonKind
    text: str
    evidence: str | None


class AdviceFinding(BaseModel):
    """Finding of one part of advice; `known` false: the part cannot tell and changed nothing."""

    part: PartName
    known: bool
    text: str
    evidence: str | None


class Advice(BaseModel):
    """Recommended action for a job."""

    action: Literal["start", "delay", "prefer"]
    preferred: int | None = Field(description="Index of the candidate to prefer.")
    retry_after_s: float | None = Field(description="Seconds after which to ask again.")
    expected_slowdown: Slowdown | None = Field(
        description="For the preferred candidate, or for the best one; null: unknown."
    )
    usual_s: float | None = Field(
        description="Mean time of comparable runs on the same number of nodes; null: unknown."
    )
    usual_range_s: UsualRange | None = Field(
        description="Range of the usual time, if comparable runs had another number of nodes."
    )
    routing_mode: str | None = Field(
        description="MPICH_GNI_ROUTING_MODE for the preferred candidate, or for all candidates, from the application's NIC "
        "counters; null: unknown; see reasons."
    )
    candidates: list[Candidate]
    reasons: list[Reason]
    because: list[AdviceFinding] = Field(description="Findings of each part that is on.")
    stale: bool = Field(description="A worker or the database is down; the answer is from older data.")
    as_of: datetime


class AdviceBatch(BaseModel, extra="forbid"):
    """Several questions at once."""

    jobs: list[AdviceRequest] = Field(min_length=1, max_length=200)


class AdviceBatchAnswer(BaseModel):
    """Answers in the order of the questions."""

    items: list[Advice]


class KnownApplication(BaseModel):
    """An application and size with past runs or estimates."""

    application: str
    nodes: int
    users: list[str] = Field(description="Users whose answers differ from the general ones; pseudonyms below operator.")


class GroupNodes(BaseModel):
    """The compute nodes of a group."""

    fabric_id: int
    group: int
    nodes: str = Field(description="A host list.")


class AdviceState(BaseModel):
    """Applications, sizes and groups that advice covers, so that an agent asks only about these."""

    applications: list[KnownApplication]
    groups: list[GroupNodes]
    pseudonyms: bool = Field(description="Whether users are pseudonyms, which a scheduler cannot use.")
    stale: bool
    as_of: datetime
