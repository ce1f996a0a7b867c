"""Client: lists and series as tables, all other operations as methods of `api`."""

from __future__ import annotations

import os
import re
import sys
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast
from urllib.parse import quote

import httpx

from flitwatch_client.columns import ALERTS, BLAME, CANDIDATES, DRIVERS, FABRICS, FORECASTS, JOBS, LINKS, RUNS, STEPS
from flitwatch_client.models import AdviceOutput, AdviceRequest, Explanation
from flitwatch_client.operations import Operations
from flitwatch_client.table import NUMBER, Table, check_installed, of_rows


class ClientError(Exception):
    """A call failed. `advice` recommends an action, if there is one."""

    def __init__(self, message: str, advice: str = "") -> None:
        super().__init__(f"{message} ({advice})" if advice else message)
        self.message = message
        self.advice = advice


class Unavailable(ClientError):
    """The API does not answer."""


class Refused(ClientError):
    """The API refused the request.

    Attributes
    ----------
    status : int
        The HTTP status.
    problem : dict
        The problem document (RFC 9457), unchanged.
    """

    def __init__(self, status: int, problem: dict[str, Any]) -> None:
        reason = problem.get("detail") or problem.get("title") or f"status {status}"
        super().__init__(str(reason), str(problem.get("advice") or ""))
        self.status = status
        self.problem = problem


class TaskFailed(ClientError):
    """A task ended without a result.

    Attributes
    ----------
    task_id : int
    state : str
        `failed` or `cancelled`.
    """

    def __init__(self, task_id: int, state: str, error: Any) -> None:
        reason = error.get("message", error) if isinstance(error, dict) else error
        super().__init__(f"task {task_id} {state}" + (f": {reason}" if reason else ""))
        self.task_id = task_id
        self.state = state


ARROW = "application/vnd.apache.arrow.stream"
#: Page size limit of the API.
PAGE = 1000
#: A datetime, RFC 3339, epoch seconds, `now`, or relative to now: `-7d`, `-90m`.
Time = datetime | str | float | int
AGO = re.compile(r"-(\d+(?:\.\d+)?)([smhdw])")
UNITS_S = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
Rows = Iterator[Mapping[str, Any]]
#: Counters of a window that ended this long ago no longer change: late ones arrive within a day. Up to KEPT such answers are cached.
SETTLED_S, KEPT = 86_400.0, 64
#: A list that takes longer shows its progress on a terminal.
QUIET_S = 1.0


class _Http(Operations):
    """Sends the requests of the generated operations."""

    def __init__(self, http: httpx.Client) -> None:
        self._http = http

    @staticmethod
    def _part(value: Any) -> str:
        return quote(str(value), safe="")

    def _call(self, method: str, path: str, query: Mapping[str, Any], body: Any = None) -> Any:
        answer = self.send(method, path, query, body)
        return answer.json() if "json" in answer.headers.get("content-type", "") else answer.text

    def send(
        self, method: str, path: str, query: Mapping[str, Any], body: Any = None, accept: str = "*/*"
    ) -> httpx.Response:
        """Send a request and return the response. Raise Refused if the API refuses it."""
        parameters = {name: value for name, value in query.items() if value is not None}
        try:
            payload: dict[str, Any] = {"content": body} if isinstance(body, bytes) else {"json": body}
            answer = self._http.request(method, path, params=parameters, headers={"Accept": accept}, **payload)
        except httpx.HTTPError as problem:
            raise Unavailable(
                f"the API at {self._http.base_url} does not answer: {type(problem).__name__}: {problem}",
                "Check that it is running and that the address is correct.",
            ) from None
        if answer.is_error:
            kind = answer.headers.get("content-type", "")
            raise Refused(answer.status_code, answer.json() if "json" in kind else {"detail": answer.text[:300]})
        # Another server, or a login page in front of the API: the API's only HTML page is a job's evidence.
        if answer.is_redirect or ("text/html" in answer.headers.get("content-type", "") and not path.endswith("/case")):
            raise Unavailable(
                f"{answer.url} answers with {'another address' if answer.is_redirect else 'a web page'}, not with data",
                "Use the address of a Flitwatch platform, without a path.",
            )
        return answer


class Client:
    """Client of a Flitwatch platform.

    Parameters
    ----------
    url : str
        Address of the platform, such as `https://flitwatch.site.example`.
    token : str, optional
        An API token (`flitwatch tokens create`). Without one, the caller is anonymous.
    timeout_s : float
        Time limit for an answer.
    progress : callable, optional
        Called with the number of rows of a list so far, after each page. Without it, a list that takes more than a second shows its progress on a terminal.

    Attributes
    ----------
    api : Operations
        A method for every operation of the REST API; answers are JSON as typed dictionaries.
    """

    def __init__(
        self, url: str, token: str = "", timeout_s: float = 30.0, progress: Callable[[int], object] | None = None
    ) -> None:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._http = httpx.Client(base_url=url.rstrip("/"), headers=headers, timeout=timeout_s)
        self._sender = _Http(self._http)
        self.api: Operations = self._sender
        self._progress = progress
        self._kept: OrderedDict[tuple[str, str], Table] = OrderedDict()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def fabrics(self) -> Table:
        """Return all machines of the platform."""
        return of_rows(self.api.fabrics()["items"], FABRICS)

    def jobs(
        self,
        *,
        fabric: str | int | None = None,
        user: str | None = None,
        state: str | None = None,
        name: str | None = None,
        text: str | None = None,
        at: Time | None = None,
        start: Time | None = None,
        end: Time | None = None,
        most: int | None = None,
    ) -> Table:
        """Return all jobs that match, newest first.

        Parameters
        ----------
        fabric : str or int, optional
            Jobs with nodes on this fabric, by name or number.
        user, state : str, optional
            One value, or several separated by commas.
        name : str, optional
            The job's name.
        text : str, optional
            Part of the id, name, user or account.
        at : time, optional
            Jobs that ran at this moment.
        start, end : time, optional
            Jobs that ran in this period.
        most : int, optional
            At most this many rows.
        """

        def page(limit: int, cursor: str | None) -> Any:
            return self.api.jobs(
                fabric=None if fabric is None else str(fabric),
                user=user,
                state=state,
                name=name,
                q=text,
                at=_format_time(at),
                from_=_format_time(start),
                to=_format_time(end),
                limit=limit,
                cursor=cursor,
            )

        return of_rows(self._iterate_pages(page, most), JOBS)

    def runs(self, *, application: str | None = None, job: str | None = None, most: int | None = None) -> Table:
        """Return executions of instrumented applications, newest first."""
        return of_rows(
            self._iterate_pages(
                lambda limit, cursor: self.api.runs(exe=application, job=job, limit=limit, cursor=cursor), most
            ),
            RUNS,
        )

    def steps(self, run_id: int) -> Table:
        """Return the time of every step of a run, the usual time of the same step, and its counters, one column each."""
        answer = self.api.steps(run_id)
        counters = answer["counters"] or {}
        columns: dict[str, Sequence[Any] | None] = {
            "step": answer["step"],
            "time_s": answer["time_s"],
            "usual_s": answer["mean_time_s"],
            "p10_s": answer["p10_s"],
            "p90_s": answer["p90_s"],
            "rank_median_s": answer["time_p50_s"],
        }
        rows = len(answer["step"])
        values = {name: _pad_values(held, rows) for name, held in {**columns, **counters}.items()}
        return Table({**STEPS, **dict.fromkeys(counters, NUMBER)}, values)

    def series(
        self,
        fabric: str | int,
        counters: str | Sequence[str] = "ratio",
        *,
        routers: str | Iterable[int] = "all",
        start: Time | None = None,
        end: Time | None = None,
        points: int = 300,
        total: bool = False,
    ) -> Table:
        """Return counters of routers over time, with columns `ts`, `router` and one for each counter.

        Parameters
        ----------
        fabric : str or int
            Name or number.
        counters : str or sequence of str
            Such as `ratio` (stall cycles per flit), `rt_flits`, `green_ratio`, `coverage`.
        routers : str or iterable of int
            `all`, `group:3`, or numbers.
        start, end : time, optional
            Default: the last quarter of an hour with complete data.
        points : int
            At most this many steps. Longer steps contain sums, and ratios are computed from the sums.
        total : bool
            One row per step, with the sum over the routers.

        Raises
        ------
        Refused
            413 if the answer would be too large: request fewer points or routers.
        ImportError
            pyarrow is not installed: `pip install flitwatch-client[arrow]`.
        """
        query = {
            "routers": routers if isinstance(routers, str) else ",".join(str(int(router)) for router in routers),
            "counters": counters if isinstance(counters, str) else ",".join(counters),
            "from": _format_time(start),
            "to": _format_time(end),
            "points": points,
            "sum": str(total).lower(),
        }
        return self._request_arrow(f"/api/v1/fabrics/{quote(str(fabric), safe='')}/timeseries", query)

    def stalls(
        self,
        fabric: str | int,
        *,
        start: Time | None = None,
        end: Time | None = None,
        step_s: int = 60,
        link_class: str | None = None,
    ) -> Table:
        """Return flits, stall cycles and stalls per flit of every router by step.

        The platform can use a longer step than `step_s`. The metadata (`.arrow.schema.metadata`) contains the actual step.
        """
        query = {"from": _format_time(start), "to": _format_time(end), "step": step_s, "class": link_class}
        return self._request_arrow(f"/api/v1/fabrics/{quote(str(fabric), safe='')}/frames", query)

    def links(
        self, fabric: str | int, *, at: Time | None = None, window_s: int | None = None, link_class: str | None = None
    ) -> Table:
        """Return flits, stall cycles and stalls per flit of every counted link in the window that ends at `at`."""
        window = None if window_s is None else f"{window_s}s"
        answer: Mapping[str, Any] = self.api.stalls_of_links(
            str(fabric), at=_format_time(at), class_=link_class, window=window
        )
        return Table(LINKS, {name: answer[name] for name in LINKS})

    def blame(self, application: str | None = None, nodes: int | None = None, *, by: str = "user") -> Table:
        """Return the users or applications associated with slow runs of an application: verdict, minutes and node-hours lost with their intervals.

        A `verdict` is `named`, `cannot tell` or `no evidence`, with `reasons`. Dependence is not proof of cause.

        Parameters
        ----------
        application : str, optional
            Default: the application of the newest estimate.
        nodes : int, optional
            The application's number of nodes.
        by : {"user", "application"}
        """
        return of_rows(
            self._iterate_pages(
                lambda limit, cursor: self.api.blame(exe=application, nodes=nodes, by=by, limit=limit, cursor=cursor),
                None,
                "entries",
            ),
            BLAME,
        )

    def drivers(self, application: str | None = None, nodes: int | None = None, *, inputs: str | None = None) -> Table:
        """Return the counters that predict slow steps, in order for each application. They rise when steps are slow, which is not proof of cause.

        Parameters
        ----------
        application : str, optional
            Default: all applications with an estimate.
        nodes : int, optional
            The application's number of nodes.
        inputs : {"rates", "deltas"}, optional
            Counters per second, or per step.
        """
        answer = self.api.drivers(inputs=inputs)
        rows: list[dict[str, Any]] = []
        for each in answer["sets"]:
            head = each["estimate"]
            if (application or head["exe"]) != head["exe"] or (nodes or head["nodes"]) != head["nodes"]:
                continue
            lists = (each[name] for name in ("place", "relevance", "relevance_spread", "rank", "rank_spread"))
            for counter, place, relevance, spread, rank, rank_spread in zip(answer["counters"], *lists, strict=True):
                rows.append(
                    {"exe": head["exe"], "nodes": head["nodes"], "simulated": head["simulated"]}
                    | {"counter": counter["abbreviation"], "meaning": counter["meaning"], "place": place}
                    | {"relevance": relevance, "relevance_spread": spread, "rank": rank, "rank_spread": rank_spread}
                )
        rows.sort(key=lambda row: (row["exe"], row["nodes"], row["place"] is None, row["place"] or 0))
        return of_rows(rows, DRIVERS)

    def advice(
        self,
        user: str,
        application: str,
        nodes: int,
        *,
        candidates: Sequence[Sequence[str]] = (),
        deadline: datetime | None = None,
    ) -> AdviceOutput:
        """Advise whether a job should start now, wait, or prefer some nodes. Unknown values are None, with the reason.

        Parameters
        ----------
        user, application : str
            Their names in the scheduler and in instrumented runs.
        nodes : int
        candidates : sequence of lists of nodes, optional
            Nodes that the scheduler could assign to it.
        deadline : datetime, optional
            Latest time at which the job must start.
        """
        question: AdviceRequest = {"user": user, "application": application, "nodes": nodes}
        if candidates:
            question["candidates"] = [list(names) for names in candidates]
        if deadline is not None:
            question["deadline"] = str(_format_time(deadline))
        return self.api.advice(question)

    def forecasts(self) -> Table:
        """Return the newest forecast of every running application."""
        return of_rows(({**(row["newest"] or {}), **row} for row in self.api.forecasts(limit=PAGE)["items"]), FORECASTS)

    def alerts(
        self,
        *,
        phase: str | None = None,
        rule: str | None = None,
        start: Time | None = None,
        end: Time | None = None,
        most: int | None = None,
    ) -> Table:
        """Return alerts, newest first."""

        def page(limit: int, cursor: str | None) -> Any:
            return self.api.alerts(
                phase=phase, rule=rule, from_=_format_time(start), to=_format_time(end), limit=limit, cursor=cursor
            )

        return of_rows(self._iterate_pages(page, most), ALERTS)

    def explanation(self, job_id: str, *, cluster: str | None = None, at: Time | None = None) -> Explanation:
        """Explain whether a job is slow now or at the time `at`, since when, which jobs may be the cause, and what would help, as on the job's page.

        The result is a nested dictionary with keys such as `verdict`, `reasons`, `slowdown`, `links`, `chain` and `remedies`. `candidates()` returns
        its candidates as a table.
        """
        return cast(Explanation, self.api.explanation(job_id, cluster=cluster, at=_format_time(at)))

    def candidates(self, job_id: str, *, cluster: str | None = None) -> Table:
        """Return the jobs that an explanation considered, most likely first."""
        return of_rows(self.explanation(job_id, cluster=cluster)["candidates"], CANDIDATES)

    def task(self, name: str, arguments: Mapping[str, Any], *, wait_s: float = 600.0) -> Any:
        """Start a task, wait for it, and return its result. An interrupted wait cancels the task.

        Parameters
        ----------
        name : str
            Such as `sim.packet` or `sim.study`.
        arguments : mapping
            The task's arguments.
        wait_s : float
            How long to wait. The task continues after that.

        Raises
        ------
        Refused
            The arguments are wrong, or larger than the caller's limits allow.
        TaskFailed
            The task failed or was cancelled.
        TimeoutError
            The task has not ended after `wait_s`. The message contains its number.
        """
        task = self.api.start(cast(Any, {"name": name, "args": dict(arguments)}))
        number, end = int(task["task_id"]), time.monotonic() + wait_s
        try:
            while task["state"] in ("queued", "running"):
                if time.monotonic() > end:
                    raise TimeoutError(
                        f"task {number} is {task['state']} after {wait_s:g} s. It continues: call api.task({number}) for its state"
                    )
                time.sleep(0.2)
                task = self.api.task(number)
        except KeyboardInterrupt:
            self.api.cancel(number)
            raise
        if task["state"] != "succeeded":
            raise TaskFailed(number, task["state"], task["error"])
        return task["result"]

    def _iterate_pages(self, page: Callable[[int, str | None], Any], most: int | None, items: str = "items") -> Rows:
        """Yield the rows of every page, at most `most`."""
        remaining, cursor, count = most, None, 0
        tell = self._progress or _Progress()
        while remaining is None or remaining > 0:
            answer = page(PAGE if remaining is None else min(remaining, PAGE), cursor)
            yield from answer[items]
            cursor, count = answer["next_cursor"], count + len(answer[items])
            tell(count)
            if cursor is None:
                break
            remaining = None if remaining is None else remaining - len(answer[items])
        if isinstance(tell, _Progress):
            tell.end()

    def _request_arrow(self, path: str, query: Mapping[str, Any]) -> Table:
        check_installed("pyarrow", "arrow")
        import pyarrow.ipc

        key = (path, repr(sorted(query.items(), key=lambda item: item[0])))
        if key in self._kept:
            self._kept.move_to_end(key)
            return self._kept[key]
        answer = self._sender.send("GET", path, query, accept=ARROW)
        with pyarrow.ipc.open_stream(answer.content) as stream:
            table = Table.of_arrow(stream.read_all())
        if _is_settled(query):
            self._kept[key] = table
            if len(self._kept) > KEPT:
                self._kept.popitem(last=False)
        return table


class _Progress:
    """Shows the number of received rows on a terminal if a list takes long."""

    def __init__(self) -> None:
        self._begun_s, self._printed = time.monotonic(), False

    def __call__(self, rows: int) -> None:
        if sys.stderr.isatty() and time.monotonic() - self._begun_s > QUIET_S:
            self._printed = True
            print(f"\rflitwatch: {rows:,} rows", end="", file=sys.stderr, flush=True)

    def end(self) -> None:
        if self._printed:
            print(file=sys.stderr)


def _is_settled(query: Mapping[str, Any]) -> bool:
    """Return whether both ends of the window are given, and it ended so long ago that its counters no longer change."""
    if query["from"] is None or query["to"] is None:
        return False
    try:
        ended_s = float(query["to"])
    except ValueError:
        try:
            ended_s = datetime.fromisoformat(query["to"]).timestamp()
        except ValueError:
            return False
    return ended_s < time.time() - SETTLED_S


def connect(
    url: str | None = None,
    token: str | None = None,
    timeout_s: float = 30.0,
    progress: Callable[[int], object] | None = None,
) -> Client:
    """Connect to a platform. By default, FLITWATCH_URL has the address, and FLITWATCH_TOKEN_FILE names the file with the token.

    Raises
    ------
    ValueError
        The address is missing or invalid, the token is invalid, or its file cannot be read or is readable by other users.
    """
    url = url or os.environ.get("FLITWATCH_URL")
    if not url:
        raise ValueError("no address: pass the platform's URL to connect(), or set FLITWATCH_URL")
    if not _is_address(url):
        raise ValueError(f"{url} is not an address: write it like https://flitwatch.site.example")
    file = os.environ.get("FLITWATCH_TOKEN_FILE")
    if token is None and file:
        try:
            token, mode = Path(file).read_text(encoding="utf-8"), Path(file).stat().st_mode
        except (OSError, UnicodeDecodeError) as problem:
            raise ValueError(f"FLITWATCH_TOKEN_FILE names {file}, which cannot be read: {problem}") from None
        if mode & 0o077:
            raise ValueError(f"others may read {file}, which FLITWATCH_TOKEN_FILE names: chmod 600 {file}")
    token = (token or "").strip()
    if any(not "!" <= char <= "~" for char in token):
        raise ValueError("the token contains an invalid character: use the output of `flitwatch tokens create`")
    return Client(url, token, timeout_s, progress)


def _is_address(url: str) -> bool:
    try:
        parts = httpx.URL(url)
    except httpx.InvalidURL:
        return False
    return parts.scheme in ("http", "https") and bool(parts.host)


def _format_time(value: Time | None) -> str | None:
    """Format a time for the API. A datetime without a zone is local, as in Python; `-90m` is 90 minutes ago."""
    if isinstance(value, str) and (ago := AGO.fullmatch(value)):
        value = time.time() - float(ago[1]) * UNITS_S[ago[2]]
    elif value == "now":
        value = time.time()
    if value is None or isinstance(value, str):
        return value
    # NumPy's numbers print their type.
    return (
        value.astimezone(UTC).isoformat().replace("+00:00", "Z") if isinstance(value, datetime) else repr(float(value))
    )


def _pad_values(values: Sequence[Any] | None, rows: int) -> list[Any]:
    """Return the values for this many rows; missing values at the end are None."""
    prefix = list(values or [])[:rows]
    return prefix + [None] * (rows - len(prefix))
