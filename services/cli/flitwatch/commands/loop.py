"""`flitwatch loop`: the closed loop from counters to routes."""

from __future__ import annotations

from pathlib import Path

import click

from flitwatch.commands.loop_staging import apply, rollback, verify
from flitwatch.console import (
    LOCAL,
    TIME_LIMIT_S,
    Database,
    FiniteRange,
    Group,
    Moment,
    OutPath,
    database_options,
    json_option,
    lane_options,
    print_result,
    seed_option,
    stderr_console,
)

#: Options of the simulated loop, which the measured loop does not use.
_SIMULATED = ("topology", "epochs", "megabytes", "iterations", "slots", "mtu")
_MEASURED = ("window", "to_s", "lmc", "splits", "groups", "db_url", "ephemeral")


@click.group(cls=Group)
def loop() -> None:
    """Run the closed loop from counters to routes."""


@loop.command()
@click.option("--topology", type=LOCAL, default="quartz1", help="quartz1 | xgft:h;m;w | file:PATH")
@click.option(
    "--pattern",
    type=LOCAL,
    help="Traffic of a simulated loop: a pattern's name, a CSV src,dst,bytes, a measured matrix (lines a , b = bytes), or a "
    "trace (DUMPI, OTF2, GOAL).",
)
@click.option("--fabric", help="Imported fabric with counters in the database, for a measured loop.")
@click.option("--window", default="10m", help="With --fabric: length of the window of counters.")
@click.option("--to", "to_s", type=Moment(), default="now", help="With --fabric: end of the window.")
@seed_option
@lane_options
@click.option(
    "--epochs",
    type=click.IntRange(1, 64),
    default=1,
    help="Number of periods to reconstruct one by one.",
)
@click.option(
    "--megabytes",
    type=FiniteRange(0.001, 1000),
    default=10.0,
    help="Megabytes that the busiest node sends.",
)
@click.option(
    "--basis",
    type=click.Choice(["od", "auto", "i", "s", "cd", "scd", "cs", "scs"]),
    default="od",
    help="Basis of the traffic. auto selects the one that predicts held-out counters best.",
)
@click.option(
    "--iterations",
    type=click.IntRange(1, 1000),
    default=5,
    help="Number of iterations of traffic whose message order is unknown.",
)
@click.option(
    "--slots",
    type=click.IntRange(1, 64),
    default=1,
    help="Number of time slots. Counters are read in each slot, and routes are optimised for all of them.",
)
@click.option(
    "--time-limit",
    "optimise_s",
    type=TIME_LIMIT_S,
    default=30.0,
    help="Time limit of the optimiser in seconds.",
)
@click.option(
    "--reconstruct-limit",
    "reconstruct_s",
    type=TIME_LIMIT_S,
    default=900.0,
    help="Time limit of the reconstruction of all slots in seconds.",
)
@click.option(
    "--mtu",
    type=FiniteRange(1, 65_536),
    help="Size of a full packet. Weighs MTU/2 x packets + bytes/2 instead of bytes, so that many small messages count.",
)
@click.option("--out", type=OutPath(), help="Output file for the new tables.")
@click.option(
    "--lmc",
    type=click.IntRange(0, 7),
    default=0,
    help="With --fabric: compute tables for 2^LMC LIDs per adapter, with traffic spread evenly over them.",
)
@click.option("--groups", type=OutPath(), help="With --fabric: output file for port groups for adaptive routing.")
@click.option(
    "--splits",
    type=click.IntRange(1, 7),
    default=2,
    help="With --groups: choose groups from 2^N paths to each endpoint.",
)
@database_options
@json_option
@click.pass_context
def run(
    context: click.Context,
    topology: str,
    pattern: str | None,
    fabric: str | None,
    window: str,
    to_s: float,
    seed: int,
    sls: int,
    vls: int,
    epochs: int,
    megabytes: float,
    basis: str,
    iterations: int,
    slots: int,
    optimise_s: float,
    reconstruct_s: float,
    mtu: float | None,
    out: Path | None,
    lmc: int,
    groups: Path | None,
    splits: int,
    database: Database,
    as_json: bool,
) -> None:
    """Compute better routes from measured counters (--fabric) or from those of a simulated machine (--pattern).

    With --fabric, the command reads a fabric's counters in a window and reconstructs the traffic under the loaded tables (`flitwatch import routes`).
    It then optimises and checks new tables, and predicts the busiest link before and after. It stores a recommendation and loads nothing (see
    `flitwatch loop apply`). If the counters are insufficient, the verdict is "cannot tell" with the reason, and there are no tables. Every link must
    be counted, at switches and adapters (`flitwatch collect infiniband --adapters`).

    With --fabric and --sl, the recommendation also assigns each pair one of this many service levels (--vl: on this many lanes), so that later
    counters by service level distinguish pairs. If the counters are insufficient and levels may help, the verdict is "measure": only the levels
    change. Programs that ask OpenSM for their path use its level.

    With --groups, the optimiser computes 2^splits paths to each endpoint. The ports of a switch on these paths form its group, and the file gives
    the split of the traffic. Flitwatch does not load this file. The report includes its predicted busiest link.

    With --pattern, the command simulates ftree and adaptive routing, reconstructs the traffic only from counters, optimises, and simulates the new
    routes.
    """
    if (pattern is None) == (fabric is None):
        raise click.UsageError("Give --fabric for measured counters, or --pattern for a simulated machine.")
    _reject_other_options(
        context, _MEASURED if fabric is None else _SIMULATED, "--pattern" if fabric is None else "--fabric"
    )
    if fabric is not None:
        limits = optimise_s, max(reconstruct_s, 1.0)
        level_options = {name for name in ("sls", "vls") if _is_given(context, name)}
        if level_options == {"vls"}:
            raise click.UsageError("--vl sets the lanes of --sl. Give --sl too.")
        levels = (sls, vls if "vls" in level_options else min(sls, vls)) if level_options else (0, 0)
        lane_settings = lmc, *levels, 0 if groups is None else splits
        _run_measured_loop(fabric, window, to_s, basis, limits, seed, lane_settings, out, groups, database, as_json)
        return
    assert pattern is not None
    from flitwatch_domain.topology_spec import fabric_of
    from flitwatch_routing import lft
    from flitwatch_simulation.loop import LoopRun
    from flitwatch_simulation.loop import run_turn as turn

    with stderr_console().status("starting") as status:

        def report(done: int, stages: int, what: str) -> None:
            status.update(f"{done + 1} of {stages}: {what}")

        parameters = LoopRun(
            pattern,
            topology,
            seed,
            sls,
            vls,
            epochs,
            megabytes,
            basis=basis,
            iterations=iterations,
            optimise_s=optimise_s,
            reconstruct_s=max(reconstruct_s, 1.0),
            slots=slots,
            mtu=mtu,
        )
        result, ports = turn(parameters, report)
    if out is not None:
        lft.write_dump(out, fabric_of(topology), ports)
    print_result({**result, "lft": None if out is None else str(out)}, as_json)


def _reject_other_options(context: click.Context, others: tuple[str, ...], with_: str) -> None:
    """Raise a usage error for an option of the other loop."""
    for parameter in context.command.params:
        if parameter.name in others and _is_given(context, str(parameter.name)):
            raise click.UsageError(f"{parameter.opts[0]} cannot be combined with {with_}.")


def _is_given(context: click.Context, name: str) -> bool:
    return context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE


def _run_measured_loop(
    name: str,
    window: str,
    to_s: float,
    basis: str,
    limits_s: tuple[float, float],
    seed: int,
    wanted: tuple[int, int, int, int],
    out: Path | None,
    groups: Path | None,
    database: Database,
    as_json: bool,
) -> None:
    from flitwatch_db import connect
    from flitwatch_db.estimates import recommendations
    from flitwatch_domain.alerts import parse_duration_s
    from flitwatch_domain.errors import BadRequest
    from flitwatch_routing import lft
    from flitwatch_simulation.loop import stored

    try:
        width_s = parse_duration_s(window)
    except ValueError as problem:
        raise BadRequest(f"--window: {problem}") from None
    stored_run = stored.StoredRun(name, to_s - width_s, to_s, basis, *limits_s, seed, *wanted)
    with (
        database.open() as url,
        connect(url) as conn,
        stderr_console().status("starting") as status,
    ):

        def report(done: int, stages: int, what: str) -> None:
            status.update(f"{done + 1} of {stages}: {what}")

        inputs = stored.read_window(conn, stored_run)
        conn.commit()
        result = stored.run_stored_turn(stored_run, inputs, report)
        with conn.transaction():
            number = recommendations.save_recommendation(conn, stored.stored_recommendation(result))
    written = result.routes if result.verdict == "load" else None
    if out is not None and written is not None:
        lft.write_dump(out, inputs.fabric, written.ports, written.lmc)
    lfts = None if out is None or written is None else str(out)
    if groups is not None and result.groups is not None and result.routes is not None:
        from flitwatch_routing import port_groups

        static = result.routes.ports[:, :: 1 << result.routes.lmc]
        loads = result.summary()["max_load_bytes"]
        notes = [
            f"Busiest link between switches, in bytes of the window: {name} {loads[name]:.6g}"
            for name in ("before", "after", "groups", "least_possible")
        ]  # type: ignore[literal-required]
        text = "".join(
            line + "\n" for line in port_groups.format_port_groups(inputs.fabric, result.groups, static, notes)
        )
        groups.write_text(text)
    grouped = None if groups is None or result.groups is None else str(groups)
    print_result({"recommendation": number, **result.summary(), "lft": lfts, "groups": grouped}, as_json)


loop.add_command(apply)
loop.add_command(rollback)
loop.add_command(verify)
