"""What the process of alerting writes to its log about the receivers that it tells."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import yaml
from support.alerts import fire
from support.waiting import eventually

from alerting.receivers import Hook
from flitwatch_db import connect


def test_no_secret_of_an_address_is_logged(embedded_db: str, hook: Hook, tmp_path: Path) -> None:
    at = hook.url.removeprefix("http://").removesuffix("/hook")
    receivers = [
        {"name": "taken", "kind": "webhook", "url": f"http://user:s3cret@{at}/services/T000/hush"},
        {"name": "absent", "kind": "slack", "url": "http://user:s3cret@127.0.0.1:1/services/T000/hush"},
    ]
    path, log = tmp_path / "alerts.yaml", tmp_path / "log"
    path.write_text(yaml.safe_dump({"group_wait": 0, "receivers": receivers}))
    with connect(embedded_db, role="writer", autocommit=True) as conn:
        fire(conn, "q1")
    command = [sys.executable, "-m", "flitwatch.main", "alerting", "--config", str(path), "--db", embedded_db]
    with log.open("wb") as out:
        process = subprocess.Popen(command, stdout=out, stderr=out, env={**os.environ, "PYTHONUNBUFFERED": "1"})
    try:
        eventually(
            lambda: hook.got and "receiver absent cannot be reached" in log.read_text(),
            what="one delivery and one failure",
            process=process,
            detail=log.read_text,
        )
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(30)
    assert not [word for word in ("s3cret", "T000", "hush") if word in log.read_text()]
