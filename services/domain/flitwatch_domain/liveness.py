"""Selection of one of several servers for a PostgreSQL connection, and the time until either end gives up a broken connection.

A URL can contain several hosts: one primary and its followers. A follower refuses all writes, including LISTEN, so it is not selected. A client that
connects during a failover retries until there is a new primary.

Without these settings a client waits for about 15 minutes (Linux's `tcp_retries2`), and the server keeps a vanished client's transaction and locks for
two hours (`tcp_keepalive_time`). Both exceed the allowed delay of data. Unix sockets ignore these settings.
"""

from __future__ import annotations

#: Time after which unacknowledged data are given up.
GIVE_UP_MS = 20_000
_IDLE_S, _INTERVAL_S, _COUNT = 10, 5, 3

#: Parameters of libpq, for the client's end.
CLIENT: dict[str, str] = {
    "target_session_attrs": "primary",
    "keepalives_idle": str(_IDLE_S),
    "keepalives_interval": str(_INTERVAL_S),
    "keepalives_count": str(_COUNT),
    "tcp_user_timeout": str(GIVE_UP_MS),
}

#: Settings of the session, for the server's end.
SERVER: dict[str, str] = {
    "tcp_keepalives_idle": str(_IDLE_S),
    "tcp_keepalives_interval": str(_INTERVAL_S),
    "tcp_keepalives_count": str(_COUNT),
    "tcp_user_timeout": str(GIVE_UP_MS),
}
