"""`flitwatch sim packet`: its contract and its errors."""

from __future__ import annotations

import csv
import gzip
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from support.waiting import eventually

from flitwatch.main import main
from flitwatch_domain.counters import identify_counter

KEYS = {
    "time_s",
    "delivered_bytes",
    "local_bytes",
    "packet_hops",
    "events_per_hop",
    "hops_per_s_per_core",
    "wall_s",
    "peak_rss_mb",
    "mean_hops",
    "conserved",
    "latency_ns",
    "links_csv",
}
SMALL = ["sim", "packet", "--topology", "dragonfly:3,2,4,4", "--routing", "adaptive1", "--seed", "3"]


def run(capfd, *options: str) -> dict:
    main([*SMALL, *options, "--json"])
    return json.loads(capfd.readouterr().out)


@pytest.mark.parametrize("traffic", ["uniform", "uniform:2", "bisection", "stencil3d", "alltoall", "amg"])
def test_patterns_answer_with_all_keys(capfd, tmp_path, traffic):
    links = tmp_path / "links.csv"
    answer = run(capfd, "--traffic", traffic, "--bytes", "50000", "--links-csv", str(links))
    assert set(answer) >= KEYS
    assert answer["conserved"] is True
    assert set(answer["latency_ns"]) == {"mean", "p50", "p99", "max"}
    by_hops = answer["packets_of_hops"]
    assert answer["mean_hops"] == pytest.approx(sum(n * k for k, n in enumerate(by_hops)) / sum(by_hops))
    assert len(by_hops) - 1 <= 10  # the routers of the longest way that part B allows
    assert answer["latency_ns"]["p50"] <= answer["latency_ns"]["p99"] <= answer["latency_ns"]["max"]
    rows = list(csv.DictReader(links.open()))
    injected = sum(int(row["bytes"]) for row in rows if row["class"] == "terminal" and row["src"].startswith("nid"))
    assert injected == answer["delivered_bytes"]


def test_replicas_are_runs_with_the_next_seeds(capfd):
    asked = ["--traffic", "uniform", "--bytes", "50000"]
    alone = [run(capfd, *asked, "--seed", seed)["time_s"] for seed in ("3", "4", "5")]
    together = run(capfd, *asked, "--replicas", "3")
    assert together["replica_time_s"] == alone and together["time_s"] == alone[0] and len(set(alone)) == 3


def test_threads_share_one_run_and_change_nothing(capfd, tmp_path):
    def of(threads: str) -> tuple[dict, str]:
        links = tmp_path / f"{threads}.csv"
        answer = run(
            capfd, "--traffic", "alltoall", "--bytes", "50000", "--links-csv", str(links), "--threads", threads
        )
        for key in ("wall_s", "hops_per_s_per_core", "peak_rss_mb", "links_csv"):
            del answer[key]
        return answer, links.read_text()

    assert of("1") == of("2") == of("3")


def test_csv_traffic_and_background(capfd, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("src,dst,bytes\n0,50,100000\n50,0,70000\n")
    alone = run(capfd, "--traffic", str(path), "--bytes", "1")
    assert alone["delivered_bytes"] == 170_000
    crowded = run(capfd, "--traffic", str(path), "--bytes", "1", "--background", "uniform:6")
    assert crowded["jobs"][0]["bytes"] == 170_000
    assert crowded["jobs"][1]["bytes"] > 0
    assert crowded["time_s"] > alone["time_s"]


@pytest.mark.shared
def test_a_measured_matrix_is_placed_and_scaled(capfd, shared):
    matrix = str(shared / "data" / "comm-matrices" / "lulesh.64.graphStats.txt")
    answer = run(capfd, "--traffic", matrix, "--bytes", "20000", "--placement", "random-node")
    assert answer["conserved"]
    assert answer["delivered_bytes"] == pytest.approx(64 * 20_000, rel=0.01)
    by_scale = run(capfd, "--traffic", matrix, "--message-scale", "1e-5")
    assert 0 < by_scale["delivered_bytes"] < 2e7


def test_files_are_known_by_what_is_in_them(capfd, tmp_path):
    text = "src,dst,bytes\r\n0,50,100000\r\n7,7,900\r\n"
    csv_file, plain, packed = tmp_path / "t.csv", tmp_path / "traffic.txt", tmp_path / "t.csv.gz"
    csv_file.write_text(text, encoding="utf-8-sig")
    plain.write_text(text)
    packed.write_bytes(gzip.compress(text.encode()))
    for path in (csv_file, plain, packed):
        answer = run(capfd, "--traffic", str(path))
        assert answer["delivered_bytes"] == 100_000
        assert answer["local_bytes"] == 900  # a node's bytes to itself take no link
    empty = tmp_path / "empty.csv"
    empty.write_text("src,dst,bytes\n0,1,0\n")
    with pytest.raises(SystemExit):
        run(capfd, "--traffic", str(empty))
    assert "there is no traffic" in capfd.readouterr().err
    with pytest.raises(SystemExit):
        run(capfd, "--traffic", str(csv_file), "--placement", "random-node")
    assert "no effect" in capfd.readouterr().err


def test_more_jobs_than_the_engine_numbers_are_refused(capfd, tmp_path):
    path = tmp_path / "jobs.csv"
    path.write_text("pattern,ranks,bytes,placement\n" + "incast,2,1000,contiguous\n" * 300, encoding="utf-8-sig")
    with pytest.raises(SystemExit):
        main(["sim", "packet", "--topology", "dragonfly:3,6,16,16", "--routing", "minimal", "--jobs", str(path)])
    assert "300 jobs; at most 254" in capfd.readouterr().err


@pytest.mark.system("processes")
@pytest.mark.parametrize("replicas", ["1", "2"])
def test_an_interrupt_ends_a_run_in_one_line(replicas):
    endless = [*SMALL, "--traffic", "uniform", "--bytes", "100000000000", "--replicas", replicas, "--json"]
    # A shell that starts this in the background has it ignore interrupts.
    heed = "signal.signal(signal.SIGINT, signal.default_int_handler)"
    program = f"import signal, sys; {heed}; from flitwatch.main import main; main(sys.argv[1:])"
    running = subprocess.Popen([sys.executable, "-c", program, *endless], stdout=-1, stderr=-1, text=True)
    try:
        # Busy for longer than its start takes: the engine is at work.
        eventually(lambda: running.poll() is not None or cpu_s(running.pid) > 3, 120, 0.1, "three seconds of work")
        running.send_signal(signal.SIGINT)
        out, err = running.communicate(timeout=60)
    finally:
        running.kill()
    assert running.returncode == 130
    assert out == ""
    assert err.split("\n")[-2:] == ["flitwatch: stopped by the user", ""]
    assert "Traceback" not in err


def cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def test_several_jobs(capfd, tmp_path):
    path = tmp_path / "jobs.csv"
    path.write_text("pattern,ranks,bytes,placement\nalltoall,16,20000,random-router\nhalo3d,27,20000,contiguous\n")
    answer = run(capfd, "--jobs", str(path))
    assert len(answer["jobs"]) == 2
    assert answer["conserved"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--traffic", "nonsense", "--bytes", "1"], "neither a pattern nor a file"),
        (["--traffic", "uniform:x", "--bytes", "1"], "is not a load"),
        (["--traffic", "bisection", "--bytes", "0"], "expected at least 1"),
        (["--bytes", "5"], "give --traffic and --bytes"),
        (["--traffic", "bisection"], "needs --bytes"),
        (["--traffic", "uniform", "--bytes", "9" * 23], "more than 2^60 bytes"),
        (["--traffic", "bisection", "--bytes", "9" * 23], "more than 2^60 bytes"),
        (["--traffic", "uniform:0.000001", "--bytes", "9" * 13], "would take months"),
        (["--traffic", "bisection", "--bytes", "9", "--message-scale", "nan"], "expected above 0"),
        (["--traffic", "bisection", "--bytes", "9", "--links-csv", "/nonexistent/x.csv"], "cannot be written"),
        (["--traffic", "bisection", "--bytes", "9", "--jobs", "jobs.csv"], "both define the traffic"),
        (["--traffic", "bisection", "--bytes", "9", "--seed", "9" * 23], "not in the range"),
        (["--traffic", "bisection", "--bytes", "9", "--replicas", "0"], "not in the range"),
        (
            ["--traffic", "bisection", "--bytes", "9", "--threads", "2", "--engine", "oracle-oldest"],
            "Leave out --threads",
        ),
        (["--traffic", "bisection", "--bytes", "9", "--threads", "0"], "not in the range"),
        (["--traffic", "bisection", "--bytes", "9", "--ranks", "4000"], "do not fit"),
        (["--traffic", "bisection", "--bytes", "9", "--packet-bytes", "9"], "expected 64 to 8192"),
        (["--traffic", "bisection", "--bytes", "9", "--background", "sine"], "unknown background"),
        (["--traffic", "bisection", "--bytes", "9", "--background", "uniform"], "no two endpoints"),
    ],
)
def test_bad_options_end_with_one_clear_line(capfd, options, message):
    with pytest.raises(SystemExit) as leave:
        main([*SMALL, *options])
    assert leave.value.code != 0
    error = capfd.readouterr().err.strip().splitlines()
    assert len(error) == 1
    assert message in error[0]


def test_a_folder_of_dumpi_text_is_replayed(capfd, tmp_path):
    folder = tmp_path / "dumpi"
    folder.mkdir()
    call = (
        "MPI_{0} entering at walltime 1.0, cputime 0 seconds in thread 0.\nint count=100\nMPI_Datatype datatype=11 (MPI_DOUBLE)\n"
        "int {1}\nint tag=3\nMPI_{0} returning at walltime 1.1, cputime 0 seconds in thread 0.\n"
    )
    (folder / "dumpi-0000.txt").write_text(call.format("Send", "dest=1"))
    with pytest.raises(SystemExit):
        run(capfd, "--traffic", str(folder), "--bytes", "1")
    assert "outside" in (message := capfd.readouterr().err) or "rank 1" in message
    (folder / "dumpi-0001.txt").write_text(call.format("Recv", "source=0"))
    assert run(capfd, "--traffic", str(folder), "--bytes", "1")["delivered_bytes"] == 800
    (folder / "dumpi-0001.txt").rename(folder / "dumpi-0002.txt")
    with pytest.raises(SystemExit):
        run(capfd, "--traffic", str(folder), "--bytes", "1")
    assert "rank 1 is missing" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("fabric", "routing", "wanted"),
    [
        ("dragonfly:3,2,4,4", "adaptive1", {"AR_RTR_0_", "AR_NIC_NETMON_ORB_EVENT_CNTR_REQ_FLITS"}),
        ("xgft:2;4,4;1,4", "hw-adaptive", {"PortXmitData", "PortXmitWait", "PortXmitDataVL0", "PortXmitPktsVL0"}),
    ],
)
def test_counters_have_the_vendors_names(capfd, tmp_path, fabric, routing, wanted):
    path, links = tmp_path / "vendor.csv", tmp_path / "links.csv"
    options = ["--traffic", "alltoall", "--bytes", "20000", "--ranks", "16", "--packet-bytes", "64"]
    protocol = ["--nic-protocol"] if fabric.startswith("dragonfly") else []
    files = ["--vendor-csv", str(path), "--links-csv", str(links)]
    main(["sim", "packet", "--topology", fabric, "--routing", routing, *options, *protocol, *files, "--json"])
    assert json.loads(capfd.readouterr().out)["conserved"]
    rows = list(csv.DictReader(path.open()))
    names = {row["counter"] for row in rows}
    assert all(any(name.startswith(start) for name in names) for start in wanted)
    assert not [name for name in names if identify_counter(re.sub(r"VL\d+$", "", name)) is None]
    if protocol:
        flits = sum(int(row["value"]) for row in rows if "INCOMING_FLIT_VC" in row["counter"])
        counted = [
            row for row in csv.DictReader(links.open()) if not row["dst"].startswith("nid") and row["dst_port"] != "-1"
        ]
        assert flits == sum(int(row["flits"]) for row in counted) > 0
