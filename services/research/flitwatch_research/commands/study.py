"""`flitwatch study`: reproduce a published study."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import orjson

from flitwatch.console import json_option, make_progress, print_result
from flitwatch_domain.secret_file import LocalText
from flitwatch_research.commands import advice_value, blame_stress, incident_study
from flitwatch_research.commands.options import executor_option


@click.command()
@click.argument("name", required=False)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    help="Folder for JSON, CSV and figures. For advice-value: the page and its JSON. For incidents: the finished days, so that it can resume. Without it, the answer is only printed.",
)
@click.option("--runs", type=click.IntRange(min=2), help="Random draws per point, if the study has any.")
@click.option("--seed", type=click.IntRange(0, 2**63 - 1), help="Random seed of all draws.")
@click.option("--threads", type=click.IntRange(1, 1024), help="Number of threads. The results do not depend on it.")
@click.option("--topology", metavar="SPEC", help="Topology or file:PATH, if the study has one.")
@click.option(
    "--trace",
    type=click.Path(exists=True, path_type=Path),
    help="wang-fig2, -fig3, -fig7, -fig8-10: the trace of one application (a folder of DUMPI text, OTF2 or a message DAG) instead of its pattern.",
)
@click.option("--set", "settings", multiple=True, metavar="KEY=JSON", help="Any other parameter of the study.")
@click.option("--seeds", type=click.IntRange(1, 50), help="advice-value: number of seeds per variant.  [default: 5]")
@click.option(
    "--first-seed", type=click.IntRange(1, 10**6), help="advice-value: the first of these seeds.  [default: 1]"
)
@click.option("--days", type=click.IntRange(1, 60), help="advice-value: simulated days.  [default: 14]")
@click.option("--variant", "variants", multiple=True, help="advice-value, blame-stress: only this variant, repeatable.")
@click.option(
    "--jobs",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="advice-value: log in the Standard Workload Format (.swf, .swf.gz) whose jobs are submitted instead of random ones.",
)
@click.option(
    "--draws",
    type=click.IntRange(1, 10_000),
    help=f"incidents: simulated days; blame-stress: sets of a variant.  [default: {incident_study.DRAWS}; {blame_stress.DRAWS}]",
)
@click.option(
    "--resolution",
    type=click.Choice(incident_study.RESOLUTIONS),
    help="incidents: ask during a day, or only afterwards, using the stored minutes.  [default: live]",
)
@click.option(
    "--fabric",
    type=click.Choice(incident_study.FABRICS),
    help="incidents: the simulated machine.  [default: dragonfly]",
)
@click.option("--kind", "kinds", multiple=True, help="incidents: only days of this kind (repeatable).")
@click.option("--processes", type=click.IntRange(1, 64), help="advice-value: number of parallel processes.")
@executor_option
@json_option
def study(
    name: str | None,
    out: Path | None,
    runs: int | None,
    seed: int | None,
    threads: int | None,
    topology: str | None,
    trace: Path | None,
    settings: tuple[str, ...],
    seeds: int | None,
    first_seed: int | None,
    days: int | None,
    jobs: Path | None,
    variants: tuple[str, ...],
    draws: int | None,
    resolution: str | None,
    fabric: str | None,
    kinds: tuple[str, ...],
    processes: int | None,
    executor: str,
    as_json: bool,
) -> None:
    """Reproduce the published study NAME, or measure the value of advice (advice-value), how incidents are attributed (incidents), or blame on hard calendars (blame-stress); without NAME, list the studies."""
    from flitwatch_db.tasks.executors import is_local, open_executor
    from flitwatch_research.studies import output, registry, shared

    if name is None:
        published = {name: summary for name, (_, _, summary) in registry.STUDIES.items()}
        own = {module.NAME: module.SUMMARY for module in (advice_value, incident_study, blame_stress)}
        print_result({**published, **own}, as_json)
        return
    of_incidents = {"--draws": draws, "--resolution": resolution, "--fabric": fabric, "--kind": kinds}
    if name == incident_study.NAME:
        foreign = {
            "--runs": runs,
            "--threads": threads,
            "--topology": topology,
            "--set": settings,
            "--trace": trace,
        }
        foreign |= {"--seeds": seeds, "--first-seed": first_seed, "--days": days, "--jobs": jobs, "--variant": variants}
        _reject_foreign_options(name, {**foreign, "--processes": processes})
        incident_study.run_incident_study(draws, seed, resolution, kinds, fabric, out, as_json)
        return
    if name == blame_stress.NAME:
        foreign = {"--runs": runs, "--threads": threads, "--topology": topology, "--set": settings, "--out": out}
        foreign |= {"--trace": trace, "--seeds": seeds, "--first-seed": first_seed, "--days": days, "--jobs": jobs}
        foreign |= {**of_incidents, "--draws": None, "--processes": processes}
        _reject_foreign_options(name, foreign)
        blame_stress.run_stress_study(variants, draws, seed, as_json)
        return
    if name == advice_value.NAME:
        foreign = {
            "--runs": runs,
            "--seed": seed,
            "--threads": threads,
            "--topology": topology,
            "--set": settings,
            "--trace": trace,
        }
        _reject_foreign_options(name, {**foreign, **of_incidents})
        advice_value.run_advice_study(seeds, first_seed, days, jobs, variants, processes, executor, out, as_json)
        return
    foreign = {"--seeds": seeds, "--first-seed": first_seed, "--days": days, "--jobs": jobs}
    foreign |= {} if name.startswith("wang-") else {"--trace": trace}
    _reject_foreign_options(name, {**foreign, **of_incidents, "--variant": variants, "--processes": processes})
    chosen = registry.find_study(name)
    if out is not None and out.is_file():
        raise click.UsageError(f"--out {out} is a file; this study writes a folder")
    if out is not None:
        output.prepare_folder(out)
    path = None if trace is None else str(trace)
    local_options = _as_local({"runs": runs, "seed": seed, "threads": threads, "topology": topology, "trace": path})
    parameters = {key: value for key, value in local_options.items() if value is not None} | _parse_settings(settings)
    with make_progress("") as bar:
        task = bar.add_task(chosen.name, total=None)

        def report(done: int, total: int, message: str) -> None:
            bar.update(task, completed=done, total=total, description=message)

        if is_local(executor):
            answer = chosen.run(parameters, report, lambda: False)
        else:
            with open_executor(executor) as pool:
                answer = shared.run_shared(chosen, parameters, pool, report, lambda: False)
    figures = output.write_outputs(chosen, answer, out) if out is not None else []
    print_result({**answer, "figures": [str(path) for path in figures]}, as_json)


def _reject_foreign_options(name: str, foreign: dict[str, Any]) -> None:
    """Fail for options that the study does not have, so that none is ignored silently."""
    for option, value in foreign.items():
        if value:
            raise click.UsageError(f"study {name} has no option {option}")


def _parse_settings(settings: tuple[str, ...]) -> dict[str, Any]:
    parameters: dict[str, Any] = {}
    for setting in settings:
        key, equals, value = setting.partition("=")
        if not equals:
            raise click.UsageError(f"--set {setting!r} is no KEY=JSON")
        try:
            parameters[key] = orjson.loads(value)
        except orjson.JSONDecodeError:
            parameters[key] = value  # plain text needs no quotes
    return _as_local(parameters)


def _as_local(value: Any) -> Any:
    """Return the same value with all texts marked as local, including texts in lists and objects."""
    if isinstance(value, dict):
        return {name: _as_local(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_as_local(inner) for inner in value)
    return LocalText(value) if isinstance(value, str) else value
