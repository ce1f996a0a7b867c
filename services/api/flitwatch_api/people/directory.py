"""The site's LDAP directory, which checks passwords of people without a local one (RFC 4511, 4513, 4515).

A person is looked up as `ldap_bind_dn`. Then their own name and password are tried on a separate connection. ldap3 blocks, so it runs in threads of
its own: a hanging directory does not delay other requests.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import ssl
import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from string import Formatter
from typing import Any
from urllib.parse import urlsplit

from flitwatch_api.people.login_limiter import LOOPBACK
from flitwatch_api.people.oidc import ProviderIdentity
from flitwatch_api.people.roles import GIVEN, RoleMap
from flitwatch_api.settings import Settings
from flitwatch_domain.errors import Forbidden, Unavailable

with warnings.catch_warnings():
    # The library uses deprecated names of pyasn1 and ssl.
    warnings.simplefilter("ignore", DeprecationWarning)
    import ldap3
    from ldap3.core import exceptions, results
    from ldap3.operation.search import parse_filter
    from ldap3.protocol.sasl.sasl import sasl_prep
    from ldap3.utils.conv import escape_filter_chars
    from ldap3.utils.dn import parse_dn
    from pyasn1.error import PyAsn1Error

log = logging.getLogger(__name__)

#: Prefix of the issuer of directory accounts; a provider's issuer is an https address.
DIRECTORY = "ldap:"
#: Time limits for connecting to a server, for each answer, and for a whole login.
CONNECT_S, ANSWER_S, LOGIN_S = 3, 5, 20.0
#: Simultaneous logins at the directory. Others wait, at most for a login's time limit.
AT_ONCE = 8
#: Most groups of a person that are read.
MOST_GROUPS = 5000
#: Result codes for a refused password: wrong, locked, expired, unknown person, or an entry that cannot log in.
_REFUSED = frozenset(
    {
        results.RESULT_INVALID_CREDENTIALS,
        results.RESULT_CONSTRAINT_VIOLATION,
        results.RESULT_UNWILLING_TO_PERFORM,
        results.RESULT_INSUFFICIENT_ACCESS_RIGHTS,
        results.RESULT_INAPPROPRIATE_AUTHENTICATION,
        results.RESULT_NO_SUCH_OBJECT,
        results.RESULT_INVALID_DN_SYNTAX,
    }
)
#: Requests a bind's password policy result (draft-behera-ldap-password-policy-10): a bind succeeds even if the password must be changed first.
_POLICY = "1.3.6.1.4.1.42.2.27.8.5.1"
#: The error has context tag 1 in the answer. These errors mean: password expired, account locked, password must be changed first.
_POLICY_ERROR, _POLICY_ERRORS = 0x81, frozenset({0, 1, 2})
#: Errors of a server that does not answer, or not in LDAP.
_BROKEN = (exceptions.LDAPExceptionError, OSError, PyAsn1Error, ValueError, LookupError, TypeError)


@dataclass(frozen=True)
class _Server:
    host: str
    port: int
    ldaps: bool


@dataclass(frozen=True)
class _Entry:
    dn: str
    attributes: dict[str, list[bytes]]

    def one(self, name: str) -> bytes | None:
        """Return an attribute's value; None if there is none, or several."""
        values = self.attributes.get(name.lower(), [])
        return values[0] if len(values) == 1 else None


class Directory:
    """LDAP directory.

    Raises
    ------
    Unavailable
        The settings conflict; the message names them.
    """

    def __init__(self, settings: Settings) -> None:
        self.name = settings.ldap_name
        self._settings = settings
        self._servers = [_parse_server(url) for url in settings.ldap_url]
        self._start_tls = settings.ldap_start_tls
        for server in self._servers:
            if not (server.ldaps or self._start_tls or server.host in LOOPBACK or settings.ldap_insecure_network):
                raise _settings_error(
                    f"passwords would be sent to {server.host} unencrypted (FLITWATCH_LDAP_START_TLS is off)"
                )
        self._base = _check_dn("LDAP_BASE", settings.ldap_base)
        _check_filter("LDAP_USER_FILTER", settings.ldap_user_filter, {"name"}, {"name"})
        self._roles = _read_roles(settings)
        self._password = _bind_password(settings)
        self._ca_file = self._find_ca_file()
        # The base for lookups, not the servers' addresses, because these change.
        self.issuer = DIRECTORY + self._base.lower()
        self._threads = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="directory")
        self._turns = asyncio.Semaphore(AT_ONCE)

    async def check(self, name: str, password: str) -> ProviderIdentity | None:
        """Authenticate a user with the directory. Return None if the name or password is wrong or unknown, or the person is locked. Raise Forbidden
        if the password is correct, but the directory's entry lacks the user's name or id. Raise Unavailable if the directory does not answer or
        refuses this site."""
        try:
            async with asyncio.timeout(LOGIN_S):
                await self._turns.acquire()
        except TimeoutError:
            raise self._unavailable_error("it has the maximum number of simultaneous logins") from None
        work = asyncio.get_running_loop().run_in_executor(self._threads, self._check, name, password)
        # The slot is released at the end of the thread, not at the caller's timeout.
        work.add_done_callback(self._end_turn)
        try:
            return await asyncio.wait_for(asyncio.shield(work), LOGIN_S)
        except TimeoutError:
            raise self._unavailable_error("no answer in time") from None

    async def check_nobody(self) -> None:
        """Take as long as `check` does for a wrong password. No name or password of a user is sent. Raise Unavailable."""
        await self.check(secrets.token_urlsafe(16), secrets.token_urlsafe(16))

    def _end_turn(self, work: asyncio.Future[ProviderIdentity | None]) -> None:
        self._turns.release()
        if not work.cancelled():
            # A waiting caller also receives the exception. Without retrieving it here, asyncio would log it.
            work.exception()

    def close(self) -> None:
        """Stop the threads without waiting for a hanging directory."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _check(self, name: str, password: str) -> ProviderIdentity | None:
        prepared = _prepare_password(password)
        try:
            with self._open_connection(self._settings.ldap_bind_dn, self._password) as reader:
                if not reader.bind(read_server_info=False):
                    raise self._unavailable_error(f"it refuses FLITWATCH_LDAP_BIND_DN: {reader.result['description']}")
                person = self._find_person(reader, name)
                # Try a bind for unknown people too, so that the number of messages, and thus the time, is the same.
                nobody = f"cn={secrets.token_hex(8)},{self._base}"
                is_accepted = self._accepts_password(
                    person.dn if person else nobody, prepared or secrets.token_hex(16).encode()
                )
                return (
                    self._identify_person(reader, person) if person is not None and prepared and is_accepted else None
                )
        except _BROKEN as away:
            raise self._unavailable_error(type(away).__name__) from None

    def _find_person(self, reader: Any, name: str) -> _Entry | None:
        attributes = [self._settings.ldap_user_attribute, self._settings.ldap_id_attribute]
        entries = self._search_entries(
            reader, self._base, self._settings.ldap_user_filter.format(name=escape_filter_chars(name)), attributes, 2
        )
        if len(entries) > 1:
            log.warning("FLITWATCH_LDAP_USER_FILTER finds several people with one name; the login is refused")
        return entries[0] if len(entries) == 1 else None

    def _accepts_password(self, dn: str, password: bytes) -> bool:
        """Return whether the directory accepts a password. The policy result "must be changed first" is a refusal."""
        with self._open_connection(dn, password) as own:
            if own.bind(read_server_info=False, controls=[(_POLICY, False, None)]):
                policy_value = (own.result.get("controls") or {}).get(_POLICY, {}).get("value")
                return _policy_error(bytes(policy_value or b"")) not in _POLICY_ERRORS
            if own.result["result"] in _REFUSED:
                return False
            raise self._unavailable_error(f"a login ended with {own.result['description']}")

    def _identify_person(self, reader: Any, person: _Entry) -> ProviderIdentity:
        subject, name = person.one(self._settings.ldap_id_attribute), person.one(self._settings.ldap_user_attribute)
        if not subject or not name:
            lacking = "LDAP_USER_ATTRIBUTE" if subject else "LDAP_ID_ATTRIBUTE"
            log.warning("a person in the directory does not have exactly one value of FLITWATCH_%s", lacking)
            raise Forbidden(
                f"{self.name} does not have your user name",
                advice=f"An admin of this site can set FLITWATCH_{lacking}, or have the directory's administrators show it.",
            )
        called = name.decode("utf-8", "replace")
        return ProviderIdentity(self.issuer, _format_id(subject), called, self._find_role(reader, person, called))

    def _find_role(self, reader: Any, person: _Entry, name: str) -> str | None:
        if not self._roles:
            return None
        group_filter = self._settings.ldap_group_filter.format(
            dn=escape_filter_chars(person.dn), name=escape_filter_chars(name)
        )
        attribute = self._settings.ldap_group_attribute
        groups = self._search_entries(reader, self._settings.ldap_group_base, group_filter, [attribute], MOST_GROUPS)
        return self._roles.of(
            value.decode("utf-8", "replace")
            for group in groups
            for value in group.attributes.get(attribute.lower(), [])
        )

    def _search_entries(self, reader: Any, base: str, wanted: str, attributes: list[str], most: int) -> list[_Entry]:
        reader.search(base, wanted, attributes=attributes, size_limit=most, time_limit=ANSWER_S)
        result_code = reader.result["result"]
        # Two are enough to detect duplicates.
        if result_code != results.RESULT_SUCCESS and not (
            result_code == results.RESULT_SIZE_LIMIT_EXCEEDED and most == 2
        ):
            raise self._unavailable_error(f"a search ended with {reader.result['description']}")
        return [
            _Entry(item["dn"], {name.lower(): values for name, values in item["raw_attributes"].items()})
            for item in reader.response
            if item["type"] == "searchResEntry"
        ]

    @contextmanager
    def _open_connection(self, dn: str, password: bytes | None) -> Iterator[Any]:
        """Yield an open, unbound connection to the first server that answers. Raise one of `_BROKEN`."""
        for number, server in enumerate(self._servers):
            conn = ldap3.Connection(
                ldap3.Server(
                    server.host,
                    server.port,
                    use_ssl=server.ldaps,
                    tls=self._tls_of(server),
                    get_info=ldap3.NONE,
                    connect_timeout=CONNECT_S,
                ),
                user=dn or None,
                password=password if dn else None,
                authentication=ldap3.SIMPLE if dn else ldap3.ANONYMOUS,
                auto_referrals=False,
                receive_timeout=ANSWER_S,
                raise_exceptions=False,
                check_names=False,
                read_only=True,
            )
            try:
                conn.open(read_server_info=False)
                if self._start_tls and not server.ldaps and not conn.start_tls(read_server_info=False):
                    raise exceptions.LDAPStartTLSError("no TLS")
            except _BROKEN as away:
                _close_connection(conn)
                log.warning("LDAP server %s: %s: %s", server.host, type(away).__name__, away)
                if number == len(self._servers) - 1:
                    raise
                continue
            break
        try:
            yield conn
        finally:
            _close_connection(conn)

    def _find_ca_file(self) -> str | None:
        path = self._settings.ldap_ca
        if path is not None:
            try:
                ssl.create_default_context(cafile=str(path))
            except (OSError, ssl.SSLError):
                raise _settings_error(f"FLITWATCH_LDAP_CA contains no readable certificates: {path}") from None
        return None if path is None else str(path)

    def _tls_of(self, server: _Server) -> Any:
        return ldap3.Tls(validate=ssl.CERT_REQUIRED, ca_certs_file=self._ca_file, sni=server.host)

    def _unavailable_error(self, why: str) -> Unavailable:
        log.warning("the LDAP directory cannot check a login: %s", why)
        return Unavailable(
            f"no account of this site has this name and password, and {self.name} does not answer correctly",
            advice="Try again in a minute. Local accounts can sign in meanwhile. If this continues, tell an admin of this site.",
        )


def directory_of(settings: Settings) -> Directory | None:
    """Return the configured directory, if any. Raise Unavailable if the settings conflict."""
    return Directory(settings) if settings.ldap_url else None


def _close_connection(conn: Any) -> None:
    with suppress(*_BROKEN):
        conn.unbind()


def _prepare_password(password: str) -> bytes | None:
    """Return a password in the form to send (RFC 4513, 5.1.3); None if it is invalid.

    An empty password would be an unauthenticated bind, to which servers may return success (RFC 4513, 5.1.2). Passwords with a NUL are refused too,
    because a server in C would truncate them.
    """
    if not password or "\0" in password:
        return None
    try:
        text = sasl_prep(password)
    except (exceptions.LDAPExceptionError, ValueError):
        # If SASLprep forbids the text or removes all of it, send it unchanged.
        text = password
    return text.encode() or None


def _policy_error(value: bytes) -> int | None:
    """Return the error in a BER-encoded PasswordPolicyResponseValue, if there is one."""
    position = 2
    while position + 2 < len(value):
        if value[position] == _POLICY_ERROR:
            return value[position + 2]
        position += 2 + value[position + 1]
    return None


def _format_id(value: bytes) -> str:
    """Return an id value as text, in hexadecimal if it is not text (objectGUID)."""
    return value.decode() if value.isascii() and value.decode().isprintable() else value.hex()


def _parse_server(url: str) -> _Server:
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise _settings_error(
            f"FLITWATCH_LDAP_URL: {url[:80]!r} is not an address such as ldaps://ldap.example.edu"
        ) from None
    if parts.scheme not in ("ldap", "ldaps") or not parts.hostname or parts.path not in ("", "/") or parts.username:
        raise _settings_error(f"FLITWATCH_LDAP_URL: {url[:80]!r} is not an address such as ldaps://ldap.example.edu")
    return _Server(parts.hostname, port or (636 if parts.scheme == "ldaps" else 389), parts.scheme == "ldaps")


def _check_dn(setting: str, text: str) -> str:
    try:
        if not text or not parse_dn(text):
            raise ValueError(text)
    except (exceptions.LDAPExceptionError, ValueError):
        raise _settings_error(
            f"FLITWATCH_{setting} is not the name of an entry such as ou=people,dc=example,dc=edu"
        ) from None
    return text


def _check_filter(setting: str, text: str, known: set[str], needed: set[str]) -> None:
    try:
        named = [name for _, name, spec, how in Formatter().parse(text) if name is not None and not spec and not how]
        fields = [name for _, name, _, _ in Formatter().parse(text) if name is not None]
        fits = fields == named and set(named) <= known and (needed <= set(named) if needed else bool(named))
        parse_filter(text.format(**dict.fromkeys(known, "x")), None, True, True, None, False)
    except (exceptions.LDAPExceptionError, ValueError, LookupError):
        fits = False
    if not fits:
        raise _settings_error(
            f"FLITWATCH_{setting} is not a filter with {' or '.join(f'{{{name}}}' for name in sorted(known))}"
        )


def _read_roles(settings: Settings) -> RoleMap:
    try:
        roles = RoleMap(settings.ldap_roles)
    except ValueError:
        raise _settings_error(
            f"FLITWATCH_LDAP_ROLES must look like flitwatch-admins=admin,staff=operator; roles: {', '.join(GIVEN)}"
        ) from None
    if bool(roles) != bool(settings.ldap_group_base):
        raise _settings_error("FLITWATCH_LDAP_GROUP_BASE and FLITWATCH_LDAP_ROLES must be set together")
    if roles:
        _check_dn("LDAP_GROUP_BASE", settings.ldap_group_base)
        _check_filter("LDAP_GROUP_FILTER", settings.ldap_group_filter, {"dn", "name"}, set())
    return roles


def _bind_password(settings: Settings) -> bytes | None:
    path = settings.ldap_bind_password_file
    if bool(settings.ldap_bind_dn) != (path is not None):
        raise _settings_error("FLITWATCH_LDAP_BIND_DN and FLITWATCH_LDAP_BIND_PASSWORD_FILE must be set together")
    if path is None:
        return None
    _check_dn("LDAP_BIND_DN", settings.ldap_bind_dn)
    try:
        password = path.read_text().rstrip("\r\n")
    except (OSError, UnicodeDecodeError):
        raise _settings_error(f"the password of FLITWATCH_LDAP_BIND_DN cannot be read from {path}") from None
    prepared = _prepare_password(password)
    if prepared is None:
        raise _settings_error(f"there is no password in {path}")
    return prepared


def _settings_error(what: str) -> Unavailable:
    return Unavailable(f"logins by LDAP cannot work: {what}", advice="docs/accounts.md lists the settings.")
