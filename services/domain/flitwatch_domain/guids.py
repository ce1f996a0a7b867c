"""InfiniBand GUIDs in any notation."""

from __future__ import annotations

import re

_HEX = re.compile(r"[0-9a-f]{1,16}")


def plain_guid(text: str) -> str:
    """Return only the hexadecimal digits, in lower case and without leading zeros; empty if the text is not a GUID, or for 0.

    `0x0C42A10300595394`, `c42a10300595394`, `0c42:a103:0059:5394` and `S-0c42a10300595394` give the same result.
    """
    written = (
        text.strip().lower().removeprefix("s-").removeprefix("h-").removeprefix("0x").replace(":", "").replace("-", "")
    )
    return written.lstrip("0") if _HEX.fullmatch(written) else ""
