"""Images of other projects: `images.lock` lists each with its digest. `python packaging/images.py` asks the registries for the digests (`make pin-images`).

It also writes docker-compose.digests.yml, an override of docker-compose.yml, and k8s/components/digests, a component for overlays. Needs no Docker.
"""

from __future__ import annotations

import http.client
import json
import re
import sys
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[1]
LOCK = "packaging/images.lock"
OVERRIDE, COMPONENT = "docker-compose.digests.yml", "k8s/components/digests/kustomization.yaml"
HUB = "https://registry-1.docker.io"
_TYPES = "application/vnd.oci.image.index.v1+json, application/vnd.docker.distribution.manifest.list.v2+json, application/vnd.oci.image.manifest.v1+json, application/vnd.docker.distribution.manifest.v2+json"
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_MOST_BYTES, _TIMEOUT_S = 1 << 20, 30


def find_images(root: Path) -> set[str]:
    """Return the images of other projects, with their tags, in docker-compose.yml, k8s/ and the Dockerfile."""
    files = [root / "docker-compose.yml", *(root / "k8s").rglob("*.yaml")]
    text = "\n".join(file.read_text() for file in files if file != root / COMPONENT)
    used = set(re.findall(r"\bimage(?:Name)?: *[\"']?([^\s\"',}]+)", text))
    used |= set(re.findall(r"^ARG BASE=(\S+)", (root / "services" / "Dockerfile").read_text(), re.MULTILINE))
    return {image for image in used if not image.startswith("flitwatch-")}


def fetch_digest(image: str, hub: str = HUB) -> str:
    """Ask the image's registry for its digest; `hub` is the registry of images without one. Raise OSError or ValueError if it gives none."""
    name, _, tag = image.rpartition(":")
    host, _, rest = name.partition("/")
    if "." in host:
        base, path = f"https://{host}", rest
    else:
        base, path = hub, name if "/" in name else f"library/{name}"
    request = urllib.request.Request(f"{base}/v2/{path}/manifests/{tag}", headers={"Accept": _TYPES}, method="HEAD")
    try:
        answer = urllib.request.urlopen(request, timeout=_TIMEOUT_S)
    except urllib.error.HTTPError as refusal:
        if refusal.code != 401:
            raise
        request.add_header("Authorization", f"Bearer {_fetch_token(refusal.headers.get('WWW-Authenticate', ''))}")
        answer = urllib.request.urlopen(request, timeout=_TIMEOUT_S)
    with answer:
        digest = answer.headers.get("Docker-Content-Digest", "")
    if not _DIGEST.fullmatch(digest):
        raise ValueError(f"{base} gives no digest of {image}")
    return str(digest)


def _fetch_token(challenge: str) -> str:
    given = dict(re.findall(r'(\w+)="([^"]*)"', challenge))
    query = urllib.parse.urlencode({name: given[name] for name in ("service", "scope") if name in given})
    place = given.get("realm", "")
    if not place.startswith(("https://", "http://")):
        raise ValueError(f"the registry requires a login and names no token service ({challenge or 'no challenge'})")
    with urllib.request.urlopen(f"{place}?{query}", timeout=_TIMEOUT_S) as answer:
        content = json.loads(answer.read(_MOST_BYTES))
    token = (content.get("token") or content.get("access_token")) if isinstance(content, dict) else None
    if not isinstance(token, str):
        raise ValueError(f"{place} gives no token. Check that anonymous users can pull the image")
    return token


def write_pins(root: Path, digests: dict[str, str]) -> None:
    """Write the lock, Compose's override and the component of Kubernetes: all of them, or none if one folder cannot be written."""
    texts = {root / name: text for name, text in _render_pins(root, digests).items()}
    staged = {file: file.with_name(f"{file.name}.new") for file in texts}
    try:
        for file, text in texts.items():
            file.parent.mkdir(exist_ok=True)
            staged[file].write_text(text)
        for file in texts:
            staged[file].replace(file)
    finally:
        for file in staged.values():
            if file.exists():
                file.unlink()


def _render_pins(root: Path, digests: dict[str, str]) -> dict[str, str]:
    """Return the text of each file."""
    head = "".join(line for line in (root / LOCK).read_text().splitlines(keepends=True) if line.startswith("#"))
    services: dict[str, Any] = {}
    (base,) = (image for image in digests if image.startswith("debian:"))
    for name, service in yaml.safe_load((root / "docker-compose.yml").read_text())["services"].items():
        if "build" in service:
            services[name] = {"build": {"args": {"BASE": f"{base}@{digests[base]}"}}}
        else:
            services[name] = {"image": f"{service['image']}@{digests[service['image']]}"}
    images = [{"name": image.rpartition(":")[0], "digest": digest} for image, digest in sorted(digests.items())]
    component = {"apiVersion": "kustomize.config.k8s.io/v1alpha1", "kind": "Component", "images": images}
    return {
        LOCK: head + "".join(f"{image} {digest}\n" for image, digest in sorted(digests.items())),
        OVERRIDE: yaml.safe_dump({"services": services}),
        COMPONENT: yaml.safe_dump(component, sort_keys=False),
    }


def main() -> None:
    """Pin the images."""
    try:
        write_pins(ROOT, {image: fetch_digest(image) for image in find_images(ROOT)})
    except (OSError, ValueError, http.client.HTTPException) as problem:
        sys.exit(f"images: {problem}. No file was changed. Start it where the registries can be reached.")


if __name__ == "__main__":
    main()
