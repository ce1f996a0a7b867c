"""Access to a remote: what it lets this platform read, and whether a caller of this platform may see it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from flitwatch_domain.access import Caller
from flitwatch_domain.errors import Forbidden, Unavailable

#: What a remote's token may hold at the most: with more, this platform could be made to change something there.
READING = frozenset({"read", "names"})


class _Session(BaseModel):
    """Fields used from a remote's GET /session."""

    model_config = ConfigDict(extra="ignore", strict=True)

    scopes: list[str]
    via: str | None
    pseudonyms: bool


@dataclass(frozen=True)
class RemoteAccess:
    """Rights of a remote's token.

    Attributes
    ----------
    pseudonyms : bool
        Whether the remote replaces names of people in what it answers.
    """

    pseudonyms: bool

    @classmethod
    def of(cls, remote: str, session: Any) -> RemoteAccess:
        """From the remote's answer to GET /session.

        Raises
        ------
        Unavailable
            The token may not read, or may do more; or the answer is none of Flitwatch's.
        """
        try:
            remote_session = _Session.model_validate(session)
        except ValidationError:
            raise Unavailable(
                f"{remote} does not answer like this version of Flitwatch",
                advice="Check its address in FLITWATCH_API_REMOTES, and its version.",
            ) from None
        scopes = frozenset(remote_session.scopes)
        if "read" not in scopes:
            raise Unavailable(
                f"{remote} refuses this platform",
                advice="Create a token there (flitwatch tokens create ACCOUNT --scope read), and name its file in FLITWATCH_API_REMOTES.",
            )
        if remote_session.via == "token" and not scopes <= READING:
            raise Unavailable(
                f"the token for {remote} has more scopes than read: {', '.join(sorted(scopes - READING))}",
                advice="Create a token there with only the scope read: flitwatch tokens create ACCOUNT --scope read.",
            )
        return cls(remote_session.pseudonyms)

    def check(self, remote: str, caller: Caller | None) -> None:
        """Check that a caller may see what the remote answers; Forbidden."""
        if self.pseudonyms or (caller is not None and "names" in caller.scopes):
            return
        raise Forbidden(
            f"{remote} shows names of people, and you lack the scope names",
            advice="Ask an operator of this platform for a token of that one without scope names.",
        )
