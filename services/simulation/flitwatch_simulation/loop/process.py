"""The simulated machine behind a pipe: its traffic never enters the process that reconstructs and optimises."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

from flitwatch_domain.errors import BadRequest, Cancelled, FlitwatchError, Unavailable
from flitwatch_simulation.loop.parameters import LoopRun

POLL_S = 0.1


class MachineProcess:
    """A `SimulatedMachine` in a child process; `call` runs one of its methods there. The child process ends with the context."""

    def __init__(self, parameters: LoopRun, cancelled: Callable[[], bool] | None = None) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._child = context.Process(target=_serve_machine, args=(parameters, theirs), daemon=True)
        self._cancelled = cancelled
        self._theirs = theirs

    def __enter__(self) -> MachineProcess:
        self._child.start()
        self._theirs.close()
        self._await_answer()
        return self

    def __exit__(self, *_: object) -> None:
        self._pipe.close()
        self._child.join(0.5)
        if self._child.is_alive():
            self._child.terminate()
            self._child.join()

    def call(self, method: str, *arguments: Any) -> Any:
        """Run a method and return its result; raise Cancelled on the caller's request."""
        self._pipe.send((method, arguments))
        return self._await_answer()

    def _await_answer(self) -> Any:
        while not self._pipe.poll(POLL_S):
            if self._cancelled is not None and self._cancelled():
                self._child.terminate()
                raise Cancelled("the loop was cancelled")
        try:
            failure, answer = self._pipe.recv()
        except EOFError:
            self._child.join()
            raise Unavailable(
                f"the simulated machine's process ended with {self._child.exitcode}",
                advice="It may have run out of memory. Try fewer megabytes.",
            ) from None
        if failure is not None:
            raise failure
        return answer


def _serve_machine(parameters: LoopRun, pipe: Connection) -> None:
    from flitwatch_simulation.loop.machine import SimulatedMachine

    machine: Any = None
    try:
        machine = SimulatedMachine(parameters)
        pipe.send((None, None))
        while True:
            method, arguments = pipe.recv()
            pipe.send((None, getattr(machine, method)(*arguments)))
    except EOFError:
        return
    except FlitwatchError as known:
        pipe.send((known, None))
    except (ValueError, MemoryError) as failure:
        pipe.send((BadRequest(f"the simulation failed: {failure}"), None))
