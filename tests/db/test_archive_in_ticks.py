"""An archive of an older version: stalls in ticks, in counters and in the rates of steps, and no rates of network cards."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from support.archives import LATER, planted

from flitwatch_db import connect
from flitwatch_db.archive import restore_archive, write_archive
from flitwatch_db.archive.parts import _compute_seal, digest_of, own_counts
from flitwatch_db.archive.restoring import in_times
from flitwatch_db.archive.shapes import IN_OWN_COUNTS, SHAPES
from flitwatch_domain.counters import LDMS_FOUR, TABLE_II

OWN = [float(i + 1) for i in range(len(TABLE_II))]
OTHERS = [10.0, 20.0, 30.0, 40.0]
OWN_STALLS = [counter.abbreviation for counter in TABLE_II].index("RT_RB_STL")
OTHER_STALLS = LDMS_FOUR.index("RT_RB_STL")


def aged(place: Path) -> None:
    """Make a part what an older version wrote."""
    manifest = json.loads((place / "manifest.json").read_text())
    for name in ("router_1s", "router_1m", "router_1h"):
        path = place / f"{name}.parquet"
        table = pq.read_table(path)
        at = table.schema.get_field_index("rt_stall_cycles")
        field = table.schema.field(at).with_metadata({"unit": IN_OWN_COUNTS["stall_cycles"]})
        pq.write_table(table.cast(table.schema.set(at, field)), path)
        manifest["files"][name] |= {"bytes": path.stat().st_size, "sha256": digest_of(path)}
    (place / "run_step_nic.parquet").unlink()
    del manifest["files"]["run_step_nic"], manifest["sha256"]
    (place / "manifest.json").write_text(json.dumps(manifest | {"sha256": _compute_seal(manifest)}))


@pytest.mark.parametrize(("technology", "factor"), [("infiniband", 2.0), ("ethernet", None), ("cray_xc", 1.0)])
def test_rates_of_steps_are_converted_as_the_counters_are(
    technology: str, factor: float | None, embedded_db: str, _embedded_template: Any, tmp_path: Path
) -> None:
    world = planted(embedded_db)
    with connect(embedded_db, role="owner") as conn:
        conn.execute("UPDATE fabric SET technology = %s WHERE fabric_id = %s", [technology, world.small_id])
        conn.execute("UPDATE run_step_around SET own = %s, io = %s, sys = NULL", [OWN, OTHERS])
    write_archive(embedded_db, tmp_path / "a", before=LATER)
    places = [place.parent for place in (tmp_path / "a").glob("*/*/run.parquet")]
    for place in places:
        aged(place)
    other = _embedded_template.create()
    try:
        restore_archive(other, tmp_path / "a")
        with connect(other, role="owner") as conn:
            steps = conn.execute(
                "SELECT own, io, sys FROM run_step_around JOIN run USING (run_id) WHERE EXISTS"
                " (SELECT FROM job_node n WHERE n.job_pk = run.job_pk AND n.router IS NOT NULL)"
            ).fetchall()
            cards = conn.execute("SELECT count(*) FROM run_step_nic").fetchone()
    finally:
        _embedded_template.drop(other)
    assert steps and cards == (0,)
    for own, io, sys in steps:
        wanted = [
            [value if i != at else None if factor is None else factor * value for i, value in enumerate(values)]
            for values, at in ((OWN, OWN_STALLS), (OTHERS, OTHER_STALLS))
        ]
        assert [own, io] == wanted and sys is None


def test_a_part_whose_other_files_are_missing_is_refused(embedded_db: str, tmp_path: Path) -> None:
    planted(embedded_db)
    write_archive(embedded_db, tmp_path / "a", before=LATER)
    place = next((tmp_path / "a").glob("*/*/run.parquet")).parent
    manifest = json.loads((place / "manifest.json").read_text())
    del manifest["files"]["run_step_around"], manifest["sha256"]
    (place / "manifest.json").write_text(json.dumps(manifest | {"sha256": _compute_seal(manifest)}))
    with pytest.raises(Exception, match="the files are not those of an archive: run_step_around"):
        restore_archive(embedded_db, tmp_path / "a")


def test_an_archive_says_whether_its_stalls_are_to_be_converted_and_they_are() -> None:
    """Of an archive in ticks the rows are converted as a database's are; of one that is written today none."""
    for name, stall, value, doubled in (
        ("router_1h", "rt_stall_cycles", 3.0, 6.0),
        ("port_10s", "stall_cycles", [3.0, None], [6.0, None]),
    ):
        shape = SHAPES[name]
        today = shape.schema
        at = today.get_field_index(stall)
        before = today.set(at, today.field(at).with_metadata({"unit": IN_OWN_COUNTS["stall_cycles"]}))
        assert own_counts(today) == frozenset() and own_counts(before) == {stall}
        row = tuple(
            7 if column.type == "fabric" else value if column.name == stall else 1.0 for column in shape.columns
        )
        unknown = [None, None] if isinstance(value, list) else None
        for technology, wanted in (("infiniband", doubled), ("ethernet", unknown), ("cray_xc", value)):
            found = in_times(row, shape, [at], {7: technology})
            assert found[at] == wanted and found[:at] + found[at + 1 :] == row[:at] + row[at + 1 :]
        assert in_times(row, shape, [], {7: "infiniband"}) == row
