"""Texts written by people: host lists, numerals and YAML files."""

from __future__ import annotations

import ast
import contextlib
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flitwatch_domain import units
from flitwatch_domain.errors import BadInput, NotFound
from flitwatch_domain.hostlist import compress_hosts, count_hosts, expand_hosts
from flitwatch_domain.importers.text import parse_yaml, read_yaml


@pytest.mark.parametrize(
    ("text", "hosts"),
    [
        ("nid[00001,00003-00004]", ["nid00001", "nid00003", "nid00004"]),
        ("n[8-11]", ["n8", "n9", "n10", "n11"]),
        ("n[08-11]", ["n08", "n09", "n10", "n11"]),
        ("r[1-2]n[01-02]", ["r1n01", "r1n02", "r2n01", "r2n02"]),
        ("login1,nid[1-2]-ib, gpu", ["login1", "nid1-ib", "nid2-ib", "gpu"]),
        ("c1 c2\tc[4-5]\n", ["c1", "c2", "c4", "c5"]),
        ("None assigned", []),
        ("", []),
    ],
)
def test_expansion(text: str, hosts: list[str]) -> None:
    assert expand_hosts(text) == hosts and count_hosts(text) == len(set(hosts))


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


# Numbers in text from outside: ASCII digits alone, everywhere that text is read.


PACKAGES = (
    "ingest/flitwatch_ingest",
    "services/domain",
    "services/routing",
    "services/cli",
    "services/slurm_agent",
    "services/simulation",
    "services/api",
    "ml/flitwatch_ml",
)

ROOT = Path(__file__).parents[2]

#: What int() or float() takes, and no device writes.
ODD = ("1_000", "١٢٣", "１２", "1２3", " 5", "5\n", "5 ", "٣.٥", "1_0.5", "1e1_0", "²", "5\x1f")

NO_NUMBERS = (
    "",
    "-",
    "+",
    ".",
    "e5",
    "1.2.3",
    "nan",
    "inf",
    "-Infinity",
    "0x",
    "1e999",
    "12three",
    "--1",
    "0b1",
    "0o7",
)


@pytest.mark.parametrize("text", [*ODD, *NO_NUMBERS])
def test_damage_is_no_number(text: str) -> None:
    assert units.parse_whole(text) is None
    assert units.whole_or_hexadecimal(text) is None
    assert units.parse_real(text) is None


@given(st.integers(-(2**70), 2**70))
def test_whole_numbers_are_read_within_their_bounds(number: int) -> None:
    assert units.parse_whole(str(number)) == (number if 0 <= number < 2**64 else None)
    assert units.parse_whole(str(number), least=-5, most=5) == (number if -5 <= number <= 5 else None)
    if number >= 0:
        assert units.whole_or_hexadecimal(hex(number)) == (number if number < 2**64 else None)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_every_finite_number_is_read_as_it_was_written(number: float) -> None:
    assert units.parse_real(repr(number)) == number
    assert units.parse_real(f"{number:.17e}") == number


def test_a_long_row_of_digits_takes_no_time_and_is_none() -> None:
    assert units.parse_whole("9" * 10**6) is None and units.parse_real("9" * 10**6) is None
    assert units.parse_whole("18446744073709551615") == 2**64 - 1 and units.parse_whole("18446744073709551616") is None


def test_no_pattern_takes_digits_of_other_scripts() -> None:
    found = []
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.Constant) and isinstance(node.value, str) and r"\d" in node.value:
                    found.append(f"{path.relative_to(ROOT)}:{node.lineno}")
    assert found == [], r"in text \d is a digit of any script: write [0-9]"


# YAML files that people write.


def test_plain_data_comes_out() -> None:
    assert parse_yaml("a: [1, 2.5, x, null]\nb: {c: true}\n", "t") == {"a": [1, 2.5, "x", None], "b": {"c": True}}
    assert parse_yaml("", "t") is None
    assert parse_yaml("{=: 1, <<: {z: 2}}", "t") == {"=": 1, "z": 2}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: b: c", r"^t:1: is not YAML: mapping values are not allowed here"),
        ("a: 1\nb: [", r"^t:3?2?: is not YAML"),
        ("a: \x00", r"^t: is not YAML: .*special characters"),
        ("a: !!python/object:os.system x", r"^t:1: is not YAML"),
        ("[" * 20_000, "nested too deeply"),
        # PyYAML raises ValueError, KeyError and AttributeError here.
        ("a: 2026-02-30", "of the wrong type .*day is out of range"),
        ("a: " + "1" * 5_000, "of the wrong type"),
        ("a: !!int one", "of the wrong type"),
        ('a: "\\Uffffffff"', "of the wrong type"),
        ("a: 1" + ":59" * 200 + ".0", "of the wrong type"),
        ("a: !!float one", "of the wrong type"),
        ("a: !!bool perhaps", "of the wrong type"),
        ("a: !!timestamp now", "of the wrong type"),
        ("a: 0x_", "of the wrong type"),
        ("rules: [1]\nreceivers: []\nrules: [2]\n", r"^t:3: is not YAML: the key 'rules' is in line 1 already"),
        ("rules:\n- name: x\n  above: 1\n  above: 1000\n", r"^t:4: .*'above' is in line 3"),
        ("{1: a, 0x1: b}", r"^t:1: .*'0x1' is in line 1"),
        ("a: &a {x: 1}\nb: {<<: *a, y: 1,\n y: 2}\n", r"^t:3: .*'y' is in line 2"),
        ("b:\n  <<: {x: 1,\n    x: 2}\n", r"^t:3: .*'x'"),
    ],
)
def test_what_is_no_plain_data_is_refused_in_one_line(text: str, said: str) -> None:
    with pytest.raises(BadInput, match=said) as caught:
        parse_yaml(text, "t")
    assert "\n" not in str(caught.value)


def test_an_own_key_over_a_merged_one_is_no_repetition() -> None:
    text = """
top: {inner: {<<: &mid {<<: &base {x: 1, y: 1}, y: 2}, x: 3}}
mid: *mid
twice: {<<: [*mid, *base], <<: {z: 4}, x: 5}
again: [*mid, {<<: *mid, y: 6}]
"""
    assert parse_yaml(text, "t") == {
        "top": {"inner": {"x": 3, "y": 2}},
        "mid": {"x": 1, "y": 2},
        "twice": {"x": 5, "y": 2, "z": 4},
        "again": [{"x": 1, "y": 2}, {"x": 1, "y": 6}],
    }
    assert parse_yaml("[{a: 1}, {a: 2}, {1: x, '1': y}]", "t") == [{"a": 1}, {"a": 2}, {1: "x", "1": "y"}]


def test_files_are_named(tmp_path: Path) -> None:
    file = tmp_path / "some.yaml"
    with pytest.raises(NotFound, match=r"some\.yaml does not exist"):
        read_yaml(file)
    file.write_bytes(b"\xef\xbb\xbfa: 1\r\n")
    assert read_yaml(file) == {"a": 1}
    file.write_bytes(b"\x80\x81a: 1")
    with pytest.raises(BadInput, match=r"some\.yaml: is not text"):
        read_yaml(file)


def _doubled(start: str, line: str, levels: int = 40) -> str:
    """Each level names the one before twice."""
    return "\n".join([start, *(line.format(n=n, before=n - 1) for n in range(1, levels))]) + "\n"


@pytest.mark.parametrize(
    "bomb",
    [
        _doubled("a0: &a0 [x, x]", "a{n}: &a{n} [*a{before}, *a{before}]"),
        _doubled("a0: &a0 {k: x}", "a{n}: &a{n} {{p: *a{before}, q: *a{before}}}"),
        _doubled("a0: &a0 {k: x}", "a{n}: &a{n} {{<<: [*a{before}, *a{before}]}}"),
    ],
    ids=["lists", "mappings", "merges"],
)
def test_aliases_of_aliases_are_refused_before_they_are_followed(bomb: str) -> None:
    with pytest.raises(BadInput, match="aliases expand to more than"):
        parse_yaml(bomb, "bomb.yaml")


def test_what_holds_itself_is_refused() -> None:
    with pytest.raises(BadInput, match="refers to its own parent"):
        parse_yaml("a: &a [1, *a]\n", "ring.yaml")


def test_ordinary_aliases_are_followed() -> None:
    assert parse_yaml("a: &a {k: 1}\nb: {<<: *a, l: 2}\nc: [*a, *a]\n", "x") == {
        "a": {"k": 1},
        "b": {"k": 1, "l": 2},
        "c": [{"k": 1}, {"k": 1}],
    }
