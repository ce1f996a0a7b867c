"""`flitwatch import sacct|ncl|ldms-csv`: every capture through the log and the writer, counted in the database."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from cli.commands import flitwatch, refused, scalar, succeed
from support.waiting import eventually

pytestmark = [pytest.mark.system("processes"), pytest.mark.integration]


@pytest.mark.shared
@pytest.mark.parametrize(
    ("file", "jobs", "steps", "users"),
    [
        ("sacct_parsable2_duplicates.txt", 22, 26, 2),
        ("sacct_parsable2_X_epoch.txt", 21, 0, 0),
        ("sacct.json", 22, 26, 2),
        ("24.11/sacct_2411.json", 14, 20, 2),
    ],
)
def test_sacct_captures(embedded_db: str, shared: Path, file: str, jobs: int, steps: int, users: int) -> None:
    argv = ["import", "sacct", str(shared / "samples" / "slurm" / file), "--timezone", "UTC", "--db", embedded_db]
    for _ in range(2):
        result = succeed(*argv)
        assert {key: result[key] for key in ("jobs", "steps", "users", "rejected")} == {
            "jobs": jobs,
            "steps": steps,
            "users": users,
            "rejected": [],
        }
    assert scalar(embedded_db, "SELECT count(*) FROM job") == jobs


@pytest.mark.shared
def test_an_import_says_how_many_jobs_have_a_place(embedded_db: str, shared: Path) -> None:
    case = shared / "cases/host-domain-and-case"
    argv = ["import", "sacct", str(case / "jobs.txt"), "--timezone", "UTC", "--db", embedded_db]
    result = succeed(*argv)
    assert (result["jobs"], result["placed"], result["unplaced"]) == (3, 0, 3)
    assert result["unplaced_examples"] == ["node03", "node04", "node04.hpc.example"]
    succeed("import", "fabric", str(case / "fabric.txt"), "--name", "f", "--db", embedded_db)
    result = succeed(*argv)
    assert (result["placed"], result["unplaced"], result["unplaced_examples"]) == (3, 0, [])


def test_what_another_day_s_file_of_the_same_name_refused_is_its_own(embedded_db: str, tmp_path: Path) -> None:
    file, head = tmp_path / "jobs.txt", "JobID|User|State|Start|End\n"
    days = ["1|a|COMPLETED|2026-02-30T00:00:00|\n", "2|a|COMPLETED|garbage|\n", "3|a|COMPLETED|2026-03-01T00:00:00|\n"]
    outcomes = []
    for day in [*days, days[1]]:
        file.write_text(head + day)
        code, out, _ = flitwatch("import", "sacct", str(file), "--timezone", "UTC", "--db", embedded_db, "--json")
        result = json.loads(out)
        assert code == (3 if result["rejected_total"] else 0)
        outcomes.append((result["rejected_total"], [one["reason"] for one in result["rejected"]]))
    assert [count for count, _ in outcomes] == [1, 1, 0, 1]
    assert "2026-02-30" in outcomes[0][1][0] and "garbage" in outcomes[1][1][0] and outcomes[3] == outcomes[1]
    assert scalar(embedded_db, "SELECT count(*) FROM dead_letter") == 2


@pytest.mark.shared
@pytest.mark.parametrize("reverse", [False, True])
def test_outputs_that_show_one_incarnation_each_keep_both(embedded_db: str, shared: Path, reverse: bool) -> None:
    files = ["sacct_parsable2_duplicates.txt", "sacct_parsable2_default.txt"]
    for file in [*sorted(files, reverse=not reverse), files[0], files[1]]:
        succeed("import", "sacct", str(shared / "samples" / "slurm" / file), "--timezone", "UTC", "--db", embedded_db)
        found = scalar(
            embedded_db,
            "SELECT array_agg(state || ' ' || node_list ORDER BY restart) FROM job WHERE job_id = '9'",
        )
        assert found in (["REQUEUED nid00004", "COMPLETED nid00003"], ["COMPLETED nid00003"])
    assert found == ["REQUEUED nid00004", "COMPLETED nid00003"]
    assert scalar(embedded_db, "SELECT count(*) FROM job") == 22


def test_an_incarnation_keeps_its_number_while_it_goes_on(embedded_db: str, tmp_path: Path) -> None:
    file = tmp_path / "acct.txt"
    head = "JobID|User|State|Submit|Start|End|NodeList|Cluster\n"
    requeued = "7|eve|REQUEUED|1795215000|1795215010|1795215100|n1|c\n"

    def stored(*lines: str) -> list[str]:
        file.write_text(head + "".join(lines))
        succeed("import", "sacct", str(file), "--db", embedded_db)
        return list(scalar(embedded_db, "SELECT array_agg(state ORDER BY restart) FROM job"))

    assert stored(requeued) == ["REQUEUED"]
    assert stored("7|eve|PENDING|1795215100|Unknown|Unknown|None assigned|c\n") == ["REQUEUED", "PENDING"]
    assert stored("7|eve|RUNNING|1795215100|1795215120|Unknown|n2|c\n") == ["REQUEUED", "RUNNING"]
    assert stored("7|eve|COMPLETED|1795215100|1795215120|1795215900|n2|c\n", requeued) == ["REQUEUED", "COMPLETED"]
    # A count that Slurm prints is the truth about numbers, and moves what was numbered without it.
    file.write_text(
        head.replace("Cluster", "Cluster|Restarts") + "7|eve|COMPLETED|1795215100|1795215120|1795215900|n2|c|4\n"
    )
    succeed("import", "sacct", str(file), "--db", embedded_db)
    assert stored(requeued) == ["REQUEUED", "COMPLETED"]
    assert scalar(embedded_db, "SELECT array_agg(restart ORDER BY restart) FROM job") == [0, 4]


def test_a_long_accounting_takes_no_more_memory_than_a_short_one(embedded_db: str, tmp_path: Path) -> None:
    file, jobs = tmp_path / "acct.txt", 10_000
    with open(file, "w") as out:
        out.write("JobID|User|Account|JobName|State|Submit|Start|End|NNodes|NodeList\n")
        for job in range(1, jobs + 1):
            rest = f"COMPLETED|{1795215000 + job}|{1795215010 + job}|{1795219000 + job}|64|nid[{job % 4000:05d}-{job % 4000 + 63:05d}]\n"
            out.writelines(
                f"{job}{step}|user{job % 300}|acct{job % 40}|app|{rest}" for step in ("", ".batch", ".extern", ".0")
            )
    # Not ru_maxrss: a process that was started begins it with the memory of the one that started it.
    program = "from flitwatch.main import main\ntry: main()\nfinally: print(*(line.split()[1] for line in open('/proc/self/status') if line.startswith('VmHWM')))"
    argv = [sys.executable, "-c", program, "import", "sacct", str(file), "--db", embedded_db, "--json"]
    report, most_kb = subprocess.run(argv, capture_output=True, text=True, check=True).stdout.split()
    assert (json.loads(report)["jobs"], json.loads(report)["steps"]) == (jobs, 3 * jobs)
    # Issue 24: a million lines in 200 MB, of which the program itself is 80.
    assert int(most_kb) < 200_000


def test_bad_accounting_lines_end_in_the_dead_letters(embedded_db: str, tmp_path: Path) -> None:
    file = tmp_path / "acct.txt"
    file.write_text("JobID|User|State|NodeList\n1|eve|RUNNING|nid00001\ngarbage\n2|eve|DANCING|nid00001\n")
    for _ in range(2):
        result = refused("import", "sacct", str(file), "--db", embedded_db)
        assert (result["jobs"], result["users"]) == (1, 1)
        assert [item["where"] for item in result["rejected"]] == [f"{file}:3", f"{file}:4"]
        assert "DANCING" in result["rejected"][1]["reason"]
    assert scalar(embedded_db, "SELECT count(*) FROM dead_letter") == 2
    assert scalar(embedded_db, "SELECT raw FROM dead_letter ORDER BY dead_letter_id LIMIT 1") == b"garbage\n"


@pytest.mark.shared
def test_ncl_captures(embedded_db: str, shared: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    shutil.copytree(shared / "samples" / "ariesncl" / "ok", folder)
    first = succeed("import", "ncl", str(folder), "--db", embedded_db)
    assert (first["steps"], first["ranks"], first["counters"], first["rejected"]) == (5, 2, 4, [])
    facts = tmp_path / "facts.json"
    facts.write_text(
        json.dumps({"job_id": "1", "start": 1795215786, "exe": "regions", "ranks": [{"rank": 0, "node": "nid00001"}]})
    )
    again = succeed("import", "ncl", str(folder), "--run-json", str(facts), "--db", embedded_db)
    assert again == first | {"unplaced_examples": ["nid00001"]}
    assert scalar(embedded_db, "SELECT count(*) FROM run") == 1
    assert scalar(embedded_db, "SELECT job_id FROM run") == "1"
    older = refused("import", "ncl", str(shared / "samples" / "ariesncl" / "yaml_2018_11"), "--db", embedded_db)
    assert (older["steps"], older["ranks"], older["counters"], len(older["rejected"])) == (5, 2, 5, 10)
    code, out, err = flitwatch(
        "import", "ncl", str(tmp_path), "--run-json", str(tmp_path / "absent.json"), "--json", "--db", embedded_db
    )
    assert (code != 0, out) == (True, "")
    assert "absent.json does not exist" in err


@pytest.mark.shared
@pytest.mark.parametrize("layout", ["csv_classic", "csv_alt_rollover", "csv_as_is"])
def test_ldms_csv_captures(embedded_db: str, shared: Path, layout: str) -> None:
    folder = shared / "samples" / "ldms" / layout
    data = [path for path in folder.iterdir() if ".HEADER" not in path.name and ".KIND" not in path.name]
    lines = sum(sum(not line.startswith(b"#") for line in path.read_bytes().splitlines()) for path in data)
    # No fabric is there for the Aries sets: that is said, and is another status than 0.
    code, out, err = flitwatch("import", "ldms-csv", *map(str, sorted(folder.iterdir())), "--db", embedded_db, "--json")
    result = json.loads(out)
    assert code == 4 and "belong to no known fabric" in err
    assert result["placed"] == 0 < result["unplaced"] == result["counter_records"] < result["records"]
    assert result["unplaced_reasons"] == ["no fabric is in the database: import one with `flitwatch import fabric`"]
    assert result["records"] + len(result["rejected"]) == lines
    assert result["rejected"] == []
    assert set(result["schemas"]) >= {"aries_rtr_mmr", "aries_nic_mmr", "loadavg", "meminfo"}
    if layout != "csv_as_is":
        assert result["producers"] == ["nid00001", "nid00002"]
    code, out, _ = flitwatch("import", "ldms-csv", str(folder), "--db", embedded_db, "--json")
    again = json.loads(out)
    assert (code, again["gaps"], again["unplaced"]) == (4, 0, result["unplaced"])
    assert scalar(embedded_db, "SELECT count(*) FROM dead_letter") == 0


def test_ragged_and_half_written_rows_are_dead_letters(embedded_db: str, tmp_path: Path) -> None:
    file = tmp_path / "loadavg"
    good = "1795216807.001584,1584,nid00001,1,0,0,0.25\n"
    file.write_text("#Time,Time_usec,ProducerName,component_id,job_id,app_id,load1min\n" + good + "a,b\n" + good[:20])
    result = refused("import", "ldms-csv", str(file), "--db", embedded_db)
    assert result["records"] == 1
    assert len(result["rejected"]) == 2
    assert result["rejected_total"] == 2
    assert all(str(file) in item["where"] for item in result["rejected"])


HALVES = "#Time,Time_usec,ProducerName,component_id,a,b"


def rows(seconds: range) -> str:
    return "".join(f"{1795216800 + s}.000001,1,nid1,1,{100 * (s + 50)},{7 * (s + 50)}\n" for s in seconds)


def test_files_that_are_given_together_are_read_in_the_order_of_time(embedded_db: str, tmp_path: Path) -> None:
    newer, older = tmp_path / "a" / "router", tmp_path / "b" / "router"
    for file, seconds in ((newer, range(60, 120)), (older, range(60))):
        file.parent.mkdir()
        file.write_text(f"{HALVES}\n{rows(seconds)}")
    both = succeed("import", "ldms-csv", str(newer), str(older), "--db", embedded_db)
    assert (both["records"], both["values"], both["rejected_total"]) == (120, 240, 0)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("machine.interconnect", "no header of store_csv"),
        ("router.HEADER.1795216800", "without rows"),
        ("pipe", "is not a regular file"),
    ],
)
def test_a_file_of_which_nothing_can_be_a_row_is_refused(tmp_path: Path, name: str, said: str) -> None:
    file = tmp_path / name
    if name == "pipe":
        os.mkfifo(file)
    else:
        file.write_text("c0-0c0s0a0l00 c0-0c0s1a0l00\n" * 3)
    code, out, err = flitwatch("import", "ldms-csv", str(file), "--json", "--ephemeral")
    assert (code, out, err.count("\n")) == (1, "", 1)
    assert str(file) in err and said in err


def test_a_bad_rank_of_a_named_run_json_is_an_error(tmp_path: Path, shared: Path) -> None:
    facts = tmp_path / "facts.json"
    facts.write_text('{"job_id": "1", "start": 1795215786, "ranks": [{"rank": "x"}]}')
    folder = shared / "samples" / "ariesncl" / "ok"
    code, out, err = flitwatch("import", "ncl", str(folder), "--run-json", str(facts), "--json", "--ephemeral")
    assert (code, out) == (1, "")
    assert "ranks[0]" in err


def test_an_empty_file_of_a_rollover_is_no_error(embedded_db: str, tmp_path: Path) -> None:
    first, empty = tmp_path / "loadavg.1795216800", tmp_path / "loadavg.1795220400"
    first.write_text("#Time,Time_usec,ProducerName,component_id,load1min\n1795216807.001584,1584,nid00001,1,0.25\n")
    empty.touch()
    assert succeed("import", "ldms-csv", str(first), str(empty), "--db", embedded_db)["records"] == 1


@pytest.mark.parametrize("folder", [False, True])
@pytest.mark.parametrize(
    ("data", "said"),
    [
        (gzip.compress(b"#Time", mtime=0), "compressed by gzip"),
        ("#Time,Time_usec,ProducerName\n".encode("utf-16"), "UTF-16"),
    ],
    ids=["gzip", "utf-16"],
)
def test_what_is_no_plain_text_is_named(tmp_path: Path, data: bytes, said: str, folder: bool) -> None:
    file = tmp_path / "loadavg.1795216800.gz"
    file.write_bytes(data)
    code, out, err = flitwatch("import", "ldms-csv", str(tmp_path if folder else file), "--json", "--ephemeral")
    assert (code, out) == (1, "") and f"{file}: is {said}" in err


IBMAD = "#Time,Time_usec,ProducerName,component_id,ca_name,port,port_xmit_data"
RAIL = """Switch 4 "S-00000000000000a1"\t# "leaf-1" enhanced port 0 lid 31 lmc 0
[1]\t"H-00000000000000b0"[1](b0)\t# "n1 mlx5_0" lid 1 4xHDR
[2]\t"H-00000000000000b1"[1](b1)\t# "n1 mlx5_6" lid 2 4xHDR
Ca 1 "H-00000000000000b0"\t# "n1 mlx5_0"
[1](b0)\t"S-00000000000000a1"[1]\t# lid 1 lmc 0 "leaf-1" lid 31 4xHDR
Ca 1 "H-00000000000000b1"\t# "n1 mlx5_6"
[1](b1)\t"S-00000000000000a1"[2]\t# lid 2 lmc 0 "leaf-1" lid 31 4xHDR
"""


def test_ibmads_csv_is_placed_in_an_imported_fabric_and_what_is_not_is_said(embedded_db: str, tmp_path: Path) -> None:
    file, topology = tmp_path / "ibmad", tmp_path / "rail"
    topology.write_text(RAIL)

    def written(begin_s: int, *adapters: str) -> tuple[int, dict[str, Any]]:
        rows = [f"{begin_s + t}.5,500000,n1,0,{adapter},1,{1000 * t}" for t in range(10) for adapter in adapters]
        file.write_text("\n".join([IBMAD, *rows, ""]))
        code, out, _ = flitwatch("import", "ldms-csv", str(file), "--db", embedded_db, "--json")
        return code, json.loads(out)

    code, report = written(1795216800, "mlx5_9")
    assert (code, report["placed"], report["unplaced"], report["rejected_total"]) == (4, 0, 10, 0)
    succeed("import", "fabric", str(topology), "--db", embedded_db)
    code, report = written(1795217800, "mlx5_0", "mlx5_6")
    assert (code, report["placed"], report["records"]) == (0, 20, 20)
    assert scalar(embedded_db, "SELECT array_agg(tx_bytes ORDER BY endpoint) FROM endpoint_1h") == [36_000, 36_000]
    assert report["unknown_columns"] == {}


def test_columns_that_no_counter_of_the_catalogue_names_are_named(embedded_db: str, tmp_path: Path) -> None:
    file, topology = tmp_path / "ibmad", tmp_path / "rail"
    topology.write_text(RAIL)
    succeed("import", "fabric", str(topology), "--db", embedded_db)
    header = IBMAD.replace("ca_name", "job_id,app_id,ca_name") + ",VL15_dropped,port_new_thing,mood"
    file.write_text(
        f"{header}\n" + "".join(f"{1795216800 + t}.5,500000,n1,0,7,0,mlx5_0,1,{t},0,{t},fine\n" for t in range(3))
    )
    code, out, err = flitwatch("import", "ldms-csv", str(file), "--db", embedded_db, "--json")
    assert (code, json.loads(out)["unknown_columns"]) == (0, {"ibmad": ["port_new_thing"]})
    assert "no counter of the catalogue is called port_new_thing: their values are not kept" in err


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_an_import_that_is_ended_ends_its_database(tmp_path: Path, number: int) -> None:
    environment = {**os.environ, "FLITWATCH_HOME": str(tmp_path / "home")}
    argv = [sys.executable, "-c", HOLD, str(tmp_path / "pid")]
    # A process that is started under nohup ignores SIGHUP, and so would its children.
    heeds = lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL)  # noqa: E731
    with subprocess.Popen(argv, env=environment, preexec_fn=heeds) as process:
        eventually(
            lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text(),
            120,
            what="the database's process",
            process=process,
        )
        server = int((tmp_path / "pid").read_text())
        assert Path(f"/proc/{server}").exists()
        process.send_signal(number)
        assert process.wait(60) == 128 + number
    assert not Path(f"/proc/{server}").exists() or "State:\tZ" in Path(f"/proc/{server}/status").read_text()


#: A command in the middle of its work on the project's own database.
HOLD = """
import sys, time
from pathlib import Path
from flitwatch_ops import platform
with platform.open_database() as url:
    text = (platform.embedded_folder() / "data" / "postmaster.pid").read_text().split()[0]
    Path(sys.argv[1]).write_text(text)
    time.sleep(300)
"""
