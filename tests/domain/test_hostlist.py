"""Slurm host lists."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flitwatch_domain.errors import BadInput
from flitwatch_domain.hostlist import compress, expand


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
    assert expand(text) == hosts


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
        expand(text)


host = st.from_regex(r"[a-z]{1,4}-?[0-9]{0,6}[a-z]{0,2}[0-9]{0,3}", fullmatch=True)


@given(hosts=st.sets(host, max_size=60))
def test_compress_is_the_inverse_of_expand_as_a_set(hosts: set[str]) -> None:
    text = compress(hosts)
    assert set(expand(text)) == hosts
    assert len(expand(text)) == len(hosts)


def test_the_last_18_digits_of_a_name_are_ranged() -> None:
    assert (
        compress(["a12b" + "9" * 20, "a12b" + "9" * 19 + "8", "7", "x"])
        == "x,7,a12b99[999999999999999998-999999999999999999]"
    )


def test_names_that_end_in_letters_are_written_out() -> None:
    """Slurm 22.05 refuses text behind a bracket: `scontrol show hostnames 'n[1-2]-ib'` says "Invalid hostlist"."""
    assert compress(["n1-ib", "n2-ib", "n3", "n4"]) == "n1-ib,n2-ib,n[3-4]"


@given(first=st.integers(0, 99_000), count=st.integers(1, 300))
def test_a_range_becomes_one_bracket(first: int, count: int) -> None:
    text = compress(f"nid{n:05d}" for n in range(first, first + count))
    assert text == (f"nid{first:05d}" if count == 1 else f"nid[{first:05d}-{first + count - 1:05d}]")


@given(text=st.text(alphabet="nid[]0123456789,- \x00é", max_size=60))
def test_hostile_text_raises_nothing_else(text: str) -> None:
    with contextlib.suppress(BadInput):
        expand(text, limit=1000)
