"""Findings of the platform for Prometheus: stalls, gaps, predicted slowdowns and firing alerts, read from the database at most every few seconds."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Iterable, Sequence

from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from flitwatch_api.platform import Platform
from flitwatch_db.counters import findings
from flitwatch_db.fabrics.slow_cables import list_slow_cables
from flitwatch_domain.alerts import Rule

#: Scrapes within this time are answered from memory.
FRESH_S = 15.0
#: Most rows of stalls and of jobs in a scrape.
MOST_ROWS, MOST_JOBS = 5_000, 20
CONGESTED_AT: float = Rule.model_fields["congested_at"].default

_WINDOW = f"of the last {findings.WINDOW_MINUTES} whole minutes"
_KINDS: dict[str, tuple[str, ...]] = {
    "fabric": ("fabric", "simulated"),
    "group": ("fabric", "simulated", "group"),
    "class": ("fabric", "simulated", "class"),
}
_WORDS = {"fabric": "fabric", "group": "group", "class": "link_class"}


def _ratio_gauge(name: str, text: str, labels: Sequence[str]) -> GaugeMetricFamily:
    return GaugeMetricFamily(f"flitwatch_{name}_ratio", text, labels=labels)


class Findings(Collector):
    """Findings of the last read. Those about jobs are separate, because some callers may not see them."""

    def __init__(self) -> None:
        self._held: list[Metric] = []
        self._of_jobs: list[Metric] = []
        self._read_at = float("-inf")
        self._one = asyncio.Lock()
        self._fill_metrics([], [], [], [], [])

    def collect(self) -> Iterable[Metric]:
        return [*self._held, *self._of_jobs]

    def shown(self, jobs: bool) -> list[Metric]:
        """Return the findings that a caller may see."""
        return [*self._held, *self._of_jobs] if jobs else self._held

    async def refresh(self, platform: Platform) -> None:
        """Read the findings again if they are older than `FRESH_S`. Concurrent scrapes share one read."""
        async with self._one:
            if time.monotonic() - self._read_at < FRESH_S:
                return
            async with platform.reading() as conn:
                rows = await findings.list_stalls(conn, CONGESTED_AT, MOST_ROWS)
                self._fill_metrics(
                    rows,
                    await findings.count_recent_gaps(conn),
                    await findings.list_slowdowns(conn, MOST_JOBS),
                    await findings.count_firing_alerts(conn),
                    await list_slow_cables(conn),
                )
            self._read_at = time.monotonic()

    def forget(self) -> None:
        """Drop the findings, because the database is unavailable: old findings must not look current."""
        self._fill_metrics([], [], [], [], [])
        self._read_at = float("-inf")

    def _fill_metrics(
        self,
        stalls: list[findings.Row],
        gaps: list[findings.Row],
        slowdowns: list[findings.Row],
        firing: list[findings.Row],
        cables: list[findings.Row],
    ) -> None:
        metrics: list[Metric] = []
        for kind, labels in _KINDS.items():
            word = _WORDS[kind]
            ratio = _ratio_gauge(f"{word}_stall", f"Stalled time divided by sending time {_WINDOW}.", labels)
            share = _ratio_gauge(
                f"{word}_congested",
                f"Share of the counted routers with a stall ratio of at least {CONGESTED_AT:g}, {_WINDOW}.",
                labels,
            )
            for row in (row for row in stalls if row["kind"] == kind):
                values = [row["fabric"], str(row["simulated"]).lower(), *([row["key"]] if len(labels) > 2 else [])]
                ratio.add_metric(values, row["stalls"] / row["flits"])
                share.add_metric(values, row["congested"] / row["routers"])
            metrics += [ratio, share]
        gap = GaugeMetricFamily(
            "flitwatch_recent_gaps", "Gaps in counters within the last hour.", labels=["fabric", "reason"]
        )
        for row in gaps:
            gap.add_metric([row["fabric"], row["reason"]], row["gaps"])
        alerts = GaugeMetricFamily("flitwatch_alerts_firing", "Firing alerts.", labels=["rule", "severity"])
        for row in firing:
            alerts.add_metric([row["rule"], row["severity"]], row["alerts"])
        slow = _ratio_gauge(
            "job_predicted_slowdown",
            f"Predicted time of a running job's next steps divided by their usual time; the {MOST_JOBS} slowest.",
            ["job", "exe", "simulated"],
        )
        for row in slowdowns:
            slow.add_metric([row["job_id"], row["exe"], str(row["simulated"]).lower()], row["ratio"])
        slow_cables = GaugeMetricFamily(
            "flitwatch_slow_cables",
            "Cables that run at no more than half the usual speed of their kind.",
            labels=["fabric"],
        )
        flapping = GaugeMetricFamily(
            "flitwatch_flapping_cables",
            "Cables whose link, in the last day, went down three times, recovered ten times, or changed its speed five times.",
            labels=["fabric"],
        )
        for family, what in ((slow_cables, "slow"), (flapping, "flapping")):
            for fabric, count in Counter(row["fabric"] for row in cables if row[what]).items():
                family.add_metric([fabric], count)
        self._held, self._of_jobs = [*metrics, gap, alerts, slow_cables, flapping], [slow]
