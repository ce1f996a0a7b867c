"""`flitwatch bench ingest` and `bench import`: the load reports its content, and a short run ends with exact counts and the contract's keys."""

from __future__ import annotations

import io
import json
import time
from itertools import islice

import fastavro
import numpy as np
import pytest
from cli.commands import flitwatch, succeed

from flitwatch_db import connect
from flitwatch_domain.counters import identify_counter
from flitwatch_domain.fabric import Technology
from flitwatch_domain.generators import build_dragonfly
from flitwatch_ingest.sources import sacct
from flitwatch_research.commands.bench_import import LINES_PER_JOB, write_lines
from flitwatch_research.ingest_bench.load import SLICES, Order, receive_report, receive_start, start_load
from flitwatch_research.ingest_bench.pool import Pool
from flitwatch_research.ingest_bench.sets import metric_sets

START_S = 1_795_000_000


@pytest.mark.parametrize("form", ["avro", "json"])
@pytest.mark.parametrize("quarters", [False, True])
def test_records_decode_to_counters_that_grow_by_what_the_pool_says(form: str, quarters: bool) -> None:
    sets = metric_sets(build_dragonfly(1, 2, 4), quarters)
    assert sum(len(one.metrics) for one in sets) == 492
    for one in sets:
        assert all(identify_counter(name, Technology.CRAY_XC) is not None for name in one.metrics)
        pool = Pool(one, form, seconds=11, schema_id=7)
        schema = fastavro.parse_schema(json.loads(one.avro_schema()))

        def decode(record: bytes, schema=schema) -> dict:
            if form == "json":
                return json.loads(record)
            assert record[:5] == b"\0\0\0\0\7"
            return fastavro.schemaless_reader(io.BytesIO(record[5:]), schema, None)

        seconds = [[decode(record) for record in pool.second(s, START_S + s)] for s in range(11)]
        values = np.array([[[row[name] for name in one.metrics] for row in second] for second in seconds])
        assert (np.diff(values, axis=0) >= 0).all()
        assert (values[-1] - values[0]).sum(axis=1).tolist() == pool.grown(11, list(range(len(one.metrics)))).tolist()
        assert [row["component_id"] for row in seconds[3]] == list(one.components)
        times = [row["timestamp"].timestamp() if form == "avro" else row["timestamp"] for row in seconds[10]]
        assert all(START_S + 10 <= time < START_S + 10.01 for time in times)


@pytest.mark.integration
def test_a_small_load_appends_each_part_of_a_second_when_it_is_due(embedded_db: str) -> None:
    """A load of 96 routers does not fill a producer's buffer within seconds."""
    order = Order(embedded_db, metric_sets(build_dragonfly(1), quarters=False), "avro", 2, [7])
    with start_load(order) as pipe:
        receive_start(pipe, 60)
        pipe.send(int(time.time()))
        assert receive_report(pipe, 60)["records"] == 2 * 96
        with connect(embedded_db) as conn:
            batches = conn.execute("SELECT count(*), sum(records) FROM log.batch").fetchone()
    assert batches is not None and batches[0] >= 2 * SLICES and batches[1] == 2 * 96


@pytest.mark.system("processes")
@pytest.mark.integration
def test_a_short_run_counts_every_row() -> None:
    argv = ["bench", "ingest", "--routers", "96", "--seconds", "6", "--sets", "quarter", "--stack", "embedded"]
    found = succeed(*argv)
    assert {
        "values_per_s",
        "records_per_s",
        "lag_s",
        "lag_max_s",
        "rss_mb",
        "rss_slope_mb_per_min",
        "stages",
        "load_cpu_s",
    } <= set(found)
    assert (found["lost"], found["duplicated"], found["wrong"], found["gaps"], found["dead_letters"]) == (0, 0, 0, 0, 0)
    assert found["rows"]["router_1s"] == found["rows_expected"] == 96 * 5
    assert found["values_per_s"] > 0
    assert found["baseline"]["name"] == "fastavro.schemaless_reader"


def test_bad_use_is_one_line() -> None:
    for argv in (["ingest", "--routers", "1"], ["ingest", "--format", "xml"], ["nothing"]):
        code, out, err = flitwatch("bench", *argv)
        assert (code != 0, out, err.count("\n")) == (True, "", 1)


def test_each_line_is_a_job_or_a_step() -> None:
    lines = 40 * LINES_PER_JOB
    jobs, rejected = sacct.decode_jobs("".join(islice(write_lines(), lines + 1)).encode(), "bench")
    assert not rejected
    assert len(jobs) + sum(len(job.steps) for job in jobs) == lines
    assert all(job.end_s is not None and len(job.steps) == LINES_PER_JOB - 1 for job in jobs)


@pytest.mark.system("processes")
@pytest.mark.integration
def test_a_short_import_counts_every_row() -> None:
    figures = succeed("bench", "import", "--lines", "1001")
    assert (figures["lines"], figures["jobs"], figures["steps"]) == (1001, 251, 750)
    assert figures["lines_per_s"] > 0 and figures["peak_rss_mb"] > 0
    assert 0 < figures["first_row_s"] <= figures["seconds"]
    assert figures["first_row_cpu_s"] <= figures["cpu_s"] + 0.05
