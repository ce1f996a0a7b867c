"""Time zones by name."""

from __future__ import annotations

from zoneinfo import ZoneInfo

from flitwatch_domain.errors import BadRequest


def zone_named(name: str | None) -> ZoneInfo | None:
    """Return the time zone of that name, or None for the machine's own."""
    if name is None:
        return None
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        raise BadRequest(f"there is no time zone {name!r}", advice="Use a name such as UTC or Europe/Berlin.") from None
