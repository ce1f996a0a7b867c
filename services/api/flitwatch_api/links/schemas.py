"""Response models for links and the jobs whose traffic they carry."""

from __future__ import annotations

from datetime import datetime

from pydantic import BaseModel, Field


class LinkUser(BaseModel):
    """A job that uses a link."""

    job_pk: int
    job_id: str
    user: str | None
    name: str | None
    nodes: int | None
    share: float = Field(description="Estimated share of the link's traffic in the window, 0 to 1.")


class HotLink(BaseModel):
    """A counted link between routers."""

    link: int
    link_class: str
    src: int = Field(description="Sending router.")
    src_name: str
    src_group: int
    src_port: int | None
    dst: int = Field(description="Receiving router.")
    dst_name: str
    dst_group: int
    dst_port: int | None
    flits: float | None
    stall_cycles: float | None
    ratio: float | None = Field(description="Stalls divided by flits: stalled time divided by sending time.")
    lost_bps: float | None = Field(
        description="Bits per second that it could have sent while it was stalled, as a mean over the window; null if the unit of stalls is unknown."
    )
    jobs: list[LinkUser] = Field(description="Shares of at least 1 %, largest first.")
    jobs_more: int = Field(description="Number of further jobs with such a share.")
    explained: float | None = Field(
        description="Expected traffic of the jobs divided by the link's traffic; null if bytes are not counted."
    )
    cannot_tell: str | None = Field(description="Why no job has a share; null if one has.")


class HotLinks(BaseModel):
    """The hottest links of a window and the jobs that use them."""

    at: datetime | None
    window_s: int | None
    links_counted: int = Field(description="Number of counted links that match the filter.")
    items: list[HotLink] = Field(description="Largest ratio of stalls first.")
    detour: float | None = Field(
        description="Estimated share of traffic between groups that went through a third group; null without shares."
    )
    note: str | None = Field(description="Present if the sums of a long window are estimates.")
    simulated: bool


class SlowCable(BaseModel):
    """A cable, by the link of one direction, that runs slower than others of its kind or whose link flaps."""

    link: int = Field(description="Number of the link, as in the fabric's other answers.")
    link_class: str = Field(description="Class of the link, such as `host` or `up`.")
    src_name: str = Field(description="Node or switch at one end.")
    src_port: int | None = Field(description="Port of that end; null if unknown.")
    dst_name: str = Field(description="Switch at the other end.")
    dst_port: int | None = Field(description="Port of the other end; null if unknown.")
    bandwidth_bps: float | None = Field(description="Its speed, bits per second.")
    usual_bps: float | None = Field(description="Usual speed of its kind, bits per second.")
    slow: bool = Field(description="It runs at half of that or less.")
    flapping: bool = Field(
        description="In the last day its link went down three times, recovered ten times, or changed its speed five times."
    )
    link_downs: int | None = Field(description="Times that a flapping link went down in the last day.")
    link_recoveries: int | None = Field(description="Times that a flapping link recovered from errors in the last day.")
    link_speed_changes: int | None = Field(
        description="Times that a flapping link changed its speed or width in the last day."
    )
    condition: str = Field(description="The condition in words, as alerts and `flitwatch top` report it.")


class SlowCables(BaseModel):
    """The slow and flapping cables of a fabric."""

    items: list[SlowCable] = Field(description="Slowest for its kind first; at most 1,000.")


class JobPaths(BaseModel):
    """Links between routers that a job's traffic is expected to use, by column; most loaded first."""

    at: datetime | None
    window_s: int | None
    job_pk: int | None
    job_id: str
    link: list[int]
    src: list[int]
    dst: list[int]
    class_: list[str] = Field(alias="class")
    bytes_per_s: list[float] = Field(description="Expected mean over the window.")
    links_used: int = Field(
        description="Number of links with any of its traffic. The answer lists the most loaded ones."
    )
    cannot_tell: str | None
    simulated: bool
