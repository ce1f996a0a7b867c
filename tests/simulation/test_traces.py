"""Traces by one way: collectives are expanded so that every rank gets what MPI gives it, what is left out is counted, the matrix is what is
replayed."""

from __future__ import annotations

import json
import tracemalloc
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from flitwatch.main import cli
from flitwatch_core import packet
from flitwatch_domain.errors import BadInput
from flitwatch_domain.generators import build_xgft
from flitwatch_routing.traces import read as traces
from flitwatch_routing.traces.collective_rounds import Call, rounds_of
from flitwatch_routing.traces.dag import _Reader
from flitwatch_simulation.packet.machine import build_machine

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
    machine = build_machine(build_xgft(2, [4, 4], [1, 2]), "ftree")
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
    told = traces.summarise_trace(traces.read_trace(folder))
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
    src, dst, size, packets = traces.trace_matrix(traces.read_trace(folder), 16)
    assert np.array_equal(size, 8 * counts[src, dst]) and np.array_equal(packets, -(-size // 16))


def test_what_is_left_out_is_counted_with_its_bytes_and_does_not_shift_what_follows(tmp_path: Path) -> None:
    other = call("MPI_Allreduce", "int count=1000", TYPE, "MPI_Comm comm=5 (user)")
    scan = call("MPI_Scan", "int count=2", TYPE, WORLD)
    reduce = call("MPI_Allreduce", "int count=1", TYPE, WORLD)
    folder = written(tmp_path / "trace", [other + scan + reduce, scan + reduce])
    told = traces.summarise_trace(traces.read_trace(folder))
    assert told["left_out"] == {"MPI_Allreduce": {"calls": 1, "bytes": 8000}, "MPI_Scan": {"calls": 2, "bytes": 32}}
    assert told["left_out_bytes"] == 8032
    assert told["expanded"] == {"MPI_Allreduce": {"calls": 2, "bytes": 16}}
    assert replayed(folder, 2).delivered_bytes == 16


MADE = "MPI_Datatype newtype=28 (user-defined-datatype)"
OLD = "MPI_Datatype oldtype=14 (MPI_DOUBLE)"
#: Call that makes a data type -> its fields, and bytes of an element.
MAKERS = {
    "MPI_Type_contiguous": (["int count=3", OLD], 24),
    "MPI_Type_vector": (["int count=3", "int blocklength=2", "int stride=9", OLD], 48),
    "MPI_Type_indexed": (["int count=2", "int lengths[2]=[1, 4]", "int indices[2]=[0, 7]", OLD], 40),
    "MPI_Type_create_struct": (
        [
            "int count=2",
            "int blocklengths[2]=[1, 2]",
            "int displacements[2]=[0, 8]",
            "MPI_Datatype oldtypes[2]=[14, 9]",
        ],
        16,
    ),
    "MPI_Type_create_subarray": (
        ["int ndims=2", "int sizes[2]=[9, 9]", "int subsizes[2]=[2, 3]", "int starts[2]=[0, 0]", OLD],
        48,
    ),
    "MPI_Type_create_resized": (["MPI_Datatype oldtype=23 (MPI_DOUBLE_INT)", "int lb=0", "int extent=99"], 12),
}


@pytest.mark.parametrize("maker", MAKERS)
def test_a_made_data_type_has_the_bytes_of_what_it_is_made_of(tmp_path: Path, maker: str) -> None:
    fields, size = MAKERS[maker]
    made = call(maker, *fields, MADE)
    count, kind = "int count=5", "MPI_Datatype datatype=28 (user-defined-datatype)"
    texts = [
        made + call("MPI_Send", count, kind, "int dest=1", "int tag=3", WORLD),
        made + call("MPI_Recv", count, kind, "int source=0", "int tag=3", WORLD),
    ]
    assert replayed(written(tmp_path / "trace", texts), 2).delivered_bytes == 5 * size


def test_a_data_type_that_nobody_made_is_refused_where_its_size_counts(tmp_path: Path) -> None:
    kind = "MPI_Datatype datatype=30 (user-defined-datatype)"
    told = call("MPI_Type_size", kind, "int size=20")
    none, some = (call("MPI_Bcast", f"int count={count}", kind, "int root=0", WORLD) for count in (0, 1))
    assert replayed(written(tmp_path / "told", [told + none + some] * 2), 2).delivered_bytes == 20
    with pytest.raises(BadInput, match=r"dumpi-0000\.txt:7: MPI_Bcast: the size of data type 30 .* is unknown"):
        traces.read_trace(written(tmp_path / "untold", [none + some] * 2))


def comm(name: str, number: int) -> str:
    return f"MPI_Comm {name}={number} ({({1: 'MPI_COMM_NULL', 2: 'MPI_COMM_WORLD'}).get(number, 'user-defined-comm')})"


def test_messages_and_collectives_of_split_and_duplicated_communicators_go_to_their_ranks(tmp_path: Path) -> None:
    """Six ranks: rank 0 stays out, the others split by parity in reverse order, and each part is split again after a duplicate."""
    texts = []
    for rank in range(6):
        split = call(
            "MPI_Comm_split", comm("oldcomm", 2), f"int color={rank % 2}", f"int key={-rank}", comm("newcomm", 4)
        )
        if rank == 0:
            texts.append(split.replace("newcomm=4 (user-defined-comm)", "newcomm=1 (MPI_COMM_NULL)"))
            continue
        dup = call("MPI_Comm_dup", comm("oldcomm", 4), comm("newcomm", 5))
        again = call("MPI_Comm_split", comm("oldcomm", 5), f"int color={rank}", "int key=0", comm("newcomm", 4))
        part = [one for one in (5, 4, 3, 2, 1) if one % 2 == rank % 2]
        bcast = call("MPI_Bcast", "int count=1", TYPE, "int root=0", comm("comm", 5))
        alone = call("MPI_Allreduce", "int count=1", TYPE, comm("comm", 4))
        at = part.index(rank)
        size = ["int count=100", TYPE, "int tag=3", comm("comm", 5)]
        sent = call("MPI_Send", *size, "int dest=1") if at == 0 else ""
        came = call("MPI_Recv", *size, "int source=0") if at == 1 else ""
        texts.append(split + dup + bcast + again + alone + sent + came)
    folder = written(tmp_path / "trace", texts)
    dag = traces.read_trace(folder)
    found = {
        (s, d): size for s, d, size, _ in zip(*(one.tolist() for one in traces.trace_matrix(dag, 4096)), strict=True)
    }
    # Of 5, 3, 1 and of 4, 2 the first knows, and sends 100 doubles to the second.
    assert found == {(5, 3): 808, (5, 1): 8, (4, 2): 808}
    told = traces.summarise_trace(dag)
    assert told["left_out"] == {} and told["expanded"]["MPI_Bcast"]["calls"] == 5
    assert replayed(folder, 6).delivered_bytes == 1624


def test_a_grid_keeps_the_order_of_its_ranks_unless_they_may_be_reordered(tmp_path: Path) -> None:
    def trace(reorder: int) -> Path:
        grid = ["int ndim=2", "int dims[2]=[1, 3]", "int periods[2]=[0, 0]", f"int reorder={reorder}"]
        made = call("MPI_Cart_create", comm("oldcomm", 2), *grid, comm("newcomm", 6))
        outside = made.replace("newcomm=6 (user-defined-comm)", "newcomm=1 (MPI_COMM_NULL)")
        inside = made + call("MPI_Allgather", *BLOCKS, comm("comm", 6))
        barrier = call("MPI_Barrier", WORLD)
        return written(tmp_path / str(reorder), [inside + barrier] * 3 + [outside + barrier])

    kept, lost = (traces.summarise_trace(traces.read_trace(trace(reorder))) for reorder in (0, 1))
    gathered = {"MPI_Allgather": {"calls": 3, "bytes": 96}}
    assert (kept["left_out"], lost["left_out"]) == ({}, gathered)
    assert kept["bytes"] - lost["bytes"] == 3 * 2 * 32


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (b"", "contains no MPI call"),
        (bytes(1000), "contains no MPI call"),
        (call("MPI_Alltoall", *BLOCKS, WORLD)[:-60].encode(), "dumpi-0001.txt:1: the file ends within MPI_Alltoall"),
    ],
)
def test_a_file_that_is_empty_or_cut_off_is_refused(tmp_path: Path, text: bytes, reason: str) -> None:
    folder = written(tmp_path / "trace", [call("MPI_Alltoall", *BLOCKS, WORLD)] * 3)
    (folder / "dumpi-0001.txt").write_bytes(text)
    with pytest.raises(BadInput, match=reason):
        traces.read_trace(folder)


def test_the_matrix_refuses_what_a_replay_refuses(tmp_path: Path) -> None:
    goal = tmp_path / "one.goal"
    goal.write_text("num_ranks 2\nrank 0 {\nl1: send 100b to 1 tag 0\n}\n")
    with pytest.raises(BadInput, match=r"one\.goal:3: rank 0 sends to rank 1 with tag 0, which never receives it"):
        CliRunner().invoke(cli, ["traffic", "trace", str(goal)], catch_exceptions=False)


def test_one_trace_goes_to_the_matrix_the_routes_and_the_replay(tmp_path: Path) -> None:
    folder = written(tmp_path / "trace", [call("MPI_Alltoall", *BLOCKS, WORLD)] * 16)
    out = tmp_path / "matrix.csv"

    def run(*words: str) -> dict[str, object]:
        return dict(json.loads(CliRunner().invoke(cli, [*words, "--json"], catch_exceptions=False).stdout))

    made = run("traffic", "trace", str(folder), "--out", str(out))
    assert (made["pairs"], made["bytes"], made["left_out_bytes"]) == (240, 32 * 240, 0)
    tree = "xgft:2;4,4;1,4"
    routed = run("routes", "optimise", "--topology", tree, "--traffic", str(out), "--time-limit", "2")
    assert routed["z"] == 32 * 4 * 12 / 4  # a leaf's 4 endpoints send to 12 others, over 4 links
    replay = run("sim", "packet", "--topology", tree, "--routing", "ftree", "--traffic", str(folder))
    assert replay["delivered_bytes"] == made["bytes"]
    assert replay["trace"] == {key: made[key] for key in replay["trace"]}  # type: ignore[union-attr]


def test_every_command_that_takes_a_trace_says_what_it_left_out(tmp_path: Path) -> None:
    scan = call("MPI_Scan", "int count=2", TYPE, WORLD)
    folder, tree = written(tmp_path / "trace", [call("MPI_Alltoall", *BLOCKS, WORLD) + scan] * 16), "xgft:2;4,4;1,4"
    tables, traffic = str(tmp_path / "tables"), ["--topology", tree, "--traffic", str(folder)]
    commands = [
        ["routes", "optimise", *traffic, "--time-limit", "2", "--out", tables],
        ["routes", "check", tables, *traffic],
        ["traffic", "counters", *traffic, "--out", str(tmp_path / "counters")],
    ]
    for words in commands:
        answer = json.loads(CliRunner().invoke(cli, [*words, "--json"], catch_exceptions=False).stdout)
        (told,) = answer["traces"]
        assert told["left_out"] == {"MPI_Scan": {"calls": 16, "bytes": 256}} and told["left_out_bytes"] == 256
    pattern = [*commands[1][:-1], "shift", "--json"]
    assert "traces" not in json.loads(CliRunner().invoke(cli, pattern, catch_exceptions=False).stdout)


def test_a_goal_file_goes_the_same_way(tmp_path: Path) -> None:
    goal = tmp_path / "two.goal"
    goal.write_text(
        "num_ranks 2\nrank 0 {\nl1: send 100b to 1 tag 0\n}\nrank 1 {\nl1: recv 100b from 0 tag 0\nl2: calc 5\nl2 requires l1\n}\n"
    )
    told = traces.summarise_trace(traces.read_trace(goal))
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


def test_tokens_of_a_dag_are_forgotten_as_they_are_read() -> None:
    text = "num_ranks 1\nrank 0 {\n" + "".join(f"l{op}: calc {op}\n" for op in range(20_000)) + "}\n"
    tracemalloc.start()
    read = _Reader(Path("long.goal"), text).dag()
    kept, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(read.kind) == 20_000 and peak < 3 * kept
