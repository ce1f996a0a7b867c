"""UFM Enterprise's REST interface: a subnet's topology from its manager, without a tool on the subnet.

Paths and fields follow NVIDIA's "UFM Enterprise REST API Guide": Links, Ports and Systems REST API; Access Tokens API (/ufmRestV3 accepts a token as
`Authorization: Basic <token>`, /ufmRest accepts user and password).
"""

from __future__ import annotations

import base64
import ssl
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import orjson

from flitwatch_domain.errors import BadInput, BadRequest, Unavailable
from flitwatch_domain.fabric import Fabric
from flitwatch_domain.importers import ufm
from flitwatch_domain.peer_answers import stream_answer
from flitwatch_domain.secret_file import secret_of
from flitwatch_ingest.collectors.answers import BadAnswer

#: A subnet of 40,000 ports has about 60 MB of records.
MOST_BODY_BYTES = 256 << 20
TIMEOUT_S, DUE_S = 120.0, 600.0
_LOCAL = frozenset({"127.0.0.1", "::1", "localhost"})


@dataclass(frozen=True)
class Credentials:
    """Credentials sent with a request; `token` is true for a UFM access token."""

    header: str = ""
    token: bool = False


def credentials_of(path: Path) -> Credentials:
    """Load credentials from a file: `user:password`, or an access token. Raise BadInput if the file cannot be read, is readable by others, or
    contains neither."""
    text = secret_of(path, "credentials (user:password or an access token)")
    if ":" in text:
        return Credentials("Basic " + base64.b64encode(text.encode()).decode())
    if not text.isascii() or " " in text:
        raise BadInput("contains no access token that a header can carry", where=str(path))
    return Credentials(f"Basic {text}", token=True)


class Ufm:
    """A UFM server.

    Parameters
    ----------
    url : str
        `https://HOST`, without a path.
    ca : Path, optional
        The only trusted certificates (default: those of this system).

    Raises
    ------
    BadRequest
        The address is invalid, or would send credentials to another machine without TLS.
    BadInput
        `ca` contains no certificates.
    """

    def __init__(self, url: str, credentials: Credentials, ca: Path | None = None) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.path not in ("", "/") or parts.username:
            raise BadRequest(
                f"{url!r} is not the address of a UFM server",
                advice="Write https://HOST, without a path or a password.",
            )
        if parts.scheme == "http" and credentials.header and parts.hostname not in _LOCAL:
            raise BadRequest(
                "without TLS, others on the network can read the credentials", advice=f"Say https://{parts.netloc}."
            )
        self._origin = (parts.scheme, parts.hostname)
        self._base = f"{parts.scheme}://{parts.netloc}/{'ufmRestV3' if credentials.token else 'ufmRest'}"
        self._credentials = credentials
        self._trust: ssl.SSLContext | bool = True
        if ca is not None:
            try:
                self._trust = ssl.create_default_context(cafile=str(ca))
            except (OSError, ssl.SSLError) as problem:
                raise BadInput(f"contains no certificates: {problem}", where=str(ca)) from None

    def client(self) -> httpx.Client:
        """Return a client for this server. It sends the credentials only to this host, over the same scheme."""
        return httpx.Client(
            timeout=TIMEOUT_S,
            follow_redirects=False,
            verify=self._trust,
            event_hooks={"request": [self._add_credentials]},
        )

    def topology(self, name: str) -> Fabric:
        """Return the current subnet. Raise Unavailable if the server does not answer or refuses. Raise BadAnswer if the answer is not a topology."""
        with self.client() as client:
            bodies = {part: self._get_resource(client, part) for part in ufm.PARTS}
        for part, body in bodies.items():
            try:
                orjson.loads(body)
            except orjson.JSONDecodeError as bad:
                raise BadAnswer(f"is not JSON: {bad}", body=body, where=f"{self._base}/resources/{part}") from None
        whole = b"{" + b",".join(f'"{part}":'.encode() + body for part, body in bodies.items()) + b"}"
        try:
            return ufm.parse_fabric(whole.decode(errors="replace").replace("\0", "\ufffd"), self._base, name)
        except BadInput as bad:
            raise BadAnswer(bad.reason, body=whole, where=bad.where or self._base) from None

    def _get_resource(self, client: httpx.Client, part: str) -> bytes:
        url = f"{self._base}/resources/{part}"
        body = bytearray()
        try:
            with stream_answer(client, "GET", url, DUE_S, headers={"Accept": "application/json"}) as answer:
                if answer.status_code != 200:
                    raise Unavailable(
                        f"{url} answered {answer.status_code}",
                        advice=_ADVICE.get(answer.status_code, "Check that this is a UFM server."),
                    )
                for piece in answer.iter_bytes():
                    body += piece
                    if len(body) > MOST_BODY_BYTES:
                        raise Unavailable(f"{url} sent more than {MOST_BODY_BYTES >> 20} MiB")
        except httpx.HTTPError as problem:
            raise Unavailable(f"{url} does not answer: {problem or type(problem).__name__}") from None
        return bytes(body)

    def _add_credentials(self, request: httpx.Request) -> None:
        if self._credentials.header and (request.url.scheme, request.url.host) == self._origin:
            request.headers["Authorization"] = self._credentials.header


_ADVICE = {
    401: "Check the user and password, or the access token, in --credentials-file.",
    403: "The user cannot read the topology. Assign a role with read access.",
}
