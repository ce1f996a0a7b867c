"""`flitwatch traffic`: traffic matrices from switch counters."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from flitwatch.console import (
    LOCAL,
    TIME_LIMIT_S,
    FiniteRange,
    Group,
    OutPath,
    json_option,
    lane_options,
    mtu_option,
    print_result,
    seed_option,
    stderr_console,
)

F = TypeVar("F", bound=Callable[..., Any])

_FILE = click.Path(dir_okay=False, path_type=Path)


def _network_options(function: F) -> F:
    """Add `--topology` and `--lfts` (parameters `topology`, `lfts`); see `_load_network`."""
    function = click.option("--lfts", type=_FILE, help="Loaded forwarding tables (default: those of ftree).")(function)
    return click.option("--topology", type=LOCAL, required=True, help="quartz1 | xgft:h;m;w | file:PATH")(function)


@click.group(cls=Group)
def traffic() -> None:
    """Measure and reconstruct traffic matrices."""


def _load_network(topology: str, lfts: Path | None) -> tuple[Any, Any]:
    from flitwatch_domain.topology_spec import fabric_of
    from flitwatch_routing import lft
    from flitwatch_routing.baselines import ftree_tables

    fabric = fabric_of(topology)
    return fabric, ftree_tables(fabric) if lfts is None else lft.read_ports(lfts, fabric)


@traffic.command()
@click.argument("path", type=click.Path(exists=True, path_type=Path))
@click.option(
    "--out",
    type=OutPath(),
    help="Output file: CSV src,dst,bytes,packets, for --traffic of routes, traffic and sim packet.",
)
@click.option(
    "--packet-bytes",
    type=click.IntRange(64, 16384),
    default=4096,
    help="Size of a full packet in bytes.",
)
@json_option
def trace(path: Path, out: Path | None, packet_bytes: int, as_json: bool) -> None:
    """Compute the traffic matrix of a trace. PATH is a folder of DUMPI text (dumpi2ascii, one file per rank), an OTF2 archive (its folder or .otf2
    file), or a message DAG (ours, or GOAL text).

    Collectives become the messages that MPI libraries send for them. The report lists what was left out, with its bytes. In the matrix, rank i is
    endpoint i. `routes`, `traffic counters` and `loop run` also accept PATH directly; `flitwatch sim packet --traffic PATH` replays it, with a
    placement.
    """
    import csv

    from flitwatch_routing.traces import read as traces

    dag = traces.read_trace(path)
    src, dst, size, packets = traces.trace_matrix(dag, packet_bytes, str(path))
    if out is not None:
        with out.open("w", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(["src", "dst", "bytes", "packets"])
            writer.writerows(zip(src.tolist(), dst.tolist(), size.tolist(), packets.tolist(), strict=True))
    print_result(
        {
            **traces.summarise_trace(dag),
            "pairs": len(src),
            "packets": int(packets.sum()),
            "matrix": None if out is None else str(out),
        },
        as_json,
    )


@traffic.command()
@_network_options
@click.option(
    "--traffic",
    "name",
    type=LOCAL,
    required=True,
    help="A pattern's name, a CSV src,dst,bytes[,packets] of endpoints by number or name, or a trace (DUMPI, OTF2, GOAL).",
)
@lane_options
@click.option(
    "--epochs",
    type=click.IntRange(1, 64),
    default=1,
    help="Number of measuring epochs, each with its own SL-to-VL tables.",
)
@click.option("--noise", type=FiniteRange(0, 1), default=0.0, help="Relative error of each counter.")
@seed_option
@click.option("--out", required=True, type=OutPath(folder=True), help="Output folder.")
@json_option
def counters(
    topology: str,
    lfts: Path | None,
    name: str,
    sls: int,
    vls: int,
    epochs: int,
    noise: float,
    seed: int,
    out: Path,
    as_json: bool,
) -> None:
    """Write the counters that switches would have for this traffic: counters.csv, sl2vl.csv and pair_sl.csv. Later epochs are in counters-2.csv,
    sl2vl-2.csv and so on. The column packets of counters.csv is empty if the traffic does not contain them (src,dst,bytes,packets).
    """
    from flitwatch_routing.reconstruction import files
    from flitwatch_routing.reconstruction.lanes import Lanes
    from flitwatch_routing.reconstruction.study import build_study
    from flitwatch_routing.traces.read import summarise_traces

    fabric, ports = _load_network(topology, lfts)
    measured = build_study(fabric, ports, name, sls, vls, epochs, seed, noise).measured
    for epoch, (lane, counted) in enumerate(zip(measured.lanes, measured.counters, strict=True), 1):
        packets = None if measured.packets is None else measured.packets[epoch - 1]
        suffix = "" if epoch == 1 else f"-{epoch}"
        files.write_counters(out / f"counters{suffix}.csv", fabric, counted, packets)
        assert isinstance(lane, Lanes)  # Lanes of the study's own scheme, by service level.
        files.write_lanes(out / f"sl2vl{suffix}.csv", fabric, lane)
    files.write_pairs(out / "pair_sl.csv", measured.pairs)
    print_result(
        {
            "out": str(out),
            "pairs": len(measured.pairs),
            "epochs": epochs,
            "packets": measured.packets is not None,
            "simulated": True,
            **({"traces": trace_accounts} if (trace_accounts := summarise_traces([name])) else {}),
        },
        as_json,
    )


@traffic.command()
@_network_options
@click.option("--counters", "counter_files", multiple=True, type=_FILE, help="Counters of an epoch (repeatable).")
@click.option("--sl2vl", "lane_files", multiple=True, type=_FILE, help="SL-to-VL tables of an epoch (repeatable).")
@click.option("--pair-sl", type=_FILE, help="The SL of every pair that can communicate.")
@click.option(
    "--traffic",
    "name",
    type=LOCAL,
    help="Instead of counters: simulate counters of this pattern, and score the result.",
)
@click.option(
    "--basis",
    type=click.Choice(["i", "s", "cd", "scd", "cs", "scs", "od"]),
    default="od",
    help="Basis of the unknown traffic: i, s, cd, scd, cs and scs as in chapter 4, or od for every pair.",
)
@lane_options
@click.option(
    "--epochs",
    type=click.IntRange(1, 64),
    default=1,
    help="Number of periods to reconstruct one by one.",
)
@click.option(
    "--noise",
    type=FiniteRange(0, 1),
    help="Relative error of the counters (default: estimated from the balance of each switch).",
)
@seed_option
@click.option(
    "--jobs",
    "job_file",
    type=_FILE,
    help="CSV job,endpoint in rank order, with endpoints by number or name (default: one job on all endpoints that occur).",
)
@click.option(
    "--device",
    type=click.Choice(["cpu", "cuda"]),
    default="cpu",
    help="Device for the computation. A GPU is faster above about 200,000 pairs.",
)
@click.option(
    "--time-limit",
    "limit_s",
    type=TIME_LIMIT_S,
    default=900.0,
    help="Limit in seconds, including reading or simulating.",
)
@mtu_option
@click.option(
    "--out",
    type=OutPath(),
    help="Output file src,dst,bytes,low,high. With --mtu, bytes are weighted, as its comment states.",
)
@click.option(
    "--largest",
    type=click.IntRange(0, 100_000),
    default=20,
    help="Number of largest pairs to list.",
)
@json_option
def reconstruct(
    topology: str, lfts: Path | None, counter_files: tuple[Path, ...], lane_files: tuple[Path, ...], pair_sl: Path | None, name: str | None,
    basis: str, sls: int, vls: int, epochs: int, noise: float | None, seed: int, job_file: Path | None, device: str, limit_s: float,
    mtu: int | None, out: Path | None, largest: int, as_json: bool,
) -> None:  # fmt: skip
    """Find the traffic matrix that explains the counters of each VL. Stop it with Ctrl-C. Even if the counters do not determine the whole matrix,
    its largest pairs are reliable: they are ranked, each with an interval for its bytes.
    """
    started = time.monotonic()
    import numpy as np

    from flitwatch_domain.fabric import endpoint_finder
    from flitwatch_routing.bounds import weighting_name
    from flitwatch_routing.reconstruction import files
    from flitwatch_routing.reconstruction.pairs import pairs_of
    from flitwatch_routing.reconstruction.ranked import rank_pairs, report_error
    from flitwatch_routing.reconstruction.recover import Options
    from flitwatch_routing.reconstruction.recover import reconstruct_matrix as recover
    from flitwatch_routing.reconstruction.study import Measured, build_study, relative_error

    if (name is None) == (not counter_files):
        raise click.UsageError("give --counters, --sl2vl and --pair-sl, or --traffic")
    fabric, ports = _load_network(topology, lfts)
    jobs = None if job_file is None else files.read_jobs(job_file, endpoint_finder(fabric))
    truth = None
    if name is not None:
        truth = build_study(fabric, ports, name, sls, vls, epochs, seed, noise or 0.0, jobs)
        truth = truth if mtu is None else truth.weighted(mtu)
        measured = truth.measured
    else:
        if pair_sl is None or len(lane_files) != len(counter_files):
            raise click.UsageError("every --counters needs its own --sl2vl, and all share one --pair-sl")
        levels = files.read_pairs(pair_sl, len(fabric.endpoints.router))
        everyone = np.flatnonzero((levels >= 0).any(axis=0) | (levels >= 0).any(axis=1))
        lanes = files.read_lanes(lane_files, fabric)
        counted = [files.read_counters(path, fabric, lanes[0].vls, mtu) for path in counter_files]
        measured = Measured(pairs_of(jobs or [everyone], levels), lanes, counted)
    with stderr_console().status("reconstructing") as status:

        def watch(phase: str, iterations: int, residual: float, gap: float) -> bool:
            status.update(f"{phase}: {iterations:,} iterations, residual {residual:.2g}, gap {gap:.2g}")
            return True

        estimate = recover(
            fabric,
            ports,
            measured.lanes,
            measured.pairs,
            measured.counters,
            Options(basis, device, time_limit_s=limit_s - (time.monotonic() - started), noise=noise),
            watch,
        )
    if out is not None:
        files.write_matrix(out, estimate.pairs, estimate.size, estimate.low, estimate.high, mtu)
    error, unknown = report_error(estimate)
    print_result(
        {
            **({} if truth is None else {"relative_error": relative_error(truth, estimate), "simulated": True}),
            "estimated_error": error,
            "unknown": unknown,
            "residual": estimate.residual,
            "iterations": estimate.iterations,
            "wall_s": estimate.wall_s,
            "converged": estimate.converged,
            "gap": estimate.gap,
            "noise": estimate.noise,
            **rank_pairs(fabric, estimate, largest),
            "weighting": weighting_name(mtu),
            "out": None if out is None else str(out),
        },
        as_json,
    )
