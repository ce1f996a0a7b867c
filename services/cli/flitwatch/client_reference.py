"""Generate docs/client.md: every public method of the Python client, from its signature and docstring."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import flitwatch_client

_HEAD = """# The Python client

Generated with `make reference` from the client itself. `pip install flitwatch-client` installs it; [its guide](../services/client/README.md) has examples. Methods of `Client.api` are the operations of
[the API](contracts/api.md), by their names, with typed requests and answers.
"""


def render_client() -> str:
    """Return the text of docs/client.md."""
    parts = [_HEAD, _format_callable("connect", flitwatch_client.connect, 2)]
    for kind in (flitwatch_client.Client, flitwatch_client.Table):
        parts.append(f"\n## {kind.__name__}\n\n{_format_text(kind)}")
        parts += [_format_callable(f"{kind.__name__}.{name}", member, 3) for name, member in _list_members(kind)]
    errors = (flitwatch_client.Refused, flitwatch_client.Unavailable, flitwatch_client.TaskFailed)
    parts.append(
        "\n## Errors\n\n"
        + "".join(f"- `{error.__name__}`: {_format_text(error).splitlines()[0]}\n" for error in errors)
    )
    return "".join(parts)


def _list_members(kind: type) -> Iterator[tuple[str, Any]]:
    for name, member in vars(kind).items():
        if not name.startswith("_") and (callable(member) or isinstance(member, (property, classmethod))):
            yield name, member.__func__ if isinstance(member, classmethod) else member


def _format_callable(name: str, member: Any, level: int) -> str:
    if isinstance(member, property):
        return f"\n{'#' * level} `{name}`\n\n{_format_text(member)}"
    shown = (
        str(inspect.signature(member))
        .replace("'", "")
        .replace("(self, ", "(")
        .replace("(self)", "()")
        .replace("(cls, ", "(")
    )
    return f"\n{'#' * level} `{name.rpartition('.')[2]}`\n\n```python\n{name}{shown}\n```\n\n{_format_text(member)}"


def _format_text(documented: Any) -> str:
    """Convert a docstring in NumPy's format to Markdown, with its sections as lists."""
    lines, listed = [], False
    text = (inspect.getdoc(documented) or "").splitlines()
    for number, line in enumerate(text):
        if set(line) == {"-"}:
            continue
        if number + 1 < len(text) and text[number + 1] and set(text[number + 1]) == {"-"}:
            lines += [f"**{line}**", ""]
            listed = True
        elif listed and line and not line.startswith(" "):
            lines.append(f"- `{line}`")
        elif listed and line:
            lines[-1] += f": {line.strip()}" if lines[-1].endswith("`") else f" {line.strip()}"
        else:
            lines.append(line)
    return "\n".join(lines).strip() + "\n"
