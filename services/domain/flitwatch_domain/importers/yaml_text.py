"""YAML as people write it: plain data, or an error with its line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from flitwatch_domain.errors import BadInput
from flitwatch_domain.importers.text import read_utf8


def read_yaml(path: str | Path) -> Any:
    """A file's content; None where it is empty. NotFound or BadInput name the file, and the line where there is one."""
    return parse_yaml(read_utf8(path), str(path))


def parse_yaml(text: str, where: str) -> Any:
    """The content of `text`; BadInput names `where` and the line."""
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as bad:
        mark, said = getattr(bad, "problem_mark", None), getattr(bad, "problem", None)
        said = said or str(bad).partition("\n")[0]
        raise BadInput(f"is no YAML: {said}", where=f"{where}:{mark.line + 1}" if mark else where) from None
    except RecursionError:
        raise BadInput("is nested too deeply", where=where) from None
    except (ValueError, LookupError, TypeError, AttributeError) as bad:
        # What PyYAML raises for a scalar that is not of its type: a 31st of February, `!!bool maybe`, an integer of thousands of digits.
        raise BadInput(
            f"holds a value that is not of its type ({bad})", where=where, advice="Quote it if it is text."
        ) from None
