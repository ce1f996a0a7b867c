"""Task to start, as in the body of `POST /tasks`: a name, and the task's arguments."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from flitwatch_domain.task_models.measured import (
    BlameArguments,
    DryRunArguments,
    EstimateArguments,
    MeasuredBlameArguments,
)
from flitwatch_domain.task_models.routes import Advice, Loop, Optimise
from flitwatch_domain.task_models.simulations import Collective, Count, Packet, WhatIf
from flitwatch_domain.task_models.studies import Study


class _Request(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class StartCount(_Request):
    """Count: the end-to-end example."""

    name: Literal["demo.count"]
    args: Count = Count()


class StartStudy(_Request):
    """Reproduce a published study."""

    name: Literal["sim.study"]
    args: Study


class StartCollective(_Request):
    """Simulate a collective alongside a perturbation."""

    name: Literal["sim.collective"]
    args: Collective


class StartPacket(_Request):
    """Simulate packets."""

    name: Literal["sim.packet"]
    args: Packet


class StartWhatIf(_Request):
    """Simulate a past moment with another placement or routing."""

    name: Literal["sim.whatif"]
    args: WhatIf


class StartLoop(_Request):
    """Derive routes, or traffic, from counters."""

    name: Literal["routing.loop", "routing.reconstruct"]
    args: Loop


class StartOptimise(_Request):
    """Optimise routes for known traffic."""

    name: Literal["routing.optimise"]
    args: Optimise


class StartAdvice(_Request):
    """Choose a routing mode and a placement from NIC counters."""

    name: Literal["routing.advice"]
    args: Advice


class StartBlame(_Request):
    """Estimate which users or applications slow an application down."""

    name: Literal["ml.blame"]
    args: BlameArguments


class StartMeasuredBlame(_Request):
    """Estimate which users slow measured runs, from two uploaded files."""

    name: Literal["ml.blame_measured"]
    args: MeasuredBlameArguments


class StartEstimate(_Request):
    """Estimate causes of deviation, or the duration of the next steps."""

    name: Literal["ml.deviation", "ml.forecast"]
    args: EstimateArguments


class StartDryRun(_Request):
    """Test an alert rule on past data."""

    name: Literal["alerting.test"]
    args: DryRunArguments


NewTask = Annotated[
    StartCount
    | StartStudy
    | StartCollective
    | StartPacket
    | StartWhatIf
    | StartLoop
    | StartOptimise
    | StartAdvice
    | StartBlame
    | StartMeasuredBlame
    | StartEstimate
    | StartDryRun,
    Field(discriminator="name"),
]
