"""The lock of container images names each image that is used, and the script fills in the digests of a registry."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
_spec = importlib.util.spec_from_file_location("images", ROOT / "packaging" / "images.py")
assert _spec is not None and _spec.loader is not None
images: Any = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(images)

DIGEST = "sha256:" + "5f" * 32


def read_lock(root: Path) -> dict[str, str]:
    """Digest of each image by its name and tag."""
    return dict(line.split() for line in (root / images.LOCK).read_text().splitlines() if not line.startswith("#"))


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A copy of all files that name images."""
    for file in ("docker-compose.yml", "services/Dockerfile", images.LOCK):
        (tmp_path / file).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / file, tmp_path / file)
    shutil.copytree(ROOT / "k8s", tmp_path / "k8s", ignore=shutil.ignore_patterns("digests"))
    return tmp_path


def test_the_lock_has_the_images_that_are_used_and_no_others() -> None:
    lock = read_lock(ROOT)
    assert images.find_images(ROOT) == lock.keys()
    assert all(digest == "unknown" or images._DIGEST.fullmatch(digest) for digest in lock.values())


@pytest.mark.parametrize(
    ("file", "before", "after"),
    [
        ("docker-compose.yml", "apache/kafka:4.3.1", "apache/kafka:4.9.9"),
        ("k8s/overlays/demo/kafka.yaml", "apache/kafka:4.3.1", '"ghcr.io/other/kafka:1"'),
        ("k8s/base/api.yaml", "image: flitwatch-api", "image: busybox:1"),
        ("services/Dockerfile", "debian:trixie-slim", "debian:sid"),
    ],
)
def test_an_image_without_a_line_is_found(checkout: Path, file: str, before: str, after: str) -> None:
    text = (checkout / file).read_text()
    assert before in text
    (checkout / file).write_text(text.replace(before, after))
    assert images.find_images(checkout) - read_lock(checkout).keys() == {after.split()[-1].strip('"')}


@contextmanager
def registry(digest: str, answer: str = '{"token": "drawn"}', challenge: str | None = None) -> Iterator[str]:
    """A registry that wants a token of its own, as Docker Hub does."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            assert self.path == "/token?service=hub&scope=pull"
            self.answer(200, {}, answer.encode())

        def do_HEAD(self) -> None:
            if self.headers.get("Authorization") != "Bearer drawn":
                place = f"http://127.0.0.1:{self.server.server_address[1]}/token"
                asked = f'Bearer realm="{place}",service="hub",scope="pull"' if challenge is None else challenge
                self.answer(401, {"WWW-Authenticate": asked})
            elif self.path in ("/v2/apache/kafka/manifests/4.3.1", "/v2/library/debian/manifests/trixie-slim"):
                self.answer(200, {"Docker-Content-Digest": digest})
            else:
                self.answer(404, {})

        def answer(self, status: int, headers: dict[str, str], body: bytes = b"") -> None:
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


def test_a_registry_is_asked_for_digests() -> None:
    with registry(DIGEST) as hub:
        assert images.fetch_digest("apache/kafka:4.3.1", hub) == DIGEST
        assert images.fetch_digest("debian:trixie-slim", hub) == DIGEST
        with pytest.raises(OSError, match="404"):
            images.fetch_digest("apache/kafka:4.9.9", hub)
    with registry("latest") as hub, pytest.raises(ValueError, match="gives no digest of debian:trixie-slim"):
        images.fetch_digest("debian:trixie-slim", hub)


@pytest.mark.parametrize("answer", ["{}", "[]", '{"token": null}'])
def test_an_answer_without_a_token_is_an_error_with_advice(answer: str) -> None:
    with registry(DIGEST, answer) as hub, pytest.raises(ValueError, match="/token gives no token"):
        images.fetch_digest("debian:trixie-slim", hub)


def test_a_token_of_the_other_spelling_is_taken_and_a_login_without_a_service_is_refused() -> None:
    with registry(DIGEST, '{"access_token": "drawn"}') as hub:
        assert images.fetch_digest("debian:trixie-slim", hub) == DIGEST
    with registry(DIGEST, challenge="Basic") as hub, pytest.raises(ValueError, match="names no token service"):
        images.fetch_digest("debian:trixie-slim", hub)


def test_no_file_is_changed_if_one_cannot_be_written(checkout: Path) -> None:
    folder = (checkout / images.COMPONENT).parent
    folder.write_text("no folder")
    before = {file: file.read_bytes() for file in checkout.rglob("*") if file.is_file()}
    with pytest.raises(OSError, match="digests"):
        images.write_pins(checkout, dict.fromkeys(images.find_images(checkout), DIGEST))
    assert {file: file.read_bytes() for file in checkout.rglob("*") if file.is_file()} == before


def test_compose_and_kubernetes_take_the_digests(checkout: Path) -> None:
    used = images.find_images(checkout)
    images.write_pins(checkout, dict.fromkeys(used, DIGEST))
    assert read_lock(checkout) == dict.fromkeys(used, DIGEST) and images.find_images(checkout) == used
    plain = yaml.safe_load((checkout / "docker-compose.yml").read_text())["services"]
    pinned = yaml.safe_load((checkout / images.OVERRIDE).read_text())["services"]
    assert pinned.keys() == plain.keys()
    for name, service in pinned.items():
        if "image" in service:
            assert service == {"image": f"{plain[name]['image']}@{DIGEST}"}
        else:
            assert service == {"build": {"args": {"BASE": f"debian:trixie-slim@{DIGEST}"}}}
    if shutil.which("kubectl") is None:
        pytest.skip("needs kubectl (with kustomize)")
    demo = checkout / "k8s" / "overlays" / "demo" / "kustomization.yaml"
    site = {key: value for key, value in yaml.safe_load(demo.read_text()).items() if key != "secretGenerator"}
    demo.write_text(yaml.safe_dump(site | {"components": ["../../components/digests"]}))
    done = subprocess.run(["kubectl", "kustomize", str(demo.parent)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    built = [one for one in yaml.safe_load_all(done.stdout) if one["kind"] == "StatefulSet"]
    assert {one["spec"]["template"]["spec"]["containers"][0]["image"] for one in built} == {
        f"apache/kafka@{DIGEST}",
        f"timescale/timescaledb@{DIGEST}",
    }
