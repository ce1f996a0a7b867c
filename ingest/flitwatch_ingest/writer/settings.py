"""Settings of a writer."""

from __future__ import annotations

from dataclasses import dataclass

from flitwatch_stream.topics import LDMS_PATTERN


@dataclass(frozen=True)
class WriterSettings:
    """Settings of one writer.

    Attributes
    ----------
    group : str
        Consumer group; its writers share the topics.
    pattern : str
        Pattern of topics with LDMS rows.
    fabric : str or None
        The fabric of all components; without it, the only fabric with the component.
    registry : str or None
        URL or file with the Avro schemas.
    interval_s : float
        Longest wait of a record for its transaction.
    most_records : int
        Records read from the log at a time.
    most_rows : int
        Rows in memory that trigger a transaction.
    most_bytes : int
        Bytes of dead letters and raw records that trigger a transaction.
    port_delay_s : float
        A ten-second bucket of ports is written when the feed is this far past its end.
    silence_every_s : float
        Interval of checks for stopped instances.
    most_future_s : float
        Records whose clock is ahead by more are refused.
    """

    group: str = "writer"
    pattern: str = LDMS_PATTERN
    fabric: str | None = None
    registry: str | None = None
    interval_s: float = 1.0
    most_records: int = 5_000
    most_rows: int = 200_000
    most_bytes: int = 32 << 20
    port_delay_s: float = 3.0
    silence_every_s: float = 5.0
    most_future_s: float = 366 * 86_400.0
