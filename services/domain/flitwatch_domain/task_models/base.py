"""Common rules of every task's arguments: no unknown fields, no conversions, no text that cannot be stored, no number without bounds."""

from __future__ import annotations

import re
from typing import Annotated, Any, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, WithJsonSchema

from flitwatch_domain.errors import BadInput

Seed = Annotated[int, Field(ge=0, le=2**63 - 1)]
#: Names and paths that other systems chose: anything but NUL, which the database cannot hold.
_STORABLE = r"^[^\x00]*$"
Name = Annotated[str, Field(min_length=1, max_length=200, pattern=_STORABLE)]
Path = Annotated[str, Field(min_length=1, max_length=4096, pattern=_STORABLE)]
Node = Annotated[str, Field(min_length=1, max_length=100, pattern=_STORABLE)]


class Arguments(BaseModel):
    """The arguments of one task."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)

    @classmethod
    def of(cls, args: Any) -> Self:
        """The arguments from plain data.

        Raises
        ------
        BadInput
            Naming the argument.
        """
        try:
            return cls.model_validate(args)
        except ValidationError as problem:
            raise make_refusal(problem) from None

    def given(self) -> dict[str, Any]:
        """Return the arguments that were given and are not null, as plain data."""
        return self.model_dump(mode="json", by_alias=True, exclude_unset=True, exclude_none=True)

    def files(self) -> tuple[int, ...]:
        """Numbers of the uploaded files that the task reads."""
        return ()


def words_of(message: str) -> str:
    """Return pydantic's message about a fault, without its own label."""
    return message.removeprefix("Value error, ")


def _describe_fault(one: Any) -> str:
    # The only message of pydantic's that quotes what was given, however long.
    if one["type"] == "union_tag_invalid":
        return f"unknown; use one of {one['ctx']['expected_tags']}"
    return words_of(one["msg"])


def make_refusal(problem: ValidationError) -> BadInput:
    """The first faults of arguments in words; what was given is not repeated."""
    faults = [
        f"{'.'.join(map(str, fault['loc'])) or 'the arguments'}: {_describe_fault(fault)}"
        for fault in problem.errors()[:3]
    ]
    return BadInput("; ".join(faults), advice="docs/contracts/tasks.md has the arguments of every task.")


def make_text_type(pattern: str, what: str, longest: int = 200) -> Any:
    """A text that matches a pattern as a whole; `what` says what it is, and what could be written."""
    compiled = re.compile(pattern, re.ASCII)

    def check(text: str) -> str:
        if len(text) > longest or compiled.fullmatch(text) is None:
            raise ValueError(f"unknown {what}")
        return text

    schema = {"type": "string", "pattern": f"^({pattern})$", "maxLength": longest, "description": f"A {what}."}
    return Annotated[str, AfterValidator(check), WithJsonSchema(schema)]
