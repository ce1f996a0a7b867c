"""Slurm host lists."""

from __future__ import annotations

import contextlib
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flitwatch_domain.errors import BadInput
from flitwatch_domain.hostlist import compress_hosts, expand_hosts


@pytest.mark.parametrize(
    ("text", "hosts"),
    [
        ("nid[00001,00003-00004]", ["nid00001", "nid00003", "nid00004"]),
        ("n[8-11]", ["n8", "n9", "n10", "n11"]),
        ("n[08-11]", ["n08", "n09", "n10", "n11"]),
        ("r[1-2]n[01-02]", ["r1n01", "r1n02", "r2n01", "r2n02"]),
        ("login1,nid[1-2]-ib, gpu", ["login1", "nid1-ib", "nid2-ib", "gpu"]),
        ("None assigned", []),
        ("", []),
    ],
)
def test_expansion(text: str, hosts: list[str]) -> None:
    assert expand_hosts(text) == hosts


@pytest.mark.parametrize(
    "text",
    [
        "n[1-3",
        "n1-3]",
        "n[[1]]",
        "n[3-1]",
        "n[a-b]",
        "n[]",
        "n[1-99999999999]",
        "a[1-2000]b[1-2000]",
        "n[1-]",
        "a" * 256,
        "n" * 250 + "[099999-100001]",
    ],
)
def test_bad_lists_are_refused(text: str) -> None:
    with pytest.raises(BadInput):
        expand_hosts(text)


host = st.from_regex(r"[a-z]{1,4}-?[0-9]{0,6}[a-z]{0,2}[0-9]{0,3}", fullmatch=True)


@given(hosts=st.sets(host, max_size=60))
def test_compress_is_the_inverse_of_expand_as_a_set(hosts: set[str]) -> None:
    text = compress_hosts(hosts)
    assert set(expand_hosts(text)) == hosts
    assert len(expand_hosts(text)) == len(hosts)


def test_the_last_18_digits_of_a_name_are_ranged() -> None:
    assert (
        compress_hosts(["a12b" + "9" * 20, "a12b" + "9" * 19 + "8", "7", "x"])
        == "x,7,a12b99[999999999999999998-999999999999999999]"
    )


def test_names_that_end_in_letters_are_written_out() -> None:
    """Slurm 22.05 refuses text behind a bracket: `scontrol show hostnames 'n[1-2]-ib'` says "Invalid hostlist"."""
    assert compress_hosts(["n1-ib", "n2-ib", "n3", "n4"]) == "n1-ib,n2-ib,n[3-4]"


def blades(count: int) -> list[str]:
    """Nodes of a Cray EX by their place: cabinet, chassis, slot, board, node."""
    return [f"x{1000 + at // 256}c{at // 32 % 8}s{at // 4 % 8}b{at // 2 % 2}n{at % 2}" for at in range(count)]


def test_every_number_of_a_name_is_ranged() -> None:
    assert compress_hosts(blades(2048)) == "x[1000-1007]c[0-7]s[0-7]b[0-1]n[0-1]"
    assert compress_hosts(["r1n5", "r2n5", "r3n7"]) == "r3n7,r[1-2]n[5]"
    assert compress_hosts(["r08n1", "r09n1", "r10n1", "r9n1"]) == "r9n1,r[08-10]n[1]"


@given(chosen=st.sets(st.integers(0, 2047), min_size=1, max_size=300))
def test_a_part_of_a_machine_expands_to_itself(chosen: set[int]) -> None:
    hosts = {blades(2048)[at] for at in chosen}
    text = compress_hosts(hosts)
    assert set(expand_hosts(text)) == hosts and len(expand_hosts(text)) == len(hosts)
    assert len(text) <= len(",".join(hosts))


@pytest.mark.skipif(shutil.which("scontrol") is None, reason="needs Slurm's client: apt-get install slurm-client")
@pytest.mark.parametrize(
    "hosts",
    [
        blades(64),
        ["r1n5", "r2n5", "r3n7"],
        ["a1b2c3d4e5f6g7h8", "a1b2c3d4e5f6g7h9", "a2b2c3d4e5f6g8h8"],
        ["n1-ib", "n2"],
    ],
)
def test_slurm_reads_it(tmp_path: Path, hosts: list[str]) -> None:
    site = tmp_path / "slurm.conf"
    site.write_text("ClusterName=x\nSlurmctldHost=localhost\nAuthType=auth/none\n")
    done = subprocess.run(
        ["scontrol", "show", "hostnames", compress_hosts(hosts)],
        capture_output=True,
        text=True,
        env={"SLURM_CONF": str(site)},
    )
    assert sorted(done.stdout.split()) == sorted(hosts), done.stderr


@given(first=st.integers(0, 99_000), count=st.integers(1, 300))
def test_a_range_becomes_one_bracket(first: int, count: int) -> None:
    text = compress_hosts(f"nid{n:05d}" for n in range(first, first + count))
    assert text == (f"nid{first:05d}" if count == 1 else f"nid[{first:05d}-{first + count - 1:05d}]")


@given(text=st.text(alphabet="nid[]0123456789,- \x00é", max_size=60))
def test_hostile_text_raises_nothing_else(text: str) -> None:
    with contextlib.suppress(BadInput):
        expand_hosts(text, limit=1000)
