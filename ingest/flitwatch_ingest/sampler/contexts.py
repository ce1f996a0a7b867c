"""Owners of packets: job, tag and phase, declared by the scheduler's prolog and the application."""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, Field, ValidationError, model_validator

from flitwatch_domain.errors import BadInput

_PORTS = 1 << 16
#: Limit of jobs on one host; more are refused to protect its memory.
MOST_JOBS = 1000
MOST_CONTEXTS = 100_000

Word = Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[^\x00]*$")]
Port = Annotated[int, Field(ge=0, lt=_PORTS)]


class Context(NamedTuple):
    """Job, tag and phase of packets; None is unknown."""

    job: str | None
    tag: str | None
    phase: str | None


class PortRange(BaseModel, frozen=True, extra="forbid"):
    """Destination ports (UDP and TCP) on which messages of a tag arrive."""

    first: Port
    last: Port
    tag: Word | None = None

    @model_validator(mode="after")
    def _check_order(self) -> PortRange:
        if self.last < self.first:
            raise ValueError("the last port is before the first")
        return self


class Declaration(BaseModel, frozen=True, extra="forbid"):
    """One datagram on the control socket. Omitted fields keep their values; `end` removes the job.

    A job without `ports` owns all ports that no other job declared, if it is the only such job on the host.
    """

    job: Word
    phase: Word | None = None
    ports: Annotated[list[PortRange], Field(max_length=1000)] | None = None
    end: bool = False


def parse_declaration(data: bytes) -> Declaration:
    """Read a datagram; raise `BadInput` that names the field."""
    try:
        return Declaration.model_validate_json(data)
    except ValidationError as problem:
        first = problem.errors(include_url=False, include_input=False)[0]
        field = ".".join(str(part) for part in first["loc"]) or "declaration"
        raise BadInput(f"{field}: {first['msg']}", where="control socket") from None


class Contexts:
    """The contexts of a host, as numbers for the capture."""

    def __init__(self) -> None:
        self._jobs: dict[str, Declaration] = {}
        self._numbers: dict[Context, int] = {Context(None, None, None): 0}
        self._contexts = [Context(None, None, None)]

    def declare(self, said: Declaration) -> None:
        """Apply a declaration. Raise BadInput if the host has too many jobs or contexts."""
        if said.end:
            self._jobs.pop(said.job, None)
            return
        before = self._jobs.get(said.job)
        if before is None and len(self._jobs) >= MOST_JOBS:
            raise BadInput(
                f"more than {MOST_JOBS} jobs on one host", where="control socket", advice="End jobs in the epilog."
            )
        if len(self._contexts) >= MOST_CONTEXTS:
            raise BadInput(f"more than {MOST_CONTEXTS} contexts", where="control socket", advice="Restart the sampler.")
        changes = said.model_dump(exclude_unset=True)
        self._jobs[said.job] = Declaration.model_validate((before.model_dump() if before else {}) | changes)

    def of(self, number: int) -> Context:
        return self._contexts[number]

    def table(self) -> tuple[NDArray[np.uint32], int]:
        """Return the numbers of contexts by destination port (uint32[65536]; empty if no ports are declared), and the number for other packets."""
        alone = [declaration for declaration in self._jobs.values() if not declaration.ports]
        other = self._number(Context(alone[0].job, None, alone[0].phase)) if len(alone) == 1 else 0
        if len(alone) == len(self._jobs):
            return np.empty(0, np.uint32), other
        by_port = np.full(_PORTS, other, np.uint32)
        for declaration in self._jobs.values():
            for ports in declaration.ports or ():
                by_port[ports.first : ports.last + 1] = self._number(
                    Context(declaration.job, ports.tag, declaration.phase)
                )
        return by_port, other

    def _number(self, context: Context) -> int:
        if context not in self._numbers:
            self._numbers[context] = len(self._contexts)
            self._contexts.append(context)
        return self._numbers[context]
