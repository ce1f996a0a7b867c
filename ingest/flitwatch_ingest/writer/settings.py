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
        Consumer group. Writers of one group share the topics.
    pattern : str
        Which topics are LDMS rows.
    fabric : str or None
        The fabric that components are of; without it, whichever one fabric knows a component.
    registry : str or None
        URL or file of the Avro schemas.
    interval_s : float
        Records wait at most so long for their transaction.
    most_records : int
        Records taken from the log at once.
    most_rows : int
        Rows in memory after which a transaction is made at once.
    most_bytes : int
        Bytes of dead letters and of records kept as they came, the same.
    port_delay_s : float
        A ten-second bucket of ports is written when the feed is so far past its end.
    silence_every_s : float
        How often it is looked for instances that stopped.
    most_future_s : float
        Records whose clock is further ahead are refused.
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
