"""Metrics of the worker and of alerting: pending and failed work, and the database's address."""

from __future__ import annotations

import re
import time
from pathlib import Path

import orjson
import pytest
from prometheus_client.exposition import generate_latest
from support.waiting import eventually

from flitwatch.own_figures import OwnFigures, place_families
from flitwatch_api.health.metrics import MetricReading
from flitwatch_db import connect
from flitwatch_db.tasks import start_task
from flitwatch_research.scorecard.report import to_markdown


def shown(families: list) -> dict[str, float]:
    lines = generate_latest(MetricReading(families)).decode().splitlines()
    return {
        name: float(value) for name, _, value in (line.rpartition(" ") for line in lines if not line.startswith("#"))
    }


def test_a_worker_shows_depth_age_and_failures_of_its_queues(embedded_db: str) -> None:
    with connect(embedded_db, role="writer", autocommit=True) as conn:
        failed, old, _, runs = (start_task(conn, "ml.blame", {}) for _ in range(4))
        start_task(conn, "sim.study", {})
        conn.execute("UPDATE task SET state = 'failed', finished_at = now() WHERE task_id = %s", [failed])
        conn.execute("UPDATE task SET created_at = now() - interval '1 hour' WHERE task_id = %s", [old])
        conn.execute(
            "UPDATE task SET state = 'running', started_at = now() - interval '3 hours' WHERE task_id = %s", [runs]
        )
    figures = OwnFigures(embedded_db, ["db", "ml"])
    eventually(lambda: bool(list(figures.collect())), what="the figures")
    found = shown(list(figures.collect()))
    assert found['flitwatch_tasks{queue="ml",state="queued"}'] == 2
    assert found['flitwatch_tasks{queue="db",state="queued"}'] == 0
    assert found['flitwatch_recent_failed_tasks{queue="ml"}'] == 1
    assert 3600 <= found['flitwatch_task_waiting_seconds{queue="ml"}'] < 7200
    assert 10800 <= found['flitwatch_task_running_seconds{queue="ml"}'] < 14400
    assert not any("sim" in name or 'ing_seconds{queue="db"' in name for name in found)


def test_alerting_shows_what_was_not_delivered(embedded_db: str) -> None:
    with connect(embedded_db, autocommit=True) as conn:
        conn.execute(
            "INSERT INTO alert (rule, labels, phase, severity, since, seen, value, peak, summary, evidence)"
            " VALUES ('r', '{}', 'firing', 'info', now(), now(), 1, 1, '', '{}')"
        )
        conn.execute(
            "INSERT INTO alert_notice (alert_id, receiver, status, group_key, attempts, created_at, delivered_at)"
            " SELECT alert_id, r, 'firing', '', n, now() - interval '1 hour', d::timestamptz FROM alert,"
            " (VALUES ('chat', 3, NULL), ('mail', 0, NULL), ('seen', 1, now()::text)) AS v (r, n, d)"
        )
    figures = OwnFigures(embedded_db, None)
    eventually(lambda: bool(list(figures.collect())), what="the figures")
    found = shown(list(figures.collect()))
    assert (
        found['flitwatch_notices_failing{receiver="chat"}'],
        found['flitwatch_notices_failing{receiver="mail"}'],
    ) == (1, 0)
    assert found['flitwatch_notices_waiting{receiver="mail"}'] == 1 and not any("seen" in name for name in found)
    assert found['flitwatch_notice_waiting_seconds{receiver="chat"}'] >= 3600


def test_the_disk_and_the_newest_backup_of_an_embedded_database(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    url = f"postgresql://w@/flitwatch?host={tmp_path}/run&passfile={tmp_path}/logins/worker/pgpass"
    assert shown(place_families(url)).keys() == {"flitwatch_database_disk_free_bytes"}
    base = tmp_path / "bk" / "base" / "one"
    base.mkdir(parents=True)
    (tmp_path / "backup-folder").write_text(f"{tmp_path}/bk\n")
    finished = time.time() - 7200
    text = f'{{"name": "one", "begun_s": 1, "finished_s": {finished}, "first_segment": "0", "size_bytes": 1}}'
    (base / "backup.json").write_text(text)
    assert 7200 <= shown(place_families(url))["flitwatch_backup_age_seconds"] < 7300
    assert shown(place_families("postgresql://w@elsewhere/flitwatch")) == {}


# Figures that docs/results.md quotes are those of the pages that commands made, and the scorecard's page is its own data's.


ROOT = Path(__file__).resolve().parents[2]

#: A document and its words, a page that a command made and its words: figures of one name are equal. Two dots stand for any words.
#: A figure named percent_NAME is a hundred times NAME.
QUOTED = [
    (
        "docs/results.md",
        "Jobs as on Theta: {mean} % ({low} % to {high} %). The interval contains zero",
        "docs/advice-value.md",
        "; theta {mean}% ({low}% to {high}%), cannot tell",
    ),
    (
        "docs/results.md",
        "The plain scenario: {mean} % ({low} % to {high} %).",
        "docs/advice-value.md",
        "; plain {mean}% ({low}% to {high}%), pays",
    ),
    (
        "docs/results.md",
        "The hardest scenario: {mean} % ({low} % to {high} %).",
        "docs/advice-value.md",
        "; everything {mean}% ({low}% to {high}%), pays",
    ),
    (
        "docs/results.md",
        "{percent_mean} % of the users named were false positives (95 % CI {percent_low} to {percent_high} %).",
        "docs/scorecard.md",
        "**Blame**: .. False share {mean} ({low} to {high}), at most 0.10 in every scenario.",
    ),
    (
        "docs/results.md",
        "In {won} of {variants} scenarios, the average precision is the highest of all methods compared. It is {gain} ({gain_low} to {gain_high}) above",
        "docs/scorecard.md",
        "the highest average precision in {won} of {variants} scenarios, {gain} ({gain_low} to {gain_high}) on the paper's method. "
        ".. It names no user in everything.",
    ),
    (
        "docs/results.md",
        "uses {runs} runs of MILC on Perlmutter and {users} users .. Blame names {named} of these users. .. shuffling the run "
        "times {shuffles} times, {share} % of",
        "docs/real-runs.md",
        "not simulated: {runs} runs .., alongside {users} users, .. {named} named, .. shuffled {shuffles} times, {sets} sets ({share}%;",
    ),
    (
        "docs/results.md",
        "The scorecard checks {asked} acceptance criteria: {held} pass, {failed} fail, and {unjudged} cannot be judged.",
        "docs/scorecard.md",
        "{held} of {asked} criteria pass, {failed} do not (**no**), {unjudged} cannot be judged",
    ),
    (
        "docs/results.md",
        "{percent_found} % ({percent_low} to {percent_high} %) of the planted counters are ranked among the first",
        "docs/scorecard.md",
        "**Drivers**: {found} ({low} to {high}) of the planted counters are ranked among the first",
    ),
    (
        "docs/results.md",
        "90 % intervals cover {percent_mean} % ({percent_low} to {percent_high} %) of .. beats every forecaster by more than its interval in {better} of {variants} scenarios",
        "docs/scorecard.md",
        "every candidate, by more than its interval, in {better} of {variants} scenarios. 90 % intervals cover {mean} ({low} to {high}).",
    ),
]


def figures(text: str, words: str) -> dict[str, float]:
    """The figures of the one place that has these words."""
    parts = re.split(r"(\{\w+\}|\.\.|\s+)", words)
    of = {"..": ".*?", " ": r"\s+"}
    pattern = "".join(
        of.get(part) or (f"(?P<{part[1:-1]}>[+-]?[0-9.]*[0-9])" if part.startswith("{") else re.escape(part))
        for part in parts
    )
    found = list(re.finditer(pattern, text, re.DOTALL))
    assert len(found) == 1, f"{len(found)} places say: {words}"
    return {
        name.removeprefix("percent_"): float(value) / (100 if name.startswith("percent_") else 1)
        for name, value in found[0].groupdict().items()
    }


@pytest.mark.parametrize("quoted", QUOTED, ids=lambda quoted: f"{quoted[0]}-{quoted[2]}")
def test_a_quoted_figure_is_the_pages(quoted: tuple[str, str, str, str]) -> None:
    document, said, page, words = quoted
    there, made = figures((ROOT / document).read_text(), said), figures((ROOT / page).read_text(), words)
    assert there == {name: made[name] for name in there}, f"{document} quotes {page}"


def test_a_changed_figure_and_a_sentence_that_is_gone_are_noticed() -> None:
    words = "False share {mean} ({low} to {high}), .. In {won} of"
    assert figures("False\nshare 0.01 (0.00 to\n0.02), at most 0.1. In 3 of 4.", words) == {
        "mean": 0.01,
        "low": 0.0,
        "high": 0.02,
        "won": 3,
    }
    for text in ("False share about 0.01", "False share 0.1 (0 to 1), x In 3 of. False share 0.1 (0 to 1), x In 4 of"):
        with pytest.raises(AssertionError, match="places say"):
            figures(text, words)


def test_the_scorecards_page_is_what_the_report_writes_of_its_figures() -> None:
    scorecard = orjson.loads((ROOT / "docs/scorecard.json").read_bytes())
    assert (ROOT / "docs/scorecard.md").read_text() == to_markdown(scorecard)
