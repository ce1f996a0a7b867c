"""store_csv lines: every capture, both decoders against each other, and damage."""

from __future__ import annotations

import json
from pathlib import Path

import orjson
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from flitwatch.command_line import cli
from flitwatch_domain.errors import BadInput
from flitwatch_ingest.schemas import RowKind, json_schema
from flitwatch_ingest.schemas.rows import ADAPTERS
from flitwatch_ingest.sources import Rejection
from flitwatch_ingest.sources.ldms_csv import Decoder, parse_header, parse_name, side_header

CLASSIC = b"#Time,Time_usec,ProducerName,component_id,job_id,app_id,name,count,load\n"
LINE = b"1795216807.001584,1584,nid00001,1,0,0,eth0,4611914764,0.25\n"


def lines_of(data: bytes) -> list[bytes]:
    return data.splitlines(keepends=True)


def decode_file(path: Path, *, careful: bool = False) -> tuple[Decoder, list[bytes | Rejection | None]]:
    decoder = Decoder(path.name)
    data = lines_of(path.read_bytes())
    if not data[0].startswith(b"#"):
        header = side_header(path)
        assert header is not None
        decoder.header = parse_header(header)
    out = []
    for number, line in enumerate(data, start=1):
        if careful:
            decoder._template = None
        out.append(decoder.line(line, number))
    return decoder, out


def captures(shared: Path) -> list[Path]:
    return [path for path in sorted((shared / "samples" / "ldms").glob("csv_*/*")) if parse_name(path) is not None]


@pytest.mark.shared
def test_every_line_of_every_capture_is_decoded(shared: Path) -> None:
    files = captures(shared)
    assert len(files) == 27
    for path in files:
        decoder, out = decode_file(path)
        data = [line for line in lines_of(path.read_bytes()) if not line.startswith(b"#")]
        assert decoder.records == len(data), path
        assert not any(isinstance(item, Rejection) for item in out)


@pytest.mark.shared
def test_the_quick_decoder_gives_the_bytes_of_the_careful_one(shared: Path) -> None:
    for path in captures(shared):
        quick, careful = decode_file(path), decode_file(path, careful=True)
        assert quick[1] == careful[1], path
        assert (quick[0].values, quick[0].producers) == (careful[0].values, careful[0].producers)


@pytest.mark.shared
def test_a_row_is_what_store_avro_kafka_wrote_for_the_same_set(shared: Path) -> None:
    folder = shared / "samples" / "ldms"
    compared = 0
    for capture in sorted((folder / "kafka").glob("ldms.*_*.jsonl")):
        path = folder / "csv_as_is" / capture.name.removeprefix("ldms.").removesuffix(".jsonl")
        if not path.exists() or "slurm" in path.name or "linkstatus" in path.name:
            # Arrays are flattened in CSV.
            continue
        _, out = decode_file(path)
        rows = {line for line in out if isinstance(line, bytes)}
        by_place: dict[tuple[float, int, str], dict[str, object]] = {}
        for row in map(orjson.loads, rows):
            by_place[row["timestamp"], row["component_id"], row.get("netdev_list.name", "")] = row
        for line in capture.read_text().splitlines():
            record = json.loads(line)
            if "_topic" in record:
                continue
            row = by_place.get((record["timestamp"], record["component_id"], record.get("netdev_list.name", "")))
            if row is not None:
                assert row == pytest.approx(record) if "loadavg" in path.name else row == record
                compared += 1
    assert compared >= 8


@pytest.mark.parametrize(
    ("name", "schema", "epoch"),
    [
        ("aries_rtr_mmr", "aries_rtr_mmr", None),
        ("aries_rtr_mmr.1795216805", "aries_rtr_mmr", "1795216805"),
        ("aries_rtr_mmr_d2127d0", "aries_rtr_mmr_d2127d0", None),
        ("mt-slurm.1795216805.csv", "mt-slurm", "1795216805"),
        ("weird name", "weird_name", None),
    ],
)
def test_names(name: str, schema: str, epoch: str | None) -> None:
    parsed = parse_name(Path("/x") / name)
    assert parsed is not None
    assert (parsed.schema, parsed.epoch, parsed.topic) == (schema, epoch, f"ldms.{schema}")


@pytest.mark.parametrize("name", ["aries.HEADER.1795216805", "aries.KIND.1795216805", "aries.HEADER", ".swap"])
def test_side_files_are_no_data(name: str) -> None:
    assert parse_name(name) is None


def decode(*lines: bytes) -> list[bytes | Rejection | None]:
    decoder = Decoder("f")
    return [decoder.line(line, number) for number, line in enumerate(lines, start=1)]


def test_values_keep_their_types() -> None:
    (_, out) = decode(CLASSIC, LINE.replace(b"4611914764", b"18446744073709551615"))
    assert isinstance(out, bytes)
    assert orjson.loads(out) == {
        "timestamp": 1795216807.001584,
        "producer": "nid00001",
        "component_id": 1,
        "job_id": 0,
        "app_id": 0,
        "name": "eth0",
        "count": 18446744073709551615,
        "load": 0.25,
    }


@pytest.mark.parametrize("host", ["007", "1234", "1e3", "inf", "nan", "12.5"])
def test_a_host_whose_name_looks_like_a_number_keeps_it(host: str) -> None:
    decoder = Decoder("f")
    decoder.line(CLASSIC)
    for line in (LINE, LINE):
        decoded = decoder.line(line.replace(b"nid00001", host.encode()))
        assert isinstance(decoded, bytes) and orjson.loads(decoded)["producer"] == host


@pytest.mark.parametrize("column", sorted(ADAPTERS))
@pytest.mark.parametrize("name", ["0", "007", "1e3", "nan", "mlx5_0"])
def test_an_adapter_whose_name_looks_like_a_number_keeps_it(column: str, name: str) -> None:
    decoder = Decoder("f")
    decoder.line(f"#Time,Time_usec,ProducerName,component_id,{column},port_xmit_data\n".encode())
    for number in (1, 2):
        decoded = decoder.line(f"1795216807.001584,1584,n1,0,{name},{number}\n".encode())
        assert isinstance(decoded, bytes) and orjson.loads(decoded)[column] == name


@pytest.mark.parametrize(
    ("schema", "columns", "several"),
    [
        ("sysclassib", "ib.port_xmit_data#mlx5_0.1,ib.port_xmit_wait#mlx5_0.1", False),
        ("sysclassib", "ib.port_xmit_data#mlx5_0.1,ib.port_xmit_data#mlx5_1.1", True),
        ("sysclassib", "ib.port_xmit_data#mlx5_0.1,ib.port_xmit_wait#mlx5_1.1", True),
        ("ibmad", "mlx5_0.port_xmit_data,mlx5_1.port_xmit_data", True),
        ("ibmad", "PortXmitPkts,port_xmit_packets", True),
        ("ibmad", "ca_name,port,port_xmit_data,port_rcv_data,port_xmit_data_rate", False),
    ],
)
def test_counters_of_several_ports_in_a_row_add_up_nowhere_which_is_said(
    schema: str, columns: str, several: bool, embedded_db: str, tmp_path: Path
) -> None:
    """The counters of two adapters were added up at one of them."""
    file, count = tmp_path / schema, columns.count(",") + 1
    row = ",".join(str(number) for number in range(1, count + 1))
    file.write_text(f"#Time,Time_usec,ProducerName,component_id,{columns}\n1795216807.001584,1584,n1,0,{row}\n")
    record = Decoder("f", parse_header(file.read_bytes().split(b"\n")[0])).line(
        file.read_bytes().split(b"\n")[1] + b"\n"
    )
    assert isinstance(record, bytes) and (json_schema(schema, record).kind is RowKind.OTHER) == several
    done = CliRunner().invoke(cli, ["import", "ldms-csv", str(file), "--json", "--db", embedded_db])
    report = json.loads(next(line for line in done.output.splitlines() if line.startswith("{")))
    assert report["several_ports"] == ([schema] if several else [])
    assert ("each row counts several ports" in " ".join(done.output.split())) == several


def test_nan_is_unknown_and_negative_numbers_stay() -> None:
    header = CLASSIC.replace(b",name", b"")
    (_, out) = decode(header, b"1795216807.001584,1584,nid00001,1,0,0,-7,nan\n")
    assert isinstance(out, bytes)
    record = orjson.loads(out)
    assert (record["count"], record["load"]) == (-7, None)


def test_time_in_milliseconds() -> None:
    out = decode(b"#Time_msec,Time_usec,component_id,x\n", b"1795216807001,584,1,5\n")[1]
    assert isinstance(out, bytes)
    assert orjson.loads(out)["timestamp"] == 1795216807.001584


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (LINE.replace(b"eth0", b"a,b"), "10 fields, the header 9"),
        (LINE[:-20], "incomplete"),
        (LINE[:-20] + b"\n", "fields, the header 9"),
        (LINE.replace(b"1795216807.001584", b"yesterday"), "not seconds"),
        (LINE.replace(b"1795216807.001584", b"1.0"), "outside 2000 to 2100"),
        (LINE.replace(b"4611914764", b"99999999999999999999"), "beyond 64 bits"),
        (LINE.replace(b",1,0,0,", b",-1,0,0,"), "component_id is '-1'"),
        (b"#Time,Time_usec,a,a\n", "names a twice"),
        (b"#Times\n", "not a header"),
        (b"x" * (9 * 2**20) + b"\n", "more than a set of LDMS"),
    ],
)
def test_bad_lines_are_rejected_with_their_bytes(line: bytes, said: str) -> None:
    out = decode(CLASSIC, LINE, line, LINE)
    assert isinstance(out[2], Rejection)
    assert said in out[2].reason
    assert (out[2].where, out[2].raw) == ("f:3", line)
    assert isinstance(out[1], bytes) and out[1] == out[3]


def test_a_restarted_daemon_writes_the_header_again_with_other_columns() -> None:
    other = b"#Time,Time_usec,ProducerName,component_id,x\n"
    out = decode(CLASSIC, LINE, other, b"1795216808.000000,0,nid00001,1,9\n")
    assert isinstance(out[3], bytes)
    assert orjson.loads(out[3])["x"] == 9


def test_without_a_header_nothing_can_be_said() -> None:
    (out,) = decode(LINE)
    assert isinstance(out, Rejection)
    assert "no header" in out.reason


cell = st.one_of(
    st.integers(-(2**66), 2**66).map(str),
    st.floats().map(repr),
    st.sampled_from(
        [
            "",
            "007",
            "1e5",
            "-2.69e-47",
            "-inf",
            "+3",
            "nan",
            "NaN",
            "nid00001",
            'q"uote',
            "back\\slash",
            "tab\t",
            "%s",
            "é",
            "0",
            "00",
            "-0",
            "inf",
        ]
    ),
    st.text(max_size=6).filter(lambda text: "," not in text and "\n" not in text and "\r" not in text),
)


@given(rows=st.lists(st.lists(cell, min_size=3, max_size=3), min_size=1, max_size=12))
@settings(max_examples=200, deadline=None)
def test_any_cells_decode_alike_by_both_ways_to_valid_json(rows: list[list[str]]) -> None:
    header = b"#Time,Time_usec,ProducerName,%s,b,c\n"
    lines = [("1795216807.5,500000,nid1," + ",".join(row) + "\n").encode("utf-8", "surrogatepass") for row in rows]
    quick, careful = Decoder("f"), Decoder("f")
    for decoder in (quick, careful):
        decoder.line(header, 1)
    for number, line in enumerate(lines, start=2):
        careful._template = None
        one, other = quick.line(line, number), careful.line(line, number)
        assert one == other
        if isinstance(one, bytes):
            assert len(orjson.loads(one)) == 5
        else:
            assert isinstance(one, Rejection)


@given(data=st.binary(max_size=400))
@settings(max_examples=200, deadline=None)
def test_every_byte_is_decoded_or_rejected(data: bytes) -> None:
    decoder = Decoder("f")
    kept = b""
    for number, line in enumerate(lines_of_n(CLASSIC + LINE + data), start=1):
        out = decoder.line(line, number)
        if isinstance(out, Rejection):
            kept += out.raw
        elif out is None:
            assert not line.strip() or line.lstrip(b"\xef\xbb\xbf").startswith(b"#")
        else:
            orjson.loads(out)


def lines_of_n(data: bytes) -> list[bytes]:
    parts = data.split(b"\n")
    return [part + b"\n" for part in parts[:-1]] + ([parts[-1]] if parts[-1] else [])


def test_parse_header_names_the_trouble() -> None:
    with pytest.raises(BadInput, match="not a header of store_csv"):
        parse_header(b"hello,world\n")
