"""Build stamp of the installed wheel."""

from __future__ import annotations

import os

#: Of an editable install, which has no stamp.
VERSION = "0.1.0"


def build_name() -> str:
    """The version, and of a wheel the commit that it was built from: `0.1.0 (3f2a9c01b7d4)`; of a checkout `0.1.0 (dev)`."""
    file = os.path.join(os.path.dirname(__file__), "build.json")
    if not os.path.exists(file):
        return f"{VERSION} (dev)"
    import json  # which each start of the command line would load

    with open(file, encoding="utf-8") as stamped:
        stamp = json.load(stamped)
    return f"{stamp['version']} ({stamp['commit'] or 'built without Git'})"
