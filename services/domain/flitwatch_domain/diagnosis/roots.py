"""Model of a root of congestion: dictionaries with fields that pydantic validates and describes."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field
from typing_extensions import TypedDict


class DiagnosedLink(TypedDict):
    """A directed link with its measurements; null: not measured."""

    link: int
    link_class: str
    src: Annotated[int, Field(description="Vertex that sends: a router, or the number of routers plus an endpoint.")]
    src_name: str
    dst: int
    dst_name: str
    utilisation: Annotated[
        float | None,
        Field(description="Share of the capacity that was used; with packet samples, only by the job's own packets."),
    ]
    stalls_per_flit: float | None
    congested_fraction: Annotated[
        float | None, Field(description="Share of the job's sampled packets that found the link congested.")
    ]


class VictimLink(DiagnosedLink):
    """A link whose traffic waits behind a root."""

    behind: Annotated[int, Field(description="The link that it waits for.")]
    distance: Annotated[int, Field(description="Number of links from the root.")]


class Ruling(TypedDict):
    """Whether a window shows a cause of congestion."""

    cause: str
    ruling: Annotated[
        Literal["in", "out", "cannot tell"],
        Field(description="`out` only if each congested link has a root of another cause, or there is none."),
    ]
    roots: Annotated[int, Field(description="Number of roots of this cause.")]
    text: str


class Feeder(TypedDict):
    """A job that feeds a root."""

    job_pk: int
    job_id: str
    user: str | None
    name: str | None
    nodes: int | None
    share: Annotated[
        float | None,
        Field(description="Estimated share of the link's traffic; null for the job that runs on the node at its end."),
    ]


class CongestionRoot(DiagnosedLink):
    """A link at which congestion begins."""

    cause: Annotated[
        Literal[
            "full-link",
            "full-endpoint",
            "slow-endpoint",
            "communication-pattern",
            "mapping-or-bandwidth",
            "static-routes",
            "background-traffic",
        ],
        Field(description="The first three are from port counters, the others from packet samples."),
    ]
    confidence: Annotated[float | None, Field(description="0.5 to 1 with port counters; null with packet samples.")]
    advice: str
    victims: Annotated[list[VictimLink], Field(description="Its tree, nearest links first.")]
    victims_total: int
    jobs: Annotated[list[Feeder], Field(description="Largest share first.")]
    jobs_unknown_because: Annotated[str | None, Field(description="Why no job is named; null if one is.")]
