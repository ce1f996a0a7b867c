"""Responses below scope `names` on a site that hides jobs (`FLITWATCH_API_JOBS_BELOW_NAMES=hidden`).

Ids, times and nodes of jobs can be matched with a scheduler's public listings, which reveals the people behind pseudonyms. Hiding them only in some
responses is not enough, so all operations are refused except those listed here. A new operation is thus hidden until it is reviewed.
"""

from __future__ import annotations

from flitwatch_api.settings import Settings
from flitwatch_domain.access import Caller
from flitwatch_domain.errors import Forbidden

#: Operations whose responses contain no job data, or omit it for callers who may not see it.
WITHOUT_JOBS = frozenset({
    "fabrics", "fabric_detail", "routers", "links", "endpoints", "congestion", "congestion_links", "timeseries", "matrix", "overview", "frames",
    "estimates", "versions", "deviation", "forecast", "measured_noise", "simulated_noise",
    "tasks", "start", "task", "cancel", "status", "dead_letters", "search", "events",
    "session", "log_in", "log_out", "own_password", "users", "add_user", "change_user", "tokens", "add_token", "revoke_token", "audit",
    "oidc_leave", "oidc_back", "oidc_log_out",
})  # fmt: skip
#: Tasks that generate their machine and read no stored job.
TASKS_WITHOUT_JOBS = frozenset(
    {
        "demo.count",
        "sim.study",
        "sim.collective",
        "sim.packet",
        "routing.loop",
        "routing.optimise",
        "routing.reconstruct",
    }
)
#: Events about a job, or about the task that concerns it.
EVENTS_OF_JOBS = frozenset({"job", "run", "alert", "forecast", "dead_letter", "unplaced", "incident"})
#: Search hits that are not parts of a machine.
HITS_OF_PEOPLE = frozenset({"job", "user", "incident"})


def hides_jobs(settings: Settings, caller: Caller | None) -> bool:
    """Return whether this site hides jobs from a caller."""
    return settings.api_jobs_below_names == "hidden" and (caller is None or "names" not in caller.scopes)


def hidden_jobs_error(what: str) -> Forbidden:
    """Return the error that refuses a response with job data."""
    return Forbidden(
        f"this site shows jobs only with scope names, and {what}", advice="Log in as an operator, or ask one."
    )
