"""Arrivals by source: none at first, the right counts after real imports and a real remote write, refusals with their reason."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from support.counted import bring_in

from api.conftest import Served, serving
from flitwatch.command_line import cli
from flitwatch_api.settings import Settings
from flitwatch_db import connect
from flitwatch_db.ingest.arrivals import add_arrivals
from flitwatch_domain.data_sources import DATA_SOURCES, DIRECT, TWIN, data_source_of, kind_of

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def site(embedded_db: str) -> Iterator[tuple[Served, str]]:
    with serving(Settings(db=embedded_db, web=None)) as served:
        yield served, embedded_db


def by_source(served: Served) -> dict[str, dict]:
    return {source["key"]: source for source in served.get("/ingest/arrivals")["sources"]}


@pytest.mark.system("processes")
@pytest.mark.integration
def test_every_source_says_what_came_through_it(site: tuple[Served, str], tmp_path: Path) -> None:
    served, url = site
    before = by_source(served)
    assert list(before) == [source.key for source in DATA_SOURCES]
    assert all(
        (one["records"], one["recent"], one["last_at"], one["refused"]) == (0, 0, None, []) for one in before.values()
    )

    bring_in(url, tmp_path)
    after = by_source(served)
    assert after["prometheus"]["records"] == after["prometheus"]["recent"] == 2
    assert after["prometheus"]["last_at"] is not None
    assert any("made_up" in one["where"] or "made_up" in one["reason"] for one in after["prometheus"]["refused"])
    assert sum(one["records"] for one in after["slurm"]["refused"]) == 1
    assert "alice" not in str(after["slurm"]["refused"]) and str(tmp_path) not in str(after["slurm"]["refused"])
    untouched = set(after) - {"prometheus", "slurm"}
    assert {key for key in untouched if after[key]["last_at"] or after[key]["refused"]} == set()


def test_the_twin_fills_no_source(site: tuple[Served, str]) -> None:
    served, url = site
    with connect(url, role="writer") as conn:
        for _ in range(2):
            add_arrivals(conn, {(TWIN, "ldms.aries"): 5, (DIRECT, "ldms.aries"): 3, (DIRECT, "flitwatch.jobs.v1"): 1})
    answer = served.get("/ingest/arrivals")
    assert (answer["simulated"], answer["unknown"]) == (10, 2)
    assert {source["key"]: source["recent"] for source in answer["sources"] if source["recent"]} == {"ldms": 6}


def test_a_record_belongs_to_one_source() -> None:
    assert data_source_of(kind_of("otlp#rejected"), "ldms.ib_prometheus") == "otlp"
    assert data_source_of(kind_of("nid00001:/tmp/cxi.csv@1"), "ldms.cxi_sampler") == "slingshot"
    assert data_source_of(kind_of(""), "ldms.aries_rtr_mmr") == "ldms"
    # A name that a producer chose opens no row of its own, and the twin's is not to be had by writing it.
    assert kind_of("x" * 10_000) == kind_of(TWIN) == DIRECT
    assert data_source_of(kind_of("sacct"), "flitwatch.jobs.v1") == "slurm"
    assert data_source_of(DIRECT, "flitwatch.jobs.v1") is None


def test_every_command_of_a_source_is_one_of_ours_with_options_that_it_has() -> None:
    own = [line for source in DATA_SOURCES for line in source.commands if line.startswith("flitwatch ")]
    assert len(own) > len(DATA_SOURCES)
    for line in own:
        words, command = shlex.split(line.format(site="http://s", host="h", fabric="f"))[1:], cli
        while isinstance(command, click.Group):
            found = command.get_command(click.Context(command), words[0])
            assert found is not None, line
            command, words = found, words[1:]
        options = {name for parameter in command.params for name in (*parameter.opts, *parameter.secondary_opts)}
        given = [word for word in words[: words.index("--") if "--" in words else None] if word.startswith("--")]
        assert set(given) <= options, line


def test_the_page_of_sources_names_every_source() -> None:
    text = (ROOT / "docs" / "sources.md").read_text()
    for source in DATA_SOURCES:
        verbs = {
            m.group()
            for line in source.commands
            if (m := re.match(r"flitwatch (?:import|collect|run)\b(?: [a-z][a-z-]+)?", line))
        }
        assert verbs, source.key
        for verb in verbs:
            assert verb.removeprefix("flitwatch ").strip() in text, f"{source.key}: {verb}"
