"""The generated client is that of the description, and its example runs against the served API."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import flitwatch.client
from api.conftest import Served
from flitwatch.client import Client, Refused
from flitwatch.client.generate import generate

ROOT = Path(__file__).resolve().parents[2]


def test_every_operation_of_the_client_is_one_of_the_description() -> None:
    description = json.loads((ROOT / "docs" / "contracts" / "openapi.json").read_text())
    made = generate(description)
    held = Path(flitwatch.client.operations.__file__).read_text()
    calls = re.compile(r'"""(GET|POST|PUT|PATCH|DELETE) (\S+): ')
    assert set(calls.findall(held)) <= set(calls.findall(made)) and len(calls.findall(held)) > 50
    compile(made, "operations.py", "exec")


def test_the_example_runs(api: Served) -> None:
    (code,) = re.findall(r"```\n(.*?)```", flitwatch.client.__doc__ or "", re.DOTALL)
    done = subprocess.run(
        [sys.executable, "-c", code.replace("http://127.0.0.1:8765", api.url)],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0 and "small" in done.stdout and done.stdout.split()[-1] == "start", done.stderr


def test_parameters_go_where_they_belong_and_a_refusal_says_why(api: Served) -> None:
    with Client(api.url) as client:
        assert client.fabric_detail("small")["name"] == "small"
        assert len(client.jobs(limit=1)["items"]) == 1
        with pytest.raises(Refused) as refused:
            client.fabric_detail("../../healthz")
        assert refused.value.answered == 404 and refused.value.problem["title"]
