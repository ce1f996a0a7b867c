"""Patterns, message DAGs, traffic files and placements."""

from __future__ import annotations

import gzip
import itertools
import tracemalloc
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flitwatch_core import packet
from flitwatch_core.packet import OpKind
from flitwatch_domain.errors import BadInput, BadRequest
from flitwatch_domain.generators import build_dragonfly, build_quartz1, build_torus, build_xgft
from flitwatch_research.packet.traffic import read_traffic_csv
from flitwatch_routing.matrices import read_matrix
from flitwatch_routing.traces import dag
from flitwatch_routing.traces.dag import read_dag
from flitwatch_routing.traces.dumpi import read_dumpi
from flitwatch_routing.traces.read import is_trace, read_trace, summarise_trace
from flitwatch_simulation.packet.machine import build_machine
from flitwatch_simulation.workloads import patterns
from flitwatch_simulation.workloads.messages import to_ops
from flitwatch_simulation.workloads.placement import POLICIES, place_ranks, unit_of


@pytest.fixture(scope="module")
def tree_machine():
    return build_machine(build_xgft(2, [8, 8], [1, 4]), "ftree")


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(sorted(patterns.PATTERNS)), st.integers(2, 50), st.integers(1, 200_000), st.integers(0, 99))
def test_every_pattern_is_delivered_whole(tree_machine, name, ranks, size, seed):
    try:
        made = patterns.make_pattern(name, ranks, size, seed)
    except BadRequest:
        return
    assert made.size_bytes.min() > 0
    assert np.all(made.src != made.dst)
    assert max(made.src.max(), made.dst.max()) < ranks
    result = tree_machine.core.run(packet.Workload(ops=to_ops([(made, np.arange(ranks))])))
    assert result.conserved, result.violations
    assert result.delivered_bytes == made.total_bytes


@pytest.mark.parametrize("name", ["uniform-ish", "", "bisect"])
def test_unknown_patterns_are_named(name):
    with pytest.raises(BadRequest, match="unknown pattern"):
        patterns.make_pattern(name, 8, 100)


def test_counts_of_the_papers_patterns():
    # Taffet 2021, table 3.1: pairs of the stencil on 16 x 16 x 12 and of the others on 3,072 nodes.
    assert patterns.grid_of(3072) == (16, 16, 12)
    assert patterns.make_pattern("stencil3d", 3072, 10**6).src.size == 17_152
    assert np.unique(patterns.make_pattern("bisection", 3072, 10**6).src).size == 3072
    shuffle = patterns.make_pattern("bisection-shuffle", 3072, 10**6, 3).matrix()
    assert shuffle[0].size == 3072
    assert np.all((shuffle[0] < 1536) != (shuffle[1] < 1536))


@pytest.mark.parametrize("name", ["bisection", "bisection-shuffle", "alltoall", "bully", "permutation"])
@pytest.mark.parametrize("size", [63, 10_007, 399_999])
def test_every_byte_that_was_asked_for_is_sent(name, size):
    assert patterns.make_pattern(name, 64, size).total_bytes == 64 * size


def test_rounds_hold_messages_back(tree_machine):
    # A broadcast over three levels takes three times as long as one message, because a rank forwards only what it has.
    one = tree_machine.core.run(
        packet.Workload(ops=to_ops([(patterns.make_pattern("broadcast", 2, 500_000), np.arange(2))]))
    )
    eight = tree_machine.core.run(
        packet.Workload(ops=to_ops([(patterns.make_pattern("broadcast", 8, 500_000), np.arange(8))]))
    )
    assert eight.time_s == pytest.approx(3 * one.time_s, rel=0.01)


DAG = """
# two ranks
ranks 2
rank 0
  a: compute 1000
  b: send 4096 to 1 tag 7
  b requires a
rank 1
  a: recv 4096 from 0 tag 7
  c: compute 500
  c requires a
"""


def test_dag_runs_in_order(tmp_path, tree_machine):
    path = tmp_path / "two.dag"
    path.write_text(DAG)
    dag = read_dag(path)
    assert dag.kind == [OpKind.COMPUTE, OpKind.SEND, OpKind.RECEIVE, OpKind.COMPUTE]
    alone = tree_machine.core.run(packet.Workload(flows=([0], [1], [4096])))
    result = tree_machine.core.run(packet.Workload(ops=dag.to_ops(np.array([0, 1]))))
    assert result.time_s == pytest.approx(alone.time_s + 1.5e-6, abs=1e-12)


_WORDS = ["num_ranks", "2", "rank", "0", "{", "l1", ":", "send", "8b", "to", "1", "tag", "1", ";", "l2", ":", "recv", "8b", "from", "1", "tag", "2", "cpu", "0",
          "l3", ":", "calc", "50", "l3", "requires", "l1", "l2", "}", "rank", "1", "{", "l1", ":", "recv", "8b", "from", "0", "tag", "1", "l2", ":", "send", "8b",
          "to", "0", "tag", "2", "l2", "irequires", "l1", "}"]  # fmt: skip


@given(
    st.lists(
        st.sampled_from([" ", "\n", "\t \n", " /* a rank 7 */ ", " // 8b\n", "  # send\n"]),
        min_size=len(_WORDS),
        max_size=len(_WORDS),
    )
)
def test_a_dag_is_the_same_however_its_tokens_stand_in_lines(between: list[str]) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "x.goal"
        path.write_text("".join(blank + word for blank, word in zip(between, _WORDS, strict=True)))
        assert is_trace(path)
        dag = read_dag(path)
    assert (dag.kind, dag.rank, dag.peer) == (
        [*map(int, (OpKind.SEND, OpKind.RECEIVE, OpKind.COMPUTE, OpKind.RECEIVE, OpKind.SEND))],
        [0, 0, 0, 1, 1],
        [1, 1, 0, 0, 0],
    )
    assert (dag.amount, dag.tag, dag.requires) == ([8, 8, 50, 8, 8], [1, 2, 0, 1, 2], [(2, 0), (2, 1), (4, 3)])


@pytest.mark.parametrize("chunk", [1, 2, 3, 7, 64])
@pytest.mark.parametrize("between", [" ", "\n", "/* a * / rank 7 // */", "// 8b /*\n", "/**/", "/*\n*/", "#\r\n"])
def test_a_dag_is_the_same_whatever_pieces_are_read(
    chunk: int, between: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, usual = tmp_path / "x.goal", tmp_path / "usual.goal"
    path.write_text(between.join(_WORDS))
    usual.write_text("\n".join(_WORDS))
    monkeypatch.setattr(dag, "_CHUNK", 16)
    monkeypatch.setattr(dag, "_read_chunks", lambda text: iter(lambda: text.read(chunk), ""))
    one, other = read_dag(path), read_dag(usual)
    assert (one.kind, one.rank, one.amount, one.tag, one.requires) == (
        other.kind,
        other.rank,
        other.amount,
        other.tag,
        other.requires,
    )
    assert other.lines == [number for number, word in enumerate(_WORDS) if word == ":"]
    assert one.lines == [1 + (number - 1) * between.count("\n") for number in other.lines]


def test_of_a_long_dag_no_more_than_a_piece_is_held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "long.goal"
    path.write_bytes(gzip.compress(b"ranks 1 rank 0 {/*" + b"*" * 30_000_000 + b"*/ a: calc 1}", 1))
    tracemalloc.start()
    try:
        assert read_dag(path).amount == [1]
        assert tracemalloc.get_traced_memory()[1] < 3_000_000
    finally:
        tracemalloc.stop()
    monkeypatch.setattr(dag, "_MOST_OPERATIONS", 3)
    path.write_text("ranks 1\nrank 0\na: calc 1\nb: calc 1\nb requires a\nc: calc 1\n")
    with pytest.raises(BadInput, match="more than 3 operations and dependencies"):
        read_dag(path)


@pytest.mark.shared
def test_cases_of_traces(shared: Path, tmp_path: Path) -> None:
    summary = summarise_trace(read_trace(shared / "cases/goal-by-tokens/pingpong.goal"))
    assert (summary["ranks"], summary["messages"], summary["bytes"]) == (2, 2, 16)
    (tmp_path / "dumpi-0000.txt").write_bytes((shared / "cases/one-rank-of-four/dumpi-0000.txt").read_bytes())
    with pytest.raises(BadInput, match=r"the files of ranks 1 to 3 are missing \(MPI_Comm_size says 4\)"):
        read_trace(tmp_path)


@pytest.mark.parametrize("cut", [1, 2, 12, 30])
def test_goal_text_that_was_cut_is_refused(cut: int, tmp_path: Path) -> None:
    text = "num_ranks 2\nrank 0 {\na: send 80b to 1\n}\nrank 1 {\na: recv 80b from 0\nb: calc 100\n}"
    (tmp_path / "x.goal").write_text(text)
    assert summarise_trace(read_trace(tmp_path / "x.goal"))["bytes"] == 80
    (tmp_path / "x.goal").write_text(text[:-cut])
    with pytest.raises(BadInput):
        read_trace(tmp_path / "x.goal")


def rank_text(size: int, calls: str = "") -> str:
    """What dumpi2ascii prints of a rank that asks for the number of ranks."""
    lines = ["MPI_Comm_size entering at walltime 1.0, cputime 0.0 seconds in thread 0.", "MPI_Comm comm=2 (MPI_COMM_WORLD)", f"int size={size}",
             "MPI_Comm_size returning at walltime 1.1, cputime 0.0 seconds in thread 0."]  # fmt: skip
    return "\n".join(lines) + "\n" + calls


SEND, RECEIVE = (
    f"MPI_{call} entering at walltime 2.0, cputime 0.0 seconds in thread 0.\nint count=10\nMPI_Datatype datatype=9 (MPI_INT)\n"
    f"int {peer}\nint tag=5\nMPI_Comm comm=2 (MPI_COMM_WORLD)\nMPI_{call} returning at walltime 2.1, cputime 0.0 seconds in thread 0.\n"
    for call, peer in (("Send", "dest=1"), ("Recv", "source=0"))
)


@pytest.mark.parametrize("present", [p for n in range(1, 4) for p in itertools.combinations(range(4), n)])
def test_the_files_of_ranks_that_are_missing_are_named(present: tuple[int, ...], tmp_path: Path) -> None:
    for rank in present:
        (tmp_path / f"dumpi-{rank:04d}.txt").write_text(rank_text(4))
    first = min(set(range(4)) - set(present))
    with pytest.raises(BadInput, match=rf"((text|file) of rank {first} is|files of ranks {first} to 3 are) missing"):
        read_trace(tmp_path)


def test_files_of_ranks_may_be_compressed_and_those_of_other_runs_are_refused(tmp_path: Path) -> None:
    (tmp_path / "dumpi-0000.txt.gz").write_bytes(gzip.compress(rank_text(2, SEND).encode()))
    (tmp_path / "dumpi-0001.txt").write_text(rank_text(2, RECEIVE))
    summary = summarise_trace(read_trace(tmp_path))
    assert (summary["ranks"], summary["messages"], summary["bytes"]) == (2, 1, 40)
    (tmp_path / "dumpi-0002.txt").write_text(rank_text(2))
    with pytest.raises(BadInput, match="MPI_Comm_size says 2, and there are files of 3 ranks"):
        read_trace(tmp_path)


def test_goal_text_reads_as_the_same_dag(tmp_path):
    path = tmp_path / "two.goal"
    path.write_text(
        "num_ranks 2\nrank 0 {\na: calc 1000\nb: send 4096b to 1 tag 7 cpu 0\nb requires a\n}\n"
        "rank 1 {\na: recv 4096b from 0 tag 7\nc: calc 500\nc requires a\n}\n"
    )
    ours = tmp_path / "two.dag"
    ours.write_text(DAG)
    one, other = read_dag(path), read_dag(ours)
    assert (one.kind, one.amount, one.peer, one.tag, one.requires) == (
        other.kind,
        other.amount,
        other.peer,
        other.tag,
        other.requires,
    )


@pytest.mark.parametrize(
    ("text", "message", "line"),
    [
        ("rank 0\na: compute 1\n", "ranks N", 1),
        ("ranks 2\na: compute 1\n", "before the first", 2),
        ("ranks 2\nrank 2\n", "outside 0 to 1", 2),
        ("ranks 2\nrank 0\na: sned 1 to 1\n", "not an operation", 3),
        ("ranks 2\nrank 0\na: send 1 to 5\n", "outside", 3),
        ("ranks 2\nrank 0\na: compute 1\na: compute 2\n", "two operations", 4),
        ("ranks 2\nrank 0\na: compute 1\na requires b\n", "no operation 'b'", 4),
        ("ranks 2\nrank 0\na: compute 1\n/* b: compute 1\nrank 1\n", "not an operation", 4),
        ("ranks 2\nrank 0\n" + "a" * 200_000 + ": compute 1\n", "not an operation", 3),
    ],
)
def test_bad_dags_name_file_and_line(tmp_path, text, message, line):
    path = tmp_path / "bad.dag"
    path.write_text(text)
    with pytest.raises(BadInput, match=message) as raised:
        read_dag(path)
    assert f"{path}:{line}" in str(raised.value)


def test_unmatched_sends_and_receives_are_refused(tmp_path):
    for text, message in (
        ("ranks 2\nrank 0\na: send 1 to 1\n", "never receives"),
        ("ranks 2\nrank 0\na: recv 1 from 1\n", "never sends"),
        ("ranks 2\nrank 0\na: send 9 to 1\nrank 1\na: recv 1 from 0\n", "only 1 received"),
    ):
        path = tmp_path / "bad.dag"
        path.write_text(text)
        with pytest.raises(BadInput, match=message):
            read_dag(path).to_ops(np.arange(2), str(path))


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("ranks 1\nrank 0\na: compute 1\nb: compute 1\na requires b\nb requires a\n", 3, "lines 4"),
        ("ranks 1\nrank 0\na: compute 1\na requires a\n", 3, "circle"),
        # Both ranks send only after they have received: each alone is in order, together they wait for ever.
        (
            "ranks 2\nrank 0\na: send 9 to 1\nb: recv 9 from 1\na requires b\n"
            "rank 1\na: send 9 to 0\nb: recv 9 from 0\na requires b\n",
            3,
            "lines 4, 7, 8",
        ),
    ],
)
def test_operations_that_wait_for_each_other_are_refused(tmp_path, text, line, message):
    path = tmp_path / "circle.dag"
    path.write_text(text)
    dag = read_dag(path)
    with pytest.raises(BadInput, match=message) as raised:
        dag.to_ops(np.arange(dag.ranks), str(path))
    assert f"{path}:{line}: rank 0 waits for itself" in str(raised.value)


def test_the_engine_refuses_circles_and_times_beyond_its_clock(tree_machine):
    def run(amounts, needs):
        n = len(amounts)
        begin = np.cumsum([0, *(sum(op == k for op, _ in needs) for k in range(n))])
        ops = packet.Ops(
            np.full(n, packet.OpKind.COMPUTE, np.uint8),
            np.zeros(n, np.uint32),
            np.full(n, packet.NO_LINK, np.uint32),
            np.array(amounts, np.uint64),
            begin.astype(np.uint32),
            np.array([b for _, b in needs], np.uint32),
            np.zeros(1, np.uint32),
            np.zeros(1, np.uint8),
        )
        return tree_machine.core.run(packet.Workload(ops=ops))

    assert run([10**15, 10**14], [(1, 0)]).time_s == pytest.approx(1.1e6)
    with pytest.raises(ValueError, match="circle"):
        run([1, 1], [(0, 1), (1, 0)])
    with pytest.raises(ValueError, match="13 days"):
        run([10**15, 10**15], [(1, 0)])


def test_dumpi_text_becomes_a_dag(tmp_path, tree_machine):
    send = "MPI_Send entering at walltime 1.0, cputime 0 seconds in thread 0.\nint count=100\nMPI_Datatype datatype=11 (MPI_DOUBLE)\nint dest=1\nint tag=3\nMPI_Comm comm=2 (MPI_COMM_WORLD)\nMPI_Send returning at walltime 1.1, cputime 0 seconds in thread 0.\n"
    recv = (
        send.replace("MPI_Send", "MPI_Irecv")
        .replace("dest=1", "source=0")
        .replace("MPI_Comm comm", "MPI_Request request=[5]\nMPI_Comm comm")
        + "MPI_Wait entering at walltime 1.1, cputime 0 seconds in thread 0.\nMPI_Request request=[5]\nMPI_Wait returning at walltime 1.2, cputime 0 seconds in thread 0.\n"
    )
    paths = [tmp_path / "0.txt", tmp_path / "1.txt"]
    for path, text in zip(paths, (send, recv), strict=True):
        path.write_text(text)
    dag = read_dumpi(paths, compute=False)
    result = tree_machine.core.run(packet.Workload(ops=dag.to_ops(np.arange(2))))
    assert result.delivered_bytes == 800
    assert result.conserved


def dumpi_call(name: str, *lines: str) -> str:
    at = "at walltime 1.0, cputime 0 seconds in thread 0."
    return "\n".join([f"{name} entering {at}", *lines, f"{name} returning {at}", ""])


DOUBLE, WORLD = "MPI_Datatype datatype=11 (MPI_DOUBLE)", "MPI_Comm comm=2 (MPI_COMM_WORLD)"


def test_dumpi_calls_that_move_two_messages_or_none(tmp_path, tree_machine):
    both = [
        "int sendcount=100",
        "MPI_Datatype sendtype=11 (MPI_DOUBLE)",
        "int sendtag=1",
        "int recvcount=100",
        "MPI_Datatype recvtype=11 (MPI_DOUBLE)",
        "int recvtag=1",
        WORLD,
    ]
    texts = [
        dumpi_call("MPI_Sendrecv", *both, f"int dest={other}", f"int source={other}")
        + dumpi_call("MPI_Send", "int count=7", DOUBLE, "int dest=-2 (MPI_PROC_NULL)", "int tag=3", WORLD)
        for other in (1, 0)
    ]
    texts[0] += dumpi_call(
        "MPI_Issend", "int count=1", DOUBLE, "int dest=1", "int tag=4", WORLD, "MPI_Request request=[9]"
    )
    texts[0] += dumpi_call("MPI_Test", "MPI_Request request=[9]", "int flag=0")
    texts[0] += dumpi_call("MPI_Waitany", "int count=1", "MPI_Request requests[1]=[9]", "int index=0")
    texts[1] += dumpi_call("MPI_Recv", "int count=1", DOUBLE, "int source=0", "int tag=4", WORLD)
    paths = [tmp_path / "0.txt", tmp_path / "1.txt"]
    for path, text in zip(paths, texts, strict=True):
        path.write_text(text, encoding="utf-8-sig")
    result = tree_machine.core.run(packet.Workload(ops=read_dumpi(paths).to_ops(np.arange(2))))
    assert result.conserved
    assert result.delivered_bytes == 2 * 800 + 8


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            dumpi_call("MPI_Send", "int count=1", DOUBLE, "int dest=0", "int tag=4", "MPI_Comm comm=5 (user)"),
            "communicator",
        ),
        (
            dumpi_call("MPI_Recv", "int count=1", DOUBLE, "int source=-1 (MPI_ANY_SOURCE)", "int tag=4", WORLD),
            "receives from any rank",
        ),
        (dumpi_call("MPI_Startall", "int count=1"), "cannot be replayed"),
    ],
)
def test_dumpi_calls_that_no_replay_can_match_are_refused(tmp_path, call, message):
    path = tmp_path / "0.txt"
    path.write_text(call)
    with pytest.raises(BadInput, match=message) as raised:
        read_dumpi([path])
    assert f"{path}:1" in str(raised.value)


@pytest.mark.parametrize(
    ("text", "message", "line"),
    [
        ("src,dst,bytes\n" + f"0,1,{9 * 10**17}\n" * 3, "more than 2\\^60", 3),
        ("a,b,c\n0,1,2\n", "header src,dst,bytes", 1),
        ("src,dst,bytes\n0,1\n", "3 fields", 2),
        ("src,dst,bytes\n0,1,5\n0,x,5\n", "whole numbers", 3),
        ("src,dst,bytes\n0,64,5\n", "outside 0 to 63", 2),
        ("src,dst,bytes\n0,1,-5\n", "below 0", 2),
        ("src,dst,bytes\n0,1,1.5\n", "whole numbers", 2),
    ],
)
def test_bad_traffic_names_file_and_line(tmp_path, text, message, line):
    path = tmp_path / "bad.csv"
    path.write_text(text)
    with pytest.raises(BadInput, match=message) as raised:
        read_traffic_csv(path, 64)
    assert f"{path}:{line}" in str(raised.value)


def test_repeated_pairs_add_up(tmp_path):
    path = tmp_path / "good.csv"
    path.write_text("# comment\nsrc,dst,bytes\n0,1,5\n0,1,7\n2,3,0\n")
    src, dst, size = read_traffic_csv(path, 64)
    assert (src.tolist(), dst.tolist(), size.tolist()) == ([0], [1], [12])


@pytest.mark.shared
def test_measured_matrix_is_read(shared):
    ranks, (src, dst, size) = read_matrix(shared / "data" / "comm-matrices" / "lulesh.64.graphStats.txt")
    assert ranks == 64
    assert size.min() > 0
    assert set(zip(src.tolist(), dst.tolist(), strict=True)) == set(zip(dst.tolist(), src.tolist(), strict=True))


@pytest.mark.parametrize("policy", POLICIES)
def test_placements_use_free_endpoints_once(policy):
    fabric = build_dragonfly(3, 6, 8, blue_routers=8)
    taken = np.arange(0, 100, 3)
    endpoints = place_ranks(fabric, 200, policy, np.random.default_rng(1), taken)
    assert np.unique(endpoints).size == 200
    assert not np.isin(endpoints, taken).any()


def test_units_of_random_placements_stay_together():
    fabric = build_dragonfly(3, 6, 8, blue_routers=8)
    chassis = unit_of(fabric, "chassis")[place_ranks(fabric, 128, "random-chassis", np.random.default_rng(2))]
    assert np.count_nonzero(np.diff(chassis)) == 128 // 32 - 1
    with pytest.raises(BadRequest, match="do not fit"):
        place_ranks(fabric, 10_000, "contiguous", np.random.default_rng(1))
    with pytest.raises(BadRequest, match="no known chassis"):
        place_ranks(build_quartz1(), 8, "random-chassis", np.random.default_rng(1))
    with pytest.raises(BadRequest, match=r"no known group\. Use random-node or random-router"):
        place_ranks(build_torus([4, 4]), 8, "random-group", np.random.default_rng(1))


@pytest.mark.parametrize(("ranks", "repeats"), [(8, 1), (2048, 2), (30, 3)])
def test_a_barrier_is_a_reduction_and_a_broadcast_over_one_tree_by_row_column_and_all(ranks, repeats):
    """Algorithm 8 of Taffet 2021: every barrier sends two messages for each rank but the roots, between a rank and its parent."""
    width = patterns.grid_width(ranks)
    assert (width, ranks) != (2048, 32) and width * width <= ranks
    made = patterns.barriers_on_grid(ranks, repeats)
    rows = -(-ranks // width)
    assert made.src.size == 2 * repeats * ((ranks - rows) + (ranks - width) + (ranks - 1))
    assert set(made.size_bytes) == {8}
    key = made.src * ranks + made.dst
    assert set(key) == set(made.dst * ranks + made.src)  # the answer goes the way of the call
    third = made.send_round // 3 % 3
    assert (made.src[third == 0] // width == made.dst[third == 0] // width).all()
    assert (made.src[third == 1] % width == made.dst[third == 1] % width).all()
    low, high = np.minimum(made.src, made.dst)[third == 2], np.maximum(made.src, made.dst)[third == 2]
    assert (low == (high - 1) // 2).all()


def test_nobody_passes_a_barrier_before_everybody_reached_it(tree_machine):
    """The last to come holds up all: its barrier ends for everybody after its computation."""
    made = patterns.barriers_on_grid(16, 1)
    ops = to_ops([(made, np.arange(16))])
    late = int(np.flatnonzero((ops.kind == OpKind.COMPUTE) & (ops.rank == 11))[0])
    ops.amount[late] = 5_000_000
    quick = tree_machine.core.run(packet.Workload(ops=to_ops([(made, np.arange(16))])))
    held = tree_machine.core.run(packet.Workload(ops=ops))
    assert quick.raw["rank_end_ps"].max() * 1e-12 < 1e-3 < 5e-3 <= held.raw["rank_end_ps"].min() * 1e-12
