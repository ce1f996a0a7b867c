"""Flitwatch client for scripts and notebooks.

```
import flitwatch_client

with flitwatch_client.connect("http://127.0.0.1:8765") as fw:
    for fabric in fw.fabrics().to_pylist():
        print(fabric["name"], fabric["routers"])
    print(fw.api.advice({"user": "ann", "application": "milc", "nodes": 64})["action"])
```
"""

from __future__ import annotations

from flitwatch_client.client import Client, ClientError, Refused, TaskFailed, Unavailable, connect
from flitwatch_client.table import Table

__version__ = "0.1.0"
__all__ = ["Client", "ClientError", "Refused", "Table", "TaskFailed", "Unavailable", "connect"]
