"""`flitwatch blamed`: users or jobs found in several sets of runs, according to the current estimates."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, TypedDict

import click

from flitwatch.console import Database, database_options, json_option, print_result
from flitwatch.rest import ApiOptions, Place, api_options, open_client

if TYPE_CHECKING:
    from flitwatch_client import models


@click.command()
@click.option(
    "--by",
    type=click.Choice(["user", "application"]),
    default="user",
    help="List users, or jobs of one name.",
)
@click.option(
    "--definition",
    type=click.Choice(["ours", "paper"]),
    default="ours",
    help="Meaning of found: named, or mutual information beyond chance (the paper's).",
)
@click.option(
    "--least-sets",
    type=click.IntRange(0, 1000),
    default=2,
    help="List names found in at least this many sets; 0 lists all names.",
)
@api_options
@database_options
@json_option
def blamed(
    by: Literal["user", "application"],
    definition: Literal["ours", "paper"],
    least_sets: int,
    api: ApiOptions,
    database: Database,
    as_json: bool,
) -> None:
    """List users or jobs that blame finds in several applications, with the evidence for each.

    With --url or a profile, the command asks the API. Otherwise it reads the database.
    """
    at_api = api.choose()
    answer = (
        _load_sets(database, by, definition, least_sets)
        if at_api is None
        else _request_sets(at_api, by, definition, least_sets)
    )
    if as_json:
        print_result(answer, True)
        return
    for line in format_names(answer):
        click.echo(line)


class SetNames(TypedDict):
    """Names with the sets that find them, and the evidence of each set."""

    by: str
    definition: str
    least_sets: int
    sets: int
    total: int
    items: list[Mapping[str, Any]]


def _request_sets(at_api: Place, by: str, definition: str, least_sets: int) -> models.SeveralSets:
    with open_client(at_api) as fw:
        return fw.api.blame_several(by=by, definition=definition, least_sets=least_sets, limit=1000)


def _load_sets(database: Database, by: str, definition: Literal["ours", "paper"], least_sets: int) -> SetNames:
    from flitwatch_db.estimates import store
    from flitwatch_domain.blame import several_sets

    with database.connect(role="reader") as conn:
        entries = store.entries_now(conn, by)
    items: list[Mapping[str, Any]] = [
        {**vars(row), "evidence": list(row.evidence)} for row in several_sets(entries, definition, least_sets)
    ]
    sets = len({entry["estimate_id"] for _, entry in entries})
    return {
        "by": by,
        "definition": definition,
        "least_sets": least_sets,
        "sets": sets,
        "total": len(items),
        "items": items,
    }


def format_names(found: SetNames | models.SeveralSets) -> list[str]:
    texts = [f"found in at least {found['least_sets']} of {found['sets']} sets: {found['total']}"]
    for row in found["items"]:
        q = "–" if row["q"] is None else f"{row['q']:.2g}"
        texts.append(
            f"{row['name']}: {row['verdict']}, found in {row['found_in']} of {row['tested_in']} sets tested, q = {q}"
        )
        texts += [f"  {_format_evidence(entry)}" for entry in row["evidence"]]
    return texts


def _format_evidence(one: Mapping[str, Any]) -> str:
    effect = "" if one["effect_s"] is None else f", {one['effect_s']:+.1f} s in an exposed run"
    simulated = " (simulated)" if one["simulated"] else ""
    q = "not testable" if one["q"] is None else f"q = {one['q']:.2g}"
    return f"{one['exe']} on {one['nodes']} nodes{simulated}: {one['verdict']}, {q}{effect}, {one['exposed_runs']} of {one['runs']} runs exposed"
