"""Build stamp of the installed wheel."""

from __future__ import annotations

import os

#: Version of an editable install, which has no stamp.
VERSION = "0.1.0"


def build_name() -> str:
    """Return the version and, for a wheel, its source commit: `0.1.0 (3f2a9c01b7d4)`; `0.1.0 (dev)` for a checkout."""
    file = os.path.join(os.path.dirname(__file__), "build.json")
    if not os.path.exists(file):
        return f"{VERSION} (dev)"
    import json  # imported here because each start of the command line would load it

    with open(file, encoding="utf-8") as stamped:
        stamp = json.load(stamped)
    return f"{stamp['version']} ({stamp['commit'] or 'built without Git'})"
