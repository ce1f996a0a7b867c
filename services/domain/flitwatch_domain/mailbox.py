"""One mail address, as a message's header takes it."""

from __future__ import annotations

from email import policy
from typing import Annotated

from pydantic import AfterValidator


def _check_mailbox(text: str) -> str:
    """One address, `name@host`, a local name, or `Words <name@host>`, of which a message's header can be made; ValueError otherwise."""
    try:
        read = policy.default.header_factory("To", text).addresses if text.isprintable() else ()
    except (ValueError, IndexError):
        # The package raises them over `ops@`, and over line breaks that are encoded.
        read = ()
    # It mends a space in a name, and drops what follows an address: nobody meant that.
    whole = [address for address in read if address.username and text.removesuffix(">").endswith(address.addr_spec)]
    if len(read) != 1 or not whole:
        raise ValueError(f"{text!r} is not a mail address: write one name@host per entry")
    return text


Mailbox = Annotated[str, AfterValidator(_check_mailbox)]
