"""Numbers in text from outside: ASCII digits alone, everywhere that text is read."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flitwatch_domain import numerals

ROOMS = (
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
    assert numerals.parse_whole(text) is None
    assert numerals.whole_or_hexadecimal(text) is None
    assert numerals.parse_real(text) is None


@given(st.integers(-(2**70), 2**70))
def test_whole_numbers_are_read_within_their_bounds(number: int) -> None:
    assert numerals.parse_whole(str(number)) == (number if 0 <= number < 2**64 else None)
    assert numerals.parse_whole(str(number), least=-5, most=5) == (number if -5 <= number <= 5 else None)
    if number >= 0:
        assert numerals.whole_or_hexadecimal(hex(number)) == (number if number < 2**64 else None)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_every_finite_number_is_read_as_it_was_written(number: float) -> None:
    assert numerals.parse_real(repr(number)) == number
    assert numerals.parse_real(f"{number:.17e}") == number


def test_a_long_row_of_digits_takes_no_time_and_is_none() -> None:
    assert numerals.parse_whole("9" * 10**6) is None and numerals.parse_real("9" * 10**6) is None
    assert (
        numerals.parse_whole("18446744073709551615") == 2**64 - 1
        and numerals.parse_whole("18446744073709551616") is None
    )


def test_no_pattern_takes_digits_of_other_scripts() -> None:
    found = []
    for room in ROOMS:
        for path in sorted((ROOT / room).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.Constant) and isinstance(node.value, str) and r"\d" in node.value:
                    found.append(f"{path.relative_to(ROOT)}:{node.lineno}")
    assert found == [], r"in text \d is a digit of any script: write [0-9]"
