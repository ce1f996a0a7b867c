"""Choice of one of several servers for a PostgreSQL connection, and the time until either end gives up a connection whose network was cut.

A URL may name several hosts: one writes and the others follow it. A follower refuses every write, LISTEN too, so it is not taken: anyone who connects
while another takes over tries again until it has.

Without these a client waits for about 15 minutes (Linux's `tcp_retries2`), and the server keeps a vanished client's transaction, with its locks, for two
hours (`tcp_keepalive_time`): longer than anyone's data may be late. Unix sockets ignore them.
"""

from __future__ import annotations

#: Unanswered data are given up after so long.
GIVE_UP_MS = 20_000
_IDLE_S, _INTERVAL_S, _COUNT = 10, 5, 3

#: Parameters of libpq.
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
