"""YAML files that people write."""

from __future__ import annotations

from pathlib import Path

import pytest

from flitwatch_domain.errors import BadInput, NotFound
from flitwatch_domain.importers.yaml_text import parse_yaml, read_yaml


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
        ("a: 2026-02-30", "not of its type .*day is out of range"),
        ("a: " + "1" * 5_000, "not of its type"),
        ("a: !!int one", "not of its type"),
        ('a: "\\Uffffffff"', "not of its type"),
        ("a: 1" + ":59" * 200 + ".0", "not of its type"),
        ("a: !!float one", "not of its type"),
        ("a: !!bool perhaps", "not of its type"),
        ("a: !!timestamp now", "not of its type"),
        ("a: 0x_", "not of its type"),
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
