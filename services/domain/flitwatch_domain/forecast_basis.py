"""Inputs on which a forecast rests, as an estimate stores them and the API returns them."""

from __future__ import annotations

from typing import Annotated, Literal

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
        Field(description="Percentage points of error added on later runs if this input is from another run."),
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
    mape: Annotated[float, Field(description="% error on the unchanged later runs.")]
    learned: int
    runs: int
    inputs: Annotated[list[ForecastInput], Field(description="Largest first.")]
    weights: list[AttentionWeights]
