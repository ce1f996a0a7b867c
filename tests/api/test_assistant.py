"""`flitwatch mcp` with the protocol's own client over standard input and output: it says what REST says, refuses with reasons and widens no right."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.assistant import assistant, told

from api.conftest import Served, serving
from api.estimates import estimated  # noqa: F401
from api.world import T0, World
from flitwatch_api.settings import Settings
from flitwatch_db import connect
from flitwatch_db.people import accounts as people

READS = {"explain_job", "top", "fabric_series", "job_series", "blame", "forecast", "task"}


async def refused(client: Any, tool: str, **given: object) -> str:
    found = await client.call_tool(tool, given)
    assert found.is_error and found.structured_content is None
    return found.content[0].text


async def test_tools_say_what_rest_says_and_name_nobody_where_nothing_shows_it(api: Served, world: World) -> None:
    async with assistant("--url", api.url) as client:
        tools = {one.name: one for one in (await client.list_tools()).tools}
        assert set(tools) == READS | {"what_if"}
        assert {name for name, one in tools.items() if one.annotations.read_only_hint} == READS
        assert all(one.description for one in tools.values())

        made = await told(client, "explain_job", job_id="101", cluster="c1", at=str(T0 + 300))
        rest = api.get("/jobs/101/explanation", cluster="c1", at=T0 + 300)
        assert made == rest and made["named"] is None and made["verdict"] in ("cannot tell", "not slow")
        assert made["simulated"] is True

        hot = await told(client, "top", fabric="small", most=3)
        stalls = api.get("/fabrics/small/stalls")
        assert (hot["at"], hot["window_s"], hot["simulated"]) == (stalls["at"], stalls["window_s"], True)
        assert hot["links"] == api.get("/fabrics/small/links/hot", at=stalls["at"], limit=3)["items"]
        assert hot["units"]["ratio"] == "time stalled over the time of sending" and len(hot["groups"]) == 3

        series = await told(client, "fabric_series", fabric="small", points=5)
        assert {name: series[name] for name in ("ts", "ratio", "step_s", "gaps")} == {
            name: api.get("/fabrics/small/overview", points=5)[name] for name in ("ts", "ratio", "step_s", "gaps")
        }
        assert 0 < len(series["ts"]) <= 6 and series["simulated"] is True and series["units"]["p95"]

        own = await told(client, "job_series", job_id="101", points=4)
        assert own["parts"] == api.get("/jobs/101/counters", points=4)["parts"] and own["simulated"] is True


async def test_blame_and_forecast_keep_verdicts_reasons_and_intervals(estimated) -> None:  # noqa: F811
    api, _ = estimated
    async with assistant("--url", api.url) as client:
        blamed = await told(client, "blame", application="amg")
        assert blamed == api.get("/estimates/blame", exe="amg", limit=20)
        assert {one["verdict"] for one in blamed["entries"]} == {"named", "cannot tell"} and blamed["caveat"]
        following = await told(client, "forecast", application="amg", nodes=128)
        assert following["serves"] == api.get("/estimates/forecast", exe="amg")["serves"]
        assert following["running"][0]["newest"]["low_s"] < following["running"][0]["newest"]["high_s"]


async def test_without_an_estimate_nobody_is_named(api: Served) -> None:
    async with assistant("--url", api.url) as client:
        made = await told(client, "blame", application="amg", nodes=3)
        assert made["verdict"] == "cannot tell" and made["reasons"] and "entries" not in made


async def test_bad_arguments_and_refusals_are_errors_with_the_reason(api: Served) -> None:
    # Other files of tests may have started tasks before.
    before = api.get("/tasks")["items"]
    async with assistant("--url", api.url) as client:
        assert "no job" in await refused(client, "explain_job", job_id="999")
        assert "small" in await refused(client, "top", fabric="nowhere")
        assert "points" in await refused(client, "fabric_series", fabric="small", points=100_000)
        assert "from" in await refused(client, "fabric_series", fabric="small", start="yesterday-ish")
        assert "job_id" in await refused(client, "explain_job")
        assert "answers 404" in await refused(client, "explain_job", job_id="../../session")
        assert "--allow-tasks" in await refused(client, "what_if", fabric="small", job_id="101", at=str(T0))
        assert api.get("/tasks")["items"] == before
    async with assistant("--url", "http://127.0.0.1:9") as client:
        assert "does not answer" in await refused(client, "top")


async def test_the_rights_are_the_tokens(world: World, tmp_path: Path) -> None:
    with connect(world.url, role="gate", autocommit=True) as conn:
        people.add_account(conn, "ada", "user")
        secrets = {
            "read": people.add_token(conn, "ada", "assistant", ["read"])[1],
            "tasks": people.add_token(conn, "ada", "tasks", ["read", "tasks"])[1],
        }
    for name, secret in secrets.items():
        (tmp_path / name).write_text(secret)
        (tmp_path / name).chmod(0o600)
    moment = {"fabric": "small", "job_id": "101", "at": str(T0 + 100)}
    with serving(Settings(db=world.url, web=None, api_anonymous="none")) as closed:
        async with assistant("--url", closed.url, "--allow-tasks") as client:
            assert "answers 401" in await refused(client, "top", fabric="small")
        words = ("--url", closed.url, "--token-file")
        async with assistant(*words, str(tmp_path / "read"), "--allow-tasks") as client:
            hidden = await told(client, "explain_job", job_id="101")
            assert hidden["user"].startswith("user-") and "bob" not in json.dumps(hidden)
            said = await refused(client, "what_if", **moment)
            assert "answers 403" in said and "scope tasks" in said and secrets["read"] not in said
        async with assistant(*words, str(tmp_path / "tasks"), "--allow-tasks") as client:
            task = await told(client, "what_if", **moment)
            assert (task["name"], task["state"]) == ("sim.whatif", "queued")
            assert (await told(client, "task", task_id=task["task_id"]))["args"]["at_s"] == T0 + 100
            assert "epoch seconds" in await refused(client, "what_if", **{**moment, "at": "soon"})


def test_answers_are_bounded_and_say_what_was_left_out() -> None:
    from mcp.server.mcpserver.exceptions import ToolError

    from flitwatch.assistant import MOST_BYTES, MOST_ROWS, make_result

    long = make_result({"candidates": [{"job_id": str(n)} for n in range(MOST_ROWS + 7)], "ts": list(range(500))})
    assert long.structured_content is not None
    assert len(long.structured_content["candidates"]) == MOST_ROWS and len(long.structured_content["ts"]) == 500
    assert long.structured_content["left_out"] == {"candidates": 7}
    with pytest.raises(ToolError, match="fewer points"):
        make_result({"text": "x" * MOST_BYTES})
