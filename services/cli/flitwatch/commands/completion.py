"""`flitwatch completion`: script for a shell's completion of commands, options and values."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from flitwatch.console import json_option, print_result

PROGRAM, VARIABLE = "flitwatch", "_FLITWATCH_COMPLETE"


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@json_option
def completion(shell: str, as_json: bool) -> None:
    """Print a script that completes commands, options and values in SHELL.

    \b
    bash  flitwatch completion bash > ~/.local/share/bash-completion/completions/flitwatch
    zsh   flitwatch completion zsh > a folder of $fpath, as _flitwatch
    fish  flitwatch completion fish > ~/.config/fish/completions/flitwatch.fish
    """
    script = source(shell)
    print_result({"shell": shell, "script": script}, True) if as_json else click.echo(script, nl=False)


def source(shell: str) -> str:
    """Return the script for `bash`, `zsh` or `fish`."""
    from flitwatch.command_line import cli

    kind = get_completion_class(shell)
    assert kind is not None
    # Click's `source` starts bash to check its version, but bash can be missing where packages are built.
    completer = kind(cli, {}, PROGRAM, VARIABLE)
    return str(completer.source_template % completer.source_vars())
