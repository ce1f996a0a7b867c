"""Registration of Avro schemas: in a schema registry over HTTP, or in a file with the registry's subjects and schemas."""

from __future__ import annotations

import json
import os
from pathlib import Path

from flitwatch_domain.errors import BadInput, Unavailable
from flitwatch_twin.ldms_sets import SetLayout


class FileRegistry:
    """JSON file {"subjects": {subject: [id]}, "schemas": {id: schema text}}. Existing ids are kept, new ones added."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __call__(self, layout: SetLayout) -> int:
        """Return the id of the layout's schema."""
        contents = self._read_file()
        subject, text = layout.row_schema, layout.avro_schema()
        for number in contents["subjects"].get(subject, []):
            if contents["schemas"].get(str(number)) == text:
                return int(number)
        number = max((int(key) for key in contents["schemas"]), default=0) + 1
        contents["schemas"][str(number)] = text
        contents["subjects"].setdefault(subject, []).append(number)
        part = self._path.with_suffix(".part")
        part.write_text(json.dumps(contents), encoding="utf-8")
        os.replace(part, self._path)
        return number

    def _read_file(self) -> dict[str, dict]:
        if not self._path.exists():
            return {"subjects": {}, "schemas": {}}
        try:
            contents = json.loads(self._path.read_text(encoding="utf-8"))
            return {"subjects": dict(contents["subjects"]), "schemas": dict(contents["schemas"])}
        except (ValueError, KeyError, TypeError) as error:
            raise BadInput("not a schema registry's file", where=str(self._path)) from error


class HttpRegistry:
    """Confluent-compatible schema registry."""

    def __init__(self, url: str) -> None:
        self._url = url.rstrip("/")

    def __call__(self, layout: SetLayout) -> int:
        """Return the id of the layout's schema, registering a new one."""
        import httpx

        try:
            answer = httpx.post(
                f"{self._url}/subjects/{layout.row_schema}/versions", json={"schema": layout.avro_schema()}, timeout=10
            )
            answer.raise_for_status()
            return int(answer.json()["id"])
        except (httpx.HTTPError, ValueError, KeyError) as error:
            raise Unavailable(
                f"the schema registry at {self._url} does not accept {layout.row_schema}: {error}"
            ) from error
