"""Answers about estimates of applications: blame, deviation, forecast."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from flitwatch_api.names import Names
from flitwatch_api.parameters import make_cursor, read_page_cursor
from flitwatch_db.core.columns import Connection
from flitwatch_db.estimates import reads
from flitwatch_domain.blame import CANNOT_TELL
from flitwatch_domain.counters import TABLE_II
from flitwatch_domain.errors import NotFound

#: Entries of estimates that were made before there were verdicts name nobody.
_FIGURES = (
    "effect_s", "effect_low_s", "effect_high_s", "lost_node_hours", "lost_low_node_hours", "lost_high_node_hours", "runs_needed",
)  # fmt: skip
_UNJUDGED = {
    "verdict": CANNOT_TELL,
    "reasons": ["made by an older version, which gave no verdicts: estimate anew"],
    **dict.fromkeys(_FIGURES),
}
KINDS = ("blame", "deviation", "forecast")
_EMPTY = {"estimate_id": None, "created": None, "checked": None, "lacks": None, "score": None}
CAVEATS = {
    "deviation": "Relevance tells which counters go with slow steps; not that they cause them.",
}


def _moment(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


def head(row: dict[str, Any], names: Names) -> dict[str, Any]:
    """An estimate as answers show it."""
    data = row["data"]
    return {
        **{name: row[name] for name in ("estimate_id", "kind", "nodes", "created", "code_version", "parameters")}, "exe": names.path(row["exe"]),
        "runs": data["runs"], "steps": data["steps"], "first": _moment(data["first_s"]), "last": _moment(data["last_s"]),
        "score": row["score"], "simulated": row["simulated"],
    }  # fmt: skip


async def applications(conn: Connection, names: Names) -> dict[str, Any]:
    """Every instrumented application and how its estimates stand."""
    rows = await reads.applications(conn)
    for row in rows:
        standing, row["exe"] = row.pop("standing") or {}, names.path(row["exe"])
        row.update({kind: standing.get(kind, _EMPTY) for kind in KINDS})
    return {"items": rows}


async def versions(
    conn: Connection, names: Names, limit: int, cursor: str | None, kind: str | None, exe: str | None, nodes: int | None
) -> dict[str, Any]:
    """A page of estimates."""
    rows = await reads.versions(conn, limit + 1, read_page_cursor(cursor), kind, exe, nodes, names.pseudonyms)
    items = [head(row, names) for row in rows[:limit]]
    return {"items": items, "next_cursor": make_cursor(items[-1]["estimate_id"]) if len(rows) > limit else None}


async def _one(
    conn: Connection, names: Names, kind: str, exe: str | None, nodes: int | None, estimate_id: int | None
) -> dict[str, Any]:
    row = await reads.one(conn, kind, exe, nodes, estimate_id, names.pseudonyms)
    if row is not None:
        return row
    state = None if exe is None or nodes is None else await reads.state(conn, kind, exe, nodes, names.pseudonyms)
    why = f": {state['lacks']}" if state and state["lacks"] else ""
    raise NotFound(
        f"there is no estimate of {kind}{f' of {exe}' if exe else ''}{why}",
        advice="/api/v1/estimates lists the applications and what each still lacks.",
    )


async def blame(
    conn: Connection, names: Names, by: str, exe: str | None, nodes: int | None, estimate_id: int | None, limit: int, cursor: str | None
) -> dict[str, Any]:  # fmt: skip
    """One estimate of blame with a page of its entries."""
    row = await _one(conn, names, "blame", exe, nodes, estimate_id)
    number, result = row["estimate_id"], row["result"]
    found = await reads.entries(conn, number, by, read_page_cursor(cursor) or 0, limit + 1)
    items = [_entry(entry, by, names) for entry in found[:limit]]
    return {
        "estimate": head(row, names), "by": by, "method": result["method"], "caveat": result["caveat"],
        **await reads.entry_counts(conn, number, by),
        "runs": await _runs(conn, result["runs"]), "entries": items,
        "next_cursor": make_cursor(items[-1]["place"]) if len(found) > limit else None,
    }  # fmt: skip


async def blame_detail(conn: Connection, names: Names, estimate_id: int, by: str, place: int) -> dict[str, Any]:
    """The runs behind one name."""
    row = await _one(conn, names, "blame", None, None, estimate_id)
    entry = await reads.entry(conn, estimate_id, by, place)
    if entry is None:
        raise NotFound(
            f"estimate {estimate_id} has no {by} at place {place}",
            advice="/api/v1/estimates/blame lists them.",
        )
    return {
        "estimate": head(row, names), "by": by, "entry": _entry(entry, by, names), **await _runs(conn, row["result"]["runs"]),
        "overlap": entry["overlap"], "exposure": entry["exposure"],
    }  # fmt: skip


def _entry(row: dict[str, Any], by: str, names: Names) -> dict[str, Any]:
    shown = names.user(row["name"]) if by == "user" else names.application(row["name"])
    return {"place": row["place"], "name": shown, "pseudonym": shown != row["name"], **_UNJUDGED, **row["entry"]}


async def _runs(conn: Connection, runs: dict[str, Any]) -> dict[str, Any]:
    job_id = await reads.job_ids(conn, runs["run_id"])
    return {
        "run_id": runs["run_id"], "job_id": [job_id.get(run) for run in runs["run_id"]], "start": [_moment(s) for s in runs["start_s"]],
        "time_s": runs["time_s"], "slow": runs["slow"],
    }  # fmt: skip


async def deviation(conn: Connection, names: Names, inputs: str) -> dict[str, Any]:
    """The heat map: the newest estimate of each application."""
    newest = await reads.newest_of_each(conn, "deviation")
    sets = [_relevance(row, inputs, names) for row in newest]
    there = {(row["exe"], row["nodes"]) for row in newest}
    lacking = []
    for row in await reads.applications(conn):
        if (row["exe"], row["nodes"]) not in there:
            lacks = ((row["standing"] or {}).get("deviation") or {}).get("lacks")
            lacking.append({"exe": names.path(row["exe"]), "nodes": row["nodes"], "runs": row["runs"], "lacks": lacks})
    counters = [
        {
            "abbreviation": c.abbreviation,
            "vendor": c.vendor,
            "column": c.column,
            "description": f"{c.what}. {c.remark}".removesuffix(". "),
        }
        for c in TABLE_II
    ]
    return {"inputs": inputs, "counters": counters, "sets": sets, "lacking": lacking, "caveat": CAVEATS["deviation"]}


def _relevance(row: dict[str, Any], inputs: str, names: Names) -> dict[str, Any]:
    result = row["result"]
    found = result[inputs]
    place = {name: at for at, name in enumerate(result["counters"])}

    def ordered(values: list[float]) -> list[float | None]:
        return [values[place[c.abbreviation]] if c.abbreviation in place else None for c in TABLE_II]

    arrays = {name: ordered(found[name]) for name in ("relevance", "relevance_spread", "rank", "rank_spread")}
    figures = {name: found[name] for name in ("mape", "mape_spread", "baseline_mape", "row_split_mape", "folds")}
    return {"estimate": head(row, names), **arrays, **figures}


async def forecast(
    conn: Connection, names: Names, exe: str | None, nodes: int | None, estimate_id: int | None
) -> dict[str, Any]:
    """The backtests of an application and the forecaster that serves."""
    row = await _one(conn, names, "forecast", exe, nodes, estimate_id)
    result = row["result"]
    state = await reads.state(conn, "forecast", row["exe"], row["nodes"])
    drift = state["drift"] if state and state["estimate_id"] == row["estimate_id"] else None
    return {
        "estimate": head(row, names), "serves": result["serves"], "backtests": result["backtests"], "step": list(range(len(result["curve_s"]))),
        "curve_s": result["curve_s"], "drift": drift, "notes": result["notes"],
    }  # fmt: skip
