"""Request bodies from the OpenAPI document."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

#: The committed description, which test_openapi.py compares with the application's: making that takes seconds in each process.
DOCUMENT = json.loads((Path(__file__).parents[2] / "docs" / "contracts" / "openapi.json").read_bytes())


def fields(schema: dict[str, Any], word: str, depth: int = 0) -> Any:
    """A body of a schema with the word wherever a text may stand."""
    if "$ref" in schema:
        return fields(DOCUMENT["components"]["schemas"][schema["$ref"].rpartition("/")[2]], word, depth + 1)
    for several in ("anyOf", "oneOf", "allOf"):
        if several in schema:
            kinds = [one for one in schema[several] if one.get("type") != "null"]
            return fields(next((one for one in kinds if one.get("type") == "string"), kinds[0]), word, depth + 1)
    if "const" in schema or "enum" in schema:
        return schema.get("const", (schema.get("enum") or [None])[0])
    match schema.get("type"):
        case "object":
            made = {name: fields(one, word, depth + 1) for name, one in schema.get("properties", {}).items()}
            if isinstance(schema.get("additionalProperties"), dict) and depth < 8:
                made |= {
                    name: fields(schema["additionalProperties"], word, depth + 1) for name in ("user", "exe", "rule")
                }
            return made
        case "array":
            return [fields(schema["items"], word, depth + 1)] if "items" in schema and depth < 8 else []
        case "integer":
            return max(1, schema.get("minimum", 1))
        case "number":
            return 1.0
        case "boolean":
            return False
        case _:
            return "2026-11-20T00:00:00Z" if schema.get("format") == "date-time" else word
