"""One error tree. Each message says what failed, where, and what the caller can do."""

from __future__ import annotations


class FlitwatchError(Exception):
    """Base class of all errors that Flitwatch raises intentionally.

    Attributes
    ----------
    status : int
        The HTTP status the API answers with (RFC 9457); the API maps errors in one place.
    kind : str
        A stable, kebab-case name: the last part of the problem document's `type`.
    advice : str
        What the caller can do; empty if the message contains it.
    """

    status = 500
    kind = "internal"

    def __init_subclass__(cls, status: int | None = None, kind: str | None = None) -> None:
        """Set the class attributes that are given; the others are inherited."""
        cls.status, cls.kind = status or cls.status, kind or cls.kind

    def __init__(self, message: str, *, advice: str = "") -> None:
        super().__init__(
            f"{message}. {advice}" if advice and not message.endswith(".") else f"{message} {advice}".strip()
        )
        self.message = message
        self.advice = advice


class BadInput(FlitwatchError, status=422, kind="bad-input"):
    """Unusable input; the message gives file, line or offset."""

    def __init__(self, message: str, *, where: str = "", advice: str = "") -> None:
        super().__init__(f"{where}: {message}" if where else message, advice=advice)
        self.where = where
        self.reason = message


class BadRequest(FlitwatchError, status=400, kind="bad-request"):
    """A request with conflicting or out-of-range parameters."""


class NotFound(FlitwatchError, status=404, kind="not-found"):
    """The named object does not exist."""


class Conflict(FlitwatchError, status=409, kind="conflict"):
    """The object already exists, or its state does not allow the request."""


class Forbidden(FlitwatchError, status=403, kind="forbidden"):
    """The caller is not allowed to see or do this."""


class Unauthenticated(FlitwatchError, status=401, kind="unauthenticated"):
    """The caller is unknown, or the credentials are wrong or expired."""


class TooMany(FlitwatchError, status=429, kind="too-many"):
    """More requests than the limit; `retry_after_s` is the time until the next is accepted."""

    def __init__(self, message: str, *, advice: str = "", retry_after_s: int = 1) -> None:
        super().__init__(message, advice=advice)
        self.retry_after_s = retry_after_s


class TooCostly(FlitwatchError, status=413, kind="too-costly"):
    """A query or simulation above the limits; the message gives the limit."""


class Unavailable(FlitwatchError, status=503, kind="unavailable"):
    """A required component does not respond; the message says which one and what to do."""


class DiskFull(Unavailable, kind="disk-full"):
    """The database's disk has too little free space for new data."""


class MissingDependency(FlitwatchError, status=503, kind="missing-dependency"):
    """A program or package that is not installed; the message names the package to install."""


#: Modules that only an extra installs: the library's name and the extra.
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


class Cancelled(FlitwatchError, status=409, kind="cancelled"):
    """Work that was cancelled by its owner."""


class NotEnoughData(FlitwatchError, status=422, kind="not-enough-data"):
    """Too few data for an estimator, for example "needs 8 runs, has 3"."""
