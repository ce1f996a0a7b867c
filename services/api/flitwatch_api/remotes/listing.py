"""A remote with its machines, as it is listed."""

from __future__ import annotations

import asyncio
import time

from pydantic import TypeAdapter, ValidationError

from flitwatch_api.remotes.client import RemoteClient
from flitwatch_api.remotes.schemas import Remote, RemoteMachine
from flitwatch_domain.access import Caller
from flitwatch_domain.errors import FlitwatchError

#: A list waits so long for a remote; the others are listed meanwhile.
PATIENCE_S = 4.0
LISTED_S = 10.0
MOST_MACHINES = 1_000
_MACHINES = TypeAdapter(list[RemoteMachine])


class RemoteMachines:
    """A remote's machines, as asked for not long ago."""

    def __init__(self, client: RemoteClient) -> None:
        self.client = client
        self._machines: list[RemoteMachine] = []
        self._problem: str | None = None
        self._until_s = 0.0
        self._asking = asyncio.Lock()

    async def of(self, caller: Caller | None) -> Remote:
        """Return the remote as a caller sees it."""
        async with self._asking:
            if time.monotonic() >= self._until_s:
                await self._ask_machines()
                self._until_s = time.monotonic() + LISTED_S
        machines, problem = self._machines, self._problem
        if problem is None:
            try:
                (await self.client.access()).check(self.client.name, caller)
            except FlitwatchError as refusal:
                machines, problem = [], refusal.message
        return Remote(name=self.client.name, url=self.client.address.url, problem=problem, machines=machines)

    async def _ask_machines(self) -> None:
        try:
            async with asyncio.timeout(PATIENCE_S):
                await self.client.access()
                reply = await self.client.json("/fabrics")
            self._machines = _MACHINES.validate_python(reply["items"])[:MOST_MACHINES]
            self._problem = None
        except TimeoutError:
            self._machines, self._problem = [], f"{self.client.name} does not answer"
        except FlitwatchError as problem:
            self._machines, self._problem = [], problem.message
        except (ValidationError, LookupError, TypeError):
            self._machines, self._problem = [], f"{self.client.name} does not answer as Flitwatch does"
