"""Links from a job to a site's other monitors."""

from __future__ import annotations

from urllib.parse import parse_qs, urlsplit

import pytest

from api.conftest import serving
from flitwatch_api.jobs.links import JobLink
from flitwatch_api.settings import Settings
from flitwatch_db import connect
from flitwatch_db.jobs import store as jobs
from flitwatch_domain.errors import BadRequest
from flitwatch_domain.jobs import Job

COCKPIT = "https://cc.example.edu/monitoring/jobs/?jobId={job_id}&cluster={cluster}"
XDMOD = "https://xdmod.example.edu/#job_viewer?action=show&realm=SUPREMM&resource_id=1&local_job_id={job_id}"


def test_a_job_has_the_links_of_its_cluster(embedded_db: str) -> None:
    with connect(embedded_db, role="writer") as conn:
        jobs.upsert_jobs(conn, [Job("perlis", "10+1", "COMPLETED"), Job("edison", "7", "COMPLETED")])
    links = f"perlis|ClusterCockpit|{COCKPIT}, *|XDMoD|{XDMOD}"
    with serving(Settings(db=embedded_db, web=None, api_job_links=links)) as api:
        assert api.get("/jobs/10+1")["links"] == [
            {"name": "ClusterCockpit", "url": "https://cc.example.edu/monitoring/jobs/?jobId=10%2B1&cluster=perlis"},
            {"name": "XDMoD", "url": XDMOD.replace("{job_id}", "10%2B1")},
        ]
        assert [link["name"] for link in api.get("/jobs/7")["links"]] == ["XDMoD"]
    with serving(Settings(db=embedded_db, web=None)) as api:
        assert api.get("/jobs/7")["links"] == []


@pytest.mark.parametrize(
    "job_id", ["1&cluster=x", "1#x", "../../admin", "..", ".", "1/2", "a b", "{cluster}", '"><b>', "é", "1[2].s"]
)
def test_whatever_an_id_holds_is_one_part_of_the_address(job_id: str) -> None:
    asked = urlsplit(JobLink.read(f"*|CC|{COCKPIT}").of(job_id, "c"))
    assert parse_qs(asked.query) == {"jobId": [job_id], "cluster": ["c"]} and not asked.fragment
    path = JobLink.read("*|CC|https://cc.example.edu/job/{job_id}").of(job_id, "c")
    assert path is not None and path.startswith("https://cc.example.edu/job/") and path.count("/") == 4
    assert not path.endswith(("/.", "/..")) and not set(path) & set(' "<>#?&{}')


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("https://cc.example.edu/job/{job_id}", "CLUSTER|NAME|URL"),
        ("c||https://cc.example.edu/job/{job_id}", "CLUSTER|NAME|URL"),
        ("c|CC|https://cc.example.edu/job", "{job_id}"),
        ("c|CC|https://cc.example.edu/{job_id}/{user}", "{job_id}"),
        ("c|CC|https://cc.example.edu/{job_id.__class__}", "{job_id}"),
        ("c|CC|https://cc.example.edu/{job_id:>99999999}", "{job_id}"),
        ("c|CC|https://cc.example.edu/{job_id!r}", "{job_id}"),
        ("c|CC|https://cc.example.edu/{}", "braces"),
        ("c|CC|https://cc.example.edu/{job_id", "braces"),
        ("c|CC|https://{job_id}/", "host"),
        ("c|CC|https://{cluster}.example.edu/{job_id}", "host"),
        ("c|CC|https://you@cc.example.edu/{job_id}", "host"),
        ("c|CC|javascript:alert({job_id})", "https"),
        ("c|CC|//cc.example.edu/{job_id}", "https"),
        ("c|CC|https://cc.example.edu/a b/{job_id}", "%20"),
        ('c|CC|https://cc.example.edu/"{job_id}', "%20"),
        ("c|CC\u202e|https://cc.example.edu/{job_id}", "shown"),
        (f"c|{'C' * 41}|https://cc.example.edu/{{job_id}}", "letters"),
    ],
)
def test_a_template_that_cannot_work_is_named_at_the_start(text: str, words: str) -> None:
    with pytest.raises(BadRequest, match="FLITWATCH_API_JOB_LINKS") as told:
        Settings.read(db="postgresql://x", api_job_links=text)
    assert words in str(told.value)
