"""The PDF of a report: its table of objects is true, each line is on a page, and brackets and backslashes stay text."""

from __future__ import annotations

import re

from flitwatch_domain.pdf import render_pdf


def test_every_object_is_where_the_table_says() -> None:
    file = render_pdf("a (title)", [f"line {number}" for number in range(200)])
    table = int(file[file.rindex(b"startxref") :].split()[1])
    assert file[table : table + 4] == b"xref"
    places = [int(entry) for entry in re.findall(rb"(\d{10}) 00000 n", file[table:])]
    for number, place in enumerate(places, 1):
        assert file[place:].startswith(b"%d 0 obj" % number)
    for size, stream in re.findall(rb"/Length (\d+) >>\nstream\n(.*?)\nendstream", file, re.DOTALL):
        assert int(size) == len(stream)


def test_lines_are_on_pages_in_their_order_and_stay_text() -> None:
    lines = [f"line {number} (of\\200) \u4e2d" for number in range(200)]
    file = render_pdf("title", lines)
    (count,) = re.findall(rb"/Count (\d+)", file)
    assert int(count) == len(re.findall(rb"/Type /Page ", file)) > 1
    drawn = re.findall(rb"\((line .*?)\) Tj", file)
    assert drawn == [rb"line %d \(of\\200\) ?" % number for number in range(200)]


def test_no_lines_are_one_page() -> None:
    assert render_pdf("title", []).count(b"/Type /Page ") == 1
