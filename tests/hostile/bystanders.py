"""Normal clients with their own address, which record the time of each answer."""

from __future__ import annotations

import http.client
import math
import time

import cramjam
import numpy as np

from hostile.attacks import HERE, Target

ADDRESS = "127.0.0.77"
EVERY_S, TIMEOUT_S = 0.05, 10.0


def watch(target: Target, until: float) -> dict[str, list[float]]:
    """Ask in turn until a moment of the monotonic clock; seconds of each answer by what was asked, infinite for none."""
    body = bytes(cramjam.snappy.compress_raw(b""))
    write = {
        "Authorization": f"Bearer {target.token}",
        "Content-Type": "application/x-protobuf",
        "Content-Encoding": "snappy",
    }
    asked = {
        "a list": (target.api, "GET", "/api/v1/fabrics", b"", {}),
        "readiness": (target.api, "GET", "/readyz", b"", {}),
        "figures": (target.metrics, "GET", "/metrics", b"", {}),
        # Of no samples: refused, but only after it was read and taken apart.
        "remote write": (target.write_port, "POST", "/api/v1/write", body, write),
    }
    took: dict[str, list[float]] = {name: [] for name in asked}
    while time.monotonic() < until:
        for name, request in asked.items():
            took[name].append(_answered_s(*request))
            time.sleep(EVERY_S)
    return took


def _answered_s(port: int, method: str, path: str, body: bytes, headers: dict[str, str]) -> float:
    begun = time.monotonic()
    connection = http.client.HTTPConnection(HERE, port, timeout=TIMEOUT_S, source_address=(ADDRESS, 0))
    try:
        connection.request(method, path, body, headers)
        answer = connection.getresponse()
        answer.read()
    except (OSError, http.client.HTTPException):
        return math.inf
    finally:
        connection.close()
    return time.monotonic() - begun if answer.status in (200, 204, 400) else math.inf


def p99_s(seconds: list[float]) -> float | None:
    """The 99th percentile; None if more than one in a hundred was not answered."""
    longest = float(np.quantile(seconds, 0.99, method="higher"))
    return None if math.isinf(longest) else round(longest, 3)
