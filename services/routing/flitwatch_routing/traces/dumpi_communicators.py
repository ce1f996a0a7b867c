"""Communicators in DUMPI text: the ranks of each, from the calls that created them on all ranks."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count
from math import prod

#: DUMPI's own numbers (sst-dumpi, common/constants.h).
NULL, WORLD, SELF = 1, 2, 3
MAKERS = frozenset({"MPI_Comm_dup", "MPI_Comm_split", "MPI_Comm_create", "MPI_Cart_create"})
MAKERS |= {"MPI_Cart_sub", "MPI_Graph_create", "MPI_Intercomm_create", "MPI_Intercomm_merge"}
_CALL = re.compile(rf"^({'|'.join(sorted(MAKERS))}) entering [^\n]*\n(.*?)^\1 returning ", re.M | re.S)
_NUMBER = re.compile(r"^[ \t]*\w+ (\w+)=(-?[0-9]{1,10})(?![0-9])", re.M)
_DIMS = re.compile(r"^[ \t]*int dims\[[0-9]+\]=\[([0-9]{1,9}(?:, ?[0-9]{1,9})*)\]", re.M)


@dataclass(frozen=True)
class Communicator:
    """number: unique in the run, 0 for MPI_COMM_WORLD.  members: ranks of it in the communicator's order."""

    number: int
    members: tuple[int, ...]


@dataclass
class _Made:
    """One rank's call that creates a communicator. size: number of ranks in a grid that keeps their order; None for other calls."""

    name: str
    old: int
    new: int
    color: int
    key: int
    size: int | None


def read_communicators(texts: Sequence[str]) -> list[deque[Communicator | None]]:
    """Return, for each rank's text in rank order, the communicators created by its calls in `MAKERS`, None if their ranks are unknown.

    Duplicates, splits, and grids without reordering are supported. Other ways to create a communicator, and communicators derived from those, are not.
    """
    run = _Run(texts)
    for rank in range(len(texts)):
        run.go_on(rank)
    return run.ended()


class _Run:
    """All ranks' calls, each in order; a rank that splits a communicator waits for the others."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._calls = [deque(_find_calls(text)) for text in texts]
        self._found: list[deque[Communicator | None]] = [deque() for _ in texts]
        self._known = [{WORLD: Communicator(0, tuple(range(len(texts))))} for _ in texts]
        self._numbers = count(1)
        # All ranks call in the same order on a communicator, so a call's position there identifies it.
        self._turns: list[dict[int, int]] = [{} for _ in texts]
        self._derived: dict[tuple[int, int], Communicator] = {}
        self._splitting: dict[int, dict[int, _Made]] = {}

    def go_on(self, rank: int) -> None:
        """Process a rank's calls up to a split that other ranks have not reached yet. The last rank to reach it releases the others."""
        ready = [rank]
        while ready:
            rank = ready.pop()
            while self._calls[rank]:
                call = self._calls[rank][0]
                old = self._known[rank].get(call.old)
                if old is None or not _is_supported(call, old):
                    self._settle_call(rank, None)
                elif call.name != "MPI_Comm_split":
                    self._settle_call(rank, self._derive_communicator(rank, call, old))
                elif self._split_communicator(rank, call, old):
                    ready += [other for other in old.members if other != rank]
                else:
                    break

    def ended(self) -> list[deque[Communicator | None]]:
        """Return the known communicators; a split that a rank never reached has none."""
        for results, calls_left in zip(self._found, self._calls, strict=True):
            results.extend(None for _ in calls_left)
        return self._found

    def _derive_communicator(self, rank: int, call: _Made, old: Communicator) -> Communicator:
        turn = self._turns[rank][old.number] = self._turns[rank].get(old.number, 0) + 1
        members = old.members if call.size is None else old.members[: call.size]
        if (old.number, turn) not in self._derived:
            self._derived[old.number, turn] = Communicator(next(self._numbers), members)
        return self._derived[old.number, turn]

    def _split_communicator(self, rank: int, call: _Made, old: Communicator) -> bool:
        """Add a rank to a split. Return whether it is complete; each rank then has its communicator."""
        here = self._splitting.setdefault(old.number, {})
        here[rank] = call
        if len(here) < len(old.members):
            return False
        del self._splitting[old.number]
        inside = [member for member in old.members if here[member].new != NULL]
        for color in sorted({here[member].color for member in inside}):
            part = (member for member in inside if here[member].color == color)
            communicator = Communicator(next(self._numbers), tuple(sorted(part, key=lambda member: here[member].key)))
            for member in communicator.members:
                self._settle_call(member, communicator)
        for member in set(old.members) - set(inside):
            self._settle_call(member, None)
        return True

    def _settle_call(self, rank: int, communicator: Communicator | None) -> None:
        call = self._calls[rank].popleft()
        own = communicator if communicator is not None and rank in communicator.members else None
        self._found[rank].append(own)
        self._known[rank].pop(call.new, None)
        if own is not None and call.new != NULL:
            self._known[rank][call.new] = own


def _is_supported(call: _Made, old: Communicator) -> bool:
    if call.name in ("MPI_Comm_dup", "MPI_Comm_split"):
        return True
    return call.name == "MPI_Cart_create" and call.size is not None and call.size <= len(old.members)


def _find_calls(text: str) -> list[_Made]:
    calls = []
    for name, body in _CALL.findall(text):
        numbers = {field: int(value) for field, value in _NUMBER.findall(body)}
        dims = _DIMS.search(body)
        keeps_order = dims is not None and numbers.get("reorder") == 0
        calls.append(
            _Made(
                name,
                numbers.get("oldcomm", NULL),
                numbers.get("newcomm", NULL),
                numbers.get("color", 0),
                numbers.get("key", 0),
                prod(int(side) for side in dims[1].split(",")) if dims is not None and keeps_order else None,
            )
        )
    return calls
