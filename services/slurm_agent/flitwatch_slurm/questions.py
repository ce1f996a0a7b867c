"""The agent's requests to the API: batches of jobs with one candidate placement per fabric group."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, NotRequired, TypedDict

import httpx
import orjson

from flitwatch_domain.errors import Unavailable
from flitwatch_domain.hostlist import compress_hosts, expand_hosts
from flitwatch_domain.peer_answers import stream_answer
from flitwatch_slurm.cluster import Node

#: Limits of POST /advice/batch and of one question.
BATCH, MOST_CANDIDATES = 200, 64
#: Time limit and size limit of a complete response.
ANSWER_LIMIT_S, MOST_ANSWER_BYTES = 10.0, 64 << 20


@dataclass(frozen=True)
class Places:
    """Nodes that can run jobs.

    Attributes
    ----------
    groups : list of list of str        usable nodes by fabric group, largest group first
    usable : dict                       every usable node
    features : list of str              for each group, the feature that only its nodes have; empty if none
    """

    groups: list[list[str]]
    features: list[str]
    usable: dict[str, Node]

    def count_free_nodes(self, groups: list[int]) -> dict[str, int]:
        """Return the number of nodes in the groups by partition."""
        return dict(
            Counter(
                partition for at in groups for node in self.groups[at] for partition in self.usable[node].partitions
            )
        )

    def candidates(self, job_nodes: int) -> list[int]:
        """Return the groups that are large enough for the whole job."""
        return [at for at, nodes in enumerate(self.groups) if len(nodes) >= job_nodes][:MOST_CANDIDATES]


@dataclass(frozen=True)
class Question:
    """Job, or class of jobs, to request advice for."""

    user: str
    application: str
    nodes: int
    deadline_s: float | None = None


@dataclass(frozen=True)
class PlacedAdvice:
    """The API's answer, expressed in group indices of `Places`.

    Attributes
    ----------
    chosen : list of int       requested groups that are about as good as the best
    worse : list of int        other requested groups that are known to be worse
    """

    action: str
    retry_s: float
    usual_s: float
    slowdown: float | None
    reason: str
    stale: bool
    chosen: list[int] = field(default_factory=list)
    worse: list[int] = field(default_factory=list)


class KnownApplication(TypedDict):
    """Application and size that the API can advise on, with the users whose answers differ."""

    application: str
    nodes: int
    users: list[str]


class GroupNodes(TypedDict):
    """Compute nodes of a group, as a host list."""

    fabric_id: int
    group: int
    nodes: str


class AdviceState(TypedDict):
    """Fields of `GET /advice/state` that the agent reads."""

    applications: list[KnownApplication]
    groups: list[GroupNodes]
    pseudonyms: bool


class _Job(TypedDict):
    """Job in the body of `POST /advice/batch`. `candidates` are lists of nodes, `deadline` is an ISO time."""

    user: str
    application: str
    nodes: int
    candidates: NotRequired[list[list[str]]]
    deadline: NotRequired[str]


def find_places(state: AdviceState, usable: dict[str, Node]) -> Places:
    """Return the groups of the fabric that contains most of Slurm's nodes, with their distinguishing features."""
    fabrics: dict[int, dict[int, list[str]]] = {}
    for group in state["groups"]:
        usable_nodes = [node for node in expand_hosts(group["nodes"]) if node in usable]
        if usable_nodes:
            fabrics.setdefault(group["fabric_id"], {})[group["group"]] = usable_nodes
    if not fabrics:
        return Places([], [], usable)
    chosen = max(fabrics.values(), key=lambda groups: sum(len(nodes) for nodes in groups.values()))
    groups = sorted(chosen.values(), key=lambda nodes: (-len(nodes), nodes[0]))
    return Places(groups, [_choose_feature(nodes, usable) for nodes in groups], usable)


def _choose_feature(group: list[str], usable: dict[str, Node]) -> str:
    inside = frozenset.intersection(*(usable[node].features for node in group))
    others = usable.keys() - set(group)
    own = inside.difference(*(usable[node].features for node in others)) if others else inside
    return min(own, default="")


class Api:
    """API of a platform.

    Parameters
    ----------
    token : str, optional        sent as a bearer token
    """

    def __init__(self, url: str, token: str = "") -> None:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._http = httpx.Client(
            base_url=url.rstrip("/") + "/api/v1", headers=headers, timeout=ANSWER_LIMIT_S, trust_env=False
        )

    def state(self) -> AdviceState:
        """Fetch the state of advice: applications, groups of the fabric, and whether names are pseudonyms. Raise Unavailable if the API does not
        answer, refuses the request, or returns an invalid response."""
        path = "/advice/state"
        answer = self._request_json("GET", path)
        try:
            return {
                "applications": [
                    {
                        "application": str(item["application"]),
                        "nodes": int(item["nodes"]),
                        "users": list(map(str, item["users"])),
                    }
                    for item in answer["applications"]
                ],
                "groups": [
                    {"fabric_id": int(item["fabric_id"]), "group": int(item["group"]), "nodes": str(item["nodes"])}
                    for item in answer["groups"]
                ],
                "pseudonyms": bool(answer["pseudonyms"]),
            }
        except (LookupError, TypeError, ValueError, AttributeError):
            raise _foreign_answer_error(path) from None

    def ask(self, where: Places, questions: Sequence[Question]) -> list[PlacedAdvice]:
        """Return the answers in the order of the questions. Raise Unavailable if the API does not answer, refuses the request, or returns an invalid
        response."""
        path = "/advice/batch"
        advice_list: list[PlacedAdvice] = []
        for at in range(0, len(questions), BATCH):
            part = questions[at : at + BATCH]
            candidates = [where.candidates(question.nodes) for question in part]
            jobs = [_format_job(question, where, groups) for question, groups in zip(part, candidates, strict=True)]
            answer = self._request_json("POST", path, {"jobs": jobs})
            try:
                advice_list += [
                    _parse_advice(item, groups) for item, groups in zip(answer["items"], candidates, strict=True)
                ]
            except (LookupError, TypeError, ValueError, AttributeError):
                raise _foreign_answer_error(path) from None
        return advice_list

    def _request_json(self, method: str, path: str, body: Any = None) -> Any:
        until, text = time.monotonic() + ANSWER_LIMIT_S, bytearray()
        try:
            with stream_answer(self._http, method, path, ANSWER_LIMIT_S + 1, json=body) as answer:
                for part in answer.iter_bytes():
                    text += part
                    if time.monotonic() > until or len(text) > MOST_ANSWER_BYTES:
                        raise Unavailable(
                            f"the API's answer to {method} {path} was not complete after {ANSWER_LIMIT_S:.0f} s"
                            f" or {MOST_ANSWER_BYTES >> 20} MiB"
                        )
        except (httpx.HTTPError, httpx.InvalidURL) as problem:
            raise Unavailable(f"the API does not answer: {type(problem).__name__}: {problem}") from None
        if answer.status_code in (401, 403):
            raise Unavailable(
                f"the API refuses the agent with {answer.status_code}",
                advice="Create a valid token (flitwatch tokens create slurm --scope read --scope names --scope advice), and "
                "name its file in --token-file.",
            )
        if answer.status_code != 200:
            excerpt = text[:200].decode(errors="replace")
            raise Unavailable(f"the API answers {answer.status_code} to {method} {path}: {excerpt}")
        try:
            return orjson.loads(text)
        except ValueError:
            raise _foreign_answer_error(path) from None


def _foreign_answer_error(path: str) -> Unavailable:
    return Unavailable(
        f"the server at {path} is not an API that this agent knows",
        advice="Check that --api is Flitwatch's address, and that both have the same version.",
    )


def _format_job(question: Question, where: Places, groups: list[int]) -> _Job:
    # The API reduces nodes to their groups, so one node per group is enough. A job too large for every group spans all of them.
    lists = [[where.groups[at][0]] for at in groups] or [[nodes[0] for nodes in where.groups]]
    job: _Job = {
        "user": question.user[:256],
        "application": question.application[:256],
        "nodes": question.nodes,
    }
    if where.groups:
        job["candidates"] = lists
    if question.deadline_s is not None:
        job["deadline"] = datetime.fromtimestamp(question.deadline_s, UTC).isoformat()
    return job


def _parse_advice(item: dict[str, Any], groups: list[int]) -> PlacedAdvice:
    """Convert an answer to `PlacedAdvice`. Raise LookupError, TypeError, ValueError or AttributeError if it is malformed."""
    if item["action"] not in ("start", "delay", "prefer"):
        raise ValueError(item["action"])
    expected = item["expected_slowdown"]
    cause_text = next((r["text"] for r in item["reasons"] if r["kind"] in ("blamed_user", "congestion")), None)
    reason = cause_text or next((r["text"] for r in item["reasons"]), "")
    chosen, worse = [], []
    if item["action"] == "prefer" and groups:
        preferred = item["candidates"][item["preferred"]]["expected_slowdown"]
        # A preference without a slowdown favours one group; the other groups are not known to be worse.
        best = float("-inf") if preferred is None else preferred["mean"]
        for place, (candidate, group) in enumerate(zip(item["candidates"], groups, strict=True)):
            slowdown = candidate["expected_slowdown"]
            if preferred is None:
                chosen += [group] * (place == item["preferred"])
            elif slowdown is not None and slowdown["mean"] < best + 0.05:
                chosen.append(group)
            elif slowdown is not None:
                worse.append(group)
        reason = item["candidates"][item["preferred"]]["reason"]
    return PlacedAdvice(
        item["action"],
        float(item["retry_after_s"] or 0.0),
        float(item["usual_s"] or 0.0),
        None if expected is None else float(expected["mean"]),
        str(reason),
        bool(item["stale"]),
        chosen,
        worse,
    )


def join_features(where: Places, groups: list[int]) -> str:
    """Return the groups' features in the syntax of Slurm's `prefer`. It is empty if a group has no distinguishing feature."""
    names = [where.features[at] for at in groups]
    return "|".join(names) if names and all(names) else ""


def host_list(where: Places, groups: list[int]) -> str:
    return compress_hosts(node for at in groups for node in where.groups[at])
