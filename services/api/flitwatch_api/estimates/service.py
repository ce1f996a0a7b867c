"""Responses about estimates of applications: blame, deviation, forecast."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal

from flitwatch_api.answers import build_model
from flitwatch_api.estimates import schemas
from flitwatch_api.names import Names
from flitwatch_api.parameters import at_moment, make_cursor, read_page_cursor
from flitwatch_db.core.columns import Connection
from flitwatch_db.estimates import reads, store
from flitwatch_domain.blame import CANNOT_TELL, SeveralSets, several_sets
from flitwatch_domain.counters import TABLE_II, feature_of
from flitwatch_domain.counters.features import NIC, answer_in_words
from flitwatch_domain.errors import NotFound
from flitwatch_domain.fabric import Technology

#: Entries of old estimates without verdicts name no one.
_FIGURES = (
    "effect_s",
    "effect_low_s",
    "effect_high_s",
    "lost_node_hours",
    "lost_low_node_hours",
    "lost_high_node_hours",
)
_UNJUDGED = {
    "verdict": CANNOT_TELL,
    "reasons": ["made with an older version, which gave no verdicts; run the estimate again"],
    **dict.fromkeys(_FIGURES),
}
#: Missing input for drivers and forecasts in a set of runs from files.
NO_STEPS = "files contain the time of a run, not of its steps"
#: Missing input of an estimate from an older version.
_OLDER = "made with an older version; run the estimate again"
KINDS = ("blame", "deviation", "forecast")
_EMPTY = {"estimate_id": None, "created": None, "checked": None, "lacks": None, "score": None}
CAVEATS = {
    "blame": "Dependence between exposure and slow runs of several applications; not proof of cause.",
    "deviation": "Relevance shows which counters predict slow steps, not that they cause them.",
}


def build_head(row: reads.Row, names: Names) -> schemas.Head:
    """Return the head of an estimate as shown in responses."""
    data = row["data"]
    return build_model(
        schemas.Head,
        {name: row[name] for name in ("estimate_id", "kind", "nodes", "created", "code_version", "parameters")},
        exe=names.path(row["exe"]),
        runs=data["runs"],
        steps=data["steps"],
        first=at_moment(data["first_s"]),
        last=at_moment(data["last_s"]),
        score=row["score"],
        simulated=row["simulated"],
        source=row["source"],
    )


def names_in(row: reads.Row, names: Names, author: str) -> Names:
    """Return the names of an estimate as a caller sees them.

    Names from files are a user's text, perhaps a list of all real names. Their author sees them unchanged. Others below scope `names` see
    pseudonyms for this estimate only, which cannot be matched with the site's pseudonyms.
    """
    if row["source"] == "runs" or names.key is None:
        return names
    if row["created_by"] is not None and row["created_by"] == author:
        return Names(None)
    return replace(names, key=hmac.new(names.key, f"files:{row['estimate_id']}".encode(), hashlib.sha256).digest())


async def list_applications(conn: Connection, names: Names) -> schemas.Applications:
    """List all instrumented applications, with the state of their estimates."""
    rows = await reads.list_application_estimates(conn)
    for row in rows:
        empty = _EMPTY if row["source"] == "runs" else {**_EMPTY, "lacks": NO_STEPS}
        standing, row["exe"] = row.pop("standing") or {}, names.path(row["exe"])
        row.update({kind: standing.get(kind, empty) for kind in KINDS})
    return build_model(schemas.Applications, items=[build_model(schemas.Application, row) for row in rows])


async def list_versions(
    conn: Connection, names: Names, limit: int, cursor: str | None, kind: str | None, exe: str | None, nodes: int | None
) -> schemas.HeadList:
    """Return a page of estimates."""
    rows = await reads.list_estimates(conn, limit + 1, read_page_cursor(cursor), kind, exe, nodes, names.pseudonyms)
    items = [build_head(row, names) for row in rows[:limit]]
    next_cursor = make_cursor(items[-1].estimate_id) if len(rows) > limit else None
    return build_model(schemas.HeadList, items=items, next_cursor=next_cursor)


async def _find_estimate(
    conn: Connection, names: Names, kind: str, exe: str | None, nodes: int | None, estimate_id: int | None
) -> reads.Row:
    row = await reads.find_estimate(conn, kind, exe, nodes, estimate_id, names.pseudonyms)
    if row is not None:
        return row
    state = (
        None
        if exe is None or nodes is None
        else await reads.find_estimate_state(conn, kind, exe, nodes, names.pseudonyms)
    )
    why = f": {state['lacks']}" if state and state["lacks"] else ""
    raise NotFound(
        f"there is no {kind} estimate{f' for {exe}' if exe else ''}{why}",
        advice="/api/v1/estimates lists the applications and what each of them still lacks.",
    )


async def load_blame(
    conn: Connection,
    names: Names,
    by: str,
    exe: str | None,
    nodes: int | None,
    estimate_id: int | None,
    limit: int,
    cursor: str | None,
    author: str,
) -> schemas.Blame:
    """Return one blame estimate with a page of its entries. `author` is the caller as recorded for their tasks."""
    row = await _find_estimate(conn, names, "blame", exe, nodes, estimate_id)
    names = names_in(row, names, author)
    number, result = row["estimate_id"], row["result"]
    entries = await reads.list_entries(conn, number, by, read_page_cursor(cursor) or 0, limit + 1)
    items = [_blame_entry(entry, by, names) for entry in entries[:limit]]
    return build_model(
        schemas.Blame,
        await reads.entry_counts(conn, number, by),
        estimate=build_head(row, names),
        by=by,
        method=result["method"],
        caveat=result["caveat"],
        runs=await _blame_runs(conn, result["runs"], names),
        calibration=result.get("calibration"),
        drivers=result.get("drivers", []),
        # They quote names of runs and columns.
        notes=[] if names.pseudonyms else result.get("notes", []),
        entries=items,
        next_cursor=make_cursor(items[-1].place) if len(entries) > limit else None,
    )


async def blame_detail(
    conn: Connection, names: Names, estimate_id: int, by: str, place: int, author: str
) -> schemas.BlameDetail:
    """Return the runs behind one name. `author` is the caller as recorded for their tasks."""
    row = await _find_estimate(conn, names, "blame", None, None, estimate_id)
    names = names_in(row, names, author)
    entry = await reads.find_entry(conn, estimate_id, by, place)
    if entry is None:
        raise NotFound(
            f"estimate {estimate_id} has no {by} at rank {place}",
            advice="/api/v1/estimates/blame lists them.",
        )
    return build_model(
        schemas.BlameDetail,
        vars(await _blame_runs(conn, row["result"]["runs"], names)),
        estimate=build_head(row, names),
        by=by,
        entry=_blame_entry(entry, by, names),
        overlap=entry["overlap"],
        exposure=entry["exposure"],
    )


async def blame_several(
    conn: Connection, names: Names, by: str, definition: Literal["ours", "paper"], least_sets: int, limit: int
) -> schemas.SeveralSets:
    """Return names found in several sets of runs, with the evidence of each set."""
    # A user's text in a file says nothing about the person behind a pseudonym.
    entries = await store.list_evidence(conn, by, files=not names.pseudonyms)
    rows = several_sets(entries, definition, least_sets)
    return build_model(
        schemas.SeveralSets,
        by=by,
        definition=definition,
        least_sets=least_sets,
        sets=len({entry["estimate_id"] for _, entry in entries}),
        total=len(rows),
        items=[_several_entry(row, by, names) for row in rows[:limit]],
        caveat=CAVEATS["blame"],
    )


def _several_entry(row: SeveralSets, by: str, names: Names) -> schemas.SeveralSetsEntry:
    shown = names.user(row.name) if by == "user" else names.application(row.name)
    evidence = [build_model(schemas.BlameEvidence, entry, exe=names.path(entry["exe"])) for entry in row.evidence]
    return build_model(
        schemas.SeveralSetsEntry,
        vars(row),
        name=shown,
        pseudonym=shown != row.name,
        reasons=list(row.reasons),
        evidence=evidence,
    )


def _blame_entry(row: reads.Row, by: str, names: Names) -> schemas.BlameEntry:
    shown = names.user(row["name"]) if by == "user" else names.application(row["name"])
    fields = {"place": row["place"], "name": shown, "pseudonym": shown != row["name"], **_UNJUDGED, **row["entry"]}
    return build_model(schemas.BlameEntry, fields)


async def _blame_runs(conn: Connection, runs: Mapping[str, Any], names: Names) -> schemas.BlameRuns:
    numbers = runs["run_id"]
    job_id = await reads.job_ids(conn, [run for run in numbers if run is not None])
    nameless = [None] * len(numbers)
    return build_model(
        schemas.BlameRuns,
        run_id=numbers,
        run_name=nameless if names.pseudonyms else runs.get("name", nameless),
        job_id=[None if run is None else job_id.get(run) for run in numbers],
        start=[at_moment(s) for s in runs["start_s"]],
        time_s=runs["time_s"],
        slow=runs["slow"],
    )


async def load_deviation(conn: Connection, names: Names, inputs: str) -> schemas.Deviation:
    """Return the heat map: the newest estimate of each application."""
    newest = await reads.newest_of_each(conn, "deviation")
    features: dict[str, Technology | None] = {c.abbreviation: None for c in TABLE_II}
    for row in newest:
        technology_name = row["result"].get("technology")
        for name in row["result"]["counters"]:
            features.setdefault(name, Technology(technology_name) if technology_name else None)
    sets = [_row_relevance(row, inputs, list(features), names) for row in newest]
    there = {(row["exe"], row["nodes"]) for row in newest}
    lacking = []
    for row in await reads.list_application_estimates(conn):
        if row["source"] == "runs" and (row["exe"], row["nodes"]) not in there:
            lacks = ((row["standing"] or {}).get("deviation") or {}).get("lacks")
            exe = names.path(row["exe"])
            lacking.append(
                build_model(schemas.MissingEstimate, exe=exe, nodes=row["nodes"], runs=row["runs"], lacks=lacks)
            )
    counters = [_make_counter(name, technology) for name, technology in features.items()]
    return build_model(
        schemas.Deviation, inputs=inputs, counters=counters, sets=sets, lacking=lacking, caveat=CAVEATS["deviation"]
    )


def _make_counter(name: str, technology: Technology | None) -> schemas.Counter:
    feature = feature_of(name, technology)
    column = next((c.column for c in TABLE_II if c.abbreviation == name), name.removeprefix(NIC))
    return schemas.Counter(
        abbreviation=name,
        vendor=feature.vendor,
        column=column,
        description=feature.description,
        meaning=feature.group,
    )


def _row_relevance(row: reads.Row, inputs: str, features: list[str], names: Names) -> schemas.Relevance:
    result = row["result"]
    input_result = result[inputs]
    place = {name: at for at, name in enumerate(result["counters"])}

    def ordered(values: list[float]) -> list[float | None]:
        return [values[place[name]] if name in place else None for name in features]

    arrays = {name: ordered(input_result[name]) for name in ("relevance", "relevance_spread", "rank", "rank_spread")}
    figures = {name: input_result[name] for name in ("mape", "mape_spread", "baseline_mape", "row_split_mape", "folds")}
    # Older versions stored neither places nor groups.
    arrays["place"] = ordered(input_result["place"]) if "place" in input_result else [None] * len(features)
    groups = input_result.get("groups")
    return build_model(
        schemas.Relevance,
        {**arrays, **figures},
        estimate=build_head(row, names),
        groups=groups or [],
        answer=[f"cannot tell: {_OLDER}"] if groups is None else answer_in_words(groups),
    )


async def load_forecast(
    conn: Connection, names: Names, exe: str | None, nodes: int | None, estimate_id: int | None
) -> schemas.Forecast:
    """Return the backtests of an application and the deployed forecaster."""
    row = await _find_estimate(conn, names, "forecast", exe, nodes, estimate_id)
    result = row["result"]
    state = await reads.find_estimate_state(conn, "forecast", row["exe"], row["nodes"])
    drift = state["drift"] if state and state["estimate_id"] == row["estimate_id"] else None
    return build_model(
        schemas.Forecast,
        estimate=build_head(row, names),
        serves=result["serves"],
        backtests=result["backtests"],
        step=list(range(len(result["curve_s"]))),
        curve_s=result["curve_s"],
        drift=drift,
        rests_on=result.get("rests_on", []),
        rests_on_lacks=result.get("rests_on_lacks", _OLDER),
        notes=result["notes"],
    )
