"""`flitwatch mcp`: the platform's answers as tools of an assistant, over standard input and output."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import click

from flitwatch.console import exit_with_error, json_option, print_result
from flitwatch.rest import api_options, require_place


@click.command()
@click.option(
    "--allow-tasks", is_flag=True, help="Let the tool what_if start simulations, if the token has the scope `tasks`."
)
@api_options
@json_option
def mcp(allow_tasks: bool, api_url: str | None, token_file: Path | None, profile: str | None, as_json: bool) -> None:
    """Serve the platform's answers to an assistant with the Model Context Protocol, over standard input and output. The assistant's program starts
    this command. It only reads, with the rights of the token. --json prints the tools and exits. Install the extra `mcp` first: pip install
    'flitwatch[mcp]'. Without --url or a profile, the command asks the platform of this checkout.
    """
    try:
        from flitwatch.assistant import build_server
    except ModuleNotFoundError as absent:
        if (absent.name or "").partition(".")[0] not in ("mcp", "mcp_types"):
            raise
        exit_with_error("this needs the extra mcp: pip install 'flitwatch[mcp]'")
    assistant_server = build_server(require_place(api_url, token_file, profile), allow_tasks)
    if as_json:
        tools = asyncio.run(assistant_server.list_tools())
        print_result(
            {"tools": [tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in tools]}, True
        )
        return
    if sys.stdin.isatty():
        click.echo("flitwatch: an assistant's program starts this command; Ctrl-C ends it", err=True)
    assistant_server.run("stdio")
