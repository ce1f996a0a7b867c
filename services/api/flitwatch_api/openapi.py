"""The API's description as text: `python -m flitwatch_api.openapi` prints what stands in docs/contracts/openapi.json."""

from __future__ import annotations

import json
import sys

from fastapi import FastAPI


def text(app: FastAPI) -> bytes:
    """The description, stable from run to run."""
    return (json.dumps(app.openapi(), indent=1, ensure_ascii=False) + "\n").encode()


def main() -> None:
    """Print the description; no database is needed."""
    from flitwatch_api.app import create_app
    from flitwatch_api.settings import Settings

    sys.stdout.buffer.write(text(create_app(Settings(web=None))))


if __name__ == "__main__":
    main()
