"""Names of several sets: who is listed, what all sets together say, and nobody where nobody was planted."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.stats import cauchy, false_discovery_control

from flitwatch_domain.several_sets import benjamini_hochberg, combine_p_values, several_sets


def entry(exe: str, verdict: str = "no evidence", p: float | None = 0.5, q: float | None = 0.9, **more: Any) -> dict:
    score = 0.0 if p is None else -math.log10(p)
    paper = {"mi_bits": 0.01, "mi_sign": 1, "mi_p": 0.5, "mi_q": 0.9}
    return {"exe": exe, "verdict": verdict, "score": score, "p": p, "q": q, "testable": p is not None, **paper, **more}


def named(exe: str) -> dict:
    return entry(exe, "named", 1e-6, 1e-4)


def in_doubt(exe: str) -> dict:
    return entry(exe, "cannot tell", 1e-6, 1e-4)


def test_who_is_named_in_two_sets_is_listed_with_the_evidence_of_every_set() -> None:
    entries = [("ann", named("amg")), ("bob", named("amg")), ("eve", entry("amg"))]
    entries += [("ann", named("milc")), ("bob", entry("milc", p=0.2)), ("eve", named("umt"))]
    entries += [("ann", entry("umt", p=0.3))]
    (ann,) = several_sets(entries)
    assert (ann.name, ann.found_in, ann.tested_in, ann.verdict) == ("ann", 2, 3, "named")
    assert [one["exe"] for one in ann.evidence] == ["amg", "milc", "umt"]
    assert [(row.name, row.found_in) for row in several_sets(entries, least_sets=1)] == [
        ("ann", 2),
        ("bob", 1),
        ("eve", 1),
    ]
    assert len(several_sets(entries, least_sets=0)) == 3


def test_the_papers_list_asks_for_information_that_goes_with_slow_runs() -> None:
    strong = {"mi_bits": 0.2, "mi_p": 1e-5, "mi_q": 1e-3}
    entries = [
        *(("ann", entry(exe, **strong, mi_sign=1)) for exe in ("amg", "milc")),
        *(("bob", entry(exe, **strong, mi_sign=-1)) for exe in ("amg", "milc")),
        *(("eve", entry(exe, mi_bits=0.2, mi_sign=1, mi_p=0.06, mi_q=0.06)) for exe in ("amg", "milc")),
    ]
    found = several_sets(entries, "paper")
    assert [row.name for row in found] == ["ann"]
    # What the paper lists is no name where no set names it.
    assert found[0].verdict == "cannot tell" and "no single set names it" in found[0].reasons[0]
    assert several_sets(entries, "ours") == []


def test_a_set_that_doubts_is_not_outvoted_and_weak_sets_make_no_name_together() -> None:
    quiet = [(f"user{n}", entry("amg")) for n in range(3)]
    doubted = several_sets(
        [*quiet, ("ann", named("amg")), ("ann", named("milc")), ("ann", in_doubt("umt"))], least_sets=1
    )
    assert [(row.name, row.verdict) for row in doubted] == [("ann", "cannot tell")]
    assert doubted[0].reasons == ("named in 2 sets, in doubt in one set",)
    weak = several_sets([*quiet, *(("bob", entry(exe, p=0.004, q=0.08)) for exe in ("amg", "milc"))], least_sets=0)
    assert weak[0].name == "bob" and weak[0].q is not None and weak[0].q <= 0.05 and weak[0].verdict == "cannot tell"
    untested = several_sets([("eve", entry("amg", "cannot tell", None, None))], least_sets=0)[0]
    assert (untested.p, untested.q, untested.tested_in, untested.verdict) == (None, None, 0, "cannot tell")


def test_p_values_are_combined_as_by_cauchys_law_and_one_set_stays_as_it_is() -> None:
    rng = np.random.default_rng(0)
    for p in (rng.random(5) * 0.9, rng.random(2) * 1e-3, np.array([1e-12, 0.5])):
        assert combine_p_values(p) == pytest.approx(cauchy.sf(np.mean(cauchy.isf(p))), rel=1e-9)
    assert combine_p_values([0.03]) == pytest.approx(0.03)
    assert combine_p_values([1e-40, 1e-40]) == pytest.approx(1e-40)
    assert combine_p_values([1e-4, 1.0]) < 1e-3, "a set that says nothing takes little away"


def test_of_sets_that_depend_entirely_no_more_is_found_than_of_one() -> None:
    p = np.random.default_rng(1).random(4000)
    together = np.array([combine_p_values([one, one, one]) for one in p.tolist()])
    assert (together <= 0.05).mean() == pytest.approx((p <= 0.05).mean())


def test_q_values_are_those_of_scipy() -> None:
    p = np.random.default_rng(2).random(50) ** 2
    assert np.allclose(benjamini_hochberg(p), false_discovery_control(p))
    p[7] = np.nan
    assert np.isnan(benjamini_hochberg(p)[7]) and np.isfinite(np.delete(benjamini_hochberg(p), 7)).all()
    assert np.isnan(benjamini_hochberg(np.array([np.nan, np.nan]))).all()
