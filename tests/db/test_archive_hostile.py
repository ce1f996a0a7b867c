"""Damaged and malicious archives: each is refused by name, and the database does not change."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from api.database import seed
from hypothesis import given, settings
from hypothesis import strategies as st
from support.archives import everything, write

from flitwatch_db import connect
from flitwatch_db.archive import restore_archive
from flitwatch_db.archive.parts import Part, Writer, _compute_seal, digest_of
from flitwatch_db.archive.shapes import FABRIC_SHAPES, SHAPES, Column
from flitwatch_db.archive.writing import to_record_batch
from flitwatch_domain.errors import BadInput, FlitwatchError

_VALUES: dict[str, st.SearchStrategy[Any]] = {
    "bool": st.booleans(),
    "int4": st.integers(-(2**31), 2**31 - 1),
    "int8": st.integers(-(2**63), 2**63 - 1),
    "float8": st.floats(allow_nan=False, allow_infinity=False),
    "text": st.text(st.characters(codec="utf-8")),
    "json": st.just("{}"),
    "time": st.datetimes(timezones=st.just(__import__("datetime").UTC)),
    "fabric": st.just(7),
    "numeric": st.integers(-(10**20) + 1, 10**20 - 1).map(Decimal),
}


def values(column: Column) -> st.SearchStrategy[Any]:
    kind = column.type.removesuffix("[]")
    one = _VALUES[kind]
    if column.type.endswith("[]"):
        one = st.lists(st.none() | one, max_size=4)
    return st.none() | one if column.null else one


@pytest.mark.parametrize("name", ["job", "run_step", "port_10s", "router_1s", "link"])
@settings(max_examples=20)
@given(data=st.data())
def test_any_row_comes_back_equal(name: str, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory) -> None:
    shape = (SHAPES | FABRIC_SHAPES)[name]
    rows = data.draw(st.lists(st.tuples(*map(values, shape.columns)), max_size=5))
    root = tmp_path_factory.mktemp("part")
    writer = Writer(root / "draft", root / "there", {"format": "x"})
    writer.write(shape, [to_record_batch(shape, rows, {7: "seven"})] if rows else [])
    writer.commit()
    part = Part(root / "there", "there", {name: shape}, "x")
    part.verify()
    found = [tuple(row.values()) for row in part.rows(name)]
    places = [i for i, column in enumerate(shape.columns) if column.type == "fabric"]
    assert found == [tuple("seven" if i in places and v == 7 else v for i, v in enumerate(row)) for row in rows]
    shutil.rmtree(root)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_what_is_no_number_is_not_archived(value: float, tmp_path: Path) -> None:
    shape = SHAPES["run_step_around"]
    writer = Writer(tmp_path / "draft", tmp_path / "there", {"format": "x"})
    with pytest.raises(BadInput, match="run_step_around: column 'io' contains a value that is not a finite number"):
        writer.write(shape, [to_record_batch(shape, [(1, 1, None, [1.0, value], None)], {})])


# --- hostile ---------------------------------------------------------------------------------------------------------


def reseal(place: Path, change: Callable[[dict[str, Any]], object] = lambda manifest: None) -> None:
    """Make the manifest agree with the files again, as one who means harm can."""
    manifest = json.loads((place / "manifest.json").read_text())
    for name, file in manifest["files"].items():
        path = place / f"{name}.parquet"
        file |= {"bytes": path.stat().st_size, "sha256": digest_of(path)}
        try:
            file["rows"] = pq.read_metadata(path).num_rows
        except pa.ArrowException:
            file["rows"] = 1
    change(manifest)
    manifest.pop("sha256")
    (place / "manifest.json").write_text(json.dumps(manifest | {"sha256": _compute_seal(manifest)}))


def edit(place: Path, name: str, change: Callable[[pa.Table], pa.Table]) -> None:
    pq.write_table(change(pq.read_table(place / f"{name}.parquet")), place / f"{name}.parquet")
    reseal(place)


def put(table: str, column: str, value: Any) -> Callable[[Path], None]:
    """Put a value into a column's first row."""

    def do(place: Path) -> None:
        def change(found: pa.Table) -> pa.Table:
            at = found.schema.get_field_index(column)
            held = [value, *found.column(at).to_pylist()[1:]]
            field = found.schema.field(at)
            return found.set_column(at, field, pa.array(held, field.type))

        edit(place, table, change)

    return do


def moved(place: Path) -> None:
    (place / "manifest.json").rename(place / "elsewhere")
    os.symlink("elsewhere", place / "manifest.json")


def cut(name: str, sealed: bool) -> Callable[[Path], None]:
    def do(place: Path) -> None:
        path = place / name
        path.write_bytes(path.read_bytes()[: path.stat().st_size * 2 // 3])
        if sealed:
            reseal(place)

    return do


def climbing(place: Path) -> None:
    reseal(place, lambda manifest: manifest["files"].update({"../../../etc/passwd": manifest["files"]["job"]}))


def climbing_fabric(place: Path) -> None:
    reseal(place, lambda manifest: manifest.update(fabrics=["../../../../etc"]))


def retyped(place: Path) -> None:
    edit(place, "router_1s", lambda t: t.set_column(5, "rt_flits", pa.array([str(v) for v in t.column(5).to_pylist()])))


CASES: dict[str, tuple[Callable[[Path], object], str]] = {
    "a file cut short": (cut("run_step.parquet", False), r"run_step\.parquet: the file is damaged"),
    "cut short and sealed": (cut("run_step.parquet", True), r"run_step\.parquet: cannot be read as Parquet"),
    "a file missing": (lambda place: (place / "run.parquet").unlink(), r"run\.parquet: the file is missing"),
    "a manifest cut short": (cut("manifest.json", False), r"manifest\.json: the file is damaged"),
    "another format": (
        lambda place: reseal(place, lambda m: m.update(format="flitwatch archive part 9")),
        "this version reads",
    ),
    "a manifest elsewhere": (moved, "this is not a manifest"),
    "names that climb": (climbing, "the files are not those of an archive"),
    "a fabric that climbs": (climbing_fabric, "does not name a fabric"),
    "a column missing": (
        lambda place: edit(place, "job", lambda t: t.drop_columns(["state"])),
        r"job\.parquet: column 'state' is missing",
    ),
    "a column of text": (retyped, r"router_1s\.parquet: column 'rt_flits' is string, not double"),
    "no number": (
        put("router_1s", "rt_flits", float("nan")),
        r"router_1s\.parquet: column 'rt_flits' contains a value that is not a finite",
    ),
    "an end of the world": (
        put("router_1s", "ts", 4102444800000000),
        r"router_1s\.parquet: a counter of 2100-01-01 .* outside the part's jobs",
    ),
    "a router too many": (put("job_node", "router", 40_000), r"job_node\.parquet: router 40000 is not in its fabric"),
    "a step of nobody's": (put("job_step", "job_pk", 99), r"job_step\.parquet: a row belongs to a job that is missing"),
    "a run of nobody's": (put("run", "job_pk", 99), r"run '.*' belongs to a job that is missing"),
    "a name that cannot be": (put("job", "name", "a\0b"), r"job\.parquet: the database refuses it"),
    "another label": (put("job", "simulated", False), r"job '.*' has another label than its part"),
    "a part's name": (lambda place: place.rename(place.parent / "a b"), "this is not part"),
}


def test_each_is_refused_by_name_and_nothing_is_written(embedded_db: str, tmp_path: Path) -> None:
    database = seed(embedded_db)
    good = tmp_path / "good"
    write(database.url, good)
    with connect(database.url, role="owner") as conn:
        conn.execute("DELETE FROM run WHERE job_pk IS NOT NULL OR run_key = 'amg-1'")
        conn.execute("DELETE FROM job WHERE end_ts IS NOT NULL")
        conn.execute("DELETE FROM router_1s")
    before = everything(database.url)
    for what, (harm, message) in CASES.items():
        bad = tmp_path / "bad"
        shutil.copytree(good, bad)
        (part,) = (one for one in bad.glob("2*/*"))
        harm(part)
        with pytest.raises(FlitwatchError, match=message):
            restore_archive(database.url, bad)
            pytest.fail(what)
        shutil.rmtree(bad)
    assert everything(database.url) == before
    # A fabric that is not what its digest says.
    shutil.copytree(good, tmp_path / "bad")
    (fabric,) = (tmp_path / "bad" / "fabrics").iterdir()
    put("router", "name", "elsewhere")(fabric)
    with connect(database.url, role="owner") as conn:
        conn.execute("UPDATE fabric SET name = 'renamed' WHERE name = 'small'")
    with pytest.raises(BadInput, match="are not those of its digest"):
        restore_archive(database.url, tmp_path / "bad")
    assert restore_archive(database.url, good)["jobs"] == 5


def test_what_is_no_archive_is_reported(embedded_db: str, tmp_path: Path) -> None:
    with pytest.raises(FlitwatchError, match="there is no folder"):
        restore_archive(embedded_db, tmp_path / "none")
    with pytest.raises(FlitwatchError, match="is not an archive"):
        restore_archive(embedded_db, tmp_path)
    (tmp_path / "archive.json").write_text('{"format": "flitwatch archive 2"}')
    with pytest.raises(BadInput, match="this version reads 'flitwatch archive 1'"):
        restore_archive(embedded_db, tmp_path)
