"""OpenAPI document as text: `python -m flitwatch_api.openapi` prints docs/contracts/openapi.json."""

from __future__ import annotations

import sys

from flitwatch_api.description import render_description


def main() -> None:
    """Print the document; no database is needed."""
    from flitwatch_api.app import create_app
    from flitwatch_api.settings import Settings

    sys.stdout.buffer.write(render_description(create_app(Settings(web=None))))


if __name__ == "__main__":
    main()
