"""Names of people and their applications as shown to a caller: real from operator on, pseudonyms below.

Pseudonyms are computed only for names from the scheduler, a run or an account, never for a caller's text. Otherwise a caller could compute the
pseudonyms of a list of all accounts. Text by a caller below scope `names` may name only the caller (`flitwatch_api.naming`), and is shown to them
unchanged.
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

from flitwatch_api.platform import Reader
from flitwatch_api.settings import Settings
from flitwatch_db.jobs.reads import NameMask
from flitwatch_db.people.accounts import knows_only_simulated, pseudonym_key
from flitwatch_db.tasks.table import SCHEDULE
from flitwatch_domain.access import RESERVED, VISITOR, Caller
from flitwatch_domain.errors import Forbidden, Unavailable

#: Operations whose responses contain no job data, or omit it for callers who may not see it.
WITHOUT_JOBS = frozenset({
    "fabrics", "fabric_detail", "routers", "links", "endpoints", "congestion", "congestion_links", "timeseries", "matrix", "overview", "frames",
    "estimates", "versions", "deviation", "forecast", "measured_noise", "simulated_noise",
    "tasks", "start", "task", "cancel", "status", "dead_letters", "search", "events",
    "session", "log_in", "log_out", "own_password", "users", "add_user", "change_user", "tokens", "add_token", "revoke_token", "audit",
    "oidc_leave", "oidc_back", "oidc_log_out",
})  # fmt: skip
#: Tasks that generate their machine and read no stored job.
TASKS_WITHOUT_JOBS = frozenset(
    {
        "demo.count",
        "sim.study",
        "sim.collective",
        "sim.packet",
        "routing.loop",
        "routing.optimise",
        "routing.reconstruct",
    }
)
#: Events about a job, or about the task that concerns it.
EVENTS_OF_JOBS = frozenset({"job", "run", "alert", "forecast", "dead_letter", "unplaced", "incident"})
#: Search hits that are not parts of a machine.
HITS_OF_PEOPLE = frozenset({"job", "user", "incident"})


def hides_jobs(settings: Settings, caller: Caller | None) -> bool:
    """Return whether this site hides jobs from a caller."""
    return settings.api_jobs_below_names == "hidden" and (caller is None or "names" not in caller.scopes)


def hidden_jobs_error(what: str) -> Forbidden:
    """Return the error that refuses a response with job data."""
    return Forbidden(
        f"this site shows jobs only with scope names, and {what}", advice="Log in as an operator, or ask one."
    )


AnyRow = TypeVar("AnyRow", bound=Mapping[str, Any])

DIGITS = 8
#: Authors that are not accounts.
NOBODYS = RESERVED | {SCHEDULE}


@dataclass(frozen=True)
class Names:
    """Names as shown to one caller.

    Attributes
    ----------
    key : bytes or None     the site's key for pseudonyms; None shows real names
    own : str or None       the caller's own user name, which they always see
    hides_jobs : bool       whether this site hides all jobs from the caller
    """

    key: bytes | None
    own: str | None = None
    hides_jobs: bool = False

    def __post_init__(self) -> None:
        # With an empty key, anyone could compute all pseudonyms.
        if self.key == b"":
            raise Unavailable(
                "the site's key for pseudonyms is empty", advice="Restore setting 'pseudonym_key' from a backup."
            )

    @property
    def pseudonyms(self) -> bool:
        """Return whether names are replaced."""
        return self.key is not None

    def user(self, name: str) -> str:
        """Return a user's name, or their constant pseudonym on this site."""
        return name if name == self.own else self._mask_name("user", name)

    def application(self, name: str) -> str:
        """Return a job's name or its pseudonym."""
        return self._mask_name("app", name)

    def job(self, row: AnyRow) -> AnyRow:
        """Return a row about a job (or its neighbour), with user, account, name and step names as shown to the caller."""
        if self.key is None or (row.get("user") is not None and row["user"] == self.own):
            return row
        shown = dict(row)
        for column, kind in (("user", "user"), ("account", "account"), ("name", "app")):
            if shown.get(column) is not None:
                shown[column] = self._mask_name(kind, str(shown[column]))
        return cast(AnyRow, shown)

    def path(self, text: str) -> str:
        """Return an executable. With pseudonyms, its folders are removed, because they often name its owner."""
        return text if self.key is None else text.rsplit("/", 1)[-1]

    def author(self, name: str) -> str:
        """Return an author's name: accounts are treated like users, visitors become anonymous, other authors are unchanged."""
        if name.startswith(VISITOR):
            return "anonymous"
        return name if name in NOBODYS else self.user(name)

    def for_database(self) -> NameMask | None:
        """Return the name mask for queries that search and sort by names; None if names are real."""
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
    """Replace each of these names in text, or in texts within plain data, if it is a separate word. Replacements run in the given order."""
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
    """Return whether the caller sees all names. This is recorded for the audit log."""
    caller = getattr(request.state, "caller", None)
    sees = caller is not None and "names" in caller.scopes
    request.state.saw_names = sees
    return sees


def hides_jobs_from(request: Request) -> bool:
    """Return whether this site hides all jobs from the caller."""
    return hides_jobs(request.app.state.platform.settings, getattr(request.state, "caller", None))


async def names_of(request: Request, conn: Reader) -> Names:
    """Return how names are shown to the caller: below scope `names` as pseudonyms, unless all data of the site are simulated."""
    hidden = hides_jobs_from(request)
    if sees_names(request) or (not hidden and await knows_only_simulated(conn)):
        return Names(None)
    return Names((await pseudonym_key(conn)).encode(), getattr(request.state, "user", None), hidden)


TheNames = Annotated[Names, Depends(names_of)]
