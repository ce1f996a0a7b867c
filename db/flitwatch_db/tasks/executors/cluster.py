"""Calls on a Dask cluster: on this machine, at an address, or in Slurm jobs."""

from __future__ import annotations

import ctypes
import logging
import queue
import threading
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from flitwatch_domain.build import build_name
from flitwatch_domain.errors import BadRequest, Cancelled, MissingDependency, Unavailable

if TYPE_CHECKING:
    from distributed import Client, Future

T = TypeVar("T")
log = logging.getLogger(__name__)

CONNECT_S = 10.0
#: Intervals of checks for a stop request: here, and on a worker in a thread alongside the call.
LOOK_S, WORKER_LOOK_S = 0.25, 0.5
#: Interval of log lines about a cluster without workers.
WORKERLESS_S = 60.0
#: A call whose worker died this many times is assumed to be the cause.
DEATHS = 3


class DaskExecutor:
    """Executor that sends calls to a Dask client's cluster; calls of a dead worker are run again by another."""

    def __init__(self, client: Client) -> None:
        self._client = client

    @property
    def workers(self) -> int:
        """Return the number of threads of all connected workers."""
        return sum(int(worker["nthreads"]) for worker in self._client.scheduler_info(n_workers=-1)["workers"].values())

    @property
    def in_process(self) -> bool:
        """Return False: calls run on workers."""
        return False

    def completed(
        self, calls: Sequence[Callable[[], T]], cancelled: Callable[[], bool] = lambda: False
    ) -> Iterator[tuple[int, T]]:
        """Yield results as in `Executor.completed`."""
        stop: Any = _open_event(f"flitwatch-stop-{uuid.uuid4().hex}", self._client)
        ended: queue.SimpleQueue[Future[Any]] = queue.SimpleQueue()
        waiting: dict[Any, int] = {}
        workerless_s = 0.0
        try:
            for number, call in enumerate(calls):
                future = self._client.submit(
                    _run_on_worker, call, stop.name, build_name(), pure=False, priority=-number
                )
                waiting[future] = number
            for future in waiting:
                future.add_done_callback(ended.put)
            while waiting:
                if cancelled():
                    raise Cancelled("the work was cancelled")
                try:
                    future = ended.get(timeout=LOOK_S)
                except queue.Empty:
                    workerless_s = self._track_workerless_s(workerless_s)
                    continue
                yield waiting.pop(future), self._fetch_result(future)
        finally:
            if waiting:
                self._end(stop, waiting)

    def _track_workerless_s(self, for_s: float) -> float:
        """Return the seconds without a worker, and log each minute of them."""
        if self._client.status != "running":
            raise Unavailable(
                "the connection to the Dask scheduler was lost", advice="Start the scheduler, and run the work again."
            )
        if self.workers:
            return 0.0
        before, after = int(for_s / WORKERLESS_S), int((for_s + LOOK_S) / WORKERLESS_S)
        if after > before:
            log.warning("no Dask worker has joined for %.0f s; the work waits", for_s + LOOK_S)
        return for_s + LOOK_S

    def _fetch_result(self, future: Any) -> Any:
        from distributed import KilledWorker
        from distributed.client import FutureCancelledError

        try:
            return future.result(timeout=CONNECT_S)
        except KilledWorker as killed:
            raise Unavailable(
                f"{DEATHS} Dask workers died with the same call", advice="Give workers more memory."
            ) from killed
        except (FutureCancelledError, TimeoutError, OSError) as lost:
            raise Unavailable(
                "the Dask scheduler lost a call", advice="Start the scheduler, and run the work again."
            ) from lost

    def _end(self, stop: Any, waiting: dict[Any, int]) -> None:
        try:
            stop.set()
            cancel: Any = self._client.cancel  # the library has no type for it
            cancel(list(waiting), force=True)
        except (OSError, TimeoutError) as gone:
            log.warning("calls on the Dask cluster could not be cancelled: %s", gone)


def _run_on_worker(call: Callable[[], T], stop: str, build: str) -> T:
    """Run a call on a worker; if the caller cancels, end it with an exception in its thread. Raise Unavailable if the worker has another build of
    Flitwatch, whose results could differ."""
    from distributed import get_client

    if build != build_name():
        raise Unavailable(
            f"the Dask worker has Flitwatch {build_name()}, the caller {build}",
            advice="Install the same build on both.",
        )
    # The worker's client is only available in a call's own thread.
    event, thread = _open_event(stop, get_client()), threading.get_ident()
    lock, over = threading.Lock(), threading.Event()

    def watch() -> None:
        while not over.wait(WORKER_LOOK_S):
            if event.is_set():
                with lock:
                    if not over.is_set():
                        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(Cancelled))
                return

    threading.Thread(target=watch, name="flitwatch stop", daemon=True).start()
    try:
        return call()
    finally:
        with lock:
            over.set()


def _open_event(name: str, client: Client) -> Any:
    """Return a flag shared in the cluster; the library has no types for its class."""
    event: Any = _import_library("distributed").Event
    return event(name, client=client)


@contextmanager
def on_this_machine(workers: int) -> Iterator[DaskExecutor]:
    """Yield a cluster of this number of processes on this machine, and close it at the end."""
    distributed = _import_library("distributed")
    with ExitStack() as opened:
        cluster = opened.enter_context(
            distributed.LocalCluster(
                n_workers=workers,
                threads_per_worker=1,
                dashboard_address=None,
                host="127.0.0.1",
                memory_limit=0,
                # Without a dashboard the scheduler still serves its health, on port 8787 unless any port is allowed.
                scheduler_kwargs={"dashboard_address": "127.0.0.1:0"},
            )
        )
        yield DaskExecutor(opened.enter_context(distributed.Client(cluster)))


@contextmanager
def at_address(address: str) -> Iterator[DaskExecutor]:
    """Yield the cluster whose scheduler listens at this address; it is not closed at the end."""
    distributed = _import_library("distributed")
    try:
        client = distributed.Client(address, timeout=CONNECT_S)
    except (OSError, TimeoutError, ValueError) as refused:
        raise Unavailable(
            f"no Dask scheduler answers at {address}", advice="Start one with `dask scheduler`, or correct the address."
        ) from refused
    with client:
        yield DaskExecutor(client)


@contextmanager
def in_slurm_jobs(jobs: int) -> Iterator[DaskExecutor]:
    """Yield a cluster of `jobs` Slurm jobs, configured in section `jobqueue.slurm` of the site's Dask configuration."""
    jobqueue, distributed = _import_library("dask_jobqueue"), _import_library("distributed")
    with ExitStack() as opened:
        try:
            cluster = opened.enter_context(jobqueue.SLURMCluster())
            cluster.scale(jobs=jobs)
        except ValueError as lacking:
            raise BadRequest(
                f"Dask's configuration does not describe a Slurm job: {lacking}",
                advice="Set cores, memory and queue under jobqueue.slurm in ~/.config/dask/jobqueue.yaml.",
            ) from lacking
        except (OSError, RuntimeError) as refused:
            raise Unavailable(
                f"Slurm accepted no job: {refused}", advice="Check sinfo and the queue in Dask's configuration."
            ) from refused
        yield DaskExecutor(opened.enter_context(distributed.Client(cluster)))


def _import_library(name: str) -> Any:
    import importlib

    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as missing:
        raise MissingDependency(f"{name} is not installed", advice="Install flitwatch[dask].") from missing
