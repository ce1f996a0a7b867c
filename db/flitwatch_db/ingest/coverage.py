"""Coverage: jobs that have a place, nodes that have counters, and counters that belong to a fabric."""

from __future__ import annotations

from typing import Any, LiteralString, NamedTuple

import psycopg

#: Maximum number of examples.
MOST_EXAMPLES = 5

# Jobs of the last week with a node list.
_JOBS = """
    WITH recent AS (
        SELECT n.job_pk, n.node, n.endpoint FROM job j JOIN job_node n USING (job_pk) WHERE NOT j.simulated AND j.start_ts > now() - interval '7 days'
    ), each AS (SELECT job_pk, bool_or(endpoint IS NOT NULL) AS placed FROM recent GROUP BY 1)
    SELECT (SELECT count(*) FROM each), (SELECT count(*) FROM each WHERE placed),
           ARRAY(SELECT DISTINCT node FROM recent JOIN each USING (job_pk) WHERE NOT placed ORDER BY node LIMIT %(most)s)
"""
# Compute nodes of fabrics with counters: those of the switch's port count too.
_NODES = """
    WITH counted AS MATERIALIZED (SELECT DISTINCT fabric_id, router FROM router_1m WHERE ts > now() - interval '1 hour'),
         cards AS MATERIALIZED (SELECT DISTINCT fabric_id, endpoint FROM endpoint_1m WHERE ts > now() - interval '1 hour'),
         known AS (
             SELECT e.fabric_id, e.node, bool_or(c.router IS NOT NULL OR k.endpoint IS NOT NULL) AS covered
             FROM endpoint e JOIN fabric f USING (fabric_id) LEFT JOIN counted c USING (fabric_id, router) LEFT JOIN cards k USING (fabric_id, endpoint)
             WHERE e.role = 'compute' AND NOT f.simulated AND NOT f.timeless
               AND fabric_id IN (SELECT fabric_id FROM counted UNION SELECT fabric_id FROM cards)
             GROUP BY 1, 2
         )
    SELECT (SELECT count(*) FROM known), (SELECT count(*) FROM known WHERE covered),
           ARRAY(SELECT node FROM known WHERE NOT covered ORDER BY node LIMIT %(most)s)
"""
# Records of the last day; a reason names the device and why it belongs to no fabric.
_COUNTERS = """
    SELECT coalesce(sum(records), 0)::bigint, coalesce(sum(records - unplaced), 0)::bigint, ARRAY(
        SELECT reason FROM event, jsonb_array_elements_text(payload -> 'reasons') AS reason
        WHERE kind = 'unplaced' AND at > now() - interval '1 day' GROUP BY 1 ORDER BY max(event_id) DESC, 1 LIMIT %(most)s
    ) FROM ingest_minute WHERE ts > now() - interval '1 day' AND starts_with(topic, 'ldms.')
"""


class Coverage(NamedTuple):
    """Number of items, how many are covered, and examples of the others."""

    items: int
    covered: int
    examples: list[str]


class SiteCoverage(NamedTuple):
    """Coverage of a site's jobs, nodes and counter records."""

    jobs: Coverage
    nodes: Coverage
    counters: Coverage


def read_coverage(conn: psycopg.Connection[Any]) -> SiteCoverage:
    """Read the coverage of recent jobs, nodes and counters."""

    def ask(query: LiteralString) -> Coverage:
        row = conn.execute(query, {"most": MOST_EXAMPLES}).fetchone()
        assert row is not None
        return Coverage(*row)

    return SiteCoverage(ask(_JOBS), ask(_NODES), ask(_COUNTERS))
