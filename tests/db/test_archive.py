"""Jobs into an archive and back: every row is equal and unique, and nothing of erased users returns."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from api.database import HOSTILE, SampleDatabase
from click.testing import CliRunner
from support.archives import LATER, everything, planted, rows, write

from flitwatch.command_line import cli
from flitwatch_db import connect
from flitwatch_db.archive import restore_archive, write_archive
from flitwatch_db.archive.parts import _compute_seal, digest_of, own_counts
from flitwatch_db.archive.policy import Policy, forget_user, load_policy, set_policy
from flitwatch_db.archive.restoring import in_times
from flitwatch_db.archive.shapes import FABRIC_SHAPES, IN_OWN_COUNTS, SHAPES, WIDTHS_S, unit_of
from flitwatch_db.core.maintenance import maintain_database
from flitwatch_db.people.erasure import erase_user
from flitwatch_domain.counters import LDMS_FOUR, TABLE_II
from flitwatch_domain.errors import BadRequest, Cancelled, Conflict, NotFound


@pytest.fixture
def database(any_db: str) -> SampleDatabase:
    return planted(any_db)


@pytest.fixture
def plain(embedded_db: str) -> SampleDatabase:
    return planted(embedded_db)


def clear(url: str) -> None:
    with connect(url, role="owner") as conn:
        for table in ("run", "job", *WIDTHS_S):
            conn.execute(f"DELETE FROM {table}".encode())


@pytest.mark.system("processes")
def test_rows_come_back_equal_and_once(database: SampleDatabase, tmp_path: Path) -> None:
    before = everything(database.url)
    steps: list[tuple[int, int, str]] = []
    made = write(database.url, tmp_path / "a", on_step=lambda *step: steps.append(step), part_jobs=2)
    # 101 runs and 105_7 waits; five runs are of no job, of which one tells no start.
    assert (made["jobs"], made["runs"], made["already"]) == (5, 4, 0) and len(made["parts"]) == 5
    assert steps[-1] == (9, 9, "") and [s[0] for s in steps] == sorted(s[0] for s in steps)
    with connect(database.url, role="owner") as conn:
        conn.execute("DELETE FROM job WHERE end_ts IS NOT NULL")
        conn.execute("DELETE FROM run WHERE start_ts IS NOT NULL")
        for table in WIDTHS_S:
            conn.execute(f"DELETE FROM {table}".encode())
    back = restore_archive(database.url, tmp_path / "a")
    assert (back["jobs"], back["runs"], back["erased"], back["fabrics"]) == (5, 5, 0, 0)
    after = everything(database.url)
    for table in SHAPES:
        if table not in WIDTHS_S:
            # The database's own numbers too: links to a job go on working.
            assert after[table] == before[table], table
        assert set(after[table]) <= set(before[table]) and len(after[table]) == len(set(after[table]))
        assert len(after[table]) == len([r for r in before[table] if r in set(after[table])])
    assert restore_archive(database.url, tmp_path / "a")["rows"] == {}
    assert everything(database.url) == after
    assert write(database.url, tmp_path / "a")["parts"] == []


def test_counters_are_those_of_the_jobs_routers_while_they_ran(plain: SampleDatabase, tmp_path: Path) -> None:
    write(plain.url, tmp_path / "a", jobs=["100"], cluster="c1")
    (part,) = (tmp_path / "a").glob("*/simulated-000001")
    seconds = pq.read_table(part / "router_1s.parquet").to_pydict()
    assert set(seconds["router"]) == {0, 1, 2, 3} and len(seconds["router"]) == 400
    assert sum(seconds["rt_flits"]) == plain.column("rt_flits")[:100, :4].sum()
    ports = pq.read_table(part / "port_10s.parquet")
    assert set(ports["router"].to_pylist()) == {0, 1, 2, 3} and pq.read_table(part / "router_1h.parquet").num_rows == 4
    assert pq.read_table(part / "endpoint_1s.parquet").num_rows == 8 * 6


def test_a_file_tells_units_label_and_origin(plain: SampleDatabase, tmp_path: Path) -> None:
    made = write(plain.url, tmp_path / "a")
    assert all("/simulated-" in part for part in made["parts"])
    schema = pq.read_schema(tmp_path / "a" / made["parts"][0] / "router_1s.parquet")
    assert (
        schema.field("rt_flits").metadata[b"unit"].startswith(b"flits")
        and b"start of the bucket" in schema.field("ts").metadata[b"unit"]
    )
    assert schema.metadata[b"flitwatch.label"] == b"SIMULATED" and schema.metadata[b"flitwatch.code_version"]
    numbers = {"job_pk", "run_id", "router", "endpoint", "array_task", "het_offset", "restart", "nodes", "ranks", "rank", "step", "run_steps", "after_steps", "ahead"}  # fmt: skip
    without = {
        c.name
        for shape in SHAPES.values()
        for c in shape.columns
        if unit_of(c.name) is None and c.type not in ("text", "text[]", "bool", "fabric")
    }
    assert without == numbers


def test_the_archive_has_every_column_of_its_tables(embedded_db: str) -> None:
    left_out = {
        "forecast": {"estimate_id"},
        # Archived jobs are over.
        "job": {"limit_s"},
        **{table: {"fabric_id"} for table in ("fabric", "router", "endpoint", "link")},
    }
    with connect(embedded_db, role="owner") as conn:
        for table, shape in (SHAPES | FABRIC_SHAPES).items():
            there = dict(
                conn.execute(
                    "SELECT attname, atttypid::regtype::text FROM pg_attribute WHERE attrelid = %s::regclass AND attnum > 0 AND NOT attisdropped",
                    [f"flitwatch.{table}"],
                ).fetchall()
            )
            named = {"fabric_id" if c.type == "fabric" else c.name for c in shape.columns} - shape.extra
            assert named == set(there) - left_out.get(table, set()), table


def test_another_database_gets_jobs_runs_and_fabric(
    plain: SampleDatabase, _embedded_template: Any, tmp_path: Path
) -> None:
    write(plain.url, tmp_path / "a")
    other = _embedded_template.create()
    try:
        with connect(other, role="owner") as conn:
            # Numbers that this database gave already are not given again.
            conn.execute(
                "INSERT INTO fabric (name, kind, technology, counted_at) VALUES ('small', 'graph', 'generic', 'sender')"
            )
            conn.execute(
                "INSERT INTO job (cluster, job_id, state) SELECT 'x', n, 'PENDING' FROM generate_series(1, 3) n"
            )
        back = restore_archive(other, tmp_path / "a")
        assert back["jobs"] == 5 and back["fabrics"] == 1
        with connect(other, role="owner") as conn:
            names = [row[0] for row in conn.execute("SELECT name FROM fabric ORDER BY fabric_id")]
            assert names[0] == "small" and names[1].startswith("small (archived ")
            conn.execute("DELETE FROM job WHERE cluster = 'x'")
            conn.execute("UPDATE fabric SET name = 'was' WHERE name = 'small'")
            conn.execute("UPDATE fabric SET name = 'small' WHERE name = %s", [names[1]])
            conn.execute("INSERT INTO job (cluster, job_id, state) VALUES ('x', '9', 'PENDING')")
            conn.execute("DELETE FROM job WHERE cluster = 'x'")
        with connect(plain.url, role="owner") as conn:
            conn.execute("DELETE FROM job WHERE end_ts IS NULL")
            conn.execute("DELETE FROM run WHERE start_ts IS NULL")
        here, there = everything(plain.url, keyed=True), everything(other, keyed=True)
        for table in SHAPES:
            if table in WIDTHS_S:
                assert set(there[table]) <= set(here[table]) and (there[table] or table.startswith("endpoint_1"))
            else:
                assert there[table] == here[table], table
        for table in ("router", "endpoint", "link"):
            assert rows(other, table) == rows(plain.url, table, of=plain.small_id)
    finally:
        _embedded_template.drop(other)


def test_what_changed_is_archived_again_and_the_newest_wins(plain: SampleDatabase, tmp_path: Path) -> None:
    write(plain.url, tmp_path / "a")
    with connect(plain.url, role="owner") as conn:
        conn.execute("UPDATE job SET state = 'FAILED', updated_at = updated_at + interval '1 s' WHERE job_id = '103'")
        conn.execute("DELETE FROM job_step")
    assert write(plain.url, tmp_path / "a")["jobs"] == 1
    now = rows(plain.url, "job")
    restore_archive(plain.url, tmp_path / "a")
    assert rows(plain.url, "job") == now and rows(plain.url, "job_step") == []
    with connect(plain.url, role="owner") as conn:
        conn.execute("DELETE FROM job WHERE job_id = '103'")
    restore_archive(plain.url, tmp_path / "a")
    assert rows(plain.url, "job") == now


def test_erased_users_stay_erased(plain: SampleDatabase, tmp_path: Path) -> None:
    write(plain.url, tmp_path / "a", part_jobs=20)
    with connect(plain.url, role="owner", autocommit=True) as conn:
        erase_user(conn, "eve", dry_run=True)
        assert conn.execute("SELECT count(*) FROM erased_user").fetchone() == (0,)
        erase_user(conn, "eve")
        assert conn.execute("SELECT count(*) FROM erased_user WHERE digest LIKE '%eve%'").fetchone() == (0,)
    others = everything(plain.url)
    back = restore_archive(plain.url, tmp_path / "a")
    assert back["erased"] == 2 and everything(plain.url) == others
    # Of a database that does not remember, only an archive that forgot is safe.
    assert forget_user(tmp_path / "a", "eve", dry_run=True) == {"jobs": 2, "runs": 1, "parts": 1}
    assert forget_user(tmp_path / "a", "eve") == {"jobs": 2, "runs": 1, "parts": 1}
    assert forget_user(tmp_path / "a", "eve") == {"jobs": 0, "runs": 0, "parts": 0}
    for path in (tmp_path / "a").rglob("job*.parquet"):
        assert b"eve" not in path.read_bytes()
    clear(plain.url)
    with connect(plain.url, role="owner") as conn:
        conn.execute("DELETE FROM erased_user")
    back = restore_archive(plain.url, tmp_path / "a")
    assert (
        back["jobs"] == 3 and back["erased"] == 0 and back["runs"] == 4 and HOSTILE in "".join(rows(plain.url, "job"))
    )
    assert not any(",eve," in row for row in rows(plain.url, "job"))
    # Nothing of another user goes with her, and her alone leaves no part.
    assert forget_user(tmp_path / "a", "ann")["jobs"] == 2


def test_a_cancelled_or_killed_archive_goes_on(plain: SampleDatabase, tmp_path: Path) -> None:
    def stop(done: int, total: int, what: str) -> None:
        if done == 2:
            raise Cancelled("enough")

    with pytest.raises(Cancelled):
        write(plain.url, tmp_path / "a", on_step=stop, part_jobs=1)
    assert len(list((tmp_path / "a").glob("*/*-00*"))) == 2 and not list((tmp_path / "a").glob(".draft*"))
    (tmp_path / "a" / ".draft-x").mkdir()  # a kill leaves this
    made = write(plain.url, tmp_path / "a", part_jobs=1)
    assert made["already"] == 2 and len(made["parts"]) == 7 and not list((tmp_path / "a").glob(".draft*"))


def test_what_cannot_be_archived_is_reported(plain: SampleDatabase, tmp_path: Path) -> None:
    with pytest.raises(BadRequest, match="has not ended"):
        write(plain.url, tmp_path / "a", jobs=["101"])
    with pytest.raises(NotFound, match="no job '7'"):
        write(plain.url, tmp_path / "a", jobs=["7"])
    with pytest.raises(BadRequest, match="neither"):
        write_archive(plain.url, tmp_path / "a")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").touch()
    with pytest.raises(BadRequest, match="is not an archive"):
        write(plain.url, tmp_path / "mine")
    from flitwatch_db.archive import Folder

    with Folder(tmp_path / "a", create=True), pytest.raises(Conflict, match="in use"):
        write(plain.url, tmp_path / "a")


def test_maintenance_archives_before_it_drops(plain: SampleDatabase, tmp_path: Path) -> None:
    now = datetime.now(UTC)
    with connect(plain.url, role="owner", autocommit=True) as conn:
        with pytest.raises(BadRequest, match="absolute"):
            Policy("a", 1)
        with pytest.raises(BadRequest, match="a day later"):
            Policy("/a", 5, 5)
        away = tmp_path / "nfs" / "a"
        with pytest.raises(BadRequest, match="there is no folder"):
            set_policy(conn, Policy(str(away), 1, 3))
        assert not away.parent.exists() and load_policy(conn) is None
        (tmp_path / "a").mkdir()
        set_policy(conn, Policy(str(tmp_path / "a"), 1, 3))
        for days, job in ((10, "100"), (2, "103"), (0, "104")):
            conn.execute(
                "UPDATE job SET start_ts = %s, end_ts = %s WHERE job_id = %s AND cluster = 'c1'",
                [now - timedelta(days=days, hours=1), now - timedelta(days=days), job],
            )
        conn.execute("DELETE FROM job WHERE job_id NOT IN ('100', '103', '104') OR cluster = 'c2'")
        conn.execute("UPDATE run SET start_ts = %s", [now])
    # While what is mounted there is away, nothing is written in its place, and no job is dropped: with the empty mount point and without it.
    (tmp_path / "a").rename(tmp_path / "unmounted")
    for empty in (False, True):
        if empty:
            (tmp_path / "a").mkdir()
        kept = maintain_database(plain.url)["archive"]
        assert kept is not None and str(tmp_path / "a") in kept["error"], kept
        assert len(rows(plain.url, "job")) == 3 and not list((tmp_path).glob("a/*"))
    (tmp_path / "a").rmdir()
    (tmp_path / "unmounted").rename(tmp_path / "a")
    assert maintain_database(plain.url)["archive"] == {"archived": 2, "dropped": 1}
    assert {row.split(",")[2] for row in rows(plain.url, "job")} == {"103", "104"}
    assert maintain_database(plain.url)["archive"] == {"archived": 0, "dropped": 0}
    # What was restored stays as long as what is new.
    assert restore_archive(plain.url, tmp_path / "a")["jobs"] == 1
    with connect(plain.url, role="owner", autocommit=True) as conn:
        set_policy(conn, Policy(str(tmp_path / "a"), 1, 3))
        assert maintain_database(plain.url)["archive"] == {"archived": 0, "dropped": 0}
        conn.execute("UPDATE restored_job SET restored_at = now() - interval '9 days'")
        set_policy(conn, Policy(str(tmp_path / "a"), 1, 3))
        # Nothing is dropped that a damaged archive answers for.
        (path,) = (p for p in (tmp_path / "a").glob("*/*/job.parquet") if b"100" in p.read_bytes())
        path = path.with_name("router_1m.parquet")
        whole = path.read_bytes()
        path.write_bytes(whole[:100] + bytes([whole[100] ^ 255]) + whole[101:])
        failed = maintain_database(plain.url)["archive"]
        assert failed is not None and "error" in failed and len(rows(plain.url, "job")) == 3
        path.write_bytes(whole)
        assert maintain_database(plain.url)["archive"] == {"archived": 0, "dropped": 1}
        set_policy(conn, None)
    assert maintain_database(plain.url)["archive"] is None


def test_the_commands(plain: SampleDatabase, tmp_path: Path) -> None:
    def run(*argv: str, code: int = 0) -> dict[str, Any]:
        result = CliRunner().invoke(cli, ["db", *argv, "--db", plain.url, "--json"])
        assert result.exit_code == code, result.output
        return json.loads(result.stdout) if code == 0 else {"error": str(result.exception) + result.output}

    out = str(tmp_path / "a")
    made = run("archive", "--before", LATER.strftime("%Y-%m-%d"), "--out", out)
    assert made["jobs"] == 5 and made["rows"]["job"] == 5
    run("archive-policy", "--folder", out, "--drop-after-days", "400")
    assert run("archive-policy")["policy"] == {"folder": out, "after_days": 1.0, "drop_after_days": 400.0}
    assert run("erase", "eve", "--yes")["archives"][out]["jobs"] == 2
    assert run("archive-policy", "--off") == {"policy": None}
    clear(plain.url)
    assert run("restore-archive", out, "--month", made["parts"][0][:7])["jobs"] == 3
    assert "no month" in run("restore-archive", out, "--month", "1999-01", code=1)["error"]


# An archive of an older version: stalls in ticks, in counters and in the rates of steps, and no rates of network cards.


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
    database = planted(embedded_db)
    with connect(embedded_db, role="owner") as conn:
        conn.execute("UPDATE fabric SET technology = %s WHERE fabric_id = %s", [technology, database.small_id])
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
