"""One answer in all outputs: REST, `flitwatch job`, an alert's mail and the evidence agree on one drawn incident."""

from __future__ import annotations

import json
import zipfile
from datetime import datetime
from pathlib import Path

import numpy as np
import pytest
from api.conftest import serving
from click.testing import CliRunner
from integration.incidents import IncidentSite, Observation, draws, is_felt
from support.databases import Server

from flitwatch.command_line import cli
from flitwatch_alerting import senders
from flitwatch_alerting.evaluate import explain_alert_job
from flitwatch_api.settings import Settings
from flitwatch_db import connect
from flitwatch_db.jobs import evidence
from flitwatch_db.jobs.parts import load_parts

pytestmark = [pytest.mark.integration, pytest.mark.system("numeric")]
SEED = 1


@pytest.fixture(scope="module")
def incident(_embedded_template: Server):
    url = _embedded_template.create()
    draw = next(one for one in draws(SEED, 40, quiet=False) if is_felt(one, SEED))
    yield url, IncidentSite(url, SEED).day(draw)[-1]
    _embedded_template.drop(url)


def test_everybody_prints_the_same(incident: tuple[str, Observation], tmp_path: Path) -> None:
    """The planted culprit, the onset, the links and every remedy, word for word."""
    url, observation = incident
    job = observation.answer["job_id"]
    with serving(Settings(db=url)) as api:
        rest = api.get(f"/jobs/{job}/explanation")
    assert rest["verdict"] == "named" and rest["named"] == observation.planted
    sentences = [one["text"] for one in rest["chain"]]
    assert any(observation.planted in one for one in sentences)
    assert datetime.fromisoformat(rest["slowdown"]["since"]).strftime("%H:%M:%S UTC") in " ".join(sentences)
    for link in rest["links"][:3]:
        assert link["from_name"] in " ".join(sentences)
    assert sum(one["part"] == "help" for one in rest["chain"]) == len(rest["remedies"]) > 0

    printed = CliRunner().invoke(cli, ["job", job, "--db", url])
    assert printed.exit_code == 0, printed.output
    out = tmp_path / "case.zip"
    with connect(url, role="reader") as conn:
        mailed = senders.chain_sentences({"evidence": {"explanation": explain_alert_job(conn, job)}})
        evidence.export_evidence(conn, job, out)
    with zipfile.ZipFile(out) as archive:
        filed = json.loads(archive.read("explanation.json"))
    for sentence in sentences:
        assert sentence in printed.output
        assert any(line.endswith(sentence) for line in mailed)
    assert filed["named"] == observation.planted and filed["chain"]


def test_the_counters_of_its_own_parts_rise_at_the_onset(incident: tuple[str, Observation]) -> None:
    url, observation = incident
    since = observation.answer["slowdown"]["since"].timestamp()
    with connect(url, role="reader") as conn:
        found = load_parts(conn, observation.answer["job_pk"], since - 200, since + 200)
    blue = next(one.values for one in found.parts if one.key == "blue")
    assert np.nanmean(blue[found.ts >= since]) > 1.2 * np.nanmean(blue[found.ts + found.step_s < since])
