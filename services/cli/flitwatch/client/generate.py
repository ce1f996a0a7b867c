"""Makes `operations.py` from the API's description: `python -m flitwatch.client.generate docs/contracts/openapi.json > .../operations.py`."""

from __future__ import annotations

import json
import keyword
import re
import sys
from typing import Any

HEAD = '''"""One method an operation of the API; generated from docs/contracts/openapi.json by `python -m flitwatch.client.generate`, not edited."""

from __future__ import annotations

from typing import Any


class Operations:
    """The operations; `_call` sends one."""

    @staticmethod
    def _part(value: Any) -> str:
        raise NotImplementedError

    def _call(self, method: str, path: str, query: dict[str, Any], body: Any = None) -> Any:
        raise NotImplementedError
'''
TYPES = {"integer": "int", "number": "float", "string": "str", "boolean": "bool", "array": "list[Any]"}


def generate(description: dict[str, Any]) -> str:
    """The module's text."""
    methods = [
        _method(operation["operationId"], verb.upper(), path, operation)
        for path, verbs in sorted(description["paths"].items())
        for verb, operation in sorted(verbs.items())
        if "text/event-stream" not in operation["responses"].get("200", {}).get("content", {})
        and not path.endswith("/events")
        # Redirections are for browsers.
        and "303" not in operation["responses"]
    ]
    return HEAD + "".join(methods)


def _method(name: str, verb: str, path: str, operation: dict[str, Any]) -> str:
    parameters = [p for p in operation.get("parameters", []) if p["in"] in ("path", "query")]
    inside = [p for p in parameters if p["in"] == "path"]
    query = [p for p in parameters if p["in"] == "query"]
    body = "requestBody" in operation
    arguments = ["self", *(f"{_name(p)}: {_type(p)}" for p in inside), *(["body: Any"] if body else [])]
    needed = [p for p in query if p.get("required")]
    optional = [p for p in query if not p.get("required")]
    if query:
        arguments += [
            "*",
            *(f"{_name(p)}: {_type(p)}" for p in needed),
            *(f"{_name(p)}: {_type(p)} | None = None" for p in optional),
        ]
    shown = path
    for p in inside:
        shown = shown.replace("{" + p["name"] + "}", "{self._part(" + _name(p) + ")}")
    sent = ", ".join(f'"{p["name"]}": {_name(p)}' for p in query)
    said = (
        " ".join((operation.get("description") or operation.get("summary") or name).split())
        .replace("\\", "")
        .replace('"', "'")
    )
    return (
        f"\n    def {name}({', '.join(arguments)}) -> Any:\n"
        f'        """{verb} {path}: {said}"""\n'
        f'        return self._call("{verb}", {"f" if inside else ""}"{shown}", {{{sent}}}{", body" if body else ""})\n'
    )


def _name(parameter: dict[str, Any]) -> str:
    name = re.sub(r"\W", "_", parameter["name"])
    return f"{name}_" if keyword.iskeyword(name) else name


def _type(parameter: dict[str, Any]) -> str:
    return TYPES.get(parameter.get("schema", {}).get("type", ""), "Any")


if __name__ == "__main__":
    with open(sys.argv[1]) as file:
        sys.stdout.write(generate(json.load(file)))
