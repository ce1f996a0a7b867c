"""Arguments of `ml.blame`, `ml.deviation`, `ml.forecast`, `ml.blame_measured`, `alerting.test` and `db.maintain`."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, WithJsonSchema, model_validator

from flitwatch_domain.alerts import LONGEST_S, Rule
from flitwatch_domain.task_models.base import Arguments, Path

Definition = Literal["ours", "paper"]


class Application(Arguments):
    """An application of runs: an executable, and its number of nodes."""

    exe: Path
    nodes: int = Field(ge=0, le=2**31 - 1)


class EstimateArguments(Application):
    """`ml.deviation` and `ml.forecast`; `definition`: ours by default, or the paper's."""

    definition: Definition | None = None


class BlameArguments(EstimateArguments):
    """`ml.blame`."""

    least_nodes: int | None = Field(default=None, ge=1, le=2**31 - 1)


def set_name(text: str) -> str:
    """Check the name of a set of runs from files. It is shown like an application's name, and users without scope names must not see folders. Raise
    ValueError if it is too long, has blanks at its ends, or contains slashes or control characters."""
    if not 1 <= len(text) <= LONGEST_NAME or text != text.strip() or "/" in text or not text.isprintable():
        raise ValueError(
            f"use 1 to {LONGEST_NAME} characters without slashes, control characters and blanks at the ends"
        )
    return text


LONGEST_NAME = 200
SetName = Annotated[
    str,
    AfterValidator(set_name),
    WithJsonSchema({"type": "string", "minLength": 1, "maxLength": LONGEST_NAME, "description": "Name of the set."}),
]


class MeasuredBlameArguments(Arguments):
    """`ml.blame_measured`; `runs` and `exposure` are numbers of files (POST /tasks/files)."""

    name: SetName
    runs: int = Field(ge=1, le=2**63 - 1)
    exposure: int = Field(ge=1, le=2**63 - 1)
    shuffles: int = Field(default=100, ge=0, le=1_000)
    seed: int = Field(default=1, ge=0, le=2**31 - 1)

    @model_validator(mode="after")
    def _check_two_files(self) -> Self:
        if self.runs == self.exposure:
            raise ValueError("runs and exposure are the same file. Upload both files")
        return self

    def files(self) -> tuple[int, ...]:
        """Return the file of runs and the file of exposure."""
        return self.runs, self.exposure


class DryRunArguments(Arguments):
    """`alerting.test`: test of a rule over a past period."""

    rule: Rule
    from_s: float = Field(ge=0, le=2**32)
    to_s: float = Field(ge=0, le=2**32)

    @model_validator(mode="after")
    def _check_span(self) -> Self:
        if not 0 <= self.to_s - self.from_s <= LONGEST_S:
            raise ValueError("the period must be at most 31 days and end after its start")
        return self


class NoArguments(Arguments):
    """`db.maintain`."""
