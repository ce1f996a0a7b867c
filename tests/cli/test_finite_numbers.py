"""A number that is none passes every comparison with a range's ends, so no option takes it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click
import orjson
import pytest
from click.testing import CliRunner

from flitwatch.console import FiniteRange
from flitwatch.main import cli
from flitwatch_domain.errors import BadInput
from flitwatch_slurm.trial import Trial, read_record


def commands(
    command: click.Command, context: click.Context, path: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Every command below one, with its words."""
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            found = command.get_command(context, name)
            assert found is not None
            yield from commands(found, click.Context(found, parent=context, info_name=name), (*path, name))
    else:
        yield path, command


def test_every_range_of_numbers_refuses_nan() -> None:
    ranges = [
        (" ".join(path), option.name, option.type)
        for path, command in commands(cli, click.Context(cli), ())
        for option in command.params
        if isinstance(option.type, click.FloatRange)
    ]
    assert len(ranges) > 20
    assert [(path, name) for path, name, kind in ranges if not isinstance(kind, FiniteRange)] == []


@pytest.mark.parametrize("option", ["--trial", "--interval"])
def test_an_agent_does_not_begin_a_trial_of_nan(option: str, tmp_path: Path) -> None:
    record = tmp_path / "trial.jsonl"
    answer = CliRunner().invoke(cli, ["agent", "slurm", "--act", option, "nan", "--trial-file", str(record)])
    assert answer.exit_code == 2
    assert "nan is not in the range" in answer.output
    assert not record.exists()


@pytest.mark.parametrize(
    "changed", [{"at_s": "z"}, {"slowdown": None}, {"usual_s": "10"}, {"nodes": 1.5}, {"job_id": 7}, {"advised": 1}]
)
def test_a_line_of_a_trial_with_a_value_of_another_kind_is_counted_as_torn(
    changed: dict[str, object], tmp_path: Path
) -> None:
    path = tmp_path / "trial.jsonl"
    Trial.open(path, 0.5)
    line = {
        "job_id": "1",
        "advised": True,
        "application": "amg",
        "nodes": 2,
        "action": "delay",
        "slowdown": 1.2,
        "usual_s": 60.0,
        "at_s": 1.0,
    }
    path.write_bytes(path.read_bytes() + orjson.dumps(line | changed) + b"\n")
    _, participants, torn = read_record(path)
    assert (participants, torn) == ([], 1)


def test_a_trial_that_began_at_no_time_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "trial.jsonl"
    path.write_bytes(b'{"trial":1,"salt":"s","share":0.5,"begun_s":"nan"}\n')
    with pytest.raises(BadInput, match="is not a record of a trial"):
        read_record(path)
