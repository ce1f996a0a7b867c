"""AriesNCL folders to the log: a run is published once its files no longer change."""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import orjson

from flitwatch_domain.errors import BadInput, NotFound
from flitwatch_ingest.collectors.checkpoint import Checkpoint
from flitwatch_ingest.collectors.publisher import Publisher
from flitwatch_ingest.sources import ncl
from flitwatch_ingest.sources.rejection import Rejection
from flitwatch_stream import topics


class NclCollector:
    """Collector that publishes the runs of AriesNCL folders.

    Parameters
    ----------
    folder : Path
        A run's folder, or a folder of such folders.
    run_json : Path, optional
        Used instead of the run.json in the run's folder.
    settle_s : float
        While following, a run is read after its files have not changed for this long.
    """

    def __init__(
        self,
        folder: Path,
        publisher: Publisher,
        checkpoint: Checkpoint,
        *,
        run_json: Path | None = None,
        settle_s: float = 10.0,
    ) -> None:
        self._folder = folder
        self._publisher = publisher
        self._checkpoint = checkpoint
        self._run_json = run_json
        self._settle_s = settle_s
        self.runs: list[ncl.NclRun] = []
        self.sources: set[str] = set()

    def run(self, stop: threading.Event, interval_s: float = 2.0, say: Callable[[str], None] | None = None) -> None:
        """Follow until `stop` is set; runs that cannot be read yet are retried."""
        while True:
            before = len(self.runs)
            self.look(stop)
            if say and len(self.runs) != before:
                say(f"{len(self.runs)} runs, {sum(len(ncl_run.steps) for ncl_run in self.runs)} steps")
            if self._publisher.heartbeat.wait(stop, interval_s):
                return

    def look(self, stop: threading.Event | None = None) -> None:
        """Publish the runs whose files have stopped changing since the last look."""
        for head in self._find_heads():
            if stop is not None and stop.is_set():
                break
            self._follow_run(head)
        self._publisher.flush()
        self._checkpoint.save()

    def once(self) -> None:
        """Publish every run in the folder; raise NotFound if there is none."""
        heads = list(self._find_heads())
        if not heads:
            raise NotFound(
                f"{self._folder} contains no output of AriesNCL",
                advice="Expected *.timings.json with *.counters.*.bin, or *.nettiles.*.yaml.",
            )
        for head in heads:
            try:
                self._publish_run(ncl.read_run(head, self._run_json))
            except BadInput as bad:
                if self._run_json is not None and (bad.where or "").startswith(str(self._run_json)):
                    raise
                self._reject_run(head, bad, 1)
        self._publisher.flush()

    def _find_heads(self) -> Iterator[Path]:
        folders = [self._folder, *sorted(place for place in self._folder.glob("*") if place.is_dir())]
        if not self._folder.is_dir():
            raise NotFound(f"{self._folder} is not a folder", advice="Name the folder with AriesNCL's output.")
        for folder in folders:
            yield from ncl.find_runs(folder)

    def _follow_run(self, head: Path) -> None:
        published = self._checkpoint.value.setdefault("runs", {})
        try:
            newest = max(path.stat().st_mtime for path in head.parent.iterdir() if path.is_file())
        except (OSError, ValueError):
            return
        if time.time() - newest < self._settle_s or published.get(str(head.absolute())) == newest:
            return
        try:
            ncl_run = ncl.read_run(head, self._run_json)
        except BadInput as bad:
            source = f"ncl:{head.absolute()}"
            self._publisher.reject(
                Rejection(bad.where or str(head), bad.reason, ncl.read_beginning(head)), source, int(newest * 1000)
            )
        else:
            self._publish_run(ncl_run)
        self._publisher.flush()
        published[str(head.absolute())] = newest

    def _reject_run(self, head: Path, bad: BadInput, sequence: int) -> None:
        source = f"ncl:{head.absolute()}"
        self._publisher.reject(
            Rejection(bad.where or str(head), bad.reason, ncl.read_beginning(head)), source, sequence
        )
        self.sources.add(source)

    def _publish_run(self, found: ncl.NclRun) -> None:
        values = [orjson.dumps(value) for value in ncl.to_run_records(found)]
        # A run.json or counter file that arrives later changes the records: they must not be dropped as repeats of the first.
        content = hashlib.blake2b(b"\n".join(values), digest_size=6).hexdigest()
        source = f"ncl:{found.run.run_key}@{content}"
        for sequence, value in enumerate(values, start=1):
            self._publisher.publish(topics.RUNS, value, source, sequence)
        self.runs.append(found)
        self.sources.add(source)
        if not found.rejected:
            return
        # Another copy of a run may have the same valid records but different invalid ones.
        reasons = "\n".join(f"{problem.where}: {problem.reason}" for problem in found.rejected)
        source = f"{source}!{hashlib.blake2b(reasons.encode(), digest_size=6).hexdigest()}"
        for sequence, rejection in enumerate(found.rejected, start=1):
            self._publisher.reject(rejection, source, sequence)
        self.sources.add(source)
