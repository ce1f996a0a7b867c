"""Application: its middleware, routers and handlers in order."""

from __future__ import annotations

import asyncio
import gc
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.metadata import PackageNotFoundError, version

from fastapi import APIRouter, FastAPI, Request
from fastapi.responses import Response
from starlette.middleware.gzip import GZipMiddleware

from flitwatch_api import logs, problems, site
from flitwatch_api.advice.http import http as advice
from flitwatch_api.alerts.http import http as alerts
from flitwatch_api.answers import CachedAnswer, keep_bytes, tagged_response
from flitwatch_api.counters.http import http as counters
from flitwatch_api.diagnosis import http as diagnosis
from flitwatch_api.estimates.http import http as estimates
from flitwatch_api.events.http import http as events
from flitwatch_api.explanation import http as explanation
from flitwatch_api.fabric.http import http as fabrics
from flitwatch_api.health.http import http as health
from flitwatch_api.health.metrics import Measured, Metrics
from flitwatch_api.incidents import http as incidents
from flitwatch_api.ingest.http import http as ingest
from flitwatch_api.jobs.http import http as jobs
from flitwatch_api.links import http as links
from flitwatch_api.logs import RequestIdMiddleware
from flitwatch_api.network_noise import http as network_noise
from flitwatch_api.noise import http as noise
from flitwatch_api.openapi import BASE, describe_access, render_description
from flitwatch_api.people.access import allowed
from flitwatch_api.people.callers import Callers
from flitwatch_api.people.directory import directory_of
from flitwatch_api.people.http import http as people
from flitwatch_api.people.oidc import provider_of
from flitwatch_api.people.sign_on import http as sign_on
from flitwatch_api.people.trail import AuditMiddleware, AuditTrail
from flitwatch_api.platform import Platform
from flitwatch_api.projects import http as projects
from flitwatch_api.recommendations import http as recommendations
from flitwatch_api.runs.http import http as runs
from flitwatch_api.samples import http as samples
from flitwatch_api.search import http as search
from flitwatch_api.security import SecurityMiddleware
from flitwatch_api.settings import Settings
from flitwatch_api.site import Heads
from flitwatch_api.tasks.http import http as tasks

#: Columns of numbers shrink to a third at the fastest level. Higher levels would cost more time than they save.
GZIP_LEVEL, GZIP_FROM_BYTES = 1, 4096
#: The description is made so long after the start if nobody asked before. The thread that makes it slows other requests, so it should not meet a flood.
DESCRIBED_AFTER_S = 20.0

#: FastAPI keeps route functions as long as the process runs, so a function per application would keep the application.
description = APIRouter()


def create_app(settings: Settings | None = None) -> FastAPI:
    """Create the application.

    Parameters
    ----------
    settings : Settings, optional
        Default: the settings of the environment.
    """
    chosen = settings if settings is not None else Settings()

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        platform = Platform(chosen)
        app.state.platform = platform
        app.state.callers, app.state.trail = Callers(platform), AuditTrail(platform)
        await platform.start()
        app.state.trail.start()
        describing = asyncio.get_running_loop().call_later(DESCRIBED_AFTER_S, _describe, app)
        try:
            yield
        finally:
            describing.cancel()
            await app.state.trail.stop()
            await platform.stop()
            if app.state.directory is not None:
                app.state.directory.close()

    app = FastAPI(
        title="Flitwatch",
        version=_package_version(),
        summary="Network noise on supercomputers: which job, which links, and when",
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        lifespan=lifespan,
        generate_unique_id_function=lambda route: route.name,
    )
    metrics = Metrics()
    app.state.metrics = metrics
    app.state.oidc, app.state.directory = provider_of(chosen), directory_of(chosen)
    app.state.site, app.state.documentation = site.Site(chosen.web), site.Site(chosen.docs)
    problems.install_handlers(app)
    # First, because it has no rate limit, and a request is compared with all routes before its own.
    app.include_router(description)
    api = APIRouter(prefix=BASE)
    for part in (
        fabrics,
        counters,
        links,
        diagnosis,
        samples,
        jobs,
        explanation,
        incidents,
        projects,
        network_noise,
        runs,
        estimates,
        noise,
        alerts,
        advice,
        recommendations,
        tasks,
        ingest,
        search,
        events,
        people,
        sign_on,
    ):
        api.include_router(part)
    app.include_router(api, dependencies=[allowed])
    app.include_router(health)
    app.include_router(site.http)
    describe_access(app)
    app.add_middleware(GZipMiddleware, minimum_size=GZIP_FROM_BYTES, compresslevel=GZIP_LEVEL)
    app.add_middleware(
        SecurityMiddleware,
        hosts=chosen.api_hosts,
        metrics_port=chosen.api_metrics_port,
        ancestors=chosen.api_frame_ancestors,
    )
    app.add_middleware(AuditMiddleware)
    app.add_middleware(Measured, metrics=metrics, base=BASE)
    logs.install_tracing(app, _package_version())
    app.add_middleware(Heads, base=BASE)
    app.add_middleware(RequestIdMiddleware, access_log=chosen.api_access_log)
    return app


def build_routes(app: FastAPI) -> None:
    """Build the routes, for which the first request would wait, and leave all that exists out of later collections: each full one holds up every request."""
    scope = {"type": "http", "method": "GET", "path": BASE, "root_path": "", "headers": [], "app": app}
    for route in app.routes:
        route.matches(scope)
    gc.collect()
    gc.freeze()


@description.get("/openapi.json", include_in_schema=False)
async def openapi(request: Request) -> Response:
    return tagged_response(request, await asyncio.shield(_describe(request.app)))


def _describe(app: FastAPI) -> asyncio.Task[CachedAnswer]:
    """Return the task that makes the description: once, in a thread, because it takes up to seconds and requests for it have no limit."""
    if (making := getattr(app.state, "description", None)) is None:
        making = app.state.description = asyncio.create_task(asyncio.to_thread(_keep_description, app))
    return making


def _keep_description(app: FastAPI) -> CachedAnswer:
    kept = keep_bytes(render_description(app), "application/json", {}, GZIP_LEVEL)
    # Only the bytes are used again.
    app.openapi_schema = None
    return kept


def _package_version() -> str:
    try:
        return version("flitwatch")
    except PackageNotFoundError:
        return "0"


if __name__ == "__main__":
    # Print the OpenAPI document; no database is needed.
    sys.stdout.buffer.write(render_description(create_app(Settings(web=None))))
