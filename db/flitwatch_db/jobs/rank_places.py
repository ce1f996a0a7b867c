"""The endpoints of runs' ranks: those of their jobs' nodes, by the nodes' names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import psycopg

# An exact match of names comes first. Joined as sets: for a run of 10,000 ranks on as many nodes, single ranks would take minutes.
_PLACE = """
    WITH held AS MATERIALIZED (
        SELECT r.run_id, n.node, host_of(n.node) AS host, min(n.endpoint) AS endpoint FROM run r JOIN job_node n USING (job_pk) WHERE r.run_id = ANY(%(runs)s) GROUP BY 1, 2
    ), alike AS MATERIALIZED (
        SELECT run_id, host, min(endpoint) AS endpoint, min(node) AS node FROM held GROUP BY 1, 2 HAVING count(*) = 1
    )
    UPDATE run_rank k SET endpoint = coalesce(h.endpoint, a.endpoint)
    FROM run_rank q LEFT JOIN held h ON h.run_id = q.run_id AND h.node = q.node LEFT JOIN alike a ON a.run_id = q.run_id AND a.host = host_of(q.node)
        AND (strpos(a.node, '.') = 0 OR strpos(q.node, '.') = 0 OR rtrim(lower(a.node), '.') = rtrim(lower(q.node), '.'))
    WHERE q.run_id = ANY(%(runs)s) AND (k.run_id, k.rank) = (q.run_id, q.rank)
"""


def place_ranks(conn: psycopg.Connection[Any], runs: Sequence[int]) -> None:
    """Set the endpoint of all ranks of some runs; NULL if the node is unknown or ambiguous."""
    if runs:
        conn.execute(_PLACE, {"runs": list(runs)})
