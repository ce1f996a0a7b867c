"""`flitwatch evidence`: verify that an evidence page has not been modified."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from flitwatch.console import exit_with_error, json_option, print_result
from flitwatch_domain.errors import BadInput
from flitwatch_domain.explanation.case import content_hash, stored_hash

#: An evidence page takes some hundred kilobytes.
MOST_BYTES = 64 * 2**20


@click.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@json_option
def evidence(file: Path, as_json: bool) -> None:
    """Verify that the evidence page FILE has not been modified, using the hash that it contains. The hash shows whether the file was changed, not
    who wrote it. The exit status is 1 if the page was modified.
    """
    if file.stat().st_size > MOST_BYTES:
        raise BadInput("it is larger than any evidence page", where=str(file))
    try:
        page = file.read_bytes().decode()
        recorded_hash = stored_hash(page)
    except UnicodeDecodeError:
        raise BadInput("it is not an evidence page: it is not UTF-8", where=str(file)) from None
    except BadInput as wrong:
        raise BadInput(wrong.reason, where=str(file), advice=wrong.advice) from None
    unchanged = content_hash(page) == recorded_hash
    if as_json:
        print_result({"file": str(file), "sha256": recorded_hash, "unchanged": unchanged}, True)
        if not unchanged:
            sys.exit(1)
        return
    if not unchanged:
        exit_with_error(f"{file} was modified: its content does not match its hash")
    click.echo(f"{file}: unchanged, sha256 {recorded_hash}")
