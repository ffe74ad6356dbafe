"""A manager that does not lead hands on what would change something to the one that does."""

from __future__ import annotations

import os
import ssl
import urllib.error
import urllib.request
from http.client import HTTPResponse

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from millstream.manager.guard import SAFE, whole
from millstream.manager.rest.errors import answer
from millstream.manager.service import Service

HERE = ("/login", "/logout")
SENT = ("authorization", "cookie", "content-type", "x-csrf-token", "accept")
RETURNED = ("content-type", "location", "set-cookie")
PATIENCE = 180
MARK = "x-millstream-forwarded"


class Stay(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: object) -> None:
        """Where to go is for the browser to follow."""


class Forward:
    def __init__(self, app: ASGIApp, service: Service) -> None:
        self._app = app
        self._service = service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] in SAFE or scope["path"] in HERE:
            await self._app(scope, receive, send)
            return
        leader = await run_in_threadpool(self._service.leader_url)
        if leader == self._service.options.url:
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        if leader is None or MARK in headers:
            gone = answer(503, "MS-MANAGER-503", "no manager leads now; ask again.")
            await gone(scope, receive, send)
            return
        body = await whole(receive)
        status, told, content = await run_in_threadpool(handed_on, leader, scope, headers, body)
        await send({"type": "http.response.start", "status": status, "headers": told})
        await send({"type": "http.response.body", "body": content})


def handed_on(leader: str, scope: Scope, headers: Headers, body: bytes) -> tuple[int, list[tuple[bytes, bytes]], bytes]:
    query = f"?{scope['query_string'].decode()}" if scope["query_string"] else ""
    sent = {name: headers[name] for name in SENT if name in headers}
    request = urllib.request.Request(
        f"{leader}{scope['path']}{query}", body, {**sent, MARK: "1"}, method=scope["method"]
    )
    trusted = os.environ.get("MILLSTREAM_CERTIFICATE")
    tls = ssl.create_default_context(cafile=trusted)
    opener = urllib.request.build_opener(Stay, urllib.request.HTTPSHandler(context=tls))
    try:
        with opener.open(request, timeout=PATIENCE) as found:
            return told(found)
    except urllib.error.HTTPError as error:
        return told(error)
    except OSError as error:
        gone = answer(503, "MS-MANAGER-503", "the manager that leads does not answer; ask again.", str(error))
        return 503, [(b"content-type", b"application/json")], bytes(gone.body)


def told(found: HTTPResponse | urllib.error.HTTPError) -> tuple[int, list[tuple[bytes, bytes]], bytes]:
    kept = [
        (name.lower().encode(), value.encode()) for name, value in found.headers.items() if name.lower() in RETURNED
    ]
    return int(found.status or 500), kept, found.read()
