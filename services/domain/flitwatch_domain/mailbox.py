"""One mail address in the form of a message's header."""

from __future__ import annotations

from email import policy
from typing import Annotated

from pydantic import AfterValidator


def _check_mailbox(text: str) -> str:
    """Return one address, `name@host`, a local name, or `Words <name@host>`, that is valid in a message's header; ValueError otherwise."""
    try:
        read = policy.default.header_factory("To", text).addresses if text.isprintable() else ()
    except (ValueError, IndexError):
        # The package raises them for `ops@`, and for encoded line breaks.
        read = ()
    # The package removes a space from a name, and text after an address; both are mistakes.
    whole = [address for address in read if address.username and text.removesuffix(">").endswith(address.addr_spec)]
    if len(read) != 1 or not whole:
        raise ValueError(f"{text!r} is not a mail address: write one name@host per entry")
    return text


Mailbox = Annotated[str, AfterValidator(_check_mailbox)]
