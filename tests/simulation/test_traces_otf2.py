"""OTF2 archives, written by the `otf2` package as Score-P fills them: the same way as DUMPI and GOAL to matrix, job, phases, replay, routes and loop."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import otf2
import pytest
from click.testing import CliRunner

from flitwatch.main import cli
from flitwatch_core import packet
from flitwatch_domain.errors import BadInput
from flitwatch_domain.generators import build_xgft
from flitwatch_routing.traces.read import read_trace, summarise_trace, trace_matrix
from flitwatch_simulation.packet.machine import build_machine
from flitwatch_simulation.workloads.messages import to_ops
from flitwatch_simulation.workloads.phases import messages_of

TICKS_A_SECOND = 1_000_000
Events = otf2.events


class Program:
    """Ranks of an MPI program, as Score-P's archive defines them."""

    def __init__(self, folder: Path, ranks: int) -> None:
        self.trace = otf2.writer.Writer(str(folder), timer_resolution=TICKS_A_SECOND)
        made = self.trace.definitions
        root = made.system_tree_node("machine")
        self.region = made.region("MPI_Call", paradigm=otf2.Paradigm.MPI)
        self.writers, locations = [], []
        for rank in range(ranks):
            group = made.location_group(f"rank {rank}", system_tree_parent=root)
            location = made.location("main", group=group)
            locations.append(location)
            self.writers.append(self.trace.event_writer_from_location(location))
        made.group("", group_type=otf2.GroupType.COMM_LOCATIONS, paradigm=otf2.Paradigm.MPI, members=locations)
        self.world = self.communicator("world", range(ranks))
        self.left = [0] * ranks

    def communicator(self, name: str, members: Any) -> Any:
        made = self.trace.definitions
        group = made.group(
            name, group_type=otf2.GroupType.COMM_GROUP, paradigm=otf2.Paradigm.MPI, members=tuple(members)
        )
        return made.comm(name, group=group, parent=None)

    def call(self, rank: int, *events: Callable[[int], Any], wait: int = 0) -> None:
        """One MPI call with its events, `wait` ticks after the last."""
        at = self.left[rank] + wait
        self.writers[rank].enter(at, self.region)
        for event in events:
            self.writers[rank](event(at))
        self.writers[rank].leave(at + 1, self.region)
        self.left[rank] = at + 1

    def collective(self, rank: int, kind: str, sent: int, received: int, root: int = 0, comm: Any = None) -> None:
        operation = getattr(otf2.CollectiveOp, kind)
        end = lambda at: Events.MpiCollectiveEnd(at, operation, comm or self.world, root, sent, received)  # noqa: E731
        self.call(rank, Events.MpiCollectiveBegin, end)


def written(folder: Path, ranks: int, play: Callable[[Program], None]) -> Path:
    program = Program(folder, ranks)
    play(program)
    program.trace.close()
    return folder


def replayed(path: Path) -> packet.Result:
    machine = build_machine(build_xgft(2, [4, 4], [1, 2]), "ftree")
    dag = read_trace(path)
    result = machine.core.run(packet.Workload(ops=dag.to_ops(np.arange(dag.ranks))))
    assert result.conserved
    return result


def ring(program: Program) -> None:
    """Every rank computes 5 ms, sends 1,000 bytes to the next without blocking, and waits for the one before."""
    ranks, world = len(program.writers), program.world
    for rank in range(ranks):
        to, came = (rank + 1) % ranks, (rank - 1) % ranks
        program.call(rank)
        program.call(rank, lambda at: Events.MpiIrecvRequest(at, 1), wait=5000)
        program.call(rank, lambda at, to=to: Events.MpiIsend(at, to, world, 7, 1000, 2))
        program.call(
            rank,
            lambda at, came=came: Events.MpiIrecv(at, came, world, 7, 1000, 1),
            lambda at: Events.MpiIsendComplete(at, 2),
        )


def test_messages_and_computation_are_replayed(tmp_path: Path) -> None:
    path = written(tmp_path / "trace", 6, ring)
    told = summarise_trace(read_trace(path))
    assert (told["messages"], told["bytes"], told["left_out"]) == (6, 6000, {})
    assert told["computation_s"] == pytest.approx(6 * 5e-3)
    ends = replayed(path).raw["rank_end_ps"] * 1e-12
    assert replayed(path).delivered_bytes == 6000 and ((ends > 5e-3) & (ends < 5.1e-3)).all()
    src, dst, size, packets = trace_matrix(read_trace(path / "traces.otf2"), 512)
    assert np.array_equal(dst, (src + 1) % 6) and (size == 1000).all() and (packets == 2).all()


#: Collective -> (sent, received) of a rank as Score-P sums them over peers (n ranks, blocks of 32 bytes), and what all send in all.
SUMS: dict[str, tuple[Callable[[int, bool], tuple[int, int]], Callable[[int], int]]] = {
    "BCAST": (lambda n, root: (32 * n if root else 0, 32), lambda n: 32 * (n - 1)),
    "REDUCE": (lambda n, root: (32, 32 * n if root else 0), lambda n: 32 * (n - 1)),
    "GATHER": (lambda n, root: (32, 32 * n if root else 0), lambda n: 32 * (n - 1)),
    "SCATTER": (lambda n, root: (32 * n if root else 0, 32), lambda n: 32 * (n - 1)),
    "ALLTOALL": (lambda n, root: (32 * n, 32 * n), lambda n: 32 * n * (n - 1)),
    "ALLGATHER": (lambda n, root: (32 * n, 32 * n), lambda n: 32 * n * (n - 1)),
    "ALLREDUCE": (lambda n, root: (32 * n, 32 * n), lambda n: 32 * n * (n.bit_length() - 1)),
}


@pytest.mark.parametrize("kind", SUMS)
def test_collectives_move_what_they_must(tmp_path: Path, kind: str) -> None:
    sums, total = SUMS[kind]

    def play(program: Program) -> None:
        for rank in range(8):
            program.collective(rank, kind, *sums(8, rank == 2), root=2)

    path = written(tmp_path / "trace", 8, play)
    assert replayed(path).delivered_bytes == total(8)
    told = summarise_trace(read_trace(path))
    assert told["expanded"][f"MPI_{kind.capitalize()}"]["calls"] == 8 and not told["left_out"]


def test_collectives_of_a_part_of_the_ranks_stay_there_and_those_by_counts_are_left_out(tmp_path: Path) -> None:
    def play(program: Program) -> None:
        odd = program.communicator("odd", [1, 3, 5, 7])
        for rank in range(8):
            if rank % 2:
                program.collective(rank, "ALLTOALL", 4 * 10, 4 * 10, comm=odd)
            program.collective(rank, "ALLTOALLV", 100 + rank, 100)

    path = written(tmp_path / "trace", 8, play)
    dag = read_trace(path)
    src, dst, size, _ = trace_matrix(dag, 4096)
    assert (src % 2).all() and (dst % 2).all() and (size == 10).all() and len(src) == 12
    assert summarise_trace(dag)["left_out"] == {"MPI_Alltoallv": {"calls": 8, "bytes": 8 * 100 + 28}}


@pytest.mark.system("numeric")
def test_one_archive_goes_to_matrix_routes_counters_replay_and_the_loop(tmp_path: Path) -> None:
    def play(program: Program) -> None:
        for rank in range(16):
            program.collective(rank, "ALLTOALL", 16 * 3200, 16 * 3200)
            program.collective(rank, "SCAN", 8, 8)

    folder, tree = written(tmp_path / "trace", 16, play), "xgft:2;4,4;1,4"

    def run(*words: str) -> dict[str, Any]:
        return dict(json.loads(CliRunner().invoke(cli, [*words, "--json"], catch_exceptions=False).stdout))

    made = run("traffic", "trace", str(folder))
    assert (made["pairs"], made["bytes"], made["left_out_bytes"]) == (240, 3200 * 240, 8 * 16)
    optimise = ("routes", "optimise", "--topology", tree, "--time-limit", "2", "--traffic")
    assert run(*optimise, str(folder))["z"] == 3200 * 4 * 12 / 4
    counted = run("traffic", "counters", "--topology", tree, "--traffic", str(folder), "--out", str(tmp_path / "c"))
    assert counted["pairs"] == 240 and counted["packets"]
    replay = run("sim", "packet", "--topology", tree, "--routing", "ftree", "--traffic", str(folder))
    assert replay["delivered_bytes"] == made["bytes"] and replay["trace"]["left_out_bytes"] == 128
    looped = run(
        *("loop", "run", "--topology", tree, "--pattern", str(folder), "--megabytes", "0.05"),
        *("--time-limit", "1", "--reconstruct-limit", "20", "--slots", "2"),
    )
    assert "phases" in json.dumps(looped) and "128 bytes of MPI_Scan" in json.dumps(looped)


def test_phases_keep_every_message_and_end_no_earlier_than_the_trace(tmp_path: Path) -> None:
    def play(program: Program) -> None:
        ring(program)
        for rank in range(8):
            program.collective(rank, "ALLREDUCE", 8 * 64, 8 * 64)
            program.collective(rank, "BCAST", 8 * 500 if rank == 0 else 0, 500)

    path = written(tmp_path / "trace", 8, play)
    dag = read_trace(path)
    made = messages_of(dag)
    assert made.rounds > 4 and made.total_bytes == summarise_trace(dag)["bytes"]
    src, dst, size, _ = trace_matrix(dag, 4096)
    assert all(np.array_equal(a, b) for a, b in zip(made.matrix(), (src, dst, size), strict=True))
    machine = build_machine(build_xgft(2, [4, 4], [1, 2]), "ftree")
    by_phase = machine.core.run(packet.Workload(ops=to_ops([(made, np.arange(8))]))).raw["rank_end_ps"].max()
    assert replayed(path).raw["rank_end_ps"].max() <= by_phase * 1.001


@pytest.mark.parametrize("text", ["", "no archive\n"])
def test_what_is_no_archive_is_refused(tmp_path: Path, text: str) -> None:
    file = tmp_path / "traces.otf2"
    file.write_text(text)
    with pytest.raises(BadInput, match="OTF2"):
        read_trace(file)


def test_an_archive_without_ranks_is_refused(tmp_path: Path) -> None:
    with otf2.writer.open(str(tmp_path / "trace"), timer_resolution=10) as trace:
        made = trace.definitions
        node = made.system_tree_node("machine")
        location = made.location("main", group=made.location_group("process", system_tree_parent=node))
        region, writer = made.region("main"), trace.event_writer_from_location(location)
        writer.enter(0, region)
        writer.leave(1, region)
    with pytest.raises(BadInput, match="no MPI ranks"):
        read_trace(tmp_path / "trace")
