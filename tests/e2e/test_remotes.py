"""Machines of another platform on this one's page, in a real Chromium: two platforms, two databases."""

from __future__ import annotations

from pathlib import Path

import pytest
from api.world import seed
from support.browser import run
from support.databases import Server
from support.remotes import token_file
from support.waiting import eventually

from e2e.site import PAGE
from flitwatch_api.settings import Settings


@pytest.mark.integration
@pytest.mark.system("browser")
def test_a_remote_s_machines_are_looked_at_and_never_changed(
    embedded_db: str,
    _embedded_template: Server,
    tmp_path: Path,
    browser: dict[str, str],
) -> None:
    from api.conftest import serving

    far = _embedded_template.create()
    seed(far)
    token = token_file(tmp_path, far, "read")
    with serving(Settings(db=far, web=None, api_anonymous="none")) as there:
        remotes = f"theta|{there.url}|{token}, gone|http://127.0.0.1:9"
        with serving(Settings(db=embedded_db, web=PAGE, api_anonymous="operator", api_remotes=remotes)) as here:
            # A busy machine may not answer within the time limit of a list.
            machines = eventually(
                lambda: here.get("/remotes")["items"][0]["machines"], 600, 0.5, what="the remote's machines"
            )
            names = [machine["name"] for machine in machines]
            job = here.get("/remotes/theta/jobs")["items"][0]["job_id"]
            run(
                "remote.mjs",
                {**browser, "FLITWATCH_URL": here.url, "FLITWATCH_MACHINE": names[0], "FLITWATCH_JOB": job},
                timeout_s=180,
            )
    _embedded_template.drop(far)
