"""Traces by one way: collectives are expanded so that every rank gets what MPI gives it, what is left out is counted, the matrix is what is replayed."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from flitwatch.main import cli
from flitwatch_core import packet
from flitwatch_domain.generators import xgft
from flitwatch_routing.traces import read as traces
from flitwatch_routing.traces.collective_rounds import Call, rounds_of
from flitwatch_simulation.packet.machine import build

TYPE, WORLD = "MPI_Datatype datatype=11 (MPI_DOUBLE)", "MPI_Comm comm=2 (MPI_COMM_WORLD)"
BLOCKS = [
    "int sendcount=4",
    "MPI_Datatype sendtype=11 (MPI_DOUBLE)",
    "int recvcount=4",
    "MPI_Datatype recvtype=11 (MPI_DOUBLE)",
]
#: Collective -> its fields, and bytes that one run of `ranks` sends in all (4 doubles a block).
CALLS = {
    "MPI_Bcast": (["int count=4", TYPE, "int root=2", WORLD], lambda n: 32 * (n - 1)),
    "MPI_Reduce": (["int count=4", TYPE, "int root=2", WORLD], lambda n: 32 * (n - 1)),
    "MPI_Allgather": ([*BLOCKS, WORLD], lambda n: 32 * n * (n - 1)),
    "MPI_Alltoall": ([*BLOCKS, WORLD], lambda n: 32 * n * (n - 1)),
    "MPI_Gather": ([*BLOCKS, "int root=2", WORLD], lambda n: 32 * (n - 1)),
    "MPI_Scatter": ([*BLOCKS, "int root=2", WORLD], lambda n: 32 * (n - 1)),
}


def call(name: str, *fields: str) -> str:
    at = "at walltime 1.0, cputime 0 seconds in thread 0."
    return "\n".join([f"{name} entering {at}", *fields, f"{name} returning {at}", ""])


def written(folder: Path, texts: list[str]) -> Path:
    folder.mkdir(exist_ok=True)
    for rank, text in enumerate(texts):
        (folder / f"dumpi-{rank:04}.txt").write_text(text)
    return folder


def replayed(path: Path, ranks: int) -> packet.Result:
    machine = build(xgft(2, [4, 4], [1, 2]), "ftree")
    dag = traces.read_trace(path)
    assert dag.ranks == ranks
    result = machine.core.run(packet.Workload(ops=dag.to_ops(np.arange(ranks))))
    assert result.conserved
    return result


@pytest.mark.parametrize("ranks", [3, 4, 7, 8])
@pytest.mark.parametrize("name", CALLS)
def test_a_collective_moves_what_it_must(tmp_path: Path, name: str, ranks: int) -> None:
    fields, expected = CALLS[name]
    folder = written(tmp_path / "trace", [call(name, *fields)] * ranks)
    assert replayed(folder, ranks).delivered_bytes == expected(ranks)
    told = traces.account(traces.read_trace(folder))
    assert told["expanded"] == {name: {"calls": ranks, "bytes": 32 * ranks}} and told["left_out"] == {}


@pytest.mark.parametrize("ranks", [2, 3, 5, 8, 13])
def test_every_ranks_value_reaches_every_rank_of_an_all_reduce(ranks: int) -> None:
    every = [rounds_of("MPI_Allreduce", Call(rank, ranks, sent_bytes=8)) for rank in range(ranks)]
    known = [{rank} for rank in range(ranks)]
    waiting: dict[tuple[int, int], list[set[int]]] = {}
    left, begun = [list(one or []) for one in every], set()
    while any(left):
        before = sum(map(len, left))
        for rank, rounds in enumerate(left):
            if rounds and (rank, len(rounds)) not in begun:
                for peer, _ in rounds[0].sends:
                    waiting.setdefault((rank, peer), []).append(set(known[rank]))
                begun.add((rank, len(rounds)))
            if rounds and all(waiting.get((peer, rank)) for peer, _ in rounds[0].receives):
                for peer, _ in rounds[0].receives:
                    known[rank] |= waiting[peer, rank].pop(0)
                rounds.pop(0)
        assert sum(map(len, left)) < before
    assert all(one == set(range(ranks)) for one in known)


def test_a_barrier_holds_everybody_until_the_last_has_come(tmp_path: Path) -> None:
    late = "MPI_Wait entering at walltime 1.0, x\nMPI_Wait returning at walltime 1.0, x\n"
    barrier = "MPI_Barrier entering at walltime {0}, x\n" + WORLD + "\nMPI_Barrier returning at walltime {0}, x\n"
    texts = [late + barrier.format(3.0 if rank == 5 else 1.0) for rank in range(6)]
    ends = replayed(written(tmp_path / "trace", texts), 6).raw["rank_end_ps"] * 1e-12
    assert ends.min() >= 2.0 and ends.max() < 2.001


def test_counts_by_peer_are_kept_apart(tmp_path: Path) -> None:
    counts = np.array([[0, 1, 2], [3, 0, 4], [5, 6, 0]])
    texts = [
        call(
            "MPI_Alltoallv",
            f"int sendcounts[3]=[{','.join(map(str, counts[rank]))}]",
            "MPI_Datatype sendtype=11 (MPI_DOUBLE)",
            f"int recvcounts[3]=[{','.join(map(str, counts[:, rank]))}]",
            "MPI_Datatype recvtype=11 (MPI_DOUBLE)",
            WORLD,
        )
        for rank in range(3)
    ]
    folder = written(tmp_path / "trace", texts)
    assert replayed(folder, 3).delivered_bytes == 8 * counts.sum()
    src, dst, size, packets = traces.matrix(traces.read_trace(folder), 16)
    assert np.array_equal(size, 8 * counts[src, dst]) and np.array_equal(packets, -(-size // 16))


def test_what_is_left_out_is_counted_with_its_bytes_and_does_not_shift_what_follows(tmp_path: Path) -> None:
    other = call("MPI_Allreduce", "int count=1000", TYPE, "MPI_Comm comm=5 (user)")
    scan = call("MPI_Scan", "int count=2", TYPE, WORLD)
    reduce = call("MPI_Allreduce", "int count=1", TYPE, WORLD)
    folder = written(tmp_path / "trace", [other + scan + reduce, scan + reduce])
    told = traces.account(traces.read_trace(folder))
    assert told["left_out"] == {"MPI_Allreduce": {"calls": 1, "bytes": 8000}, "MPI_Scan": {"calls": 2, "bytes": 32}}
    assert told["left_out_bytes"] == 8032
    assert told["expanded"] == {"MPI_Allreduce": {"calls": 2, "bytes": 16}}
    assert replayed(folder, 2).delivered_bytes == 16


def test_one_trace_goes_to_the_matrix_the_routes_and_the_replay(tmp_path: Path) -> None:
    folder = written(tmp_path / "trace", [call("MPI_Alltoall", *BLOCKS, WORLD)] * 16)
    out = tmp_path / "matrix.csv"

    def run(*words: str) -> dict[str, object]:
        return dict(json.loads(CliRunner().invoke(cli, [*words, "--json"], catch_exceptions=False).stdout))

    made = run("traffic", "trace", str(folder), "--out", str(out))
    assert (made["pairs"], made["bytes"], made["left_out_bytes"]) == (240, 32 * 240, 0)
    tree = "xgft:2;4,4;1,4"
    routed = run("routes", "optimise", "--topology", tree, "--traffic", str(out), "--time-limit", "2", "--no-baselines")
    assert routed["z"] == 32 * 4 * 12 / 4  # a leaf's 4 endpoints send to 12 others, over 4 links
    replay = run("sim", "packet", "--topology", tree, "--routing", "ftree", "--traffic", str(folder))
    assert replay["delivered_bytes"] == made["bytes"]
    assert replay["trace"] == {key: made[key] for key in replay["trace"]}  # type: ignore[union-attr]


def test_a_goal_file_goes_the_same_way(tmp_path: Path) -> None:
    goal = tmp_path / "two.goal"
    goal.write_text(
        "num_ranks 2\nrank 0 {\nl1: send 100b to 1 tag 0\n}\nrank 1 {\nl1: recv 100b from 0 tag 0\nl2: calc 5\nl2 requires l1\n}\n"
    )
    told = traces.account(traces.read_trace(goal))
    assert (told["messages"], told["bytes"], told["computation_s"]) == (1, 100, pytest.approx(5e-9))
    answer = CliRunner().invoke(cli, ["traffic", "trace", str(goal), "--json"], catch_exceptions=False)
    assert json.loads(answer.stdout)["bytes"] == 100


def test_a_broadcast_doubles_those_who_know_in_every_round() -> None:
    for ranks in (5, 8):
        every = [rounds_of("MPI_Bcast", Call(rank, ranks, root=3, sent_bytes=8)) or [] for rank in range(ranks)]
        assert max(len(one) for one in every) == (ranks - 1).bit_length()
        assert sum(bool(one.receives) for own in every for one in own) == ranks - 1
        assert not any(
            later.receives for own in every for _, later in pairwise(own)
        )  # nobody sends what it does not have
