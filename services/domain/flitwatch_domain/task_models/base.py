"""Common rules of all tasks' arguments: no unknown fields, no conversions, no text that cannot be stored, no unbounded numbers."""

from __future__ import annotations

import math
import re
from typing import Annotated, Any, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, WithJsonSchema

from flitwatch_domain.errors import BadInput

Seed = Annotated[int, Field(ge=0, le=2**63 - 1)]
#: Names and paths chosen by other systems: any text without NUL, which the database cannot store.
_STORABLE = r"^[^\x00]*$"
Name = Annotated[str, Field(min_length=1, max_length=200, pattern=_STORABLE)]
Path = Annotated[str, Field(min_length=1, max_length=4096, pattern=_STORABLE)]
Node = Annotated[str, Field(min_length=1, max_length=100, pattern=_STORABLE)]


class Arguments(BaseModel):
    """The arguments of one task."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)

    @classmethod
    def of(cls, args: Any) -> Self:
        """Parse the arguments from plain data. Raise BadInput; the message names the argument."""
        try:
            return cls.model_validate(args)
        except ValidationError as problem:
            raise make_refusal(problem) from None

    def given(self) -> dict[str, Any]:
        """Return the given arguments that are not null, as plain data."""
        return self.model_dump(mode="json", by_alias=True, exclude_unset=True, exclude_none=True)

    def files(self) -> tuple[int, ...]:
        """Return the numbers of the uploaded files that the task reads."""
        return ()


def words_of(message: str) -> str:
    """Return pydantic's message about an error, without its own label."""
    return message.removeprefix("Value error, ")


def _describe_fault(one: Any) -> str:
    # Only this message of pydantic quotes the input, which can be long.
    if one["type"] == "union_tag_invalid":
        return f"unknown; use one of {one['ctx']['expected_tags']}"
    return words_of(one["msg"])


def make_refusal(problem: ValidationError) -> BadInput:
    """Describe the first errors of arguments without repeating the input."""
    faults = [
        f"{'.'.join(map(str, fault['loc'])) or 'the arguments'}: {_describe_fault(fault)}"
        for fault in problem.errors()[:3]
    ]
    return BadInput("; ".join(faults), advice="docs/contracts/tasks.md has the arguments of every task.")


def make_text_type(pattern: str, what: str, longest: int = 200) -> Any:
    """Make a type for texts that match a pattern as a whole; `what` describes the text and its allowed forms."""
    compiled = re.compile(pattern, re.ASCII)

    def check(text: str) -> str:
        if len(text) > longest or compiled.fullmatch(text) is None:
            raise ValueError(f"unknown {what}")
        return text

    schema = {"type": "string", "pattern": f"^({pattern})$", "maxLength": longest, "description": f"A {what}."}
    return Annotated[str, AfterValidator(check), WithJsonSchema(schema)]


#: Nodes of machines with a name.
NAMED_NODES = {"theta": 3_456, "edison": 5_760, "cori": 13_056, "slingshot": 2_048, "quartz1": 3_072}


def nodes_of(topology: str) -> float:
    """Return the nodes of a generated machine: 0 for an unknown one, infinity if the number is too large."""
    kind, _, rest = topology.partition(":")
    if not rest:
        return float(NAMED_NODES.get(kind, 0))
    try:
        if kind == "torus":
            return _multiply_numbers(rest)
        if kind == "xgft":
            return _multiply_numbers(rest.split(";")[1])
        if kind == "hyperx":
            sizes, ends, *_ = rest.split(";")
            return _multiply_numbers(sizes) * float(ends)
        if kind == "rails":
            return _multiply_numbers(",".join(rest.split(",")[:3]))
        if kind == "planes":
            return _multiply_numbers(rest.split(";")[2])
        if kind == "dragonfly":
            return _multiply_numbers(",".join(rest.split(",")[:3])) * 4
    except (IndexError, ValueError):
        return 0.0
    return 0.0


def _multiply_numbers(numbers: str) -> float:
    return float(math.prod(float(number) for number in numbers.split(",")))
