"""One error tree; a member's text says what failed, where, and what the caller can do."""

from __future__ import annotations


class FlitwatchError(Exception):
    """The root: everything that Flitwatch raises on purpose.

    Attributes
    ----------
    status : int
        The HTTP status the API answers with (RFC 9457); the API maps errors in one place.
    kind : str
        A stable, kebab-case name: the last part of the problem document's `type`.
    advice : str
        What the caller can do; empty if the message says it.
    """

    status = 500
    kind = "internal"

    def __init__(self, message: str, *, advice: str = "") -> None:
        super().__init__(
            f"{message}. {advice}" if advice and not message.endswith(".") else f"{message} {advice}".strip()
        )
        self.message = message
        self.advice = advice


class BadInput(FlitwatchError):
    """Input that cannot be used; the message names file, line or offset."""

    status = 422
    kind = "bad-input"

    def __init__(self, message: str, *, where: str = "", advice: str = "") -> None:
        super().__init__(f"{where}: {message}" if where else message, advice=advice)
        self.where = where
        self.reason = message


class BadRequest(FlitwatchError):
    """A request whose parameters conflict or lie outside their range."""

    status = 400
    kind = "bad-request"


class NotFound(FlitwatchError):
    """A thing that was named but is not there."""

    status = 404
    kind = "not-found"


class Conflict(FlitwatchError):
    """The thing exists already, or is in a state that forbids the request."""

    status = 409
    kind = "conflict"


class Forbidden(FlitwatchError):
    """The caller may not see or do this."""

    status = 403
    kind = "forbidden"


class Unauthenticated(FlitwatchError):
    """The caller is unknown, or the proof is wrong or over."""

    status = 401
    kind = "unauthenticated"


class TooMany(FlitwatchError):
    """More requests than the limit; `retry_after_s` says when the next may come."""

    status = 429
    kind = "too-many"

    def __init__(self, message: str, *, advice: str = "", retry_after_s: int = 1) -> None:
        super().__init__(message, advice=advice)
        self.retry_after_s = retry_after_s


class TooCostly(FlitwatchError):
    """A query or simulation over the limits; the message names the limit."""

    status = 413
    kind = "too-costly"


class Unavailable(FlitwatchError):
    """A component that is needed does not answer; the message says which and what to do."""

    status = 503
    kind = "unavailable"


class DiskFull(Unavailable):
    """The database's disk has too little room left to store anything new."""

    kind = "disk-full"


class MissingDependency(FlitwatchError):
    """A program or package that is not installed; the message names the package to install."""

    status = 503
    kind = "missing-dependency"


#: Modules of the libraries that only an extra installs: what each is called, and the extra.
EXTRAS = {
    "torch": ("PyTorch", "ml"),
    "matplotlib": ("Matplotlib", "sim"),
    "otf2": ("otf2", "sim"),
    "apprise": ("Apprise", "notify"),
}


def name_extra(absent: ModuleNotFoundError) -> MissingDependency | None:
    """Name the extra that installs an absent module; None if no extra does."""
    library, extra = EXTRAS.get((absent.name or "").partition(".")[0].lstrip("_"), ("", ""))
    if not extra:
        return None
    return MissingDependency(
        f"this needs {library}, which is not installed", advice=f"pip install 'flitwatch[{extra}]'"
    )


class Cancelled(FlitwatchError):
    """Work that was cancelled by its owner."""

    status = 409
    kind = "cancelled"


class NotEnoughData(FlitwatchError):
    """An estimator was given too little, for example "needs 8 runs, has 3"."""

    status = 422
    kind = "not-enough-data"
