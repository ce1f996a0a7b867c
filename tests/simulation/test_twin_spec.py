"""Specs and the command: what is wrong is said in one line that names file and key."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from flitwatch.commands.up import up
from flitwatch.main import main
from flitwatch_domain.errors import BadInput
from flitwatch_twin.cluster import Cluster
from flitwatch_twin.spec import SCENARIOS, load_spec


@pytest.mark.parametrize("name", sorted(SCENARIOS))
def test_named_scenarios_are_valid(name: str) -> None:
    spec = load_spec(name)
    assert spec.interference and spec.instrumented


def test_the_demo_is_busy_from_the_first_second() -> None:
    cluster = Cluster(load_spec("demo"), 1)
    assert cluster.fabric.simulated and cluster.machine.routers == 4 * 96
    busy = sum(len(job.allocation.nodes) for job in cluster.running.values())
    assert busy > 0.4 * cluster.machine.nodes
    first = cluster.advance()
    assert any(job.run is not None for job in first.started)
    assert first.state.link_bytes.sum() > 0


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("fabric: {groups: 0}", r"fabric\.groups: .*greater than or equal to 1"),
        ("nodes: 4", r"nodes: Extra inputs"),
        ("instrumented: [{application: hpl}]", r"instrumented\.0.*no application 'hpl'"),
        ("interference: [{mechanism: noise, nodes: 4}]", r"interference\.0\.mechanism"),
        ("users: {load: 2, count: 0}", r"users\.count|users\.load.*and 1 more"),
        ("[1, 2]", "mapping"),
        ("a: b: c", r"spec\.yaml:1: is not YAML"),
        ("name: 2026-02-30", "not of its type"),
        ("name: !!bool maybe", "not of its type"),
        ("name: 0x_", "not of its type"),
        ("name: 'Bad Name'", "name"),
    ],
)
def test_bad_specs(tmp_path: Path, text: str, match: str) -> None:
    path = tmp_path / "spec.yaml"
    path.write_text(text)
    with pytest.raises(BadInput, match=match) as caught:
        load_spec(str(path))
    assert str(path) in str(caught.value)


def test_an_unknown_scenario_lists_the_known() -> None:
    with pytest.raises(BadInput, match="Scenarios: demo, small"):
        load_spec("nowhere")


def test_command_writes_files_and_one_json_object(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spec = tmp_path / "one.yaml"
    spec.write_text("name: one\nfabric: {groups: 1}\nusers: {count: 4, typical_nodes: 8}\nwarm_start_s: 600\n")
    arguments = ["twin", "run", str(spec), "--seconds", "3", "--speed", "0", "--start", "2027-01-15T08:00:00Z"]
    main([*arguments, "--out", str(tmp_path / "out"), "--sets", "full", "--json"])
    told = json.loads(capsys.readouterr().out)
    assert told["simulated"] is True and told["seconds"] == 3 and told["start"] == 1800000000
    assert told["records"] == 3 * 96 + 384 * sum((1800000000 + k) % 10 == 0 for k in (1, 2, 3))
    assert {path.name for path in (tmp_path / "out").iterdir()} >= {"ldms", "sacct.txt", "sacct.json", "truth.json"}


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        (["demo"], "nowhere to write to"),
        (["demo", "--out", "x", "--start", "yesterday"], "'yesterday' is not a time"),
        (["nowhere", "--out", "x"], "no scenario or file named 'nowhere'"),
        (["demo", "--seconds", "-1", "--out", "x"], "--seconds"),
        (["demo", "--log", "kafka://127.0.0.1:1", "--format", "avro"], "schema registry"),
    ],
)
def test_bad_use_is_one_line(
    arguments: list[str],
    match: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as caught:
        main(["twin", "run", *arguments])
    assert caught.value.code not in (0, None)
    error = capsys.readouterr().err or "\n".join(caplog.messages) + "\n"
    assert match in error and error.count("\n") == 1
    assert not (tmp_path / "x").exists()


def test_a_spec_nested_without_end_or_with_no_finite_number_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "deep.yaml"
    file.write_text("users: " + "[" * 20_000)
    with pytest.raises(BadInput, match="nested too deeply"):
        load_spec(str(file))
    file.write_text(yaml.safe_dump(SCENARIOS["demo"] | {"node_rate_bytes_per_s": float("inf")}))
    with pytest.raises(BadInput, match=r"node_rate_bytes_per_s: .*finite"):
        load_spec(str(file))


def test_the_platform_does_not_start_with_a_twin_that_cannot_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FLITWATCH_HOME", str(tmp_path / "home"))
    found = CliRunner().invoke(up, ["--twin", "nosuch"])
    assert isinstance(found.exception, BadInput)
    assert "no scenario or file named 'nosuch'" in str(found.exception)
    assert not (tmp_path / "home").exists()
