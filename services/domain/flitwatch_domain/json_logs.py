"""Structured logs of every service: one JSON object per line, with a request id that is passed on from the API to the tasks that it starts."""

from __future__ import annotations

import json
import logging
from contextvars import ContextVar
from datetime import UTC, datetime

#: The request being served, or the request that started the running task; empty otherwise.
request_id: ContextVar[str | None] = ContextVar("request_id", default=None)


class JsonLines(logging.Formatter):
    """A record as one line of JSON: at, level, logger, message, request_id, fields, and the exception."""

    def format(self, record: logging.LogRecord) -> str:
        line = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            "request_id": request_id.get(),
            **getattr(record, "fields", {}),
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        kept = {key: value for key, value in line.items() if value is not None}
        return json.dumps(kept, default=str, ensure_ascii=False)
