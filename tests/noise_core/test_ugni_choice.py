"""The LD_PRELOAD library of application-aware routing, against a uGNI that records its calls."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CORE = ROOT / "services/noise_core"
ADAPTIVE0, IN_ORDER, ADAPTIVE1, ADAPTIVE3 = 0, 3, 0x20, 0x80


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if shutil.which("g++") is None:
        pytest.skip("needs g++")
    into, here = tmp_path_factory.mktemp("ugni"), Path(__file__).parent
    compile_ = ["g++", "-std=c++20", "-O1", "-Wall", "-Wextra", f"-I{CORE}"]
    library = str(CORE / "ugni_choice/ugni_choice.cpp")
    for command in (
        [*compile_, "-shared", "-fPIC", library, "-ldl", "-o", str(into / "libflitwatch_ugni.so")],
        [*compile_, "-shared", "-fPIC", str(here / "ugni_stub.cpp"), "-o", str(into / "libugni.so")],
        [*compile_, str(here / "ugni_program.cpp"), f"-L{into}", "-lugni", "-ldl", "-o", str(into / "program")],
    ):
        subprocess.run(command, check=True)
    return into


def run(built: Path, lines: list[str], *, counters: Path | None = None, log: Path | None = None) -> list[str]:
    environment = os.environ | {
        "LD_LIBRARY_PATH": str(built),
        "LD_PRELOAD": str(built / "libflitwatch_ugni.so"),
        **({"FLITWATCH_NIC_COUNTERS": str(counters)} if counters else {}),
        **({"FLITWATCH_ROUTING_LOG": str(log)} if log else {}),
    }
    done = subprocess.run(
        [built / "program"], input="\n".join(lines), env=environment, capture_output=True, text=True, timeout=30
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def modes(answers: list[str]) -> list[int]:
    return [int(line.split()[2]) for line in answers if line.startswith("GNI_")]


@pytest.mark.system("numeric")
def test_small_messages_go_with_high_bias_until_they_add_up(built: Path) -> None:
    assert modes(run(built, ["fma 1024"] * 9)) == [ADAPTIVE3] * 3 + [ADAPTIVE0] + [ADAPTIVE3] * 3 + [
        ADAPTIVE0,
        ADAPTIVE3,
    ]


def test_every_posting_call_is_wrapped_and_its_answer_and_descriptor_stay(built: Path) -> None:
    answers = run(built, ["rdma 1048576", "fma 13", "chained 13"])
    assert answers == [
        f"GNI_PostRdma 1048576 {ADAPTIVE0}",
        f"GNI_PostFma 13 {ADAPTIVE3}",
        "answer 1",
        f"GNI_CtPostFma 13 {ADAPTIVE3}",
        "answer 1",
    ]


def test_a_mode_that_the_program_chose_stays(built: Path) -> None:
    assert modes(run(built, [f"rdma 64 {IN_ORDER}", f"rdma 64 {ADAPTIVE1}"])) == [IN_ORDER, ADAPTIVE1]


def test_high_latency_turns_large_messages_to_high_bias_and_high_stalls_turn_them_back(
    built: Path, tmp_path: Path
) -> None:
    # Latency rules short messages: 8 KiB with 12.5 us (10,000 NIC cycles) a response gains by the expected factor 0.8.
    counters, log = tmp_path / "nic", tmp_path / "log"
    lines = ["counters 0 0 0 0", "rdma 8192", "counters 640 0 128 1600", "rdma 8192"]
    # Then high bias is seen to stall a lot: five cycles per flit; adaptive was seen not to.
    lines += ["counters 1280 32000 256 4800", "rdma 8192"]
    assert modes(run(built, lines, counters=counters, log=log)) == [ADAPTIVE0, ADAPTIVE3, ADAPTIVE0]
    said = json.loads(log.read_text())
    assert said == {"adaptive": [2, 16384], "high_bias": [1, 8192], "increasingly_minimal": [0, 0], "observations": 2}


def test_the_latency_counter_is_in_microseconds(built: Path, tmp_path: Path) -> None:
    # 1.6 us a response is 1,280 NIC cycles: 160 cycles are saved by 0.8 L, 64 are lost by 1.5 s.
    lines = ["counters 0 0 0 0", "rdma 8192", "counters 640 128 128 204.8", "rdma 8192"]
    assert modes(run(built, lines, counters=tmp_path / "nic")) == [ADAPTIVE0, ADAPTIVE3]
    # 0.16 us, 128 cycles: 16 are saved and 64 lost.
    lines[2] = "counters 640 128 128 20.48"
    assert modes(run(built, lines, counters=tmp_path / "nic")) == [ADAPTIVE0, ADAPTIVE0]


PUTS, GETS = (1, 3, 4), (2, 5, 9)


@pytest.mark.parametrize("post_type", [*PUTS, *GETS])
def test_a_get_sends_one_request_flit_a_packet(built: Path, tmp_path: Path, post_type: int) -> None:
    # 64 KiB are 1,024 packets: 3,000 cycles are saved by 0.8 L; 1.5 s costs 7,680 with five flits a packet, 1,536 with one.
    lines = ["counters 0 0 0 0", "rdma 65536", "counters 1000 3000 100 1250", f"rdma 65536 0 {post_type}"]
    expected = ADAPTIVE3 if post_type in GETS else ADAPTIVE0
    assert modes(run(built, lines, counters=tmp_path / "nic")) == [ADAPTIVE0, expected]


def test_all_to_all_takes_the_increasingly_minimal_mode(built: Path) -> None:
    assert modes(run(built, ["all_to_all 1", "rdma 65536", "all_to_all 0", "rdma 65536"])) == [ADAPTIVE1, ADAPTIVE0]


@pytest.mark.parametrize("text", ["", "AR_NIC_NETMON_ORB_EVENT_CNTR_REQ_FLITS many\n", "\x00\xff"])
def test_unreadable_counters_are_no_observation(built: Path, tmp_path: Path, text: str) -> None:
    counters, log = tmp_path / "nic", tmp_path / "log"
    counters.write_text(text)
    assert modes(run(built, ["rdma 65536"] * 3, counters=counters, log=log)) == [ADAPTIVE0] * 3
    assert json.loads(log.read_text())["observations"] == 0
