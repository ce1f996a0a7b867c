"""A served API over a real database with known sums."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import numpy as np
import pytest
from argon2 import PasswordHasher
from support.databases import Server
from support.waiting import eventually

from api.database import SampleDatabase, seed
from flitwatch_api.people import login_limiter
from flitwatch_api.serve import make_server, open_listener
from flitwatch_api.settings import Settings
from flitwatch_db import connect
from flitwatch_db.people import accounts as people


@dataclass(frozen=True)
class Served:
    """A server that runs, and a client of it."""

    url: str
    http: httpx.Client

    def get(self, path: str, **parameters: object) -> dict:
        """A JSON answer that must be 200."""
        answer = self.http.get(f"/api/v1{path}", params=parameters)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def refused(self, path: str, status: int, **parameters: object) -> dict:
        """A problem document of that status."""
        answer = self.http.get(f"/api/v1{path}", params=parameters)
        assert answer.status_code == status, answer.text
        assert answer.headers["content-type"] == "application/problem+json"
        return answer.json()


@contextmanager
def serving(settings: Settings) -> Iterator[Served]:
    """Run a server in a thread, on a port of its own."""
    if "api_anonymous" not in settings.model_fields_set:
        # What `flitwatch api` takes on loopback.
        settings = settings.model_copy(update={"api_anonymous": "user"})
    with open_listener("127.0.0.1", 0) as listening:
        port = listening.getsockname()[1]
        running = make_server(settings, "127.0.0.1", port, grace_s=2)
        thread = threading.Thread(target=running.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        url = f"http://127.0.0.1:{port}"
        with httpx.Client(base_url=url, timeout=60) as client:
            eventually(lambda: running.started, every_s=0.01, what="the API to start")
            yield Served(url, client)
        running.should_exit = True
        thread.join(10)
        assert not thread.is_alive()


def operating(url: str) -> dict[str, str]:
    """Headers of an operator whose token may do everything but see names."""
    with connect(url, role="gate", autocommit=True) as conn:
        people.add_account(conn, "otto", "operator")
        return bearer(people.add_token(conn, "otto", "test", ["read", "advice", "tasks", "operate"])[1])


def bearer(secret: str) -> dict[str, str]:
    """The header that carries a token."""
    return {"Authorization": f"Bearer {secret}"}


def guess_passwords(api: Served, count: int, address: str, name: str = "otto", **more: object) -> list[int]:
    """The statuses of so many wrong passwords from an address."""
    with httpx.Client(transport=httpx.HTTPTransport(local_address=address), base_url=api.url, timeout=20) as client:
        return [
            client.post("/api/v1/session", json={"name": name, "password": f"wrong {n}"}, **more).status_code  # type: ignore[arg-type]
            for n in range(count)
        ]


@pytest.fixture
def no_second_chance(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tries at a password are not given back while the test runs, however slow the machine."""
    for each in ("PAIR", "NAME", "KNOWN", "ADDRESS"):
        monkeypatch.setattr(login_limiter, f"{each}_EVERY_S", 1e6)


@pytest.fixture(scope="module", autouse=True)
def _quick_hashes() -> Iterator[None]:
    """Passwords are hashed in no time: the product's hash takes 64 MiB and a third of a second (tests/db/test_logins.py)."""
    quick = PasswordHasher(time_cost=1, memory_cost=64, parallelism=1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(people, "_HASHER", quick)
        patch.setattr(people, "_NOBODY", quick.hash("nobody"))
        yield


@pytest.fixture(scope="session")
def database(_embedded_template: Server) -> Iterator[SampleDatabase]:
    """A database with known content; tests only read it."""
    url = _embedded_template.create()
    yield seed(url)
    _embedded_template.drop(url)


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A built page in small."""
    folder = tmp_path_factory.mktemp("dist")
    (folder / "assets").mkdir()
    (folder / "index.html").write_text("<!doctype html><title>Flitwatch</title>")
    (folder / "assets" / "index-4f2a.js").write_text("export const x = 1;\n" * 200)
    (folder.parent / "secret.txt").write_text("not for you")
    return folder


@pytest.fixture(scope="session")
def api(database: SampleDatabase, site: Path) -> Iterator[Served]:
    """The API over the known content."""
    with serving(Settings(db=database.url, web=site, api_anonymous="operator")) as served:
        yield served


def summed(values: np.ndarray) -> np.ndarray:
    """Sums over the first axis; NaN if nothing is known."""
    return np.where(np.isnan(values).all(axis=0), np.nan, np.nansum(values, axis=0))
