"""Built page and documentation, served from memory: only files that existed at the process's start (or the last change of the index) can be
requested."""

from __future__ import annotations

import gzip
import hashlib
import mimetypes
from dataclasses import dataclass
from pathlib import Path

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Receive, Scope, Send

from flitwatch_domain.errors import NotFound

#: Routes without HEAD: a stream has no end, and a login's return address uses up its code.
GET_ONLY = ("/events", "/session/oidc")


class Heads:
    """Makes the API answer HEAD like GET. The server omits the body, because it knows the original request.

    Parameters
    ----------
    base : str     base path of the API
    """

    def __init__(self, app: ASGIApp, base: str) -> None:
        self.app = app
        self._base, self._get_only = base + "/", tuple(base + path for path in GET_ONLY)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] == "http" and scope["method"] == "HEAD":
            path = scope["path"]
            if path.startswith(self._base) and not path.startswith(self._get_only):
                scope = {**scope, "method": "GET"}
        await self.app(scope, receive, send)


INDEX = "index.html"
#: Vite names files in this folder by their content.
HASHED = "assets/"
FOR_EVER = "public, max-age=31536000, immutable"
EACH_TIME = "no-cache"
WORTH_COMPRESSING = 1024
COMPRESSIBLE = ("text/", "application/javascript", "application/json", "image/svg+xml", "application/manifest+json")
TYPES = {
    ".js": "text/javascript",
    ".mjs": "text/javascript",
    ".svg": "image/svg+xml",
    ".woff2": "font/woff2",
    ".webmanifest": "application/manifest+json",
}


@dataclass(frozen=True)
class File:
    """File of the page, compressed once."""

    body: bytes
    compressed: bytes | None
    media_type: str
    tag: str
    cache_control: str


class Site:
    """Files of a folder by path.

    Parameters
    ----------
    folder : Path or None
        Folder of the build. If it is None or missing, there is no page.
    """

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder
        self._files: dict[str, File] = {}
        self._stamp: tuple[int, int] | None = None

    def get(self, path: str) -> File | None:
        """Return the file of a path, or the index for an address of the page. Names of machines and jobs can contain dots."""
        name = path.lstrip("/")
        file = self.file(name or INDEX)
        is_place = "/" in name and not name.startswith(HASHED)
        if file is None and (is_place or "." not in name):
            file = self._files.get(INDEX)
        return file

    def file(self, name: str) -> File | None:
        """Return the file with exactly that name."""
        self._refresh_files()
        return self._files.get(name)

    def _refresh_files(self) -> None:
        if self.folder is None:
            return
        try:
            status = (self.folder / INDEX).stat()
        except OSError:
            return
        stamp = (status.st_mtime_ns, status.st_size)
        if stamp != self._stamp:
            self._files = {
                path.relative_to(self.folder).as_posix(): _read_file(path, self.folder)
                for path in sorted(self.folder.rglob("*"))
                if path.is_file() and not path.is_symlink() and path.suffix != ".map"
            }
            self._stamp = stamp


def _read_file(path: Path, folder: Path) -> File:
    body = path.read_bytes()
    kind = TYPES.get(path.suffix) or mimetypes.guess_type(path.name)[0] or "application/octet-stream"
    if kind.startswith("text/"):
        kind += "; charset=utf-8"
    squeezed = (
        gzip.compress(body, 9, mtime=0) if len(body) >= WORTH_COMPRESSING and kind.startswith(COMPRESSIBLE) else None
    )
    hashed = path.relative_to(folder).as_posix().startswith(HASHED)
    tag = f'W/"{hashlib.blake2b(body, digest_size=12).hexdigest()}"'
    return File(body, squeezed, kind, tag, FOR_EVER if hashed else EACH_TIME)


http = APIRouter(include_in_schema=False)


@http.api_route("/docs", methods=["GET", "HEAD"])
async def documentation_root() -> Response:
    """Redirect to the documentation's folder, because its links are relative."""
    return RedirectResponse("/docs/", 308)


@http.api_route("/docs/{path:path}", methods=["GET", "HEAD"])
async def documentation(request: Request, path: str) -> Response:
    """Return a file of the documentation."""
    docs: Site = request.app.state.documentation
    file = docs.file(path or INDEX)
    if file is None:
        if docs.file(INDEX) is None:
            raise NotFound(
                "the documentation is not built", advice="Build it with `make docs`, or read the folder docs/."
            )
        raise NotFound(f"the documentation has no page /{path[:200]}", advice="Start at /docs/.")
    return _file_response(request, file)


@http.api_route("/{path:path}", methods=["GET", "HEAD"])
async def page(request: Request, path: str) -> Response:
    """Return a file of the page, or its index for any address of the page."""
    site: Site = request.app.state.site
    if path.startswith("api/"):
        if request.method == "HEAD" and path.removeprefix("api/v1").startswith(GET_ONLY):
            raise HTTPException(405, headers={"Allow": "GET"})
        raise NotFound(f"there is no page at /{path[:200]}", advice="/openapi.json lists the addresses of the API.")
    file = site.get(path)
    if file is None:
        if not site.get(INDEX):
            raise NotFound(
                "the page is not built",
                advice="Build it with `make web`, or use the API below /api/v1; /openapi.json describes it.",
            )
        raise NotFound(f"the page has no file /{path[:200]}", advice="Reload the page: it was probably rebuilt.")
    return _file_response(request, file)


def _file_response(request: Request, file: File) -> Response:
    headers = {"ETag": file.tag, "Cache-Control": file.cache_control, "Vary": "Accept-Encoding"}
    if file.tag.removeprefix("W/") in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    if file.compressed is not None and "gzip" in request.headers.get("accept-encoding", ""):
        return Response(file.compressed, media_type=file.media_type, headers={**headers, "Content-Encoding": "gzip"})
    return Response(file.body, media_type=file.media_type, headers=headers)
