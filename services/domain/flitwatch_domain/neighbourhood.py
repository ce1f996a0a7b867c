"""Jobs alongside a run: the only definition of overlap, presence and exposure (Bhatele 2020, section IV-A, with extensions).

Scoring fills these tables from simulated jobs, the service from stored ones; both call `compute_neighbourhood`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from flitwatch_domain.errors import BadInput

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: Minimum nodes of a large job: "larger than 128 nodes" (Bhatele 2020, section V-A), on a machine of 9,688 and more.
LARGE_JOB_NODES = 129
#: On smaller machines, a job with this share of the nodes is a large one.
LARGE_SHARE = 1 / 32
#: Share of a run's time, allowing for clock resolution, above which jobs cover it throughout.
THROUGHOUT = 0.999


@dataclass(frozen=True)
class Definition:
    """Criteria for being alongside a run, and for optimal runs.

    Attributes
    ----------
    name : name in options and answers
    rule : throughout | any       the part of a run that a user's large jobs cover together
    least_nodes : int or None     least nodes of a large job; None: from the machine's size (`large_job_nodes`)
    tau : float                   a run is optimal if its time is below tau x the mean
    """

    name: str
    rule: Literal["throughout", "any"]
    least_nodes: int | None
    tau: float = 1.0


PAPER = Definition("paper", "throughout", LARGE_JOB_NODES)
OURS = Definition("ours", "any", None)
DEFINITIONS = {one.name: one for one in (OURS, PAPER)}


def large_job_nodes(machine_nodes: int | None) -> int:
    """Return the least number of nodes of a large job on a machine with this many nodes (None: unknown)."""
    if machine_nodes is None:
        return LARGE_JOB_NODES
    return max(2, min(LARGE_JOB_NODES, round(machine_nodes * LARGE_SHARE)))


def is_present(overlap: Floats, rule: str) -> NDArray[np.bool_]:
    """Return whether a user counts as present, according to the share of the run that their large jobs cover."""
    if rule not in ("throughout", "any"):
        raise BadInput(f"rule is 'throughout' or 'any', not {rule!r}")
    return overlap >= THROUGHOUT if rule == "throughout" else overlap > 0


@dataclass(frozen=True, eq=False)
class Windows:
    """Runs: begin_s, end_s (runs,), and `own`, the row of the run's own job in `Jobs` (-1: unknown)."""

    begin_s: Floats
    end_s: Floats
    own: Ints


@dataclass(frozen=True, eq=False)
class Jobs:
    """Jobs that may have overlapped a run, one row each.

    Attributes
    ----------
    name : int64 (jobs,)                 index of the user, or of the job's name; -1: none
    begin_s, end_s : float64 (jobs,)     inf while it runs
    nodes : float64 (jobs,)
    group_nodes : float64 (jobs, groups) its nodes in each group of the fabric; zeros if its place is unknown
    """

    name: Ints
    begin_s: Floats
    end_s: Floats
    nodes: Floats
    group_nodes: Floats


def nodes_near(group_nodes: Floats, own_nodes: Floats) -> Floats:
    """Return jobs' nodes near a run, (jobs,): the sum over groups of a job's nodes there x the share of the run's own nodes there."""
    total = own_nodes.sum()
    return group_nodes @ (own_nodes / total if total > 0 else np.zeros_like(own_nodes))


@dataclass(frozen=True, eq=False)
class Neighbourhood:
    """Users or job names alongside every run.

    Attributes
    ----------
    overlap : float64 (runs, names)    share of the run that the name's large jobs cover together (their union), 0 to 1
    exposure : float64 (runs, names)   nodes: sum, over the name's jobs of any size, of their share of the run x their nodes near the run
    """

    overlap: Floats
    exposure: Floats


def compute_neighbourhood(windows: Windows, jobs: Jobs, names: int, least_nodes: int) -> Neighbourhood:
    """Compute overlap and exposure of `names` names in every run, excluding a run's own job.

    Nodes near a run are counted like in `nodes_near`. If no run's place is known, all of a job's
    nodes count.
    """
    runs = len(windows.begin_s)
    own_nodes = np.where((windows.own >= 0)[:, None], jobs.group_nodes[windows.own] if len(jobs.name) else 0.0, 0.0)
    placed = bool((own_nodes > 0).any())
    overlap, exposure = np.zeros((runs, names)), np.zeros((runs, names))
    for run, (begin, end) in enumerate(zip(windows.begin_s.tolist(), windows.end_s.tolist(), strict=True)):
        met = (jobs.begin_s < end) & (jobs.end_s > begin) & (jobs.name >= 0)
        if windows.own[run] >= 0:
            met[windows.own[run]] = False
        rows = np.flatnonzero(met)
        low = (np.maximum(jobs.begin_s[rows], begin) - begin) / (end - begin)
        high = (np.minimum(jobs.end_s[rows], end) - begin) / (end - begin)
        near = nodes_near(jobs.group_nodes[rows], own_nodes[run]) if placed else jobs.nodes[rows]
        exposure[run] = np.bincount(jobs.name[rows], (high - low) * near, names)
        large = jobs.nodes[rows] >= least_nodes
        overlap[run] = _measure_coverage(jobs.name[rows[large]], low[large], high[large], names)
    return Neighbourhood(np.minimum(overlap, 1.0), exposure)


#: Possible causes of a slow run other than its neighbours, in the order of `measure_circumstances`.
CIRCUMSTANCES = ("groups spanned", "largest share of its nodes in one group", "jobs that met it")


def measure_circumstances(windows: Windows, jobs: Jobs) -> Floats:
    """Measure a run's placement and the machine's load, (runs, 3) in the order of CIRCUMSTANCES; NaN if a run's place is unknown."""
    table = np.full((len(windows.begin_s), len(CIRCUMSTANCES)), np.nan)
    for run, (begin, end) in enumerate(zip(windows.begin_s.tolist(), windows.end_s.tolist(), strict=True)):
        table[run, 2] = ((jobs.begin_s < end) & (jobs.end_s > begin)).sum()
        if windows.own[run] >= 0:
            nodes = jobs.group_nodes[windows.own[run]]
            if nodes.sum() > 0:
                table[run, :2] = (nodes > 0).sum(), nodes.max() / nodes.sum()
    return table


def _measure_coverage(name: Ints, low: Floats, high: Floats, names: int) -> Floats:
    """Return the length of the union of each name's intervals within [0, 1]."""
    order = np.lexsort((low, name))
    # An offset of two per name keeps the intervals of different names apart.
    apart = 2.0 * name[order]
    begins, ends = low[order] + apart, high[order] + apart
    reached = np.maximum(np.concatenate([[-1.0], np.maximum.accumulate(ends)[:-1]]), apart) if len(ends) else ends
    covered: Floats = np.bincount(name[order], np.maximum(ends - np.maximum(begins, reached), 0.0), names).astype(float)
    return covered
