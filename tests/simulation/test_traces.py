"""Traces: expanded collectives give every rank its MPI result, omitted calls are counted, and the matrix matches the
replay."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Callable
from io import StringIO
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import otf2
import pytest
from click.testing import CliRunner

from flitwatch.command_line import cli
from flitwatch_core import packet
from flitwatch_domain.errors import BadInput
from flitwatch_domain.generators import build_xgft
from flitwatch_routing.traces import read as traces
from flitwatch_routing.traces.collective_rounds import Call, rounds_of
from flitwatch_routing.traces.dag import _Reader
from flitwatch_routing.traces.read import read_trace, summarise_trace, trace_matrix
from flitwatch_simulation.packet.machine import build_machine
from flitwatch_simulation.workloads.messages import messages_of, to_ops

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
    summary = traces.summarise_trace(traces.read_trace(folder))
    assert summary["expanded"] == {name: {"calls": ranks, "bytes": 32 * ranks}} and summary["left_out"] == {}


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
    summary = traces.summarise_trace(traces.read_trace(folder))
    assert summary["left_out"] == {"MPI_Allreduce": {"calls": 1, "bytes": 8000}, "MPI_Scan": {"calls": 2, "bytes": 32}}
    assert summary["left_out_bytes"] == 8032
    assert summary["expanded"] == {"MPI_Allreduce": {"calls": 2, "bytes": 16}}
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
    type_size = call("MPI_Type_size", kind, "int size=20")
    none, some = (call("MPI_Bcast", f"int count={count}", kind, "int root=0", WORLD) for count in (0, 1))
    assert replayed(written(tmp_path / "sized", [type_size + none + some] * 2), 2).delivered_bytes == 20
    with pytest.raises(BadInput, match=r"dumpi-0000\.txt:7: MPI_Bcast: the size of data type 30 .* is unknown"):
        traces.read_trace(written(tmp_path / "unsized", [none + some] * 2))


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
    summary = traces.summarise_trace(dag)
    assert summary["left_out"] == {} and summary["expanded"]["MPI_Bcast"]["calls"] == 5
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
        (summary,) = answer["traces"]
        assert summary["left_out"] == {"MPI_Scan": {"calls": 16, "bytes": 256}} and summary["left_out_bytes"] == 256
    pattern = [*commands[1][:-1], "shift", "--json"]
    assert "traces" not in json.loads(CliRunner().invoke(cli, pattern, catch_exceptions=False).stdout)


def test_a_goal_file_goes_the_same_way(tmp_path: Path) -> None:
    goal = tmp_path / "two.goal"
    goal.write_text(
        "num_ranks 2\nrank 0 {\nl1: send 100b to 1 tag 0\n}\nrank 1 {\nl1: recv 100b from 0 tag 0\nl2: calc 5\nl2 requires l1\n}\n"
    )
    summary = traces.summarise_trace(traces.read_trace(goal))
    assert (summary["messages"], summary["bytes"], summary["computation_s"]) == (1, 100, pytest.approx(5e-9))
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


@pytest.mark.system("numeric")
def test_tokens_of_a_dag_are_forgotten_as_they_are_read() -> None:
    text = "num_ranks 1\nrank 0 {\n" + "".join(f"l{op}: calc {op}\n" for op in range(20_000)) + "}\n"
    tracemalloc.start()
    read = _Reader(Path("long.goal"), StringIO(text)).dag()
    kept, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(read.kind) == 20_000 and peak < 3 * kept


# OTF2 archives, written by the `otf2` package as Score-P fills them: the same way as DUMPI and GOAL to matrix, job, phases, replay, routes and loop.


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


def written_otf2(folder: Path, ranks: int, play: Callable[[Program], None]) -> Path:
    program = Program(folder, ranks)
    play(program)
    program.trace.close()
    return folder


def replayed_otf2(path: Path) -> packet.Result:
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
    path = written_otf2(tmp_path / "trace", 6, ring)
    summary = summarise_trace(read_trace(path))
    assert (summary["messages"], summary["bytes"], summary["left_out"]) == (6, 6000, {})
    assert summary["computation_s"] == pytest.approx(6 * 5e-3)
    ends = replayed_otf2(path).raw["rank_end_ps"] * 1e-12
    assert replayed_otf2(path).delivered_bytes == 6000 and ((ends > 5e-3) & (ends < 5.1e-3)).all()
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

    path = written_otf2(tmp_path / "trace", 8, play)
    assert replayed_otf2(path).delivered_bytes == total(8)
    summary = summarise_trace(read_trace(path))
    assert summary["expanded"][f"MPI_{kind.capitalize()}"]["calls"] == 8 and not summary["left_out"]


def test_collectives_of_a_part_of_the_ranks_stay_there_and_those_by_counts_are_left_out(tmp_path: Path) -> None:
    def play(program: Program) -> None:
        odd = program.communicator("odd", [1, 3, 5, 7])
        for rank in range(8):
            if rank % 2:
                program.collective(rank, "ALLTOALL", 4 * 10, 4 * 10, comm=odd)
            program.collective(rank, "ALLTOALLV", 100 + rank, 100)

    path = written_otf2(tmp_path / "trace", 8, play)
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

    folder, tree = written_otf2(tmp_path / "trace", 16, play), "xgft:2;4,4;1,4"

    def run(*words: str) -> dict[str, Any]:
        return dict(json.loads(CliRunner().invoke(cli, [*words, "--json"], catch_exceptions=False).stdout))

    made = run("traffic", "trace", str(folder))
    assert (made["pairs"], made["bytes"], made["left_out_bytes"]) == (240, 3200 * 240, 8 * 16)
    optimise = ("routes", "optimise", "--topology", tree, "--time-limit", "2", "--no-baselines", "--traffic")
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

    path = written_otf2(tmp_path / "trace", 8, play)
    dag = read_trace(path)
    made = messages_of(dag)
    assert made.rounds > 4 and made.total_bytes == summarise_trace(dag)["bytes"]
    src, dst, size, _ = trace_matrix(dag, 4096)
    assert all(np.array_equal(a, b) for a, b in zip(made.matrix(), (src, dst, size), strict=True))
    machine = build_machine(build_xgft(2, [4, 4], [1, 2]), "ftree")
    by_phase = machine.core.run(packet.Workload(ops=to_ops([(made, np.arange(8))]))).raw["rank_end_ps"].max()
    assert replayed_otf2(path).raw["rank_end_ps"].max() <= by_phase * 1.001


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
