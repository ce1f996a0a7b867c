"""Results of estimators, as an estimate stores them and the API returns them."""

from __future__ import annotations

from typing import Annotated, Literal, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

Verdict = Literal["carries", "cannot tell", "not used"]


class ForecastInput(TypedDict):
    """Weight of one input in a forecast; counters of one meaning that move together are one input."""

    name: str
    meaning: Annotated[
        str, Field(description="What the counters measure and where, for example `stalls on the row bus`.")
    ]
    features: list[str]
    increase: Annotated[
        float,
        Field(description="Percentage points of MAPE added on later runs if this input is from another run."),
    ]
    low: Annotated[float, Field(description="95 % interval over runs that holds for all inputs at once.")]
    high: float
    verdict: Annotated[
        Verdict, Field(description="`carries`: the interval is above zero; `not used`: no forecast changed.")
    ]


class AttentionWeights(TypedDict):
    """Attention weights of one net over the past steps, oldest first; mean over later runs, 95 % interval over runs."""

    forecaster: str
    mean: list[float]
    low: list[float]
    high: list[float]


class ForecastBasis(TypedDict):
    """Inputs of a forecaster (figure 11 of the paper): learned from the earlier runs, tested on later ones."""

    forecaster: str
    mape: Annotated[float, Field(description="MAPE in % on the unchanged later runs.")]
    learned: int
    runs: int
    inputs: Annotated[list[ForecastInput], Field(description="Largest first.")]
    weights: list[AttentionWeights]


class BlameMethod(TypedDict):
    """Method that estimated the blame."""

    name: str
    strata: Annotated[str, Field(description="Runs are compared only within these.")]
    response: str
    alpha: float
    least_nodes: Annotated[int, Field(description="Smaller jobs are ignored.")]
    min_exposed: Annotated[int, Field(description="Smallest number of exposed runs for a test.")]
    beside: Annotated[str, Field(description="The paper's method, shown for comparison.")]
    calendar: NotRequired[
        Annotated[str, Field(description="Calendar effects that are removed from run times and exposure.")]
    ]
    regimes_s: NotRequired[
        Annotated[
            list[float],
            Field(description="Epoch seconds at which the level of run times changes: marks and change points."),
        ]
    ]


class BlameCalibration(TypedDict):
    """False-positive rate of the method, on the same runs with their times shuffled at random."""

    shuffles: int
    q: Annotated[float, Field(description="Limit of the false-discovery rate for a name.")]
    sets_with_a_name: int
    share: Annotated[float | None, Field(description="Share of shuffled sets with a name; the limit is a tenth.")]


class RunTimeDriver(TypedDict):
    """Relation between a circumstance of the runs and their times."""

    name: str
    correlation: Annotated[float, Field(description="Partial correlation, without hours, dates and regimes.")]
    p: float
    q: float


class ExplainedGroup(TypedDict):
    """How much the features of one meaning reduce the error of predicted step times, on held-out runs."""

    name: str
    features: list[str]
    explained: Annotated[
        float,
        Field(description="1 - MAPE of a model with only these features / MAPE of the mean curve; mean over folds."),
    ]
    low: Annotated[float, Field(description="95 % interval over folds that holds for all groups at once.")]
    high: float
    kept: Annotated[int, Field(description="Number of folds in which the elimination kept one of them.")]
    folds: int
    verdict: Annotated[
        Verdict,
        Field(description="`carries`: the interval is above zero, and seven of ten folds kept one of them."),
    ]


class AttentionGain(TypedDict):
    """Gain of attention over the best other forecaster, as a share; 90 % interval over runs."""

    mean: float
    low: float
    high: float


class BacktestRow(TypedDict):
    """One row of the ablation table: `k` steps ahead from the last `m`."""

    m: int
    k: int
    features: Annotated[str, Field(description="app, then any of placement, io, sys, joined by +.")]
    mape: Annotated[dict[str, float], Field(description="MAPE in % on held-out runs, by forecaster.")]
    gain: AttentionGain | None
    coverage90: Annotated[float | None, Field(description="Share of held-out windows within the 90 % interval.")]
    best: str
    runs: int
    windows: int


class ForecastDrift(TypedDict):
    """Drift: whether new runs still look like those that the model learned from."""

    checked: Annotated[str, Field(json_schema_extra={"format": "date-time"})]
    forecasts: Annotated[int, Field(description="Number of forecasts since with a known outcome.")]
    coverage90: float | None
    mape: Annotated[float | None, Field(description="MAPE of these forecasts in %.")]
    psi: Annotated[dict[str, float], Field(description="Population stability index by feature; above 0.25 is a shift.")]
    drifting: bool
    why: str | None
