"""The client for notebooks and scripts: generated from the API description, and consistent with the served API."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
import threading
import time
import venv
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import flitwatch_client
from api.conftest import Served
from api.database import T0, THROUGH, SampleDatabase
from flitwatch.reference import render_client
from flitwatch_client import table
from flitwatch_client.table import INTEGER, NUMBER, TEXT, TIME, Table

ROOT = Path(__file__).resolve().parents[2]

CLIENT = ROOT / "services" / "client"


def generator():
    spec = importlib.util.spec_from_file_location("generate_client", CLIENT / "generate.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.system("processes")
def test_the_generated_files_are_those_of_the_description() -> None:
    made = generator()
    description = json.loads(made.DESCRIPTION.read_text())
    package = CLIENT / "flitwatch_client"
    operations = made.generate_operations(description)
    assert operations == (package / "operations.py").read_text(), "run `make client`"
    assert made.generate_models(operations) == (package / "models.py").read_text(), "run `make client`"


def test_every_answer_has_a_type() -> None:
    text = (CLIENT / "flitwatch_client" / "operations.py").read_text()
    from flitwatch_client import models

    types = set(re.findall(r"-> models\.(\w+):", text))
    assert len(types) > 40 and all(hasattr(models, name) for name in types)


@pytest.mark.system("processes")
def test_the_example_runs(api: Served) -> None:
    (code,) = re.findall(r"```\n(.*?)```", flitwatch_client.__doc__ or "", re.DOTALL)
    done = subprocess.run(
        [sys.executable, "-c", code.replace("http://127.0.0.1:8765", api.url)],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0 and "small" in done.stdout and done.stdout.split()[-1] == "start", done.stderr


@pytest.fixture
def fw(api: Served):
    with flitwatch_client.connect(api.url) as client:
        yield client


def test_parameters_go_where_they_belong_and_a_refusal_says_why(fw: flitwatch_client.Client) -> None:
    assert fw.api.fabric_detail("small")["name"] == "small"
    assert len(fw.api.jobs(limit=1)["items"]) == 1
    with pytest.raises(flitwatch_client.Refused) as refused:
        fw.api.fabric_detail("../../healthz")
    assert refused.value.status == 404 and refused.value.problem["title"]
    with pytest.raises(flitwatch_client.Refused, match=r"no counter 'nonsense'.*Counters: "):
        fw.series("small", "nonsense")


def test_nobody_at_the_address_is_said() -> None:
    with (
        flitwatch_client.connect("http://127.0.0.1:9") as fw,
        pytest.raises(flitwatch_client.Unavailable, match="does not answer"),
    ):
        fw.fabrics()


def test_an_address_comes_from_the_environment(api: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FLITWATCH_URL", raising=False)
    with pytest.raises(ValueError, match="FLITWATCH_URL"):
        flitwatch_client.connect()
    for wrong in ("nonsense", "http://", "ftp://host", "http://[::1"):
        with pytest.raises(ValueError, match="is not an address: write it like https://"):
            flitwatch_client.connect(wrong)
    monkeypatch.setenv("FLITWATCH_URL", api.url)
    with flitwatch_client.connect() as fw:
        assert "small" in fw.fabrics()["name"].to_pylist()


def test_a_token_that_is_none_is_said(api: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLITWATCH_TOKEN_FILE", str(tmp_path / "token"))
    with pytest.raises(ValueError, match=r"FLITWATCH_TOKEN_FILE names .*/token, which cannot be read"):
        flitwatch_client.connect(api.url)
    (tmp_path / "token").write_text("fwt_some")
    (tmp_path / "token").chmod(0o640)
    with pytest.raises(ValueError, match="chmod 600"):
        flitwatch_client.connect(api.url)
    for wrong in ("ümlaut", "two\nlines"):
        with pytest.raises(ValueError, match="flitwatch tokens create"):
            flitwatch_client.connect(api.url, wrong)
    with flitwatch_client.connect(api.url, "flw_unknown\n") as fw, pytest.raises(flitwatch_client.Refused) as refused:
        fw.jobs()
    assert refused.value.status == 401


class _Portal(BaseHTTPRequestHandler):
    """Some other server: a page at every address."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.end_headers()
        self.wfile.write(b"<!doctype html><title>Log in</title>")

    def log_message(self, *_: object) -> None:
        """Quiet."""


def test_a_page_instead_of_a_table_is_said() -> None:
    portal = ThreadingHTTPServer(("127.0.0.1", 0), _Portal)
    threading.Thread(target=portal.serve_forever, daemon=True).start()
    try:
        with flitwatch_client.connect(f"http://127.0.0.1:{portal.server_port}") as fw:
            for ask in (fw.fabrics, lambda: fw.series("small"), lambda: fw.stalls("small")):
                with pytest.raises(flitwatch_client.Unavailable, match="a web page, not with data"):
                    ask()
    finally:
        portal.shutdown()
        portal.server_close()


def test_the_guide_says_what_each_method_gives() -> None:
    """Every method is either among those that the guide calls tables and gives one, or named as a dictionary."""
    guide = (CLIENT / "README.md").read_text()
    listed = re.search(r"Lists and series are a `Table`: (.*?)\.\s", guide, re.DOTALL)
    assert listed
    made = {
        name: str(method.__annotations__["return"])
        for name, method in vars(flitwatch_client.Client).items()
        if not name.startswith("_") and name != "close"
    }
    assert set(re.findall(r"`(\w+)`", listed.group(1))) == {name for name, kind in made.items() if kind == "Table"}
    for name in (name for name, kind in made.items() if kind != "Table"):
        assert re.search(rf"`fw\.{name}\([^`]*\)`[^.]*dictionary", guide), name


def test_lists_are_whole_whatever_a_page_holds(fw: flitwatch_client.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = fw.jobs()
    monkeypatch.setattr("flitwatch_client.client.PAGE", 2)
    paged = fw.jobs()
    assert len(whole) > 4 and paged["job_id"].to_pylist() == whole["job_id"].to_pylist()
    assert len(fw.jobs(most=3)) == 3
    assert fw.jobs(user="nobody-of-that-name").columns == whole.columns
    assert whole.arrow.schema.field("start").type == pa.timestamp("us", tz="UTC")


def test_series_are_what_was_stored(fw: flitwatch_client.Client, database: SampleDatabase) -> None:
    start, end = datetime.fromtimestamp(T0, UTC), datetime.fromtimestamp(T0 + 100, UTC)
    table = fw.series("small", ["rt_flits", "ratio"], routers=[1, 5], start=start, end=end, points=100)
    assert table.columns == ["ts", "router", "rt_flits", "ratio"]
    assert table["router"].to_pylist()[:2] == [1, 5]
    flits = np.array(table["rt_flits"].to_pylist(), dtype=float).reshape(-1, 2)
    step = int(table.arrow.schema.metadata[b"step_s"])
    stored = database.column("rt_flits")[:100, [1, 5]].reshape(-1, step, 2)
    assert np.array_equal(flits[:, 0], stored[:, :, 0].sum(axis=1))
    # Router 5 is silent from second 60 on: unknown, not zero.
    assert np.isnan(flits[60 // step :, 1]).all() and table["rt_flits"].null_count == 40 // step
    total = fw.series("small", "rt_flits", start=start, end=end, points=100, total=True)
    assert total.columns == ["ts", "rt_flits"] and len(total) == 100 // step


def test_arrow_and_json_give_the_same_series(fw: flitwatch_client.Client, api: Served) -> None:
    span = {"from": T0, "to": T0 + 120, "points": 12}
    json_answer = api.get("/fabrics/small/timeseries", routers="group:1", counters="ratio,coverage", **span)
    table = fw.series("small", ("ratio", "coverage"), routers="group:1", start=T0, end=T0 + 120, points=12)
    for name in ("ratio", "coverage"):
        by_router = np.array(table[name].to_pylist(), dtype=float).reshape(-1, len(json_answer["routers"])).T
        np.testing.assert_allclose(by_router, np.array(json_answer["values"][name], dtype=float), rtol=1e-6)
    assert [f"{t:%Y-%m-%dT%H:%M:%SZ}" for t in table["ts"].unique().to_pylist()] == json_answer["ts"]


def test_stalls_of_every_router_and_the_same_as_parquet(
    fw: flitwatch_client.Client, api: Served, database: SampleDatabase
) -> None:
    table = fw.stalls("small", start=np.float64(T0), end=np.int64(THROUGH), step_s=10)
    assert table.columns == ["ts", "router", "flits", "stall_cycles", "ratio"]
    assert table.arrow.schema.metadata[b"fabric"] == b"small"
    assert len(table.to_pandas()) == len(table.to_polars()) == len(table)
    answer = api.http.get(
        "/api/v1/fabrics/small/frames",
        params={"from": T0, "to": THROUGH, "step": 10},
        headers={"Accept": "application/vnd.apache.parquet"},
    )
    import pyarrow.parquet as parquet

    assert answer.headers["content-type"] == "application/vnd.apache.parquet" and answer.headers["vary"].startswith(
        "Accept"
    )
    assert parquet.read_table(pa.BufferReader(answer.content)).equals(table.arrow)


@pytest.mark.parametrize(
    ("accept", "kind"),
    [
        ("application/vnd.apache.parquet;q=0, application/json", "application/json"),
        ("application/json, application/vnd.apache.arrow.stream;q=0.5", "application/json"),
        ("application/vnd.apache.arrow.stream;q=0.5, application/vnd.apache.parquet", "application/vnd.apache.parquet"),
        ("application/json;q=0.9, application/vnd.apache.arrow.stream", "application/vnd.apache.arrow.stream"),
        ("application/vnd.apache.parquet, application/json, */*", "application/vnd.apache.parquet"),
        ("*/*", "application/json"),
        ("application/vnd.apache.parquet;q=much", "application/json"),
    ],
)
def test_the_format_that_weighs_most_is_sent(api: Served, accept: str, kind: str) -> None:
    """By the weights (`q`) of the `Accept` header."""
    span = {"from": T0, "to": T0 + 60}
    for path, asked in (("timeseries", {"routers": "all", "counters": "ratio"}), ("frames", {"step": 10})):
        answer = api.http.get(f"/api/v1/fabrics/small/{path}", params={**asked, **span}, headers={"Accept": accept})
        assert answer.headers["content-type"].partition(";")[0] == kind


def test_a_fabric_without_time_has_an_empty_series(fw: flitwatch_client.Client) -> None:
    table = fw.series("still", "ratio")
    assert len(table) == 0 and table.columns == ["ts", "router", "ratio"]


def test_links_runs_steps_blame_forecasts_and_alerts_are_tables(
    fw: flitwatch_client.Client, database: SampleDatabase
) -> None:
    assert len(fw.links("small")) > 0
    runs = fw.runs()
    assert set(runs["run_id"].to_pylist()) >= set(database.run_ids)
    steps = fw.steps(database.run_ids[0])
    assert steps.columns[:3] == ["step", "time_s", "usual_s"] and len(steps) > 0
    # What is usual is of other runs, not of this run's own ranks.
    answer = fw.api.steps(database.run_ids[0])
    assert answer["others"] > 0 and steps["usual_s"].to_pylist() == pytest.approx(answer["mean_time_s"])
    assert answer["mean_time_s"] != pytest.approx(answer["time_p50_s"])
    assert "lacks" in fw.forecasts().columns and "summary" in fw.alerts().columns
    with pytest.raises(flitwatch_client.Refused, match="no blame estimate"):
        fw.blame()
    explained = fw.explanation("100")
    assert explained["job_id"] == "100" and fw.candidates("100").columns[0] == "job_id"


@pytest.mark.system("processes")
def test_the_package_alone_is_enough(api: Served, tmp_path: Path) -> None:
    """The built wheel, in an environment that has httpx and pyarrow and nothing of the platform."""
    uv = next(
        path
        for path in (ROOT / ".cache" / "uv" / "bin" / "uv", Path("/usr/local/bin/uv"), Path("uv"))
        if path.name == str(path) or path.exists()
    )
    subprocess.run([uv, "build", "--wheel", "-q", "--out-dir", tmp_path / "dist", CLIENT], check=True)
    venv.create(tmp_path / "empty", with_pip=False)
    python = tmp_path / "empty" / "bin" / "python"
    (wheel,) = (tmp_path / "dist").glob("*.whl")
    subprocess.run([uv, "pip", "install", "-q", "--python", python, wheel], check=True)
    code = "import flitwatch_client, importlib.metadata as m; print(len(flitwatch_client.connect().jobs())); print(sorted(d.name.lower() for d in m.distributions()))"
    done = subprocess.run(
        [python, "-I", "-c", code],
        capture_output=True,
        text=True,
        env={**os.environ, "FLITWATCH_URL": api.url},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    jobs, there = done.stdout.splitlines()
    assert int(jobs) > 4
    assert set(json.loads(there.replace("'", '"'))) <= {
        "flitwatch-client",
        "httpx",
        "httpcore",
        "h11",
        "anyio",
        "idna",
        "certifi",
        "pyarrow",
        "typing_extensions",
        "typing-extensions",
        "sniffio",
    }


def test_times_may_be_a_while_ago(api: Served) -> None:
    with flitwatch_client.connect(api.url) as fw:
        assert len(fw.jobs(end="-1h")) == len(fw.jobs(end=time.time() - 3600))
        assert len(fw.jobs(start="now")) <= len(fw.jobs(start="-520w"))
        with pytest.raises(flitwatch_client.Refused):
            fw.jobs(start="-1 fortnight")


def test_without_pyarrow_rows_are_dictionaries_and_series_name_the_extra(
    api: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    with flitwatch_client.connect(api.url) as fw:
        known = fw.fabrics().arrow.to_pylist()
        monkeypatch.setattr("flitwatch_client.table.find_spec", lambda name: None if name == "pyarrow" else True)
        table = fw.fabrics()
        assert table.to_pylist() == known and len(table) == len(known) and "small" in repr(table)
        assert table.to_pandas()["name"].tolist() == [row["name"] for row in known]
        for asked in (lambda: table.arrow, lambda: fw.series("small")):
            with pytest.raises(ImportError, match=r"flitwatch-client\[arrow\]"):
                asked()


def test_a_window_that_ended_over_a_day_ago_is_asked_for_once(fw: flitwatch_client.Client) -> None:
    span = {"start": T0, "end": T0 + 60}
    settled = time.time() - 86_400 > T0 + 60
    assert (fw.series("small", "ratio", **span) is fw.series("small", "ratio", **span)) is settled
    assert fw.series("small", "ratio", **span) is not fw.series("small", "rt_flits", **span)
    # Without an end, or with one that is near, counters may still come.
    assert fw.series("small", "ratio", start=T0) is not fw.series("small", "ratio", start=T0)
    near = {"start": "-2h", "end": "-1h"}
    assert fw.stalls("small", **near) is not fw.stalls("small", **near)


def test_a_long_list_says_how_far_it_is(api: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("flitwatch_client.client.PAGE", 2)
    rows: list[int] = []
    with flitwatch_client.connect(api.url, progress=rows.append) as fw:
        assert rows == [] and len(fw.jobs(most=5)) == 5
    assert rows == [2, 4, 5]


def test_a_question_for_advice_is_what_the_api_answers(fw: flitwatch_client.Client, api: Served) -> None:
    answer = fw.advice("ann", "milc", 64)
    assert answer["action"] in ("start", "delay", "prefer") and "reasons" in answer
    with pytest.raises(flitwatch_client.Refused) as refused:
        fw.advice("", "milc", 64)
    assert refused.value.status == 422


def test_drivers_are_rows_of_each_application_in_their_place(fw: flitwatch_client.Client) -> None:
    answer = fw.api.drivers()
    assert len(fw.drivers()) == sum(len(answer["counters"]) for _ in answer["sets"])
    assert len(fw.drivers("no-such-application")) == 0
    assert fw.drivers().columns[:5] == ["exe", "nodes", "counter", "meaning", "place"]


# Tables of the client without an API: as HTML for notebooks, and drawn.


KINDS = {"ts": TIME, "router": INTEGER, "ratio": NUMBER, "name": TEXT}


@pytest.fixture
def stalls() -> Table:
    times = [datetime.fromtimestamp(60 * minute, UTC) for minute in range(6)]
    return Table(
        KINDS, {"ts": times * 2, "router": [1] * 6 + [2] * 6, "ratio": [0.5, None, 1.0] * 4, "name": ["<b>"] * 12}
    )


def test_a_notebook_shows_the_first_rows_and_says_how_many_there_are(stalls: Table) -> None:
    page = stalls._repr_html_()
    assert page.count("<tr>") == 1 + table.SHOWN and "12 rows, the first 10 shown" in page
    assert "&lt;b&gt;" in page and "<b>" not in page and "<td>unknown</td>" in page
    assert "<td></td>" not in Table(KINDS, {name: [] for name in KINDS})._repr_html_()


def test_a_plot_has_a_line_for_each_value_and_gaps_where_nothing_is_known(stalls: Table) -> None:
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    axes = stalls.plot(by="router")
    assert [line.get_label() for line in axes.get_lines()] == ["ratio router 1", "ratio router 2"]
    (first, _) = axes.get_lines()
    heights = [float(height) for height in first.get_ydata()]
    assert heights[0] == 0.5 and heights[1] != heights[1] and axes.get_xlabel() == "ts"
    single = stalls.plot("router", "ratio", ax=axes)
    assert single is axes


def test_what_cannot_be_drawn_is_said(stalls: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match="no column nonsense; it has ts, router"):
        stalls.plot(y="nonsense")
    with pytest.raises(ValueError, match="nothing to draw"):
        Table({"name": TEXT}, {"name": ["a"]}).plot()
    monkeypatch.setattr(table, "LINES", 1)
    with pytest.raises(ValueError, match="router has 2 values"):
        stalls.plot(by="router")


def test_the_library_that_draws_is_named_where_it_is_absent(stalls: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    def find(name: str) -> Any:
        return None

    monkeypatch.setattr(table, "find_spec", find)
    with pytest.raises(ImportError, match=r"pip install flitwatch-client\[plot\]"):
        stalls.plot()


def test_the_reference_is_what_the_client_says() -> None:
    assert (ROOT / "docs" / "client.md").read_text() == render_client(), "run `make reference`"
