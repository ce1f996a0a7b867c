"""Executors of the independent calls of a sweep, a what-if or a scorecard: local processes, a Dask cluster, or Slurm's nodes through one.

A call is a function without arguments that pickle can serialise: a `functools.partial` of a module's function, or a method of a
frozen dataclass. Calls share no data and their results do not depend on the place of execution, so every executor returns the same
values, bit for bit.

Modules: `choice` for the syntax of `--executor` and processes on this machine; `cluster` for Dask and Slurm.
"""

from flitwatch_db.tasks.executors.choice import Executor, LocalExecutor, is_local, open_executor

__all__ = ["Executor", "LocalExecutor", "is_local", "open_executor"]
