"""run.json: facts about a run that AriesNCL does not write (docs/contracts/files.md)."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from flitwatch_domain.errors import BadInput, NotFound
from flitwatch_domain.jobs import split_job_id
from flitwatch_domain.runs import Run, RunStep
from flitwatch_ingest.sources import sacct_fields
from flitwatch_ingest.sources.rejection import Rejection


@dataclass(frozen=True)
class RunFacts:
    """Facts from run.json; all of them are optional."""

    job_id: str | None = None
    start_s: float | None = None
    exe: str | None = None
    nodes: dict[int, str] = field(default_factory=dict)

    def run(self, exe: str, key: str, ranks: list[int], counters: list[str]) -> Run:
        """Return the run with content digest `key`. The application's name in run.json takes precedence over the file's."""
        name = self.exe or exe
        return Run(
            run_key=f"{name}-{key}",
            exe=name,
            job_id=self.job_id,
            start_s=self.start_s,
            ranks=tuple(ranks),
            nodes=tuple(self.nodes.get(rank) for rank in ranks),
            counters=tuple(counters),
        )


def read_run_json(folder: Path, named: str | Path | None) -> RunFacts:
    """Read the given run.json, or the one in `folder` if there is one; raise BadInput with file and key."""
    path = Path(named) if named is not None else folder / "run.json"
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        if named is None:
            return RunFacts()
        raise NotFound(f"{path} does not exist") from None
    except OSError as problem:
        raise BadInput(problem.strerror or str(problem), where=str(path)) from problem
    try:
        value: Any = orjson.loads(data)
    except orjson.JSONDecodeError as broken:
        raise BadInput(f"is not JSON: {broken}", where=str(path)) from None
    if not isinstance(value, dict):
        raise BadInput("is not an object", where=str(path), advice="Expected {job_id, start, exe, ranks}.")
    return _parse_facts(value, str(path))


def _parse_facts(value: dict[str, Any], where: str) -> RunFacts:
    job_id, start, exe = value.get("job_id"), value.get("start"), value.get("exe")
    if isinstance(job_id, int) and not isinstance(job_id, bool):
        job_id = str(job_id)
    if job_id is not None and not isinstance(job_id, str):
        raise BadInput("job_id is not a job id", where=where)
    if exe is not None and (not isinstance(exe, str) or not exe or len(exe) > 200):
        raise BadInput("exe is not a name", where=where)
    if isinstance(start, bool) or not isinstance(start, int | float | str | None):
        raise BadInput("start is neither a time nor epoch seconds", where=where)
    try:
        if job_id is not None:
            split_job_id(job_id)
        start_s = None if start is None else sacct_fields.time_s(str(start), None)
    except BadInput as bad:
        raise BadInput(bad.reason, where=where) from bad
    return RunFacts(job_id, start_s, exe, _parse_nodes(value.get("ranks"), where))


def _parse_nodes(ranks: Any, where: str) -> dict[int, str]:
    if ranks is None:
        return {}
    if not isinstance(ranks, list):
        raise BadInput("ranks is not a list", where=where)
    nodes: dict[int, str] = {}
    for number, entry in enumerate(ranks):
        rank = entry.get("rank") if isinstance(entry, dict) else None
        node = entry.get("node") if isinstance(entry, dict) else None
        if type(rank) is not int or rank < 0 or not isinstance(node, str) or not node:
            raise BadInput("is not {rank, node}", where=f"{where}: ranks[{number}]")
        if nodes.setdefault(rank, node) != node:
            raise BadInput(f"rank {rank} has two nodes", where=f"{where}: ranks[{number}]")
    return nodes


@dataclass(frozen=True, eq=False)
class NclRun:
    """A run, its steps in order, and its rejections."""

    run: Run
    steps: tuple[RunStep, ...]
    rejected: tuple[Rejection, ...]
