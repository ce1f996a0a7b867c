"""Network noise of ended jobs, computed every minute from the counters of their network cards."""

from __future__ import annotations

from flitwatch_db import connect
from flitwatch_db.core.connection import try_lock
from flitwatch_db.jobs import network_cards, network_noise
from flitwatch_domain.network_noise.of_job import JobNoise, job_noise

#: Limit of jobs per round; the rest waits for the next one.
MOST_JOBS = 200
#: Lock of the active worker, so that others do not repeat its work.
_LOCK = 7205759403792798


def save_network_noise(dsn: str) -> int:
    """Store the network noise of pending jobs and return their number. The operation is idempotent, and one worker at a time runs it."""
    with connect(dsn, role="writer", application="flitwatch network noise") as conn:
        if not try_lock(conn, _LOCK):
            return 0
        jobs = network_noise.list_waiting_jobs(conn, MOST_JOBS)
        for job in jobs:
            cards = network_cards.cards_of(conn, job.job_pk)
            if cards is None:
                network_noise.save_noise(conn, job, None, None, _NOWHERE)
                continue
            counts = network_cards.load_counts(conn, cards, job.start.timestamp(), job.end.timestamp())
            noise = job_noise(counts, cards.technology, len(cards.endpoints))
            network_noise.save_noise(conn, job, cards.fabric_id, counts.window_s if noise.windows else None, noise)
        return len(jobs)


_NOWHERE = JobNoise(
    0,
    0,
    0,
    unknown=dict.fromkeys(
        ("latency_us", "waits", "message_dispersion", "noise_s"), "No fabric knows the network cards of its nodes."
    ),
)
