"""Names of people and of what they run, as a caller may see them: real from operator on, pseudonyms below.

A pseudonym is made of names of rows that the scheduler, a run or an account gave, never of what a caller wrote: anyone who could have a name of their
choice turned into its pseudonym could do so with a list of all accounts. What a caller wrote below scope `names` may name the caller alone
(`flitwatch_api.naming`), and is shown to the caller as written.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar, cast

from fastapi import Depends, Request

from flitwatch_api.people.job_privacy import hides_jobs
from flitwatch_api.platform import Reader
from flitwatch_db.jobs.reads import NameMask
from flitwatch_db.people.pseudonyms import knows_only_simulated, pseudonym_key
from flitwatch_domain.access import RESERVED, VISITOR
from flitwatch_domain.errors import Unavailable

AnyRow = TypeVar("AnyRow", bound=Mapping[str, Any])

DIGITS = 8
#: Who makes things and is no account.
NOBODYS = RESERVED | {"the schedule"}


@dataclass(frozen=True)
class Names:
    """Names as one caller may see them.

    Attributes
    ----------
    key : bytes or None     the site's key of pseudonyms; None shows names as they are
    own : str or None       the caller's own user name, which is shown to them
    hides_jobs : bool       whether this site shows the caller no job
    """

    key: bytes | None
    own: str | None = None
    hides_jobs: bool = False

    def __post_init__(self) -> None:
        # With an empty key anyone could compute everyone's pseudonym.
        if self.key == b"":
            raise Unavailable(
                "the site's key for pseudonyms is empty", advice="Restore setting 'pseudonym_key' from a backup."
            )

    @property
    def pseudonyms(self) -> bool:
        """Return whether names are replaced."""
        return self.key is not None

    def user(self, name: str) -> str:
        """A user's name, or a pseudonym that stays the same on this site."""
        return name if name == self.own else self._mask_name("user", name)

    def application(self, name: str) -> str:
        """A job's name, or its pseudonym."""
        return self._mask_name("app", name)

    def job(self, row: AnyRow) -> AnyRow:
        """A row about a job (or its neighbour), with its user, account, name and the names of its steps as the caller may see them."""
        if self.key is None or (row.get("user") is not None and row["user"] == self.own):
            return row
        shown = dict(row)
        for column, kind in (("user", "user"), ("account", "account"), ("name", "app")):
            if shown.get(column) is not None:
                shown[column] = self._mask_name(kind, str(shown[column]))
        return cast(AnyRow, shown)

    def path(self, text: str) -> str:
        """An executable; without the folders, which often name its owner, for who sees pseudonyms."""
        return text if self.key is None else text.rsplit("/", 1)[-1]

    def author(self, name: str) -> str:
        """Return the author of something: an account's name as that of a user; an author without an account as they are called."""
        if name.startswith(VISITOR):
            return "anonymous"
        return name if name in NOBODYS else self.user(name)

    def for_database(self) -> NameMask | None:
        """The same for queries that search and sort by names; None if names are shown as they are."""
        if self.key is None:
            return None
        block = self.key if len(self.key) <= 64 else hashlib.sha256(self.key).digest()
        block = block.ljust(64, b"\0")
        return NameMask(bytes(b ^ 0x36 for b in block), bytes(b ^ 0x5C for b in block), self.own)

    def _mask_name(self, kind: str, name: str) -> str:
        if self.key is None:
            return name
        digest = hmac.new(self.key, f"{kind}:{name}".encode(), hashlib.sha256).digest()
        return f"{kind}-{base64.b32encode(digest).decode()[:DIGITS].lower()}"


def replace_names(held: Any, words: Sequence[tuple[str | None, str]]) -> Any:
    """Text, or plain data with texts in it, with other text for each of these names where it stands as a word of its own; in the order given."""
    if isinstance(held, dict):
        return {name: replace_names(value, words) for name, value in held.items()}
    if isinstance(held, list):
        return [replace_names(value, words) for value in held]
    if not isinstance(held, str):
        return held
    for real, shown in words:
        if real:
            word = f"(?<![^\\W_]){re.escape(real)}(?![^\\W_])"
            held = re.sub(word, shown.replace("\\", r"\\"), held, flags=re.IGNORECASE)
    return held


def sees_names(request: Request) -> bool:
    """Return whether the caller sees all names; recorded, so that the audit log shows that they did."""
    caller = getattr(request.state, "caller", None)
    sees = caller is not None and "names" in caller.scopes
    request.state.saw_names = sees
    return sees


def hides_jobs_from(request: Request) -> bool:
    """Return whether this site hides all jobs from the caller."""
    return hides_jobs(request.app.state.platform.settings, getattr(request.state, "caller", None))


async def names_of(request: Request, conn: Reader) -> Names:
    """Return how names are shown to the caller: below scope `names` as pseudonyms, unless all that the site knows is simulated."""
    hidden = hides_jobs_from(request)
    if sees_names(request) or (not hidden and await knows_only_simulated(conn)):
        return Names(None)
    return Names((await pseudonym_key(conn)).encode(), getattr(request.state, "user", None), hidden)


TheNames = Annotated[Names, Depends(names_of)]
