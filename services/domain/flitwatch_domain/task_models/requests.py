"""Task to start, as in the body of `POST /tasks`: a name, and the task's arguments."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal, Union

from pydantic import BaseModel, Field, create_model

from flitwatch_domain.task_models.base import Arguments
from flitwatch_domain.task_models.measured import (
    BlameArguments,
    DryRunArguments,
    EstimateArguments,
    MeasuredBlameArguments,
)
from flitwatch_domain.task_models.routes import Advice, Loop, Optimise
from flitwatch_domain.task_models.simulations import Collective, Count, Packet, WhatIf
from flitwatch_domain.task_models.studies import AnyStudy


class NewTask(BaseModel, extra="forbid", frozen=True):
    """A task to start, and its arguments."""

    name: str
    args: Arguments


#: Arguments, names and description of each kind of task, by the name of its model.
_TASKS: dict[str, tuple[Any, tuple[str, ...], str]] = {
    "StartCount": (Annotated[Count, Field(default=Count())], ("demo.count",), "Count: the end-to-end example."),
    "StartStudy": (AnyStudy, ("sim.study",), "Reproduce a published study."),
    "StartCollective": (Collective, ("sim.collective",), "Simulate a collective alongside a perturbation."),
    "StartPacket": (Packet, ("sim.packet",), "Simulate packets."),
    "StartWhatIf": (WhatIf, ("sim.whatif",), "Simulate a past moment with another placement or routing."),
    "StartLoop": (Loop, ("routing.loop", "routing.reconstruct"), "Derive routes, or traffic, from counters."),
    "StartOptimise": (Optimise, ("routing.optimise",), "Optimise routes for known traffic."),
    "StartAdvice": (Advice, ("routing.advice",), "Choose a routing mode and a placement from NIC counters."),
    "StartBlame": (BlameArguments, ("ml.blame",), "Estimate which users or applications slow an application down."),
    "StartMeasuredBlame": (
        MeasuredBlameArguments,
        ("ml.blame_measured",),
        "Estimate which users slow measured runs, from two uploaded files.",
    ),
    "StartEstimate": (
        EstimateArguments,
        ("ml.deviation", "ml.forecast"),
        "Estimate causes of deviation, or the duration of the next steps.",
    ),
    "StartDryRun": (DryRunArguments, ("alerting.test",), "Test an alert rule on past data."),
}
#: One model a kind of task, so that its names select its arguments.
_MODELS = tuple(
    create_model(name, __base__=NewTask, __doc__=description, name=Literal[names], args=arguments)  # type: ignore[call-overload]
    for name, (arguments, names, description) in _TASKS.items()
)
if TYPE_CHECKING:
    AnyTask = NewTask
else:
    AnyTask = Annotated[Union[_MODELS], Field(discriminator="name")]  # noqa: UP007
