"""A real OpenID Connect provider, and settings for logins with it."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from flitwatch_api.settings import Settings

WEB = Path(__file__).resolve().parents[2] / "web"
SECRET = "the-client-secret"


class RealProvider:
    """A running provider, and its controls."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self.issuer: str = json.loads(self._line())["issuer"]

    def _line(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline()

    def tell(self, **said: object) -> None:
        """Change its answers."""
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(said) + "\n")
        self.process.stdin.flush()
        assert self._line().strip() == "ok"

    def end(self) -> None:
        """Stop it."""
        self.process.kill()
        self.process.wait(10)


@contextmanager
def a_provider() -> Iterator[RealProvider]:
    if shutil.which("node") is None or not (WEB / "node_modules" / "oidc-provider").exists():
        pytest.skip("needs Node.js and the page's packages: make web")
    command = ["node", "tests/provider/serve.mjs"]
    process = subprocess.Popen(
        command, cwd=WEB, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    provider = RealProvider(process)
    try:
        yield provider
    finally:
        provider.end()


def settings(url: str, issuer: str, **more: object) -> Settings:
    given = {
        "oidc_issuer": issuer,
        "oidc_client_id": "flitwatch",
        "oidc_client_secret": SECRET,
        "oidc_name": "Centre login",
    }
    return Settings(**{"db": url, "web": None, "api_anonymous": "none", **given, **more})  # type: ignore[arg-type]
