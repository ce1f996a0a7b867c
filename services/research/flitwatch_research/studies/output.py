"""Output of a study in a folder: JSON, CSV and figures."""

from __future__ import annotations

import csv
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

import orjson

from flitwatch_domain.errors import BadInput
from flitwatch_research.studies.registry import Study


def prepare_folder(folder: Path) -> None:
    """Create the folder and test that it is writable, before hours of work.

    Raises
    ------
    BadInput
        The folder cannot be created or written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=folder):
            pass
    except OSError as bad:
        raise BadInput(f"cannot be written: {bad.strerror}", where=str(bad.filename or folder)) from bad


def write_outputs(study: Study, answer: dict[str, Any], folder: Path) -> list[Path]:
    """Write the answer as JSON and CSV, draw its figures, and return their paths.

    Raises
    ------
    BadInput
        The folder cannot be written.
    """
    prepare_folder(folder)
    try:
        text = orjson.dumps(answer, option=orjson.OPT_INDENT_2 | orjson.OPT_SERIALIZE_NUMPY)
        (folder / f"{study.name}.json").write_bytes(text)
        write_csv(answer["points"], folder / f"{study.name}.csv")
        return study.draw(answer, folder) if study.draw is not None else []
    except OSError as bad:
        raise BadInput(f"cannot be written: {bad.strerror}", where=str(bad.filename or folder)) from bad


def write_csv(points: list[dict[str, Any]], path: Path) -> None:
    """Write one row per point; nested values have dotted columns."""
    rows = [_flatten_value(point) for point in points]
    columns = list(dict.fromkeys(key for row in rows for key in row))
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, columns)
        writer.writeheader()
        writer.writerows(rows)


#: Types of a CSV cell.
Cell = str | int | float | bool | None


def _flatten_value(value: Any, prefix: str = "") -> dict[str, Cell]:
    if isinstance(value, dict):
        pairs = value.items()
    elif isinstance(value, list):
        pairs = enumerate(value)  # type: ignore[assignment]
    else:
        return {prefix: value}
    return {
        key: item
        for name, inner in pairs
        for key, item in _flatten_value(inner, f"{prefix}.{name}".lstrip(".")).items()
    }
