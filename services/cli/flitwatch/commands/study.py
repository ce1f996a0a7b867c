"""`flitwatch study`: reproduce a published study."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import orjson

from flitwatch.console import emit, json_option, progress
from flitwatch_domain.importers.local import as_local


@click.command()
@click.argument("name", required=False)
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder for JSON, CSV and figures; without it the answer is only printed.",
)
@click.option("--runs", type=click.IntRange(min=2), help="Random draws a point, where the study has such.")
@click.option("--seed", type=click.IntRange(0, 2**63 - 1), help="Seed of every draw.")
@click.option("--threads", type=click.IntRange(1, 1024), help="Threads; the results do not depend on them.")
@click.option("--topology", metavar="SPEC", help="Topology or file:PATH, where the study has one.")
@click.option("--set", "settings", multiple=True, metavar="KEY=JSON", help="Any other parameter of the study.")
@json_option
def study(
    name: str | None,
    out: Path | None,
    runs: int | None,
    seed: int | None,
    threads: int | None,
    topology: str | None,
    settings: tuple[str, ...],
    as_json: bool,
) -> None:
    """Reproduce the study NAME; without NAME, list the studies."""
    from flitwatch_research.studies import output, registry

    if name is None:
        emit({name: summary for name, (_, _, summary) in registry.STUDIES.items()}, as_json)
        return
    chosen = registry.find(name)
    if out is not None:
        output.prepare(out)
    given = as_local({"runs": runs, "seed": seed, "threads": threads, "topology": topology})
    parameters = {key: value for key, value in given.items() if value is not None} | _settings(settings)
    with progress("") as bar:
        task = bar.add_task(chosen.name, total=None)

        def report(done: int, total: int, message: str) -> None:
            bar.update(task, completed=done, total=total, description=message)

        answer = chosen.run(parameters, report, lambda: False)
    figures = output.write(chosen, answer, out) if out is not None else []
    emit({**answer, "figures": [str(path) for path in figures]}, as_json)


def _settings(settings: tuple[str, ...]) -> dict[str, Any]:
    parameters: dict[str, Any] = {}
    for setting in settings:
        key, equals, value = setting.partition("=")
        if not equals:
            raise click.UsageError(f"--set {setting!r} is no KEY=JSON")
        try:
            parameters[key] = orjson.loads(value)
        except orjson.JSONDecodeError:
            parameters[key] = value  # plain text needs no quotes
    return as_local(parameters)
