"""Columns of each table."""

from __future__ import annotations

from flitwatch_client.table import INTEGER, LIST, NUMBER, TEXT, TIME, YES_NO

FABRICS = {
    "id": INTEGER,
    "name": TEXT,
    "kind": TEXT,
    "technology": TEXT,
    "simulated": YES_NO,
    "snapshot": YES_NO,
    "routers": INTEGER,
    "endpoints": INTEGER,
    "links": INTEGER,
    "first_ts": TIME,
    "last_ts": TIME,
    "complete_through": TIME,
}
JOBS = {
    "job_id": TEXT, "cluster": TEXT, "user": TEXT, "account": TEXT, "name": TEXT, "partition": TEXT, "state": TEXT, "submit": TIME,
    "start": TIME, "end": TIME, "elapsed_s": NUMBER, "nodes": INTEGER, "routers": INTEGER, "groups": LIST.format(INTEGER), "runs": INTEGER,
    "fabric_id": INTEGER, "simulated": YES_NO,
}  # fmt: skip
RUNS = {
    "run_id": INTEGER,
    "job_id": TEXT,
    "exe": TEXT,
    "start": TIME,
    "ranks": INTEGER,
    "nodes": INTEGER,
    "steps": INTEGER,
    "time_s": NUMBER,
    "simulated": YES_NO,
}
#: `rank_median_s` is the median over the run's own ranks, `usual_s` the mean of other runs, `p10_s` and `p90_s` their percentiles.
STEPS = {
    "step": INTEGER,
    "time_s": NUMBER,
    "usual_s": NUMBER,
    "p10_s": NUMBER,
    "p90_s": NUMBER,
    "rank_median_s": NUMBER,
}
LINKS = {
    "link": INTEGER,
    "src": INTEGER,
    "dst": INTEGER,
    "class": TEXT,
    "flits": NUMBER,
    "stall_cycles": NUMBER,
    "ratio": NUMBER,
}
BLAME = {
    "name": TEXT, "verdict": TEXT, "reasons": LIST.format(TEXT), "q": NUMBER, "p": NUMBER, "effect_s": NUMBER, "effect_low_s": NUMBER,
    "effect_high_s": NUMBER, "lost_node_hours": NUMBER, "lost_low_node_hours": NUMBER, "lost_high_node_hours": NUMBER, "exposed_runs": INTEGER,
    "score": NUMBER, "mi_bits": NUMBER, "mi_q": NUMBER, "pseudonym": YES_NO,
}  # fmt: skip
FORECASTS = {
    "run_id": INTEGER, "job_id": TEXT, "user": TEXT, "exe": TEXT, "nodes": INTEGER, "start": TIME, "steps": INTEGER, "elapsed_s": NUMBER,
    "after_steps": INTEGER, "ahead": INTEGER, "made": TIME, "forecaster": TEXT, "expected_s": NUMBER, "low_s": NUMBER, "high_s": NUMBER,
    "usual_s": NUMBER, "slowdown": NUMBER, "backtest_mape": NUMBER, "lacks": TEXT, "simulated": YES_NO,
}  # fmt: skip
#: `relevance` is the share of folds that keep the counter, `rank` its mean elimination rank (1: last), `place` its position among all.
DRIVERS = {
    "exe": TEXT, "nodes": INTEGER, "counter": TEXT, "meaning": TEXT, "place": INTEGER, "relevance": NUMBER, "relevance_spread": NUMBER,
    "rank": NUMBER, "rank_spread": NUMBER, "simulated": YES_NO,
}  # fmt: skip
ALERTS = {
    "alert_id": INTEGER,
    "rule": TEXT,
    "phase": TEXT,
    "severity": TEXT,
    "since": TIME,
    "fired_at": TIME,
    "resolved_at": TIME,
    "value": NUMBER,
    "peak": NUMBER,
    "probability": NUMBER,
    "summary": TEXT,
    "page": TEXT,
    "simulated": YES_NO,
}
CANDIDATES = {
    "job_id": TEXT,
    "user": TEXT,
    "name": TEXT,
    "nodes": INTEGER,
    "start": TIME,
    "end": TIME,
    "named": YES_NO,
    "score": NUMBER,
    "shared_routers": INTEGER,
    "shared_links": INTEGER,
    "exposure": NUMBER,
    "footprint": NUMBER,
    "why_not": TEXT,
    "simulated": YES_NO,
}
