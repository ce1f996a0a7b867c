"""Build stamp of the installed wheel."""

from __future__ import annotations

import json
from importlib import resources

#: Of an editable install, which has no stamp.
VERSION = "0.1.0"


def build_name() -> str:
    """The version, and of a wheel the commit that it was built from: `0.1.0 (3f2a9c01b7d4)`; of a checkout `0.1.0 (dev)`."""
    try:
        stamp = json.loads(resources.files(__package__).joinpath("build.json").read_text("utf-8"))
    except FileNotFoundError:
        return f"{VERSION} (dev)"
    return f"{stamp['version']} ({stamp['commit'] or 'built without Git'})"
