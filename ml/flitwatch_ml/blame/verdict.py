"""Blame adjusted for the calendar: named users, users that cannot be judged, and the reasons."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from flitwatch_domain.blame import CANNOT_TELL, FOUND_Q, NAMED, NO_EVIDENCE, benjamini_hochberg
from flitwatch_ml.blame import controls, rhythm
from flitwatch_ml.blame.blocks import block_orders, block_p_values, design_effect
from flitwatch_ml.blame.calendar import (
    WEEK_S,
    Calendar,
    by_application,
    calendar_by_application,
    winsorise_values,
)
from flitwatch_ml.blame.checks import BadRuns, BlameEstimator, TooFewRuns, check_runs
from flitwatch_ml.blame.effects import estimate_effects, given_naming
from flitwatch_ml.blame.exposure import ExposureBlame
from flitwatch_ml.blame.observations import Observations, merge_observations
from flitwatch_ml.blame.selection import (
    Problem,
    carrier_counts,
    chance_of_t,
    conditional_scores,
    confirm_users,
    p_values,
    repeated_runs,
    select_users,
)
from flitwatch_ml.blame.strata import DAY_S, day_numbers, hour_and_weekend, normal_scores

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: With fewer runs, the calendar alone uses half of the degrees of freedom.
NAMING_RUNS = 20
#: Runs needed per removed circumstance.
RUNS_A_CIRCUMSTANCE = 4
#: Runs must be from at least this many weeks (days, if they span fewer than six weeks).
LEAST_PERIODS = 4
#: Factor of the median amount before taking the logarithm. The larger it is, the more presence counts relative to the amount (1: half of the
#: median's weight is reached at 0.4 of it, 4: at 0.3; eighty sets at +10 %: recall 0.42 and 0.44).
PRESENCE = 4.0
#: If dates, hours and regimes leave less than this share of a user's exposure, the user cannot be distinguished from the calendar.
LEAST_LEFT = 0.1
#: Permutations of days and of weeks per score: this many to estimate its variation, and the same number again for a p-value.
WANDER, PERMUTATIONS = 400, 2000
#: Limit of permutations x runs in memory: above 5,000 runs there are fewer permutations, but enough for a p-value of 0.01 and a spread.
HELD, LEAST_WANDER, LEAST_PERMUTATIONS = 10_000_000, 100, 200
#: Steps in which the clipping of wild runs follows what selected users explain; each brings a strong user's slope closer by up to `calendar.WILD` spreads.
HUBER_STEPS = 10
#: Suffix of the number of observations if it is smaller than the number of runs.
REPEATED = " (near copies of a run are one observation, and so are runs of a day, one after the other alongside the same users)"
#: Upper limit of a permutation's p-value.
BLOCK_P = 0.01


class CalendarBlame(BlameEstimator):
    """Blame that names users whose exposure coincides with slow runs beyond the effects of the calendar and the other users.

    Parameters
    ----------
    alpha : float                      users are also removed while the p-value of the best remaining score is below this. It is larger than an
        error level, because users that are not removed hide others (eight strong users: 81 % of them found at 0.05, 92 % at 0.5)
    max_selected, min_exposed          as in ExposureBlame
    seed : int                         seed of the permutations

    Attributes (users,)
    ----------
    score_ : float64        conditional t-value; high: exposed runs are slow
    p_value_, q_value_      one-sided; the larger of two p-values: given all selected users, and given only those with a rate of at most 0.05
        themselves (`selection.confirm_users`), so that users selected by chance do not increase certainty; NaN for untestable users
    effect_s_ : float64, effect_interval_s_ : float64 (users, 2)   seconds that an exposed run takes longer on average, 95 %, of a
        user with a rate of at most 0.05 given that it has one (`effects.given_naming`); its low end is at least minus the mean exposed run
    verdict_ : list of str  named | cannot tell | no evidence
    reasons_ : list of list of str
    sign_, exposed_runs_, testable_, selected_, ranking_   as in ExposureBlame
    calendar_ : Calendar
    """

    def __init__(self, alpha: float = 0.5, max_selected: int = 40, min_exposed: int = 5, seed: int = 0) -> None:
        self.alpha = alpha
        self.max_selected = max_selected
        self.min_exposed = min_exposed
        self.seed = seed

    def fit(
        self,
        exposure: ArrayLike,
        run_time_s: ArrayLike,
        start_s: ArrayLike,
        covariates: ArrayLike | None = None,
        marks_s: ArrayLike = (),
        application: ArrayLike | None = None,
    ) -> CalendarBlame:
        """Fit `exposure` (runs, users), run times (runs,), starts in epoch seconds (runs,), covariates (runs, k) and marks (changes of routes or
        firmware).

        With `application` (runs,), runs of several applications are judged together. Each has its own calendar and noise, and a user's score covers all
        of them.
        """
        self._take_runs(exposure, run_time_s, start_s, covariates, marks_s, application=application)
        self._score_users()
        self._widen_spread()
        self._judge_users()
        return self

    def fit_scores(
        self,
        exposure: ArrayLike,
        run_time_s: ArrayLike,
        start_s: ArrayLike,
        covariates: ArrayLike | None = None,
        marks_s: ArrayLike = (),
        below: float = 1.0,
        joined: bool = False,
        application: ArrayLike | None = None,
    ) -> CalendarBlame:
        """Fit only scores, p-values and q-values, without effects and verdicts. Permutations are used only for q-values of at most `below`.

        `joined`: the runs are already `observations` in order of start. Shuffled times must not join them again.
        """
        self._take_runs(exposure, run_time_s, start_s, covariates, marks_s, joined, application)
        self._score_users(below)
        if len(self.selected_) or np.nanmin(self.q_value_, initial=1.0) <= below:
            self._widen_spread()
        return self

    def _take_runs(
        self,
        exposure: Any,
        run_time_s: Any,
        start_s: Any,
        covariates: Any,
        marks_s: Any,
        joined: bool = False,
        application: Any = None,
    ) -> None:
        amounts, times = check_runs(exposure, run_time_s)
        start = np.asarray(start_s, float)
        if len(times) < NAMING_RUNS:
            raise TooFewRuns(f"not enough data: needs {NAMING_RUNS} runs, has {len(times)}")
        if start.shape != times.shape or not np.isfinite(start).all():
            raise BadRuns("each run needs the time when it started")
        self._marks = np.asarray(marks_s, float)
        circumstances = None if covariates is None else np.asarray(covariates, float)
        of = np.zeros(len(times), np.int64) if application is None else np.unique(application, return_inverse=True)[1]
        self._amounts, self._times, self._start, self._covariates, self._application = (
            Observations(amounts, times, start, circumstances, of)
            if joined
            else merge_observations(amounts, times, start, circumstances, self._marks, of)
        )
        apart = len(self._times) == len(times)
        self._noun, self._note = ("runs", "") if apart else ("observations", REPEATED)
        fewest = int(np.bincount(self._application).min())
        if fewest < NAMING_RUNS:
            raise TooFewRuns(f"not enough data: needs {NAMING_RUNS} {self._noun}, has {fewest}{self._note}")
        count = 0 if circumstances is None else circumstances.shape[1]
        if count * RUNS_A_CIRCUMSTANCE > fewest:
            raise BadRuns(
                f"{count} circumstances for {fewest} {self._noun}: give at most {fewest // RUNS_A_CIRCUMSTANCE}"
            )
        self.n_features_in_ = amounts.shape[1]
        self._exposed = self._amounts > 0
        self.exposed_runs_ = self._exposed.sum(0)
        positive = self._amounts[self._exposed]
        # In units of the median amount: neither a file's unit nor one huge job matters.
        self._raw = np.log1p(PRESENCE * self._amounts / (np.median(positive) if len(positive) else 1.0))

    def _score_users(self, below: float = 1.0) -> None:
        """Fit the calendar, select users, and compute each user's score given the other selected users. This is done twice, as change points are
        clearer without the users' effects.

        It ends early if no user is close to selection or to a q-value of at most `below`, because permutations only reduce certainty.
        """
        log_time, of = np.log(self._times), self._application
        explained = beyond_chance = np.zeros(len(log_time))
        day = day_numbers(self._start)
        centred = self._raw - self._raw.mean(0)
        own = (centred**2).sum(0)
        enough = (self.exposed_runs_ >= self.min_exposed) & (own > 0)
        self._period, self._unit = controls.assign_periods(self._start)
        self._orders: list[Ints] = []
        for _ in range(2):
            self.calendar_: Calendar = calendar_by_application(
                of, self._start, log_time, self._covariates, self._marks, explained
            )
            residuals = self.calendar_.without(self._raw)
            self._share_left = np.divide((residuals**2).sum(0), own, out=np.zeros_like(own), where=own > 0)
            self.testable_ = enough & (self._share_left >= LEAST_LEFT) & self._varied_users()
            outcome = self.calendar_.without(self._respond(log_time, beyond_chance))
            self._problem = Problem(residuals, outcome, self.calendar_.axes, own, (day,))
            self.selected_ = np.zeros(0, np.int64)
            if below < 1 and self._is_hopeless(below):
                break
            self._before = self._estimate_wander(self._problem)
            self.selected_ = select_users(self._problem, self.testable_, self.alpha, self.max_selected, self._before)
            if not len(self.selected_):
                break
            explained = self._explain(log_time, residuals, self.selected_)
            confirmed_users = confirm_users(self._problem, self.selected_, self.testable_, self._before, FOUND_Q)
            beyond_chance = self._explain(log_time, residuals, confirmed_users)
        ranked = self.calendar_.without(self._respond(log_time, np.zeros(len(log_time))))
        self._ranked = replace(self._problem, outcome=ranked)
        self._spread = np.ones(len(own))
        self._set_chances()

    def _respond(self, log_time: Floats, explained: Floats) -> Floats:
        """Return the outcome (runs,): normal scores of what calendar and confirmed users leave, in each application, and what these users explain in its units.

        Ranks of whole times would end where all exposed runs are the slowest: a stronger effect would then make no one surer.
        """
        rest = self.calendar_.without(self._tame(log_time - explained))
        of = self._application
        spread = by_application(of, lambda values: np.full(len(values), max(float(values.std()), 1e-9)), rest)
        return by_application(of, normal_scores, rest) + explained / spread

    def _tame(self, values: Floats) -> Floats:
        return by_application(self._application, winsorise_values, values)

    def _explain(self, log_time: Floats, residuals: Floats, users: Ints) -> Floats:
        """Return the part of log times (runs,) that users explain next to the calendar: wild runs count as `winsorise_values` says, strong users in full (Huber)."""
        columns, explained = self._raw[:, users], np.zeros(len(log_time))
        solve = np.linalg.pinv(residuals[:, users])
        for _ in range(HUBER_STEPS):
            explained = columns @ (solve @ self.calendar_.without(explained + self._tame(log_time - explained)))
        return explained

    def _is_hopeless(self, below: float) -> bool:
        t, freedom = self._problem.t_values(), self._problem.degrees_of_freedom
        alone = np.where(self.testable_, chance_of_t(t, freedom), np.nan)
        carried = np.where(self.testable_, chance_of_t(t, freedom, self._carrier_counts()), np.nan)
        nobody = not self.testable_.any() or np.nanmin(alone) * self.testable_.sum() > self.alpha
        return bool(nobody and np.nanmin(benjamini_hochberg(carried), initial=1.0) > below)

    def _carrier_counts(self) -> Floats:
        """Return the effective number of observations behind each user's score: a day's runs with the same user count once; removed directions are
        subtracted."""
        columns, axes = self._problem.regressors, self._problem.axes
        repeated = repeated_runs(columns, self._problem.clusters)
        return np.minimum(carrier_counts(columns) / repeated, len(columns) / repeated - axes.shape[1])

    def _varied_users(self) -> NDArray[np.bool_]:
        """Return users with enough unexposed runs, or always-present users with varying amounts."""
        absent = len(self._times) - self.exposed_runs_ >= self.min_exposed
        spread = self._raw.std(0) / np.maximum(self._raw.mean(0), 1e-300)
        return absent | (spread >= 0.25)

    def _set_chances(self) -> None:
        """Set p-values: the larger of two, given all selected users and given only the significant ones."""
        confirmed_users = confirm_users(self._problem, self.selected_, self.testable_, self._spread, FOUND_Q)
        score_sets = [conditional_scores(self._problem, self.selected_)]
        if len(confirmed_users) < len(self.selected_):
            score_sets.append(conditional_scores(self._problem, confirmed_users))
        carried = self._carrier_counts()
        chances = [p_values(z, freedom, self.testable_, self._spread, carried) for z, freedom in score_sets]
        self.score_ = score_sets[0][0]
        self.p_value_ = np.max(chances, axis=0)
        self.q_value_ = benjamini_hochberg(self.p_value_)
        self.sign_ = np.sign(self.score_).astype(np.int64)
        self.ranking_ = np.argsort(-np.where(self.testable_, self.score_ / self._spread, -np.inf), kind="stable")

    def _widen_spread(self) -> None:
        """Divide scores by their variation under permutations of days and weeks."""
        self._spread = self._estimate_wander(self._problem.given(self.selected_))
        for user in self.selected_.tolist():
            self._spread[user] = self._estimate_wander(self._given_others(self._problem, user), np.array([user]))[0]
        # Users removed by selection may have absorbed differences between weeks.
        self._spread = np.maximum(self._spread, self._before)
        self._set_chances()

    def _estimate_wander(self, problem: Problem, users: Ints | slice = slice(None)) -> Floats:
        """Estimate the factor by which permutations widen the scores' standard error over days; at least 1."""
        if not self._orders:
            rng = np.random.default_rng(self.seed)
            blocks = [day_numbers(self._start)] + ([self._period] if self._unit == "week" else [])
            count = _permutation_count(len(self._times), LEAST_WANDER, WANDER)
            self._orders = [block_orders(block, count, rng) for block in blocks]
        return np.maximum(design_effect(problem, self._orders, users) / problem.day_effect(users), 1.0)

    def _given_others(self, problem: Problem, user: int) -> Problem:
        return problem.given(self.selected_[self.selected_ != user])

    def _judge_users(self) -> None:
        self._measure_effects()
        users = len(self.score_)
        self.verdict_: list[str] = [NO_EVIDENCE] * users
        self.reasons_: list[list[str]] = [[] for _ in range(users)]
        self.stand_ins_: dict[int, Ints] = {}
        of = self._application
        hours = hour_and_weekend(self._start) if self.calendar_.strata else 0
        plain = ExposureBlame(max_selected=self.max_selected, min_exposed=self.min_exposed).fit(
            self._amounts, by_application(of, lambda times: times / times.mean(), self._times), 100 * of + hours
        )
        count = _permutation_count(len(self._times), LEAST_PERMUTATIONS, PERMUTATIONS)
        self._many_orders = block_orders(self._period, count, np.random.default_rng([self.seed, 1]))
        short = ""
        if len(np.unique(self._period)) < LEAST_PERIODS:
            periods = len(np.unique(self._period))
            span = f"{periods} {self._unit}{'' if periods == 1 else 's'}"
            short = f"the runs are from {span}; {LEAST_PERIODS} are needed"
        elif np.ptp(self._start) <= WEEK_S:
            short = "the runs are from one week: there is no other week to compare with"
        for user in range(users):
            q = self.q_value_[user]
            if not self.testable_[user]:
                reasons = [self._untestable_reason(user)]
            elif q <= FOUND_Q and self.score_[user] > 0:
                reasons = [*self._list_doubts(user)]
                interval = given_naming(
                    self.effect_s_[user], self.effect_interval_s_[user], self.p_value_[user], self._naming_limit()
                )
                # Nobody makes runs end in half their time.
                self.effect_interval_s_[user] = np.maximum(interval, -self._times[self._exposed[:, user]].mean())
                self.verdict_[user] = CANNOT_TELL if reasons else NAMED
            elif plain.q_value_[user] <= FOUND_Q:
                reasons = [
                    f"coincides with slow runs, but so does the calendar: q = {plain.q_value_[user]:.2g} without date trend and regimes, {q:.2g} with them"
                ]
            else:
                self.reasons_[user] = [f"q = {q:.2g}"]
                continue
            if short:
                reasons.append(short)
            if reasons:
                self.verdict_[user] = CANNOT_TELL
            self.reasons_[user] = reasons or [f"q = {q:.2g}"]
        for user, others in self.stand_ins_.items():
            for other in others.tolist():
                if self.verdict_[other] == NO_EVIDENCE:
                    self.verdict_[other] = CANNOT_TELL
                    self.reasons_[other] = []
                if self.verdict_[other] == CANNOT_TELL:
                    self.reasons_[other].append(f"appears together with user {{{user}}}: cannot tell which of the two")

    def _untestable_reason(self, user: int) -> str:
        runs, exposed = len(self._times), int(self.exposed_runs_[user])
        if exposed < self.min_exposed:
            return f"exposed in {exposed} of {runs} {self._noun}, needs {self.min_exposed}{self._note}"
        if not self._varied_users()[user]:
            return f"without exposure in {runs - exposed} of {runs} {self._noun}, needs {self.min_exposed}{self._note}"
        share = 1 - self._share_left[user]
        return f"{share:.0%} of the variance of the exposure is that of dates, hours, regimes or circumstances of the runs: cannot be separated from the calendar"

    def _list_doubts(self, user: int) -> Any:
        """Return reasons against naming a user."""
        problem, spread = self._given_others(self._ranked, user), float(self._spread[user])
        at = np.array([user])
        p = float(block_p_values(problem, self._many_orders, at)[0])
        if p > BLOCK_P:
            yield f"{self._unit}s in another order give as much in {p:.1%} of cases"
        alone = controls.depends_on_one_period(problem, user, self._exposed[:, user], self._period, spread)
        if alone is not None:
            yield f"is based on one {self._unit}, that of {self._period_date(alone)}"
        whole = self._given_others(self._problem, user)
        for weeks in controls.other_weeks(whole, user, self._raw[:, user], self._start, spread):
            yield f"presence in the week {'before' if weeks < 0 else 'after'} coincides with the slow runs too"
        yield from self._check_rhythm(problem, user)
        others = controls.proxy_users(problem, user, self.testable_, spread)
        if len(others):
            self.stand_ins_[user] = others
            yield f"appears together with user {_format_users(others.tolist())}: cannot tell which of them"

    def _check_rhythm(self, problem: Problem, user: int) -> Iterator[str]:
        tests = int(self.testable_.sum())
        of_all = self._naming_limit()
        apart = float(self._share_left[user])
        finding = rhythm.find_rhythm(problem, user, self._start, controls.DOUBT, of_all, apart)
        if finding is None:
            return
        cannot = f"the presence cannot be separated from the {finding.name}"
        if finding.share < LEAST_LEFT:
            yield f"{cannot}, which explains {1 - finding.share:.0%} of its variance"
            return
        reason = f"{cannot}: between runs of the same {finding.name} chance gives as much in {finding.p:.1%} of cases"
        yield (
            reason
            if finding.limit == controls.DOUBT
            else f"{reason}; among {tests} users, {finding.limit:.2%} is needed"
        )

    def _naming_limit(self) -> float:
        """Return the p-value up to which users are found (Benjamini and Hochberg)."""
        return float(FOUND_Q * (self.q_value_ <= FOUND_Q).sum() / self.testable_.sum())

    def _period_date(self, period: int) -> str:
        unit = WEEK_S if self._unit == "week" else DAY_S
        begin = self._start[np.floor(self._start / unit).astype(np.int64) == period].min()
        return datetime.fromtimestamp(float(begin), UTC).strftime("%Y-%m-%d")

    def _measure_effects(self) -> None:
        """Estimate effects in seconds, given the other selected users."""
        day = day_numbers(self._start)
        log_time = replace(self._problem, outcome=self.calendar_.without(np.log(self._times)))
        context = (self._raw, self._exposed, day, self._spread, self._times)
        self.effect_s_, self.effect_interval_s_ = estimate_effects(log_time.given(self.selected_), *context)
        for user in self.selected_.tolist():
            effect, interval = estimate_effects(log_time.given(self.selected_[self.selected_ != user]), *context)
            self.effect_s_[user], self.effect_interval_s_[user] = effect[user], interval[user]
        self.effect_s_[~self.testable_] = np.nan
        self.effect_interval_s_[~self.testable_] = np.nan


def _permutation_count(runs: int, least: int, most: int) -> int:
    return max(min(HELD // runs, most), least)


def _format_users(users: list[int]) -> str:
    """Return at most three users as indices in braces, and the number of the others."""
    more = f" and {len(users) - 3} more" if len(users) > 3 else ""
    return ", ".join(f"{{{user}}}" for user in users[:3]) + more
