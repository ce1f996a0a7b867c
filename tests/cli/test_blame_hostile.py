"""Hostile input files: `flitwatch blame --runs --exposure` prints one clear line, or cannot tell; it never crashes and never names a user."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import os
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from pathlib import Path

import numpy as np
import pytest
import zstandard
from support.run_tables import EXPOSURE_COLUMNS, MONDAY_S, RUN_COLUMNS, Rows, tables

from flitwatch.main import main

Texts = tuple[str, str]


def joined(columns: list[str], rows: Rows, sign: str = ",") -> str:
    return "".join(f"{sign.join(map(str, row))}\n" for row in [columns, *rows])


def texts(runs: Rows | None = None, exposure: Rows | None = None, sign: str = ",") -> Texts:
    """Both files; what is not given is as in the set whose culprit is named."""
    some, more = tables()
    return (
        joined(RUN_COLUMNS, some if runs is None else runs, sign),
        joined(EXPOSURE_COLUMNS, more if exposure is None else exposure, sign),
    )


def with_cell(line: int, column: str, value: object) -> Texts:
    """The set with another value in one cell of the runs."""
    runs, _ = tables()
    runs[line][RUN_COLUMNS.index(column)] = value
    return texts(runs)


def with_amount(value: object) -> Texts:
    _, exposure = tables()
    exposure[0][2] = value
    return texts(exposure=exposure)


def write(folder: Path, runs: str | bytes, exposure: str | bytes) -> list[str]:
    for name, content in (("runs.csv", runs), ("exposure.csv", exposure)):
        (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    return [
        "blame",
        "--runs",
        str(folder / "runs.csv"),
        "--exposure",
        str(folder / "exposure.csv"),
        "--shuffles",
        "3",
        "--json",
    ]


def renamed(text: str, old: str, new: str) -> str:
    return text.replace(old, new)


ONE_LINE: dict[str, tuple[Callable[[], tuple[str | bytes, str | bytes]], str]] = {
    "UTF-32": (lambda: (texts()[0].encode("utf-32"), texts()[1]), "the header lacks run, start, time_s"),
    "latin-1": (lambda: (texts()[0], renamed(texts()[1], "u1,", "jürgen,").encode("latin-1")), "exposure.csv: is not text"),
    "semicolons": (lambda: texts(sign=";"), "by commas, not by ';'"),
    "tabs": (lambda: texts(sign="\t"), "by commas, not by '\\t'"),
    "bars": (lambda: texts(sign="|"), "by commas, not by '|'"),
    "blanks": (lambda: texts(sign=" "), "the header lacks run, start, time_s"),
    "gzip cut short": (lambda: (gzip.compress(texts()[0].encode())[:400], texts()[1]), "runs.csv: is damaged or incomplete"),
    "gzip in gzip": (lambda: (gzip.compress(gzip.compress(texts()[0].encode())), texts()[1]), "runs.csv: is not text"),
    "damaged bzip2": (lambda: (b"BZh91AY&SY" + bytes(40), texts()[1]), "runs.csv: is damaged"),
    "zip": (lambda: (b"PK\x03\x04" + bytes(40), texts()[1]), "runs.csv: is a ZIP archive"),
    "empty": (lambda: ("", texts()[1]), "runs.csv:1: the header lacks run, start, time_s"),
    "a line's end": (lambda: ("\n", texts()[1]), "the header lacks run, start, time_s"),
    "NUL bytes": (lambda: (bytes(4096), texts()[1]), "the header lacks run, start, time_s"),
    "a header only": (lambda: texts(runs=[]), "runs.csv: contains no runs"),
    "a header only alongside runs": (lambda: texts(exposure=[]), "exposure.csv: contains no users"),
    "no header": (lambda: (texts()[0].split("\n", 1)[1], texts()[1]), "the header lacks run, start, time_s"),
    "capitals": (lambda: (renamed(texts()[0], "time_s", "Time_S"), texts()[1]), "the header lacks time_s"),
    "two columns of a name": (lambda: (renamed(texts()[0], "groups", "nodes"), texts()[1]), "two have the same"),
    "two columns of start": (lambda: (renamed(texts()[0], "groups", "start"), texts()[1]), "two have the same"),
    "a column without a name": (lambda: (renamed(texts()[0], "groups", ""), texts()[1]), "a column has no name"),
    "the files changed places": (lambda: texts()[::-1], "the header lacks start, time_s"),
    "a quote that does not end": (lambda: (renamed(texts()[0], "r7,", '"r7,'), texts()[1]), "fields where the header has 6"),
    "a row cut off": (lambda: (texts()[0][:-9], texts()[1]), "fields where the header has 6"),
    "NUL in a name": (lambda: (texts()[0], renamed(texts()[1], "u1,", "u\0,")), "user has control characters"),
    "NUL in a time": (lambda: with_cell(3, "time_s", "30\x000"), "time is not a number"),
    "an infinite time": (lambda: with_cell(3, "time_s", "inf"), "time is not a finite number"),
    "a time beyond all numbers": (lambda: with_cell(3, "time_s", "1e999"), "time is not a finite number"),
    "a time that is none": (lambda: with_cell(3, "time_s", "NaN"), "time is not a finite number"),
    "no time": (lambda: with_cell(3, "time_s", ""), "time is not a number"),
    "a negative time": (lambda: with_cell(3, "time_s", -300), "must be above zero"),
    "no time at all": (lambda: with_cell(3, "time_s", 0), "must be above zero"),
    "a time with its unit": (lambda: with_cell(3, "time_s", "300s"), "time is not a number"),
    "a decimal comma": (lambda: with_cell(3, "time_s", '"300,5"'), "time is not a number"),
    "thousands with underscores": (lambda: with_cell(3, "time_s", "1_000"), "time is not a number"),
    "digits of another script": (lambda: with_cell(3, "time_s", "٣٠٠"), "time is not a number"),
    "wide digits": (lambda: with_cell(3, "time_s", "３００"), "time is not a number"),
    "hexadecimal": (lambda: with_cell(3, "time_s", "0x12c"), "time is not a number"),
    "a start in another script": (lambda: with_cell(3, "start", "１７６７５７１２００"), "start is not a number"),
    "a date in another script": (lambda: with_cell(3, "start", "２０２６-02-01"), "start is not a time"),
    "a start with underscores": (lambda: with_cell(3, "start", "1_767_571_200"), "start is not a number"),
    "an infinite start": (lambda: with_cell(3, "start", "inf"), "start is not a finite number"),
    "no start": (lambda: with_cell(0, "start", ""), "a run has no start"),
    "a start before 1970": (lambda: with_cell(3, "start", "1969-07-20T20:17:00Z"), "start is not within 1970 to 9999"),
    "a start beyond the calendar": (lambda: with_cell(3, "start", "9999-12-31T23:59:59-14:00"), "start is not within 1970 to 9999"),
    "a day that there is not": (lambda: with_cell(3, "start", "2026-02-30"), "start is not a time"),
    "an hour that there is not": (lambda: with_cell(3, "start", "2026-02-03T25:00:00Z"), "start is not a time"),
    "a date as people write it": (lambda: with_cell(3, "start", "3.2.2026"), "start is not a time"),
    "no nodes": (lambda: with_cell(3, "nodes", 0), "a run has no nodes"),
    "nodes that are no number": (lambda: with_cell(3, "nodes", "many"), "nodes is not a number"),
    "a circumstance without end": (lambda: with_cell(3, "groups", "inf"), "groups is not a finite number"),
    "a negative amount": (lambda: with_amount(-1), "amount cannot be negative"),
    "an infinite amount": (lambda: with_amount("Infinity"), "amount is not a finite number"),
    "no amount": (lambda: with_amount(""), "amount is not a number"),
    "an amount too large for sums": (lambda: with_amount("1e300"), "cannot be as large or as small"),
    "an amount with underscores": (lambda: with_amount("1_0"), "amount is not a number"),
    "a run twice": (lambda: texts(runs=[*tables()[0], tables()[0][5]]), "run 'r5' is listed twice"),
    "a run twice but for blanks": (lambda: texts(runs=[*tables()[0], [" r5 ", *tables()[0][5][1:]]]), "run 'r5' is listed twice"),
    "a run and user twice": (lambda: texts(exposure=[*tables()[1], tables()[1][5]]), "are listed twice"),
    "exposure of an unknown run": (lambda: texts(exposure=[*tables()[1], ["r404", "u1", 3]]), "run 'r404' is not in"),
    "a run without a name": (lambda: with_cell(3, "run", ""), "run is empty"),
    "a user without a name": (lambda: texts(exposure=[*tables()[1], ["r1", "", 3]]), "user is empty"),
    "colours in a name": (lambda: texts(exposure=[["r0", "\x1b[31mroot", 3], *tables()[1]]), "user has control characters"),
    "a name that runs backwards": (lambda: texts(exposure=[["r0", "\u202etoor", 3], *tables()[1]]), "user has control characters"),
    "a name longer than a field": (lambda: texts(exposure=[["r0", "u" * 200_000, 3], *tables()[1]]), "exposure.csv: is not CSV"),
    "nineteen runs": (lambda: few_runs(19), "needs 20 runs, has 19"),
    "runs that are all alike": (lambda: alike(), "all 90 runs took 300 s: nothing to explain"),
    "a circumstance for each two runs": (lambda: many_circumstances(), "circumstances for 90 runs: give at most 22"),
}  # fmt: skip


def few_runs(count: int) -> Texts:
    runs, exposure = tables()
    return texts(runs[:count], [row for row in exposure if int(row[0][1:]) < count])


def alike() -> Texts:
    runs, exposure = tables()
    return texts([[*row[:2], 300, *row[3:]] for row in runs], exposure)


def many_circumstances() -> Texts:
    runs, exposure = tables()
    names = [f"c{number}" for number in range(45)]
    more = [[*row, *((at * (7 + number)) % 11 for number in range(45))] for at, row in enumerate(runs)]
    return joined([*RUN_COLUMNS, *names], more), joined(EXPOSURE_COLUMNS, exposure)


@pytest.mark.parametrize("kind", ONE_LINE)
def test_a_hostile_file_gets_one_clear_line(capfd, tmp_path: Path, kind: str) -> None:
    made, words = ONE_LINE[kind]
    with pytest.raises(SystemExit) as leave:
        main(write(tmp_path, *made()))
    said = capfd.readouterr()
    assert leave.value.code == 1 and said.out == ""
    assert words in said.err and said.err.count("\n") == 1
    assert said.err.rstrip("\n").isprintable() and len(said.err) < 1000


def answer(capfd, folder: Path, runs: str | bytes, exposure: str | bytes) -> dict:  # type: ignore[no-untyped-def]
    folder.mkdir(exist_ok=True)
    main(write(folder, runs, exposure))
    return json.loads(capfd.readouterr().out)


@pytest.mark.system("processes")
@pytest.mark.parametrize(
    "packed",
    [
        gzip.compress,
        bz2.compress,
        lzma.compress,
        zstandard.ZstdCompressor().compress,
        lambda text: text.decode().encode("utf-16"),
        lambda text: text.decode().encode("utf-16-be"),
        lambda text: b"\xef\xbb\xbf" + text,
        lambda text: text.replace(b"\n", b"\r\n"),
        lambda text: text.replace(b"\n", b"\n\n"),
    ],
    ids=["gzip", "bzip2", "xz", "zstd", "UTF-16", "UTF-16 without a mark", "UTF-8 with a mark", "CRLF", "empty lines"],
)
def test_the_same_set_in_another_form_gets_the_same_answer(capfd, tmp_path: Path, packed) -> None:  # type: ignore[no-untyped-def]
    plain = answer(capfd, tmp_path, *texts())
    assert [user["user"] for user in plain["users"] if user["verdict"] == "named"] == ["u0"]
    assert answer(capfd, tmp_path, *(packed(text.encode()) for text in texts())) == plain


@pytest.mark.parametrize("place", ["a folder", "nothing", "a pipe"])
def test_what_is_no_file_gets_one_clear_line(capfd, tmp_path: Path, place: str) -> None:
    given = tmp_path / "given"
    if place == "a folder":
        given.mkdir()
    if place == "a pipe":
        os.mkfifo(given)
    problem = {"a folder": "Is a directory", "nothing": "does not exist", "a pipe": "is not a regular file"}[place]
    write(tmp_path, *texts())
    with pytest.raises(SystemExit) as leave:
        main(["blame", "--runs", str(given), "--exposure", str(tmp_path / "exposure.csv"), "--json"])
    said = capfd.readouterr()
    assert leave.value.code in (1, 2) and said.out == "" and problem in said.err


def always_there() -> Texts:
    runs, _ = tables()
    return texts(runs, [[f"r{run}", f"u{user}", 20] for run in range(len(runs)) for user in range(5)])


def one_user_a_run() -> Texts:
    runs, _ = tables()
    return texts(runs, [[f"r{run}", f"u{run}", 20] for run in range(len(runs))])


def slow_only_with_one() -> Texts:
    """Each run that anybody slowed has a user of its own."""
    runs, _ = tables()
    return texts(
        [[*row[:2], 600 if at % 9 == 0 else row[2], *row[3:]] for at, row in enumerate(runs)],
        [[f"r{at}", f"u{at}", 9] for at in range(0, len(runs), 9)],
    )


def no_neighbours() -> Texts:
    runs, exposure = tables()
    return texts(runs, [[*row[:2], 0] for row in exposure])


def one_day() -> Texts:
    runs, exposure = tables()
    return texts(
        [[row[0], f"2026-02-02T{at // 60:02}:{at % 60:02}:00Z", *row[2:]] for at, row in enumerate(runs)], exposure
    )


def years_of_seconds() -> Texts:
    """Dates without their signs are numbers, which are seconds since 1970."""
    runs, exposure = tables()
    return texts([[row[0], row[1][:10].replace("-", ""), *row[2:]] for row in runs], exposure)


def one_moment() -> Texts:
    runs, exposure = tables()
    return texts([[row[0], "2026-02-02", *row[2:]] for row in runs], exposure)


def one_slow_run() -> Texts:
    runs, exposure = tables()
    there = {int(row[0][1:]) for row in exposure if row[1] == "u1"}
    first = min(there)
    return texts([[*row[:2], 1e9 if at == first else 300 + at % 3, *row[3:]] for at, row in enumerate(runs)], exposure)


@pytest.mark.parametrize(
    ("made", "verdict", "reason"),
    [
        (always_there, "cannot tell", "without exposure in 0 of 63 observations, needs 5 (near copies of a run"),
        (one_user_a_run, "cannot tell", "exposed in 1 of 90 runs, needs 5"),
        (slow_only_with_one, "cannot tell", "exposed in 1 of 71 observations, needs 5"),
        (no_neighbours, "cannot tell", "exposed in 0 of 63 observations, needs 5"),
        (one_day, "cannot tell", "the runs are from 1 day; 4 are needed"),
        (years_of_seconds, "cannot tell", "the runs are from 1 day; 4 are needed"),
        (one_moment, "cannot tell", "the runs are from 1 day; 4 are needed"),
        (one_slow_run, "no evidence", "q = "),
    ],
)  # fmt: skip
def test_a_set_that_cannot_tell_names_nobody(capfd, tmp_path: Path, made, verdict: str, reason: str) -> None:  # type: ignore[no-untyped-def]
    found = answer(capfd, tmp_path, *made())
    assert found["named"] == 0 and not [user for user in found["users"] if user["verdict"] == "named"]
    assert any(user["verdict"] == verdict and any(reason in one for one in user["reasons"]) for user in found["users"])


def in_zone(text: str) -> str:
    """The same moment without a zone, which is UTC, or in another one."""
    moment = datetime.fromisoformat(text)
    return (
        moment.replace(tzinfo=None) if moment.minute % 2 else moment.astimezone(timezone(timedelta(hours=-7)))
    ).isoformat()


@pytest.mark.system("processes")
def test_dates_without_a_zone_are_utc(capfd, tmp_path: Path) -> None:
    runs, exposure = tables()
    other = texts([[row[0], in_zone(row[1]), *row[2:]] for row in runs], exposure)
    assert answer(capfd, tmp_path, *other) == answer(capfd, tmp_path, *texts())


def test_a_date_far_from_the_others_names_no_innocent(capfd, tmp_path: Path) -> None:
    found = answer(capfd, tmp_path, *with_cell(3, "start", "2999-01-01T00:00:00Z"))
    assert {user["user"] for user in found["users"] if user["verdict"] == "named"} <= {"u0"}


def test_names_of_any_length_and_script_are_kept_as_they_are(capfd, tmp_path: Path) -> None:
    runs, exposure = tables()
    names = {"u0": "ü" * 5_000, "u1": "李", "u2": "=1+1", "u3": "None", "u4": "a,b"}
    renamed = [[row[0], names.get(row[1], row[1]), row[2]] for row in exposure]
    quoted = [[run, f'"{user}"', amount] for run, user, amount in renamed]
    found = answer(capfd, tmp_path, *texts(runs, quoted))
    assert {user["user"] for user in found["users"]} == {row[1] for row in renamed}
    assert [user["user"] for user in found["users"] if user["verdict"] == "named"] == [names["u0"]]


@pytest.mark.system("numeric")
def test_two_hundred_thousand_rows_are_read_to_the_last(capfd, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    runs, users = 1_000, 400
    start = MONDAY_S + np.sort(rng.uniform(0, 26 * 604_800, runs))
    there = rng.random((runs, users)) < 0.5
    time_s = 300 * rng.lognormal(0, 0.03, runs) + 30 * there[:, 7]
    table = [[f"r{at}", start[at], time_s[at], 64, 1, "x"] for at in range(runs)]
    exposure = [[f"r{run}", f"u{user}", 20] for run, user in np.argwhere(there)]
    assert 195_000 < len(exposure) < 205_000
    main([*write(tmp_path, *texts(table, exposure))[:-3], "--shuffles", "0", "--json"])
    found = json.loads(capfd.readouterr().out)
    assert len(found["users"]) == users and [user["user"] for user in found["users"] if user["verdict"] == "named"] == [
        "u7"
    ]
