"""All that is served, behind the guard."""

from __future__ import annotations

from fastapi import FastAPI, Response
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

from millstream.manager.exposition import CONTENT_TYPE, exposition
from millstream.manager.forward import Forward
from millstream.manager.guard import Guard
from millstream.manager.page import acting, looking, routes, submitting
from millstream.manager.rest import errors, jobs, live, operations, proof, state
from millstream.manager.service import Service, version


def served(service: Service) -> ASGIApp:
    app = FastAPI(
        title="Millstream's manager",
        version=version(),
        openapi_url="/api/v1/openapi.json",
        docs_url=None,
        redoc_url=None,
        # `Authorization: Bearer TOKEN`
        swagger_ui_oauth2_redirect_url=None,
    )
    app.state.service = service
    errors.install(app)
    app.include_router(jobs.router)
    app.include_router(operations.router)
    app.include_router(state.router)
    app.include_router(proof.router)
    app.include_router(live.router)
    if service.options.flink:
        from millstream.manager.rest import flink

        app.include_router(flink.router)
    app.include_router(submitting.router)
    app.include_router(routes.router)
    app.include_router(looking.router)
    app.include_router(acting.router)
    app.mount("/static", StaticFiles(directory=routes.STATIC))

    @app.get("/health", include_in_schema=False)
    def health() -> dict[str, str]:
        return {"status": "up"}

    @app.get("/metrics", include_in_schema=False)
    def metrics() -> Response:
        return Response(exposition(service), media_type=CONTENT_TYPE)

    return Guard(Forward(app, service), service.tokens, service.options.token)
