"""A simulated machine in a database, with the records of its producers for each day."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flitwatch_db import connect
from flitwatch_db.core.maintenance import maintain_database, set_keep
from flitwatch_db.counters import store as counters
from flitwatch_db.fabrics import store as fabrics
from flitwatch_db.jobs import store as jobs
from flitwatch_db.runs import store as runs
from flitwatch_domain.counters import ENDPOINT_COLUMNS, ROUTER_COLUMNS
from flitwatch_domain.fabric import FabricKind
from flitwatch_domain.jobs import Job
from flitwatch_domain.runs import Run, RunStep
from flitwatch_research.incidents.draws import APPLICATIONS, FABRICS, Draw, make_spec
from flitwatch_research.incidents.sampled import PortSampler, Sampler, TileSampler
from flitwatch_twin.accounting import Accounting
from flitwatch_twin.cluster import Cluster, RunningJob
from flitwatch_twin.ncl_files import run_header
from flitwatch_twin.runs import InstrumentedRun
from flitwatch_twin.spec import InstrumentedSpec, InterferenceSpec

#: Days are this many hours in the past, where seconds and ports are no longer stored, and farther apart than their length.
AGO_H, APART_S = 24 * 90, 7200
#: A history without incidents would be too easy, so planted users are active there too.
HISTORY_S = 3400
CLUSTER = "drawn"
PORT_BUCKET_S = 10
#: Number of network and processor tiles of a Cray XC router; the same is assumed for a tree's switches.
COUNTED_TILES = 48.0
#: Tables with retention of days.
RAW = ("router_1s", "endpoint_1s", "port_10s")
_Array = NDArray[np.float64]


class Feed:
    """Feed that advances a cluster and collects its producers' records; `flush` writes them.

    Parameters
    ----------
    conn : psycopg.Connection with role `writer`
    epoch_s : the day's second 0
    counted : whether there are counters
    cards : share of network cards with counters
    sampled_s : sampling interval of counters; a row has the time of its final sample
    late_s : seconds by which counters are written later than jobs and steps
    """

    def __init__(
        self,
        conn: Any,
        cluster: Cluster,
        epoch_s: int,
        fabric_id: int,
        counted: bool = True,
        cards: float = 1.0,
        sampled_s: int = 10,
        late_s: int = 0,
    ) -> None:
        self.conn, self.cluster, self.epoch_s, self.fabric_id = conn, cluster, epoch_s, fabric_id
        self.finished: list[InstrumentedRun] = []
        self._counted, self._sampled_s, self._late_s = counted, sampled_s, late_s
        rng = np.random.default_rng([cluster.seed, epoch_s])
        self._cards = rng.random(len(cluster.fabric.endpoints)) < cards
        self._accounting = Accounting(cluster, epoch_s)
        self._jobs: list[Job] = []
        self._runs: list[InstrumentedRun] = []
        self._steps: list[tuple[InstrumentedRun, RunStep]] = []
        self._ids: dict[InstrumentedRun, int] = {}
        self._routers: list[tuple[int, _Array]] = []
        self._ports: list[tuple[int, _Array, _Array]] = []
        self._endpoints: list[tuple[int, _Array]] = []
        tree = cluster.fabric.kind is FabricKind.FAT_TREE
        self._sampler: Sampler = PortSampler(cluster) if tree else TileSampler(cluster)
        self._record_jobs(cluster.warm, False)

    def _record_jobs(self, jobs: list[RunningJob], ended: bool) -> None:
        for job in jobs:
            record = self._accounting.record(job, self.cluster.time_s - 1 if ended else None)
            self._jobs.append(
                Job(
                    cluster=CLUSTER,
                    job_id=record["job_id"],
                    state=record["state"],
                    user=record["user"],
                    account=record["account"],
                    name=record["name"],
                    submit_s=record["submit"],
                    start_s=record["start"],
                    end_s=record["end"],
                    nodes=record["nodes"],
                    node_list=record["node_list"],
                    simulated=True,
                )
            )
            if job.run is not None and not ended:
                self._runs.append(job.run)

    def march(self, seconds: int) -> None:
        """Advance this many seconds."""
        for _ in range(seconds):
            second = self.cluster.advance()
            self._record_jobs(second.ended, True)
            self._record_jobs(second.started, False)
            self._steps += [(run, RunStep(step.step, step.time_ns)) for run, step in second.steps]
            self.finished += second.finished
            if self._counted:
                self._sampler.see(second.flows, second.state)
                if (self.epoch_s + self.cluster.time_s) % self._sampled_s == 0:
                    self._sample_counters()

    def _sample_counters(self) -> None:
        now = self.cluster.time_s
        routers, moved, cards = self._sampler.take()
        self._routers.append((self.epoch_s + now - 1, routers))
        # A long sample is spread over its buckets, as in the writer.
        parts = max(1, self._sampled_s // PORT_BUCKET_S)
        for part in range(parts):
            at = self.epoch_s + now - self._sampled_s + part * PORT_BUCKET_S
            self._ports.append((at, moved[0] / parts, moved[1] / parts))
        self._endpoints.append((self.epoch_s + now - 1, np.where(self._cards, cards, np.nan)))

    def close(self) -> None:
        """End the day and all running jobs."""
        self._record_jobs(list(self.cluster.running.values()), True)
        self.flush()

    def flush(self) -> None:
        """Write the records since the last call."""
        conn = self.conn
        jobs.upsert_jobs(conn, self._jobs, self.fabric_id)
        for run in self._runs:
            job = self.cluster.job_id(run.allocation)
            header = run_header(run, job, self.epoch_s + int(run.start_s))
            self._ids[run] = runs.upsert_run(
                conn,
                Run(
                    run_key=f"{run.key}-{self.epoch_s}",
                    exe=header["exe"],
                    job_id=job,
                    start_s=header["start"],
                    ranks=tuple(run.ranks),
                    nodes=tuple(run.nodes),
                    simulated=True,
                ),
            )
        for run, step in self._steps:
            runs.upsert_steps(conn, self._ids[run], [step])
        self._flush_counters()
        self._jobs, self._runs, self._steps = [], [], []
        conn.commit()

    def _flush_counters(self) -> None:
        sampler, seconds = self._sampler, 1.0 * self._sampled_s
        if routers := self._take_due(self._routers):
            columns = {name: np.concatenate([of[at] for _, of in routers]) for at, name in enumerate(sampler.routers)}
            rows = self._make_rows([ts for ts, _ in routers], ROUTER_COLUMNS, columns, COUNTED_TILES * seconds)
            counters.write_batch(self.conn, counters.Batch(routers=rows))
        if ports := self._take_due(self._ports):
            flits, stalls = (np.concatenate([sample[at] for sample in ports]) for at in (1, 2))
            rows = self._make_rows([ts for ts, _, _ in ports], (), {"": flits[:, 0]}, 1.0 * PORT_BUCKET_S)
            counted = counters.PortRows(
                rows.fabric_id, rows.device, rows.ts_s, sampler.ports * rows.seconds, flits, stalls
            )
            counters.write_batch(self.conn, counters.Batch(ports=counted))
        if cards := self._take_due(self._endpoints):
            columns = {name: np.concatenate([of[at] for _, of in cards]) for at, name in enumerate(sampler.cards)}
            rows = self._make_rows([ts for ts, _ in cards], ENDPOINT_COLUMNS, columns, seconds)
            counters.write_batch(
                self.conn, counters.Batch(endpoints=_select_rows(rows, np.isfinite(columns["tx_bytes"])))
            )

    def _take_due(self, samples: list[Any]) -> list[Any]:
        """Remove and return the samples that are old enough to be written."""
        until_s = self.epoch_s + self.cluster.time_s - self._late_s
        due = [sample for sample in samples if sample[0] < until_s]
        samples[:] = samples[len(due) :]
        return due

    def _make_rows(
        self, taken: list[int], names: tuple[str, ...], columns: dict[str, _Array], seconds: float
    ) -> counters.Rows:
        """Return rows of every device at every sample; `seconds` is the counted time of each."""
        n = len(next(iter(columns.values())))
        size = n // len(taken)
        values = np.full((n, len(names)), np.nan)
        for name, column in columns.items():
            if name:
                values[:, names.index(name)] = column
        return counters.Rows(
            np.full(n, self.fabric_id, np.int32),
            np.tile(np.arange(size, dtype=np.int32), len(taken)),
            np.repeat(taken, size),
            np.ones(n, np.int32),
            np.full(n, seconds),
            values,
        )


def _select_rows(rows: counters.Rows, keep: NDArray[np.bool_]) -> counters.Rows:
    return counters.Rows(*(getattr(rows, name)[keep] for name in ("fabric_id", "device", "ts_s", "samples", "seconds", "values")))  # fmt: skip


class Site:
    """A machine in a database, with a history of runs without counters."""

    def __init__(self, url: str, seed: int, fabric: str = "dragonfly") -> None:
        self.url, self.seed = url, seed
        self._epoch_s = (int(time.time()) // 3600 - AGO_H) * 3600
        runs = tuple(
            InstrumentedSpec.model_validate({"application": name, "first_s": 20.0 * at, "every_s": 340.0 + 60 * at})
            for at, name in enumerate(APPLICATIONS)
        )
        habit = {"mechanism": "bandwidth", "nodes": 224, "first_s": 700.0, "lasts_s": 300.0, "every_s": 1000.0}
        planted = InterferenceSpec.model_validate(habit)
        cluster = Cluster(make_spec(runs, (planted,)), seed, first_job=1000, day=1000, tree=FABRICS[fabric]())
        with connect(url, role="writer") as conn:
            self.fabric_id = fabrics.save_fabric(conn, cluster.fabric)
            feed = Feed(conn, cluster, self._epoch_s - HISTORY_S, self.fabric_id, counted=False)
            feed.march(HISTORY_S)
            feed.close()

    def feed(self, conn: Any, draw: Draw) -> Feed:
        """Return the producers of a day."""
        cluster = draw.cluster(self.seed)
        return Feed(conn, cluster, self.epoch_s(draw), self.fabric_id, cards=draw.cards, sampled_s=draw.sampled_s)

    def epoch_s(self, draw: Draw) -> int:
        """Return second 0 of a day in epoch seconds."""
        return self._epoch_s + draw.day * APART_S

    def age(self) -> None:
        """Apply retention to every day: only minutes and hours remain."""
        with connect(self.url, role="owner") as conn:
            # Imported rows are retained like new ones: see `drop_old_chunks`.
            for table in RAW:
                set_keep(conn, table, 0)
        maintain_database(self.url)
