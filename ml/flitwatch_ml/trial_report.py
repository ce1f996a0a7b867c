"""Report on a randomised trial of advice: times of both halves, compared within strata of equal application and size."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypedDict

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from flitwatch_domain.trials import Outcome, Participant

Float = NDArray[np.float64]

#: With fewer finished jobs in a half, no difference is reported.
LEAST_JOBS = 20
LEVEL = 0.95
#: Power and size of the smallest difference in the estimate of the required jobs.
POWER, WORTH_KNOWING = 0.8, 0.05
#: p-value below which the halves count as unbalanced.
UNBALANCED_P = 0.001
#: p-value below which the halves are not compared because their shares of ended or completed jobs differ: the missing jobs may be the slowest.
APART_P = 0.05


TrialVerdict = Literal["faster", "slower", "cannot tell"]


class TrialCounts(TypedDict):
    """Number of jobs in each half."""

    advised: int
    control: int


class TrialShares(TypedDict):
    """Share of the finished jobs in each half; None if none finished."""

    advised: float | None
    control: float | None


class TrialEffect(TypedDict):
    """The advised half's time over the other's, minus one, with 95 % interval and p-value; None if there are too few jobs."""

    effect: float | None
    interval: list[float] | None
    p: float | None
    strata: int
    jobs: int
    verdict: TrialVerdict
    reasons: list[str]


class TrialTimes(TypedDict):
    """Mean seconds from the draw to the start in each half, their difference and its 95 % interval."""

    advised: float | None
    control: float | None
    difference: float | None
    interval: list[float] | None


class TrialGain(TypedDict):
    """Node-hours saved per advised job, with 95 % interval; None if the effect is unknown."""

    a_job: float | None
    interval: list[float] | None


class TrialBalance(TypedDict):
    """Means of a figure in both halves before the trial, their difference in standard deviations, and its p-value."""

    what: str
    advised: float
    control: float
    difference_sd: float
    p: float


class TrialReport(TypedDict):
    """Results of a trial; for the fields see `report_trial`."""

    participants: int
    advised: int
    control: int
    finished: TrialCounts
    run_time: TrialEffect
    turnaround: TrialEffect
    wait_s: TrialTimes
    node_hours_saved: TrialGain
    completed: TrialShares
    balance: list[TrialBalance]
    warnings: list[str]


def report_trial(participants: Sequence[Participant], outcomes: Sequence[Outcome | None], share: float) -> TrialReport:
    """Report the results of a trial.

    Returns
    -------
    TrialReport
        participants, advised, control : counts;  finished : count of each half
        run_time, turnaround : {effect, interval[2], p, strata, jobs, verdict, reasons[]}: `effect` is the advised half's time over the other's, minus
        one; turnaround is the time from the draw to the job's end
        wait_s : {advised, control, difference, interval[2]}, from the draw to the start
        node_hours_saved : {a_job, interval[2]} per advised job, over its run time;  completed : share of finished jobs that completed, by half
        balance : [{what, advised, control, difference_sd, p}];  warnings : differences between the halves; with any warning no effect is reported
    """
    advised = np.array([job.advised for job in participants], bool)
    ended = np.array([job is not None and job.end_s is not None for job in outcomes], bool)
    # A job cancelled in the queue has an end but no start.
    has_start = ended & np.array([job is not None and job.start_s is not None for job in outcomes], bool)
    done = has_start & np.array([job is not None and job.state == "COMPLETED" for job in outcomes], bool)
    start = np.array([job.start_s if job is not None and job.start_s is not None else np.nan for job in outcomes])
    end = np.array([job.end_s if job is not None and job.end_s is not None else np.nan for job in outcomes])
    drawn_at = np.array([job.at_s for job in participants], float)
    nodes = np.array([job.nodes for job in participants], float)
    strata = np.array([f"{job.application}\0{job.nodes}" for job in participants], object)
    run = np.where(done, np.maximum(end - start, 1.0), np.nan)
    whole = np.where(done, np.maximum(end - drawn_at, 1.0), np.nan)
    balance = _compare_halves(participants, advised)
    warnings = _list_warnings(advised, share, ended, done, balance)
    run_time = _estimate_effect(run, advised, strata, warnings)
    return {
        "participants": len(participants),
        "advised": int(advised.sum()),
        "control": int((~advised).sum()),
        "finished": {"advised": int((ended & advised).sum()), "control": int((ended & ~advised).sum())},
        "run_time": run_time,
        "turnaround": _estimate_effect(whole, advised, strata, warnings),
        "wait_s": _compare_waits(np.where(has_start, start - drawn_at, np.nan), advised, not warnings),
        "node_hours_saved": _estimate_savings(run_time, run * nodes / 3600.0, advised),
        "completed": {"advised": _share_of(done, ended & advised), "control": _share_of(done, ended & ~advised)},
        "balance": balance,
        "warnings": warnings,
    }


def _estimate_effect(
    time_s: Float, advised: NDArray[np.bool_], strata: NDArray[np.object_], spoilt: Sequence[str]
) -> TrialEffect:
    """Return the ratio of times between the halves within strata of equal application and size, on logarithms; each stratum has its own spread.

    If the halves are not comparable (reasons in `spoilt`), no effect is returned.
    """
    usable = np.isfinite(time_s)
    log = np.log(np.where(usable, time_s, 1.0))
    parts, jobs = [], 0
    for stratum in sorted(set(strata[usable].tolist())):
        inside = usable & (strata == stratum)
        treatment, other = log[inside & advised], log[inside & ~advised]
        freedom = len(treatment) + len(other) - 2
        if not len(treatment) or not len(other) or not freedom:
            continue
        variance = float(((treatment - treatment.mean()) ** 2).sum() + ((other - other.mean()) ** 2).sum()) / freedom
        weight = len(treatment) * len(other) / (len(treatment) + len(other))
        parts.append((weight, float(treatment.mean() - other.mean()), variance, freedom))
        jobs += freedom + 2
    halves = int((usable & advised).sum()), int((usable & ~advised).sum())
    refusal = _refusal_reason(halves, parts)
    if refusal or spoilt:
        return {
            "effect": None,
            "interval": None,
            "p": None,
            "strata": len(parts),
            "jobs": jobs,
            "verdict": "cannot tell",
            "reasons": [refusal] if refusal else list(spoilt),
        }
    weight, apart, variance, free = np.array(parts).T
    mean, noise = float((weight * apart).sum() / weight.sum()), weight * variance
    error = float(np.sqrt(noise.sum()) / weight.sum())
    # Satterthwaite's degrees of freedom of a sum of variances.
    all_freedom = float(noise.sum() ** 2 / (noise**2 / free).sum())
    spread = np.sqrt(noise.sum() / weight.sum())
    reach = error * stats.t.ppf(0.5 + LEVEL / 2, all_freedom)
    interval = [float(np.expm1(mean - reach)), float(np.expm1(mean + reach))]
    reasons = []
    verdict: TrialVerdict = "faster" if interval[1] < 0 else "slower" if interval[0] > 0 else "cannot tell"
    if verdict == "cannot tell":
        needed = 4 * (spread * (stats.norm.ppf(0.5 + LEVEL / 2) + stats.norm.ppf(POWER)) / np.log1p(WORTH_KNOWING)) ** 2
        reasons.append(
            f"the interval includes no difference; about {int(np.ceil(needed))} completed jobs would show one of {WORTH_KNOWING:.0%}"
        )
    return {
        "effect": float(np.expm1(mean)),
        "interval": interval,
        "p": float(2 * stats.t.sf(abs(mean) / error, all_freedom)),
        "strata": len(parts),
        "jobs": jobs,
        "verdict": verdict,
        "reasons": reasons,
    }


def _refusal_reason(halves: tuple[int, int], parts: Sequence[tuple[float, float, float, int]]) -> str:
    if min(halves) < LEAST_JOBS:
        return f"{halves[0]} advised and {halves[1]} other jobs completed; {LEAST_JOBS} of each are needed"
    if not parts:
        return "no application of one size has jobs of both halves: no comparison is possible"
    if not any(variance for _, _, variance, _ in parts):
        return "all jobs of a half took exactly the same time, so these are not measured times"
    return ""


def _compare_waits(wait_s: Float, advised: NDArray[np.bool_], alike: bool) -> TrialTimes:
    treatment, other = (wait_s[np.isfinite(wait_s) & half] for half in (advised, ~advised))
    means = [float(half.mean()) if len(half) else None for half in (treatment, other)]
    if min(len(treatment), len(other)) < 2 or not alike:
        return {"advised": means[0], "control": means[1], "difference": None, "interval": None}
    difference = float(treatment.mean() - other.mean())
    parts = treatment.var(ddof=1) / len(treatment), other.var(ddof=1) / len(other)
    error = np.sqrt(sum(parts))
    freedom = sum(parts) ** 2 / max(parts[0] ** 2 / (len(treatment) - 1) + parts[1] ** 2 / (len(other) - 1), 1e-300)
    reach = error * stats.t.ppf(0.5 + LEVEL / 2, max(freedom, 1.0))
    return {
        "advised": means[0],
        "control": means[1],
        "difference": difference,
        "interval": [float(difference - reach), float(difference + reach)],
    }


def _estimate_savings(run_time: TrialEffect, node_hours: Float, advised: NDArray[np.bool_]) -> TrialGain:
    """Return the savings, assuming that an advised job takes its time / (1 + effect) without advice."""
    took = node_hours[np.isfinite(node_hours) & advised]
    effect, interval = run_time["effect"], run_time["interval"]
    if effect is None or interval is None or not len(took):
        return {"a_job": None, "interval": None}
    mean = float(took.mean())
    low, high = interval
    return {
        "a_job": mean * (1 / (1 + effect) - 1),
        "interval": [mean * (1 / (1 + high) - 1), mean * (1 / (1 + low) - 1)],
    }


def _share_of(what: NDArray[np.bool_], among: NDArray[np.bool_]) -> float | None:
    return float((what & among).sum() / among.sum()) if among.any() else None


def _compare_halves(participants: Sequence[Participant], advised: NDArray[np.bool_]) -> list[TrialBalance]:
    figures = {
        "nodes": [np.log(max(sample.nodes, 1)) for sample in participants],
        "usual run time": [np.log(max(sample.usual_s, 1e-9)) for sample in participants],
        "expected slowdown": [sample.slowdown for sample in participants],
        "hour of the day": [sample.at_s % 86_400 / 3600 for sample in participants],
    }
    rows: list[TrialBalance] = []
    for what, listed in figures.items():
        values = np.array(listed, float)
        sample, other = values[advised], values[~advised]
        if min(len(sample), len(other)) < 2:
            continue
        spread = np.sqrt((sample.var(ddof=1) + other.var(ddof=1)) / 2)
        apart = 0.0 if spread <= 1e-9 * abs(values).max() else float((sample.mean() - other.mean()) / spread)
        error = np.sqrt(1 / len(sample) + 1 / len(other))
        rows.append(
            {
                "what": what,
                "advised": float(sample.mean()),
                "control": float(other.mean()),
                "difference_sd": apart,
                "p": float(2 * stats.norm.sf(abs(apart) / error)),
            }
        )
    return rows


def _list_warnings(
    advised: NDArray[np.bool_],
    share: float,
    ended: NDArray[np.bool_],
    done: NDArray[np.bool_],
    balance: Sequence[TrialBalance],
) -> list[str]:
    warnings = []
    if len(advised) and stats.binomtest(int(advised.sum()), len(advised), share).pvalue < UNBALANCED_P:
        warnings.append(
            f"{int(advised.sum())} of {len(advised)} jobs were advised, but {share:.0%} were drawn: the draw was not followed"
        )
    warnings += [
        f"the halves differ in {row['what']}: the draw was not random" for row in balance if row["p"] < UNBALANCED_P
    ]
    counts = [(int((ended & half).sum()), int((~ended & half).sum())) for half in (advised, ~advised)]
    if all(sum(half) for half in counts) and stats.fisher_exact(counts).pvalue < APART_P:
        warnings.append(
            "the halves differ in how many jobs have ended: the slowest are missing; report again when all have ended"
        )
    halves = [(int((done & half).sum()), int((ended & ~done & half).sum())) for half in (advised, ~advised)]
    if all(sum(half) for half in halves) and stats.fisher_exact(halves).pvalue < APART_P:
        warnings.append(
            "the halves differ in how many of their ended jobs completed: times of completed jobs alone are not comparable"
        )
    return warnings
