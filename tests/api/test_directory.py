"""LDAP logins against a real slapd over TLS."""

from __future__ import annotations

import logging
import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx
import pytest
from support.waiting import free_port

from api.conftest import Served, serving
from api.ldap_server import BASE, READER, READER_PASSWORD, LdapServer, ldap_server
from flitwatch_api.people import directory as under_test
from flitwatch_api.people import login_limiter
from flitwatch_api.people.directory import directory_of
from flitwatch_api.settings import Settings
from flitwatch_db import connect
from flitwatch_db.people import accounts as people
from flitwatch_domain.errors import Unavailable

pytestmark = pytest.mark.system("processes")

PASSWORD = "correct horse battery"
WRONG = "name or password is wrong"


class Centre:
    """A directory, and a site in front of it that takes roles from its groups."""

    def __init__(self, ldap: LdapServer, db: str, site: Served, secret: Path) -> None:
        self.ldap, self.db, self.site, self.secret = ldap, db, site, secret

    def settings(self, **more: object) -> Settings:
        """Those of the site, and others."""
        return settings(self.ldap, self.db, self.secret, **more)

    def log_in(self, name: str, password: str = PASSWORD, site: Served | None = None) -> httpx.Response:
        """What a browser that was never here gets."""
        with httpx.Client(timeout=60) as browser:
            asked = {"name": name, "password": password}
            return browser.post(f"{(site or self.site).url}/api/v1/session", json=asked)

    def role(self, name: str) -> str:
        """The role that somebody has who has just logged in."""
        answer = self.log_in(name)
        assert answer.status_code == 200, answer.text
        return str(answer.json()["role"])


def settings(ldap: LdapServer, db: str, secret: Path, **more: object) -> Settings:
    given = {
        "ldap_url": (ldap.ldaps,),
        "ldap_name": "Centre login",
        "ldap_ca": ldap.ca,
        "ldap_bind_dn": READER,
        "ldap_bind_password_file": secret,
        "ldap_base": f"ou=people,{BASE}",
        "ldap_group_base": f"ou=groups,{BASE}",
        "ldap_roles": "staff=operator, flit-admins=admin",
    }
    return Settings(**{"db": db, "web": None, "api_anonymous": "none", **given, **more})  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def centre(_embedded_template, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Centre]:  # type: ignore[no-untyped-def]
    db = _embedded_template.create()
    secret = tmp_path_factory.mktemp("secret") / "reader"
    secret.write_text(READER_PASSWORD + "\n")
    with ExitStack() as stack:
        ldap = stack.enter_context(ldap_server(tmp_path_factory.mktemp("ldap")))
        site = stack.enter_context(serving(settings(ldap, db, secret)))
        yield Centre(ldap, db, site, secret)
    _embedded_template.drop(db)


@pytest.fixture(autouse=True)
def _many_attempts(monkeypatch: pytest.MonkeyPatch) -> None:
    # Each test is about one thing; how often one may try is tests/api/test_people.py's.
    for name in ("PAIR_BURST", "NAME_BURST", "ADDRESS_BURST"):
        monkeypatch.setattr(login_limiter, name, 10_000)


@contextmanager
def another_site(centre: Centre, **more: object) -> Iterator[Served]:
    with serving(centre.settings(**more)) as site:
        yield site


def wrong(answer: httpx.Response) -> None:
    """The one answer to whatever is not right; it says no more, and opens nothing."""
    assert answer.status_code == 401, answer.text
    assert answer.json()["detail"].startswith(WRONG) and "set-cookie" not in answer.headers


def held(db: str) -> dict[str, dict]:
    with connect(db, role="gate") as conn:
        return {row["name"]: row for row in people.list_accounts(conn)}


def test_somebody_logs_in_and_has_an_account_without_a_password(centre: Centre) -> None:
    centre.ldap.add_person("ann", PASSWORD)
    with httpx.Client(base_url=centre.site.url, timeout=60) as browser:
        answer = browser.post("/api/v1/session", json={"name": "ann", "password": PASSWORD})
        assert answer.status_code == 200, answer.text
        said = browser.get("/api/v1/session").json()
        assert (said["user"], said["role"], said["via"], said["vouched"]) == ("ann", "user", "session", False)
        changed = browser.put(
            "/api/v1/session/password",
            json={"password": PASSWORD, "new": "another long password"},
            headers={"X-CSRF-Token": said["csrf"]},
        )
        wrong(changed)
    account = held(centre.db)["ann"]
    assert account["issuer"] == f"ldap:ou=people,{BASE}" and not account["password"]
    with connect(centre.db, role="gate") as conn:
        rows = conn.execute("SELECT actor, status, details FROM audit WHERE action = 'POST log_in'").fetchall()
    assert ("ann", 200, {"issuer": f"ldap:ou=people,{BASE}", "role": "user"}) in rows


@pytest.mark.parametrize("password", ["wrong horse battery", " ", "", "\u00ad", "\u200b", "\0", PASSWORD + "\0", "*"])
def test_a_wrong_or_empty_password_opens_nothing(centre: Centre, password: str) -> None:
    centre.ldap.add_person(f"bea-{len(password)}-{ord(password[:1] or 'e')}", PASSWORD)
    wrong(centre.log_in(f"bea-{len(password)}-{ord(password[:1] or 'e')}", password))


def test_this_server_lets_an_empty_password_in_as_nobody(centre: Centre) -> None:
    """What the test above stands on: to a bind with a name and without a password this slapd says yes."""
    name = READER.encode()
    bind = b"\x02\x01\x03\x04" + bytes([len(name)]) + name + b"\x80\x00"
    message = b"\x02\x01\x01\x60" + bytes([len(bind)]) + bind
    with socket.create_connection(("127.0.0.1", centre.ldap.port), 10) as raw:
        raw.sendall(b"\x30" + bytes([len(message)]) + message)
        assert raw.recv(100)[5:10] == b"\x61\x07\x0a\x01\x00"


def test_a_person_whom_the_directory_locked_or_lost_stays_out(centre: Centre) -> None:
    centre.ldap.add_person("cat", PASSWORD)
    assert centre.log_in("cat").status_code == 200
    centre.ldap.change("cn=cat,ou=people", "pwdAccountLockedTime", "000001010000Z")
    wrong(centre.log_in("cat"))
    centre.ldap.change("cn=cat,ou=people", "pwdAccountLockedTime")
    assert centre.log_in("cat").status_code == 200
    centre.ldap.change("cn=cat,ou=people", "pwdReset", "TRUE")
    wrong(centre.log_in("cat"))
    centre.ldap.remove("cn=cat,ou=people")
    wrong(centre.log_in("cat"))


def test_who_comes_after_another_of_the_same_name_is_somebody_else(centre: Centre) -> None:
    centre.ldap.add_person("dan", PASSWORD)
    assert centre.log_in("dan").status_code == 200
    centre.ldap.remove("cn=dan,ou=people")
    centre.ldap.add_person("dan", PASSWORD)
    answer = centre.log_in("dan")
    assert answer.status_code == 403 and "belongs to another account" in answer.text
    assert "set-cookie" not in answer.headers


def test_roles_follow_the_groups_at_each_login(centre: Centre) -> None:
    centre.ldap.add_person("eve", PASSWORD)
    assert centre.role("eve") == "user"
    centre.ldap.change("cn=staff,ou=groups", "member", f"cn=eve,ou=people,{BASE}")
    assert centre.role("eve") == "operator"
    centre.ldap.change("cn=flit-admins,ou=groups", "memberUid", "eve")
    assert centre.role("eve") == "admin"
    centre.ldap.change("cn=flit-admins,ou=groups", "memberUid")
    centre.ldap.change("cn=staff,ou=groups", "member", f"cn=nobody,{BASE}")
    assert centre.role("eve") == "user" and held(centre.db)["eve"]["role"] == "user"


def test_a_session_of_a_role_that_was_taken_away_ends_at_the_next_login(centre: Centre) -> None:
    centre.ldap.add_person("fay", PASSWORD)
    centre.ldap.change("cn=flit-admins,ou=groups", "memberUid", "fay")
    with httpx.Client(base_url=centre.site.url, timeout=60) as browser:
        assert browser.post("/api/v1/session", json={"name": "fay", "password": PASSWORD}).json()["role"] == "admin"
        centre.ldap.change("cn=flit-admins,ou=groups", "memberUid")
        assert centre.role("fay") == "user"
        assert browser.get("/api/v1/session").json()["user"] is None


def test_a_role_given_here_stays_where_the_directory_gives_none(centre: Centre) -> None:
    centre.ldap.add_person("gus", PASSWORD)
    with another_site(centre, ldap_group_base="", ldap_roles="") as site:
        assert centre.log_in("gus", site=site).json()["role"] == "user"
        with connect(centre.db, role="gate") as conn:
            people.change_account(conn, "gus", role="operator")
        assert centre.log_in("gus", site=site).json()["role"] == "operator"


def test_a_disabled_account_stays_out(centre: Centre) -> None:
    centre.ldap.add_person("hal", PASSWORD)
    assert centre.log_in("hal").status_code == 200
    with connect(centre.db, role="gate") as conn:
        people.change_account(conn, "hal", disabled=True)
    answer = centre.log_in("hal")
    assert answer.status_code == 403 and "is disabled" in answer.text


def test_a_local_account_is_asked_first_and_its_password_goes_nowhere(
    centre: Centre, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[tuple[str, str]] = []
    really = under_test.Directory._check

    def noted(self, name: str, password: str):  # type: ignore[no-untyped-def]
        sent.append((name, password))
        return really(self, name, password)

    monkeypatch.setattr(under_test.Directory, "_check", noted)
    centre.ldap.add_person("ida", PASSWORD)
    with connect(centre.db, role="gate") as conn:
        people.add_account(conn, "ida", "admin", "the local password")
    assert centre.log_in("ida", "the local password").json()["role"] == "admin" and not sent
    wrong(centre.log_in("ida", PASSWORD))
    assert len(sent) == 1 and "ida" not in sent[0] and PASSWORD not in sent[0]
    assert held(centre.db)["ida"]["issuer"] is None
    # By another spelling the directory finds its own ida, and the name is another's.
    answer = centre.log_in("IDA")
    assert answer.status_code == 403 and "belongs to another account" in answer.text


def test_the_account_has_the_directorys_spelling(centre: Centre) -> None:
    centre.ldap.add_person("jon", PASSWORD)
    for typed in ("JON", " jon ", "Jon"):
        assert centre.log_in(typed).json()["user"] == "jon"
    assert "JON" not in held(centre.db)


@pytest.mark.parametrize(
    "name",
    [
        "*",
        "k*",
        "kim)(uid=*",
        "kim)(|(uid=*)",
        "*)(objectClass=*",
        "kim\\2a",
        "kim\0",
        "\\",
        "(",
        ")(",
        "cn=kim",
        "{name}",
        "é*",
    ],
)
def test_a_name_is_never_part_of_the_filter(centre: Centre, name: str) -> None:
    with centre.ldap.admin() as conn:
        conn.search(BASE, "(uid=kim)")
        known = bool(conn.entries)
    if not known:
        centre.ldap.add_person("kim", PASSWORD)
    answer = centre.log_in(name)
    assert answer.status_code in (401, 422), answer.text
    assert "set-cookie" not in answer.headers


def test_an_odd_name_of_a_person_is_no_filter_of_groups_either(centre: Centre) -> None:
    centre.ldap.add_person("lee)(cn=flit-admins", PASSWORD)
    centre.ldap.add_person("m*(,+\\", PASSWORD)
    assert centre.role("lee)(cn=flit-admins") == "user"
    centre.ldap.change("cn=flit-admins,ou=groups", "memberUid", "m*(,+\\")
    assert centre.role("m*(,+\\") == "admin"
    centre.ldap.change("cn=flit-admins,ou=groups", "memberUid")


def test_a_filter_says_who_may_come_in_and_two_of_a_name_are_nobody(centre: Centre) -> None:
    centre.ldap.add_person("ned", PASSWORD, description="compute")
    centre.ldap.add_person("oda", PASSWORD)
    with another_site(centre, ldap_user_filter="(&(uid={name})(description=compute))") as site:
        assert centre.log_in("ned", site=site).status_code == 200
        wrong(centre.log_in("oda", site=site))
    with another_site(centre, ldap_user_filter="(|(uid={name})(uid=oda))") as site:
        wrong(centre.log_in("ned", site=site))


@pytest.mark.parametrize("how", ["ldaps", "starttls", "second", "anonymous"])
def test_the_ways_to_the_directory(centre: Centre, how: str) -> None:
    away = f"ldaps://localhost:{free_port()}"
    more = {
        "ldaps": {},
        "starttls": {"ldap_url": (centre.ldap.ldap,)},
        "second": {"ldap_url": (away, centre.ldap.ldaps)},
        "anonymous": {"ldap_bind_dn": "", "ldap_bind_password_file": None},
    }[how]
    centre.ldap.add_person(f"pat-{how}", PASSWORD)
    with another_site(centre, **more) as site:
        # This directory shows nobody to whom it does not know.
        assert centre.log_in(f"pat-{how}", site=site).status_code == (503 if how == "anonymous" else 200)


@pytest.mark.parametrize("how", ["authority", "name", "starttls authority", "system"])
def test_a_server_that_cannot_prove_who_it_is_gets_no_password(
    centre: Centre, how: str, caplog: pytest.LogCaptureFixture
) -> None:
    other = centre.ldap.folder / "other-ca.pem"
    more = {
        "authority": {"ldap_ca": other},
        "name": {"ldap_url": (f"ldaps://127.0.0.1:{centre.ldap.tls_port}",)},
        "starttls authority": {"ldap_url": (centre.ldap.ldap,), "ldap_ca": other},
        "system": {"ldap_ca": None},
    }[how]
    centre.ldap.add_person(f"quy-{how}", PASSWORD)
    with another_site(centre, **more) as site:
        answer = centre.log_in(f"quy-{how}", site=site)
    assert answer.status_code == 503 and "certificate" in caplog.text.lower()
    assert PASSWORD not in caplog.text and READER_PASSWORD not in caplog.text


def test_a_server_that_will_not_begin_tls_gets_no_password(centre: Centre) -> None:
    got: list[bytes] = []

    def refuse(conn: socket.socket) -> None:
        # An extended response "protocol error" to message 1.
        got.append(conn.recv(4096))
        conn.sendall(bytes.fromhex("300c02010178070a010204000400"))
        got.append(conn.recv(4096))

    with _server_that(refuse) as port, another_site(centre, ldap_url=(f"ldap://localhost:{port}",)) as site:
        assert centre.log_in("anybody", site=site).status_code == 503
    assert got and PASSWORD.encode() not in b"".join(got) and READER_PASSWORD.encode() not in b"".join(got)


@pytest.mark.parametrize("how", ["closed", "silent", "garbage", "reader"])
def test_a_directory_that_is_away_leaves_local_accounts(
    centre: Centre, how: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(under_test, "ANSWER_S", 1)
    monkeypatch.setattr(under_test, "LOGIN_S", 3.0)
    with connect(centre.db, role="gate") as conn:
        people.add_account(conn, f"local-{how}", "viewer", PASSWORD)
    with ExitStack() as stack:
        more: dict[str, object] = {"ldap_start_tls": False}
        if how == "closed":
            more["ldap_url"] = (f"ldaps://localhost:{free_port()}",)
        elif how == "reader":
            (tmp_path / "reader").write_text("new password\n")
            more["ldap_bind_password_file"] = tmp_path / "reader"
        else:
            say = b"HTTP/1.1 400 Bad Request\r\n\r\n" if how == "garbage" else b""
            port = stack.enter_context(_server_that(lambda conn: (conn.sendall(say), conn.recv(4096), conn.recv(4096))))
            more["ldap_url"] = (f"ldap://localhost:{port}",)
        site = stack.enter_context(another_site(centre, **more))
        assert centre.log_in(f"local-{how}", site=site).status_code == 200
        said = set()
        # Neither answer tells that one of them is a local account.
        for name in (f"local-{how}", "nobody-of-that-name"):
            answer = centre.log_in(name, "not the password", site=site)
            assert answer.status_code == 503 and "Centre login does not answer" in answer.text, answer.text
            assert int(answer.headers["retry-after"]) > 0
            said.add(answer.json()["detail"])
        assert len(said) == 1
        assert centre.log_in(f"local-{how}", site=site).status_code == 200
    assert "cannot check a login" in caplog.text and PASSWORD not in caplog.text


def test_a_directory_that_stops_and_comes_back(centre: Centre) -> None:
    centre.ldap.add_person("ray", PASSWORD)
    assert centre.log_in("ray").status_code == 200
    centre.ldap.stop()
    assert centre.log_in("ray").status_code == 503
    centre.ldap.start()
    assert centre.log_in("ray").status_code == 200


def test_as_many_messages_for_nobody_as_for_a_wrong_password(centre: Centre, monkeypatch: pytest.MonkeyPatch) -> None:
    """The amount of work does not reveal a name: of each kind the directory gets as many binds and searches."""
    done: list[str] = []
    search, takes = under_test.Directory._search_entries, under_test.Directory._accepts_password
    monkeypatch.setattr(under_test.Directory, "_search_entries", lambda *a: (done.append("search"), search(*a))[1])
    monkeypatch.setattr(under_test.Directory, "_accepts_password", lambda *a: (done.append("bind"), takes(*a))[1])
    centre.ldap.add_person("sue", PASSWORD)
    with connect(centre.db, role="gate") as conn:
        people.add_account(conn, "sue-local", "viewer", PASSWORD)
    seen = []
    for name, password in (("sue", "wrong"), ("sue", ""), ("sue-nobody", "wrong"), ("sue-local", "wrong")):
        done.clear()
        wrong(centre.log_in(name, password))
        seen.append(list(done))
    assert seen == [["search", "bind"]] * 4


def test_spellings_of_a_name_share_its_attempts(centre: Centre, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    centre.ldap.add_person("tom", PASSWORD)
    with another_site(centre) as site:
        spelled = ["tom", "Tom", "TOM", "tOm", "toM", " tom", "tom ", "ＴＯＭ", "TOm", "tOM"]
        for typed in spelled:
            wrong(centre.log_in(typed, "wrong", site=site))
        assert centre.log_in("ToM", "wrong", site=site).status_code == 429


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"ldap_url": ("http://ldap.example",)}, "LDAP_URL"),
        ({"ldap_url": ("ldaps://ldap.example/dc=x",)}, "LDAP_URL"),
        ({"ldap_url": ("ldaps://ldap.example:99999",)}, "LDAP_URL"),
        ({"ldap_url": ("ldap://ldap.example",), "ldap_start_tls": False}, "unencrypted"),
        ({"ldap_base": ""}, "LDAP_BASE"),
        ({"ldap_base": "people"}, "LDAP_BASE"),
        ({"ldap_user_filter": "(uid=x)"}, "LDAP_USER_FILTER"),
        ({"ldap_user_filter": "(uid={name}"}, "LDAP_USER_FILTER"),
        ({"ldap_user_filter": "(uid={name.__class__})"}, "LDAP_USER_FILTER"),
        ({"ldap_user_filter": "(uid={name})(uid={dn})"}, "LDAP_USER_FILTER"),
        ({"ldap_group_filter": "(member=x)"}, "LDAP_GROUP_FILTER"),
        ({"ldap_group_base": ""}, "must be set together"),
        ({"ldap_roles": ""}, "must be set together"),
        ({"ldap_roles": "staff=service"}, "LDAP_ROLES"),
        ({"ldap_bind_dn": ""}, "must be set together"),
        ({"ldap_bind_password_file": Path("/nowhere")}, "cannot be read"),
        ({"ldap_bind_password_file": Path("/dev/null")}, "no password"),
        ({"ldap_ca": Path("/nowhere")}, "LDAP_CA"),
        ({"ldap_ca": Path("/dev/null")}, "LDAP_CA"),
    ],
)
def test_settings_that_cannot_work_are_named_at_the_start(more: dict, words: str, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text(READER_PASSWORD)
    given: dict = {
        "ldap_url": ("ldaps://ldap.example",),
        "ldap_bind_dn": READER,
        "ldap_bind_password_file": tmp_path / "secret",
        "ldap_base": f"ou=people,{BASE}",
        "ldap_group_base": f"ou=groups,{BASE}",
        "ldap_roles": "staff=operator",
    }
    assert directory_of(Settings(db="postgresql://x", **given)) is not None
    with pytest.raises(Unavailable, match=words) as error:
        directory_of(Settings(db="postgresql://x", **{**given, **more}))
    assert READER_PASSWORD not in str(error.value)


def test_plain_text_goes_to_this_machine_or_where_it_is_allowed() -> None:
    given: dict = {"ldap_base": f"ou=people,{BASE}", "ldap_start_tls": False}
    for more in (
        {"ldap_url": ("ldap://127.0.0.1",)},
        {"ldap_url": ("ldap://ldap.example",), "ldap_insecure_network": True},
    ):
        assert directory_of(Settings(db="postgresql://x", **{**given, **more})) is not None
    assert directory_of(Settings(db="postgresql://x")) is None


def test_a_password_is_never_in_what_is_written(centre: Centre, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    centre.ldap.add_person("uma", PASSWORD)
    assert centre.log_in("uma").status_code == 200
    wrong(centre.log_in("uma", "a wrong password"))
    for secret in (PASSWORD, READER_PASSWORD, "a wrong password"):
        assert secret not in caplog.text


@contextmanager
def _server_that(does) -> Iterator[int]:  # type: ignore[no-untyped-def]
    """A port where each connection is handed to a function."""
    over = threading.Event()

    def one(conn: socket.socket) -> None:
        with conn:
            try:
                does(conn)
                over.wait(30)
            except OSError:
                pass

    def accept(listening: socket.socket) -> None:
        while not over.is_set():
            try:
                conn, _ = listening.accept()
            except OSError:
                return
            threading.Thread(target=one, args=(conn,), daemon=True).start()

    with socket.create_server(("127.0.0.1", 0)) as listening:
        threading.Thread(target=accept, args=(listening,), daemon=True).start()
        yield listening.getsockname()[1]
        over.set()
