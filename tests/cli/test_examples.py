"""Every command has an example that its own parser takes: names of options, their values' kinds, and choices."""

from __future__ import annotations

import shlex
from pathlib import Path

import click
import pytest
import yaml

from flitwatch.examples import EXAMPLES
from flitwatch.manuals import render_pages
from flitwatch.reference import render_reference, walk_commands

COMMANDS = dict(walk_commands())


def test_every_command_has_an_example() -> None:
    assert set(EXAMPLES) == set(COMMANDS)


@pytest.mark.parametrize("words", sorted(EXAMPLES))
def test_an_example_is_what_the_command_takes(words: str) -> None:
    program, *given = shlex.split(EXAMPLES[words])
    assert program == "flitwatch" and given[: len(words.split())] == words.split()
    command = COMMANDS[words]
    context = click.Context(command, info_name=words)
    values, left, order = command.make_parser(context).parse_args(given[len(words.split()) :])
    assert left == []
    # Files of an example are not here: what names one is taken as it is.
    for parameter in order:
        if not isinstance(parameter.type, (click.Path, click.File)):
            parameter.type_cast_value(context, values[parameter.name])
    lacking = [one.name for one in command.params if one.required and values.get(one.name) in (None, (), [])]
    assert not lacking


def test_the_reference_shows_them() -> None:
    text = render_reference()
    assert all(f"\n{example}\n" in text for example in EXAMPLES.values())


def test_manual_pages_show_them() -> None:
    made = render_pages()
    assert all(".SH EXAMPLES\n" in page for name, page in made.items() if name != "flitwatch.1")
    assert ".nf\nflitwatch status \\-\\-json\n.fi\n" in made["flitwatch-status.1"]


def test_the_example_of_a_rule_names_one_that_a_site_begins_with() -> None:
    from flitwatch_alerting import config

    rules = yaml.safe_load(Path(config.__file__).with_name("default.yaml").read_text())["rules"]
    assert shlex.split(EXAMPLES["alerts test"])[3] in [rule["name"] for rule in rules]
