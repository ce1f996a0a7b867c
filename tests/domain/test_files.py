"""Files: refused outputs with advice, PDF reports, files with secrets, and the disk limit below which nothing new is stored."""

from __future__ import annotations

import io
import re
import shutil
from pathlib import Path

import pytest

from flitwatch_domain.data_disk import LEAST_FREE, LOG_PART, MIB, DataDisk
from flitwatch_domain.errors import BadInput, BadRequest, DiskFull
from flitwatch_domain.importers.read import detect_format
from flitwatch_domain.project_report import render_pdf
from flitwatch_domain.secret_file import secret_of
from flitwatch_ingest.sources import sacct

FABRICS = [
    ("Link Summary\n\n352 Links in Fabric:\nRate NodeGUID          Port Type Name\n100g 0x001175010163d2ee   1 FI   n1 hfi1_0\n", "opareport", "ibnetdiscover"),
    ('<?xml version="1.0" ?>\n<Report date="x"><LinkSummary/></Report>\n', "opareport", "ibnetdiscover"),
    ("NodeDesc;SystemImageGUID;PortNum;XmitDataMB\nedge1;0x1;1;1\n", "opaextractperf", "opa2"),
    ('# names\n0x0002c90300000001 "node 1"\n0x0002c90300000002 "leaf A"\n', "node-name map", "--node-name-map"),
    ("CA: n1 HCA-1:\n      0x2 1 1[  ] ==( 4X 25.78125 Gbps Active/  LinkUp)==>  2 3[  ] \"sw\" ( )\n", "iblinkinfo", "ibnetdiscover"),
    ('Switch\t : 0x0002c9 ports 36 devid 0xcb20 vendid 0x2c9 "sw"\n', "--list", "without options"),
    ("CA    1  1 0x0002c90300000001 4x QDR - SW    2  3 0x0002c90300000002 ( 'n1' - 'sw1' )\n", "--ports", "without --ports"),
]  # fmt: skip

JOBS = [
    ("JobId=12 JobName=a\n   UserId=u(1)\n", "scontrol show job", "--json"),
    ("   JobId=12 JobName=a\n", "scontrol show job", "--json"),
    ("             JOBID PARTITION     NAME     USER ST       TIME  NODES NODELIST(REASON)\n 1 p a u R 1:00 1 n1\n", "squeue", "squeue --json"),
    ("Job Id: 12.pbs01\n    Job_Name = a\n", "qstat -f", "import pbs"),
    ("Job id            Name             User              Time Use S Queue\n", "qstat", "import pbs"),
    ("       JOBID QUEUE    USER     NAME       ST NTASKS NNODES     TIME INFO\n", "flux jobs", "import flux"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "named", "instead"), FABRICS)
def test_a_topology_that_is_not_read_is_named(text: str, named: str, instead: str) -> None:
    with pytest.raises(BadInput) as refused:
        detect_format(text, "file")
    assert named in refused.value.reason and instead in (refused.value.advice or "")
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("text", ["# " * 5000 + "\nx", "\n" * 65_000], ids=["comments", "lines"])
def test_what_says_nothing_is_refused_without_trying_all_its_parts(text: str) -> None:
    # Each "# " once doubled the time, and 65,000 line feeds took four minutes.
    with pytest.raises(BadInput, match="is neither"):
        detect_format(text, "file")


@pytest.mark.parametrize(("text", "named", "instead"), JOBS)
def test_accounting_that_is_not_read_is_named(text: str, named: str, instead: str) -> None:
    with pytest.raises(BadInput) as refused:
        list(sacct.SacctReader().read(io.BytesIO(text.encode()), "file"))
    assert named in refused.value.reason and instead in (refused.value.advice or "")


# The PDF of a report: its table of objects is true, each line is on a page, and brackets and backslashes stay text.


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


# Files with a password or a token.


def kept(folder: Path, content: bytes, mode: int = 0o600) -> Path:
    path = folder / "secret"
    path.write_bytes(content)
    path.chmod(mode)
    return path


@pytest.mark.parametrize("content", [b"open sesame", b"open sesame\n", b"  open sesame\r\n\n"])
def test_the_line_comes_without_what_editors_add(tmp_path: Path, content: bytes) -> None:
    assert secret_of(kept(tmp_path, content), "password") == "open sesame"


@pytest.mark.parametrize("content", [b"", b" \n", b"one\ntwo\n", b"bell\x07", "a\u2028b".encode(), b"tab\there"])
def test_what_is_not_one_printable_line_is_refused_and_not_shown(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(BadInput) as refused:
        secret_of(kept(tmp_path, content), "password")
    assert "contains no password: expected one line of printable characters" in str(refused.value)
    assert str(tmp_path / "secret") in str(refused.value)
    assert not content.strip() or content.strip().decode() not in str(refused.value)


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620])
def test_a_file_that_others_may_read_or_write_is_refused(tmp_path: Path, mode: int) -> None:
    with pytest.raises(BadInput, match="users other than its owner can read or write it"):
        secret_of(kept(tmp_path, b"open sesame\n", mode), "password")


@pytest.mark.parametrize("content", [None, b"\xff\xfe"])
def test_what_cannot_be_read_is_named(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "none" if content is None else kept(tmp_path, content)
    with pytest.raises(BadInput, match="cannot be read") as refused:
        secret_of(path, "password")
    assert str(path) in str(refused.value)


# The mark below which nothing new is stored.


@pytest.fixture
def parameters(tmp_path: Path) -> dict[str, str | int | None]:
    """Of a connection to a server whose folder is `tmp_path`."""
    (tmp_path / "data").mkdir()
    return {"host": str(tmp_path / "run"), "passfile": str(tmp_path / "logins" / "writer" / "pgpass")}


def test_only_a_disk_of_this_machine_is_looked_at(tmp_path: Path, parameters: dict[str, str | int | None]) -> None:
    assert DataDisk.of(parameters).folder == tmp_path / "data"
    elsewhere = [
        parameters | {"host": "db.example.org"},
        parameters | {"host": None},
        parameters | {"passfile": None},
        parameters | {"passfile": "pgpass"},
        parameters | {"passfile": "/root/.pgpass"},
    ]
    assert [DataDisk.of(one).folder for one in elsewhere] == [None] * 5
    assert DataDisk(None).lack() is None
    assert DataDisk(tmp_path / "gone").lack() is None


def test_below_the_mark_there_is_no_space_and_below_half_of_it_none_for_the_log(
    tmp_path: Path, parameters: dict[str, str | int | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    disk, free = DataDisk.of(parameters), shutil.disk_usage(tmp_path).free
    monkeypatch.setenv(LEAST_FREE, f"{1.5 * free / MIB:.0f}")
    assert "less than the" in (disk.lack() or "") and disk.lack(LOG_PART) is None
    with pytest.raises(DiskFull, match="nothing new is stored"):
        disk.check()
    monkeypatch.setenv(LEAST_FREE, f"{3 * free / MIB:.0f}")
    with pytest.raises(DiskFull):
        disk.check(LOG_PART)
    monkeypatch.setenv(LEAST_FREE, "0")
    disk.check()


@pytest.mark.parametrize("text", ["much", "-1", "nan", "inf"])
def test_a_mark_that_is_no_size_is_refused(
    parameters: dict[str, str | int | None], monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.setenv(LEAST_FREE, text)
    with pytest.raises(BadRequest, match=LEAST_FREE):
        DataDisk.of(parameters).lack()
