"""Arguments of `ml.blame`, `ml.deviation`, `ml.forecast`, `alerting.test` and `db.maintain`."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, model_validator

from flitwatch_domain.alerts import LONGEST_S, Rule
from flitwatch_domain.task_models.base import Arguments, Path

Definition = Literal["ours", "paper"]


class Application(Arguments):
    """An application as runs name it: an executable, and on how many nodes."""

    exe: Path
    nodes: int = Field(ge=0, le=2**31 - 1)


class EstimateArguments(Application):
    """`ml.deviation` and `ml.forecast`; `definition`: ours unless the paper's is asked for."""

    definition: Definition | None = None


class BlameArguments(EstimateArguments):
    """`ml.blame`."""

    least_nodes: int | None = Field(default=None, ge=1, le=2**31 - 1)


class DryRunArguments(Arguments):
    """`alerting.test`: a rule over a span of the past."""

    rule: Rule
    from_s: float = Field(ge=0, le=2**32)
    to_s: float = Field(ge=0, le=2**32)

    @model_validator(mode="after")
    def _span(self) -> Self:
        if not 0 <= self.to_s - self.from_s <= LONGEST_S:
            raise ValueError("the span is at most 31 days, and ends after it begins")
        return self


class NoArguments(Arguments):
    """`db.maintain`."""
