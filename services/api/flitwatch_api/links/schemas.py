"""Shapes of answers about links and whose traffic they carry."""

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
    share: float = Field(description="Estimated part of what the link carried in the window, 0 to 1.")


class HotLink(BaseModel):
    """A counted link between routers."""

    link: int
    link_class: str
    src: int = Field(description="Router that sends.")
    src_name: str
    src_group: int
    src_port: int | None
    dst: int = Field(description="Router that receives.")
    dst_name: str
    dst_group: int
    dst_port: int | None
    flits: float | None
    stall_cycles: float | None
    ratio: float | None = Field(description="Stalls over flits: the time stalled over the time of sending.")
    lost_bps: float | None = Field(
        description="Bits a second that it could have sent while it was stalled, in the mean of the window; null where the length of a stall's unit is unknown."
    )
    jobs: list[LinkUser] = Field(description="The largest share first; shares of at least 1 %.")
    jobs_more: int = Field(description="Further jobs with such a share.")
    explained: float | None = Field(
        description="What the jobs are expected to put on it over what it carried; null where bytes are not counted."
    )
    cannot_tell: str | None = Field(description="Why no job is given a share; null where a job is.")


class HotLinks(BaseModel):
    """The hottest links of a window and who uses them."""

    at: datetime | None
    window_s: int | None
    links_counted: int = Field(description="Counted links that meet the filter.")
    items: list[HotLink] = Field(description="Greatest ratio of stalls first.")
    detour: float | None = Field(
        description="Estimated part of traffic between groups that went through a third group; null without shares."
    )
    note: str | None = Field(description="Says so where the sums of a long window are estimates.")
    simulated: bool


class SlowCable(BaseModel):
    """A cable, by the link of one direction, that runs slower than others of its kind or whose link flaps."""

    link: int
    link_class: str
    src_name: str
    src_port: int | None
    dst_name: str
    dst_port: int | None
    bandwidth_bps: float | None = Field(description="What it runs at, bits per second.")
    usual_bps: float | None = Field(description="What most cables of its kind run at.")
    slow: bool = Field(description="It runs at half of that or less.")
    flapping: bool = Field(description="Its link went down three times in the last day, or recovered ten times.")
    link_downs: int | None = Field(description="Times that a flapping link went down in the last day.")
    link_recoveries: int | None = Field(description="Times that a flapping link recovered from errors in the last day.")


class SlowCables(BaseModel):
    """The slow and flapping cables of a fabric."""

    items: list[SlowCable] = Field(description="The slowest for its kind first; at most 1,000.")


class JobPaths(BaseModel):
    """Links between routers that a job's traffic is expected to use, by column; the most loaded first."""

    at: datetime | None
    window_s: int | None
    job_pk: int | None
    job_id: str
    link: list[int]
    src: list[int]
    dst: list[int]
    class_: list[str] = Field(alias="class")
    bytes_per_s: list[float] = Field(description="Expected, in the mean of the window.")
    links_used: int = Field(description="Links with any of its traffic; the answer lists the most loaded of them.")
    cannot_tell: str | None
    simulated: bool
