"""The files for Open OnDemand in a real Chromium: a portal's page with the widget, and a page of another origin."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
import yaml
from support.browser import run

from e2e.site import PAGE, ROOT
from flitwatch_api.settings import Settings
from flitwatch_db import connect
from flitwatch_db.jobs import store as jobs
from flitwatch_domain.jobs import Job

FILES = ROOT / "packaging" / "open-ondemand"
OURS = "https://flitwatch.example.edu"


@contextmanager
def portal(pages: dict[str, str]) -> Iterator[int]:
    """A server of these pages on a port of this machine; they may be changed while it serves."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = pages.get(self.path)
            self.send_response(404 if body is None else 200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.end_headers()
            self.wfile.write((body or "").encode())

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()


def test_the_app_of_open_ondemand_has_what_its_manifest_needs() -> None:
    manifest = yaml.safe_load((FILES / "manifest.yml").read_text())
    assert {"name", "description", "category", "icon", "url"} <= set(manifest)
    assert manifest["url"] == f"{OURS}/jobs"


@pytest.mark.integration
@pytest.mark.system("browser")
def test_a_portal_that_a_site_names_shows_jobs_in_its_frame(
    embedded_db: str,
    browser: dict[str, str],
) -> None:
    from api.conftest import serving

    now_s = time.time()
    with connect(embedded_db, role="writer") as conn:
        jobs.upsert_jobs(
            conn, [Job("c", "1234", "COMPLETED", name="milc", start_s=now_s - 900, end_s=now_s - 300, nodes=1)]
        )
    pages: dict[str, str] = {}
    with portal(pages) as port:
        # The same server under another name is another origin.
        known, stranger = f"http://localhost:{port}", f"http://127.0.0.1:{port}"
        cockpit = f"c|ClusterCockpit|{known}/monitoring/jobs/?jobId={{job_id}}&cluster={{cluster}}"
        pages["/monitoring/jobs/?jobId=1234&cluster=c"] = "<!doctype html><title>The job there</title>"
        settings = Settings(
            db=embedded_db, web=PAGE, api_anonymous="user", api_frame_ancestors=known, api_job_links=cockpit
        )
        with serving(settings) as api:
            widget = (FILES / "_flitwatch.html").read_text()
            assert widget.count(OURS) == 1
            pages["/"] = f"<!doctype html><title>Portal</title>{widget.replace(OURS, api.url)}"
            names = {"FLITWATCH_URL": api.url, "FLITWATCH_PORTAL": known, "FLITWATCH_STRANGER": stranger}
            run("portal.mjs", {**browser, **names, "FLITWATCH_JOB": "1234"}, timeout_s=120)
