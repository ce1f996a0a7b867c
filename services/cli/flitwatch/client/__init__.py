"""A Python client of the API.

```
from flitwatch.client import Client

with Client("http://127.0.0.1:8765") as api:
    for fabric in api.fabrics()["items"]:
        print(fabric["name"], fabric["routers"])
    print(api.advice({"user": "ann", "application": "milc", "nodes": 64})["action"])
```
"""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import httpx

from flitwatch.client.operations import Operations
from flitwatch_domain.errors import FlitwatchError, Unavailable


class Refused(FlitwatchError):
    """The API refused: its status, and the problem document (RFC 9457) as it came."""

    def __init__(self, status: int, problem: dict[str, Any]) -> None:
        super().__init__(
            str(problem.get("detail") or problem.get("title") or f"status {status}"),
            advice=str(problem.get("advice") or ""),
        )
        self.answered = status
        self.problem = problem


class Client(Operations):
    """Calls the API; answers are its JSON as Python values, or text.

    Parameters
    ----------
    url : str
    token : str, optional         sent as a bearer token
    timeout_s : float
    """

    def __init__(self, url: str, token: str = "", timeout_s: float = 30.0) -> None:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._http = httpx.Client(base_url=url.rstrip("/"), headers=headers, timeout=timeout_s)

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self._http.close()

    @staticmethod
    def _part(value: Any) -> str:
        return quote(str(value), safe="")

    def _call(self, method: str, path: str, query: dict[str, Any], body: Any = None) -> Any:
        told = {name: value for name, value in query.items() if value is not None}
        try:
            answer = self._http.request(method, path, params=told, json=body)
        except httpx.HTTPError as problem:
            raise Unavailable(f"the API does not answer: {type(problem).__name__}: {problem}") from None
        kind = answer.headers.get("content-type", "")
        if answer.is_error:
            raise Refused(answer.status_code, answer.json() if "json" in kind else {"detail": answer.text[:300]})
        return answer.json() if "json" in kind else answer.text
