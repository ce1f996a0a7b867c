"""Response models for estimates. `simulated` is true if any run behind an estimate is simulated."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

from flitwatch_api.answers import Items, Page
from flitwatch_domain.estimates import (
    BacktestRow,
    BlameCalibration,
    BlameMethod,
    ExplainedGroup,
    ForecastBasis,
    ForecastDrift,
    RunTimeDriver,
)

By = Literal["user", "application"]
Source = Annotated[
    Literal["runs", "files"],
    Field(
        description="`runs`: recorded by the platform; `files`: uploaded by a person (task ml.blame_measured, flitwatch import runs)."
    ),
]


RUN_ID = "Null for a run from a file."
RUN_NAME = "Name of the run in its file; null for recorded runs, and below scope names for files of others."


class Head(BaseModel):
    """One result of an estimator: its data, parameters, code version and score."""

    estimate_id: int
    kind: Literal["blame", "deviation", "forecast"]
    exe: str
    nodes: int
    created: datetime
    code_version: str
    runs: int
    steps: int
    first: datetime = Field(description="Start of the first run.")
    last: datetime = Field(description="Start of the last run.")
    parameters: dict[str, Any]
    score: dict[str, Any] = Field(
        description="blame: found, testable; deviation: mape, baseline_mape; forecast: mape by forecaster, gain, coverage90. `mape` is the mean absolute percentage error (MAPE)."
    )
    simulated: bool
    source: Source


class HeadList(Page[Head]):
    """A page of estimates."""


class EstimateStatus(BaseModel):
    """Status of one kind of estimate for an application."""

    estimate_id: int | None
    created: datetime | None
    checked: datetime | None = Field(description="When a worker last examined these runs.")
    lacks: str | None = Field(description='Why there is no newer estimate, for example "needs 8 runs, has 3".')
    score: dict[str, Any] | None


class Application(BaseModel):
    """An instrumented application on a number of nodes, and its estimates."""

    exe: str
    nodes: int
    runs: int
    running: int = Field(description="Runs of jobs that have not ended.")
    simulated: bool
    source: Source
    blame: EstimateStatus
    deviation: EstimateStatus
    forecast: EstimateStatus


class Applications(Items[Application]):
    """Instrumented applications, most runs first."""


class BlameEntry(BaseModel):
    """A user, or the jobs of one name."""

    place: int = Field(description="Place in the ranking, from 1.")
    name: str
    pseudonym: bool
    own: bool = Field(description="This user submitted the runs.")
    verdict: Literal["named", "cannot tell", "no evidence"] = Field(
        description="Only `named` means blame: the effect is beyond chance and not explained by the calendar, one week or another user."
    )
    reasons: list[str] = Field(description="Why; `in place 3` is another entry of this estimate.")
    effect_s: float | None = Field(description="Mean extra seconds of an exposed run.")
    effect_low_s: float | None = Field(
        description="95 % interval of `effect_s`. With q of at most 0.05, it allows for the choice of this name among many. Otherwise it is for this name alone: among many, some exclude zero by chance."
    )
    effect_high_s: float | None
    lost_node_hours: float | None = Field(description="Sum over the exposed runs of effect_s times nodes.")
    lost_low_node_hours: float | None = Field(description="95 % interval of `lost_node_hours`, likewise.")
    lost_high_node_hours: float | None
    score: float = Field(description="Conditional t-value, given the others selected; high: exposed runs are slow.")
    sign: int
    p: float | None = Field(description="One-sided; null with too few shared runs.")
    q: float | None = Field(description="Smallest false-discovery rate at which it is found.")
    testable: bool
    reason: str | None = Field(description="Why it cannot be tested: too few shared runs, for example.")
    exposed_runs: int
    selected: int | None = Field(description="Order of the greedy selection; null: not selected.")
    mi_bits: float = Field(description="Mutual information of presence and optimality.")
    mi_sign: int
    mi_p: float | None
    mi_q: float | None


class BlameRuns(BaseModel):
    """The runs that were compared, by column."""

    run_id: list[int | None] = Field(description=RUN_ID)
    run_name: list[str | None] = Field(description=RUN_NAME)
    job_id: list[str | None]
    start: list[datetime]
    time_s: list[float]
    slow: list[bool] = Field(description="Whether the run took the mean time or longer (not optimal, tau = 1).")


class Blame(BaseModel):
    """Names ranked by how strongly exposure to their jobs coincides with slow runs."""

    estimate: Head
    by: By
    method: BlameMethod
    caveat: str
    found: int = Field(description="Entries that are named.")
    cannot_tell: int
    testable: int
    total: int
    runs: BlameRuns
    calibration: BlameCalibration | None = Field(description="For runs from files; null for recorded runs.")
    drivers: list[RunTimeDriver] = Field(description="For runs from files: other numeric columns, strongest first.")
    notes: list[str] = Field(description="Notes about the files.")
    entries: list[BlameEntry]
    next_cursor: str | None


class BlameDetail(BaseModel):
    """The runs behind one name, by column in the order of start."""

    estimate: Head
    by: By
    entry: BlameEntry
    run_id: list[int | None] = Field(description=RUN_ID)
    run_name: list[str | None] = Field(description=RUN_NAME)
    job_id: list[str | None]
    start: list[datetime]
    time_s: list[float]
    slow: list[bool]
    overlap: list[float | None] = Field(
        description="Share of the run that its large jobs covered together; null: unknown (files contain only amounts)."
    )
    exposure: list[float] = Field(
        description="Sum over its jobs of overlap x shared nodes by group; 0: no such job alongside the run."
    )


class BlameEvidence(BaseModel):
    """Evidence about a name from one set of runs: one application on one number of nodes."""

    estimate_id: int
    exe: str
    nodes: int
    runs: int
    place: int = Field(description="Place in that estimate's ranking.")
    simulated: bool
    verdict: Literal["named", "cannot tell", "no evidence"]
    testable: bool
    score: float
    p: float | None
    q: float | None
    effect_s: float | None
    effect_low_s: float | None = Field(description="95 % interval of `effect_s` for this set alone.")
    effect_high_s: float | None
    lost_node_hours: float | None
    exposed_runs: int
    mi_bits: float
    mi_sign: int
    mi_p: float | None
    mi_q: float | None


class SeveralSetsEntry(BaseModel):
    """A name that several sets of runs find, with their combined evidence."""

    name: str
    pseudonym: bool
    found_in: int = Field(description="Number of sets that find it under the chosen definition.")
    tested_in: int
    p: float | None = Field(
        description="p-value over all tested sets (Cauchy combination); null: no set could test it."
    )
    q: float | None = Field(description="q-value over all names, listed or not.")
    verdict: Literal["named", "cannot tell", "no evidence"] = Field(
        description="`named` requires a set that names it, and no set that finds it with doubts."
    )
    reasons: list[str]
    evidence: list[BlameEvidence] = Field(description="Strongest first.")


class SeveralSets(BaseModel):
    """Names found in several sets of runs (table III of the paper), most sets first."""

    by: By
    definition: Literal["ours", "paper"]
    least_sets: int
    sets: int = Field(description="Sets that have an estimate of blame.")
    total: int = Field(description="Number of names found in that many sets.")
    items: list[SeveralSetsEntry]
    caveat: str


class Counter(BaseModel):
    """A feature: a counter of table II, a counter of another fabric, or the run's placement."""

    abbreviation: str = Field(description="Name of the counter; for counters of table II, the abbreviation.")
    vendor: str
    column: str
    description: str
    meaning: str = Field(description="What the counter measures and where, for example `stalls on the row bus`.")


class Relevance(BaseModel):
    """One row of the heat map; arrays in the order of `counters`, null if a set does not have the counter."""

    estimate: Head
    relevance: list[float | None] = Field(description="Share of folds in which it is in the well-performing subset.")
    relevance_spread: list[float | None] = Field(description="Standard error of `relevance`.")
    rank: list[float | None] = Field(description="Mean rank of elimination; the last one left has rank 1.")
    rank_spread: list[float | None] = Field(description="Standard deviation of the rank over folds.")
    place: list[int | None] = Field(
        description="From 1: groups that explain most come first, and features of a group are ordered by rank; null in estimates of older versions."
    )
    mape: float = Field(description="MAPE in % of mean curve + predicted deviation on held-out runs.")
    mape_spread: float = Field(description="Standard deviation of `mape` over folds.")
    baseline_mape: float = Field(description="MAPE of the mean curve alone in %.")
    row_split_mape: float | None = Field(
        description="With rows of one run on both sides, as in the paper; this is optimistic."
    )
    folds: int
    groups: list[ExplainedGroup] = Field(description="Features grouped by meaning; those that explain most come first.")
    answer: list[str] = Field(description="The result in words; estimates of older versions cannot tell.")


class MissingEstimate(BaseModel):
    """An application without this estimate."""

    exe: str
    nodes: int
    runs: int
    lacks: str | None


class Deviation(BaseModel):
    """Heat map of counters and sets."""

    inputs: Literal["rates", "deltas"]
    counters: list[Counter]
    sets: list[Relevance]
    lacking: list[MissingEstimate]
    caveat: str


class Serving(BaseModel):
    """The deployed forecaster, and why it was chosen."""

    forecaster: str
    m: int
    k: int
    features: str
    mape: float = Field(description="MAPE in % on held-out runs.")
    coverage90: float | None = Field(description="Share of these forecasts within the 90 % interval.")
    why: str


class Forecast(BaseModel):
    """Backtests of every forecaster, the deployed forecaster, and its performance since then."""

    estimate: Head
    serves: Serving
    backtests: list[BacktestRow]
    step: list[int]
    curve_s: list[float] = Field(description="Mean time of each step.")
    drift: ForecastDrift | None
    rests_on: list[ForecastBasis] = Field(
        description="Errors of the deployed forecaster, then of attention on counters, the paper's forecaster."
    )
    rests_on_lacks: str | None = Field(description="Why it is unknown.")
    notes: list[str]


class NextSteps(BaseModel):
    """A forecast of the next steps of a run."""

    after_steps: int
    ahead: int
    made: datetime
    estimate_id: int | None
    forecaster: str
    expected_s: float
    low_s: float = Field(description="The 90 % interval is for the sum over the next `ahead` steps.")
    high_s: float
    usual_s: float = Field(description="Time of the mean run for the same steps.")
    slowdown: float = Field(description="expected / usual.")
    observed_s: float | None = Field(description="Their actual time, once known.")


class Observed(BaseModel):
    """Steps received so far, by column."""

    step: list[int]
    time_s: list[float]
    usual_s: list[float | None]


class Band(BaseModel):
    """The newest forecast by step: the mean curve scaled to the forecast and its interval."""

    step: list[int]
    expected_s: list[float]
    low_s: list[float] = Field(description="90 % interval.")
    high_s: list[float]


class RunForecast(BaseModel):
    """A run, its forecast, and the forecasts before it."""

    run_id: int
    job_id: str | None
    exe: str
    nodes: int
    start: datetime | None
    running: bool
    simulated: bool
    observed: Observed
    band: Band | None
    newest: NextSteps | None
    made: list[NextSteps]
    backtest: Serving | None
    lacks: str | None = Field(description="Why there is no forecast.")


class Running(BaseModel):
    """A running instrumented job in the list."""

    run_id: int
    job_id: str | None
    user: str | None
    exe: str
    nodes: int
    start: datetime | None
    steps: int
    elapsed_s: float
    newest: NextSteps | None
    backtest_mape: float | None
    lacks: str | None
    simulated: bool


class RunningList(Items[Running]):
    """Running instrumented jobs, slowest forecast first."""


class PastJobs(BaseModel):
    """Completed jobs that a job can be compared with."""

    basis: str = Field(description="What the jobs have in common: user, name, size (within a factor of two).")
    jobs: int
    p10_s: float | None
    p50_s: float | None
    p90_s: float | None
    longer: float | None = Field(description="Share of them that took longer than this job's time so far.")


class RunTime(BaseModel):
    """Total run time of a job, from completed similar jobs that took longer than it has lasted."""

    elapsed_s: float
    expected_s: float | None = Field(description="The median; null: cannot tell, with the reason in `lacks`.")
    low_s: float | None = Field(description="90 % interval of the whole run time.")
    high_s: float | None
    ends: datetime | None = Field(description="Its start plus `expected_s`.")
    ends_low: datetime | None = Field(description="90 % interval of the end.")
    ends_high: datetime | None
    basis: str | None = Field(description="What the similar jobs have in common with this one.")
    jobs: int = Field(description="How many of them ran longer than this one so far.")
    tested: int = Field(description="How many of these were forecast from earlier ones.")
    coverage90: float | None = Field(description="Share of these forecasts whose outcome was in the interval.")
    rests_on: str | None = Field(description="The result in words.")
    lacks: str | None


class SlowRun(BaseModel):
    """A running instrumented job with its newest steps."""

    run_id: int
    job_id: str | None
    user: str | None
    name: str | None
    exe: str
    nodes: int
    simulated: bool
    recent: Observed = Field(description="Steps of the last `recent_s` seconds.")
    earlier_runs: int = Field(description="Runs that `usual_s` is the mean of.")
    slowdown: float | None = Field(description="time_s / usual_s of these steps; null: no other run has them.")
    run_time: RunTime | None = Field(description="Null if the scheduler does not list the job.")


class SlowestRuns(BaseModel):
    """Running instrumented jobs, largest slowdown first. Jobs that cannot be compared come last."""

    recent_s: int
    running: int = Field(description="Number of running instrumented jobs. The answer lists the first `limit` of them.")
    items: list[SlowRun]


class RunningJob(BaseModel):
    """A running job without recorded steps."""

    job_id: str
    user: str | None
    name: str | None
    nodes: int | None
    start: datetime
    run_time: RunTime
    simulated: bool


class RunningJobList(Items[RunningJob]):
    """Running jobs without recorded steps, largest first."""


class Stalls(BaseModel):
    """Stall ratio on the job's routers compared with the machine, over the same minutes."""

    minutes: int
    routers: int
    job: float | None
    machine: float | None
    percentile: float | None = Field(description="Share of the machine's routers with a lower ratio than the job's.")


class NeighbourWithBlame(BaseModel):
    """A job on the same routers or groups, with blame's verdict on its user."""

    job_id: str
    user: str | None
    nodes: int | None
    shared_routers: int
    shared_groups: int
    overlap_s: float
    blamed: list[str] = Field(
        description="Applications whose slow runs coincide with this user's exposure (q at most 0.05)."
    )


class Outlook(BaseModel):
    """Outlook of a job without recorded steps."""

    job_id: str
    elapsed_s: float | None
    has_steps: bool
    past: list[PastJobs]
    run_time: RunTime | None = Field(description="Null for a job that has not started or has ended.")
    stalls: Stalls | None
    neighbours: list[NeighbourWithBlame]
    simulated: bool
